"""Maps lie where the classifier looks, carry their error, and are drawn without pretence."""

import io
import json

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

from bayesteach import BadInput, MaskPrior, explain
from bayesteach.vision.engines import make_engine
from bayesteach.vision.overlay import tinted
from tests.explain.discs import SIZE, classifier


def photo(width: int = 96, height: int = 72) -> Image.Image:
    """Grey, with a red disc on the left of the crop and a blue one on the right."""
    picture = Image.new("RGB", (width, height), (90, 90, 90))
    draw = ImageDraw.Draw(picture)
    draw.ellipse((20, 24, 44, 48), fill="red")
    draw.ellipse((54, 28, 74, 48), fill="blue")
    return picture


@pytest.fixture(scope="module")
def found():
    return explain(classifier(), photo(), ["red thing", "blue thing"], masks=2000)


def test_each_map_is_brightest_where_its_class_is(found):
    red, blue = found.maps
    left, right = np.s_[14:34, 6:20], np.s_[18:32, 30:42]
    assert red[left].mean() > red[right].mean() + 3 * found.errors[0].mean()
    assert blue[right].mean() > blue[left].mean() + 3 * found.errors[1].mean()
    assert found.maps.min() >= 0
    assert found.maps.max() <= 1


def test_the_map_is_the_weighted_mean_of_the_masks_by_hand():
    who, masks = classifier(), 300
    found = explain(who, photo(), [0], masks=masks, seed=4)
    rng = torch.Generator().manual_seed(4)
    drawn = torch.cat(list(MaskPrior(SIZE, length_scale=SIZE / 10).stream(masks, rng, 256)))
    weights = who.probabilities(who.pixels(photo()) * drawn[:, None])[:, 0].double()
    expected = (weights[:, None, None] * drawn).sum(0) / weights.sum()
    torch.testing.assert_close(found.maps[0], expected, rtol=1e-4, atol=1e-5)
    assert float(found.effective_samples[0]) == pytest.approx(float(weights.sum() ** 2 / weights.square().sum()), 1e-4)


def test_several_targets_come_from_the_same_masks_and_one_pass(found):
    alone = explain(classifier(), photo(), [1], masks=2000)
    torch.testing.assert_close(found.maps[1], alone.maps[0])
    passes = []
    explain(classifier(), photo(), [0, 1, 2], masks=100, progress=passes.append)
    assert sum(passes) == 100


def test_without_a_target_the_answer_is_explained(found):
    answer = int(found.probabilities.argmax())
    assert explain(classifier(), photo(), masks=4).targets == (answer,)


def test_the_seed_decides(found):
    again = explain(classifier(), photo(), [0, 1], masks=2000)
    assert torch.equal(found.maps, again.maps)
    assert not torch.equal(found.maps, explain(classifier(), photo(), [0, 1], masks=2000, seed=1).maps)


def test_the_stated_error_is_the_error_between_seeds():
    runs = [explain(classifier(), photo(), [0], masks=400, seed=seed) for seed in range(20)]
    between = torch.stack([run.maps[0] for run in runs]).std(0)
    stated = torch.stack([run.errors[0] for run in runs]).square().mean(0).sqrt()
    assert 0.75 < float(stated.mean() / between.mean()) < 1.25


def test_few_masks_are_called_noise_and_many_are_not(found):
    rough = explain(classifier(), photo(), [0], masks=12)
    assert rough.verdicts == ("noise",)
    assert "mostly noise" in rough.warnings[0]
    assert "12 masks are worth" in rough.warnings[0]
    assert found.verdicts == ("converged", "converged")
    assert found.warnings == ()


def test_what_is_within_its_error_is_left_clear_and_the_rest_is_coloured():
    grey = Image.new("RGB", (40, 40), (128, 128, 128))
    departure, error = torch.zeros(40, 40), torch.full((40, 40), 0.02)
    departure[:, :10], departure[:, 30:] = 0.3, -0.3
    departure[:, 15:20] = 0.019
    drawn = np.asarray(tinted(grey, (0.0, 0.0, 40.0, 40.0), departure, error)).astype(int)
    assert (drawn[20, 12:28] == 128).all()
    red, green, blue = drawn[20, 5]
    assert red > green > blue  # orange
    red, green, blue = drawn[20, 35]
    assert blue > red > green  # purple


def test_the_pictures_of_few_masks_stay_clear_where_their_spread_is_zero():
    few = explain(classifier(), photo(), [0], masks=6)
    assert float(few.errors.min()) < 1e-3  # six masks agree somewhere, by chance
    assert float(few.doubt.min()) > 0.1


def test_the_overlay_is_the_photo_with_the_crop_coloured(found):
    box = tuple(round(edge) for edge in classifier().geometry.box(*found.photo.size))
    inside = Image.new("L", found.photo.size, 0)
    inside.paste(255, box)
    drawn = np.asarray(found.overlay(0)).astype(int)
    saturation = drawn.max(-1) - drawn.min(-1)
    assert found.overlay(0).size == found.photo.size
    assert saturation[np.asarray(inside) == 0].max() < 10  # grey photo, dimmed
    assert saturation[np.asarray(inside) > 0].max() > 100


def test_it_is_written_whole(found, tmp_path):
    folder = found.save(tmp_path / "new" / "place", note="kept")
    maps, errors = np.load(folder / "saliency.npy"), np.load(folder / "saliency_error.npy")
    np.testing.assert_allclose(maps, found.maps.numpy(), rtol=1e-6)
    np.testing.assert_allclose(errors, found.errors.numpy(), rtol=1e-6)
    facts = json.loads((folder / "explanation.json").read_text("utf-8"))
    assert [row["label"] for row in facts["explained"]] == ["red thing", "blue thing"]
    assert facts["answers"][0]["probability"] == pytest.approx(float(found.probabilities.max()), abs=1e-5)
    assert facts["masks"] == 2000
    assert facts["engine"] == "torch-fp32"
    assert facts["note"] == "kept"
    assert {"bayesteach", "torch", "timm"} <= set(facts["versions"])
    with Image.open(folder / "overlay.png") as picture:
        assert picture.width > 1500


def test_one_class_is_written_as_one_map(tmp_path):
    explain(classifier(), photo(), [0], masks=8).save(tmp_path)
    assert np.load(tmp_path / "saliency.npy").shape == (SIZE, SIZE)


def test_a_notebook_shows_the_picture(found):
    with Image.open(io.BytesIO(found._repr_png_())) as picture:
        assert picture.format == "PNG"
        four = picture.width
    with Image.open(io.BytesIO(explain(classifier(), photo(), [0], masks=8)._repr_png_())) as picture:
        assert picture.width < four  # two classes have two more panels: the second map, and the contrast


def test_grey_photos_of_any_shape_are_explained():
    for size in ((SIZE, SIZE), (300, 50), (50, 300)):
        found = explain(classifier(), Image.new("L", size, 120), masks=4)
        assert found.maps.shape == (1, SIZE, SIZE)
        assert found.overlay().size == size
        assert found._repr_png_()


def test_an_engine_can_be_passed():
    found = explain(classifier(), photo(), [0], masks=50, engine=make_engine(classifier(), "torch", "bf16"))
    assert found.engine == "torch-bf16"


def test_no_masks_are_refused():
    with pytest.raises(BadInput, match="masks"):
        explain(classifier(), photo(), masks=0)
