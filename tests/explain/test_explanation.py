"""Maps lie where the classifier looks, carry their error, and are drawn without pretence."""

import io
import itertools
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

from bayesteach import BadInput, ExpectedMask, MaskPrior, explain
from bayesteach.explain.explanation import CHUNK
from bayesteach.maths.samplers import LOOKS
from bayesteach.vision.engines import make_engine
from bayesteach.vision.overlay import tinted
from tests.explain.discs import SIZE, classifier

ROOT = Path(__file__).parents[2]


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
    drawn = torch.cat(list(MaskPrior(SIZE, length_scale=SIZE / 10).stream(masks, rng, CHUNK)))
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
    alone = replace(rough, noise=(0.05,), effective_samples=torch.ones(1))
    assert "worth 1, too few to trust. About" in alone.warnings[0]
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
        two = picture.height
    with Image.open(io.BytesIO(explain(classifier(), photo(), [0], masks=8)._repr_png_())) as picture:
        assert picture.height < two  # two classes have a second row: the contrast, and both errors


@pytest.mark.parametrize("size", [(96, 72), (400, 60), (60, 400)])
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_no_word_of_the_picture_is_cut_off_or_lies_on_another(size, classes):
    labels = ["red thing, " * 12, "cat $5 and $6", "nothing"]
    found = explain(classifier().named(labels), photo(*size), range(classes), masks=4)
    figure = found.plot()
    figure.savefig(io.BytesIO())
    words = [word for axis in figure.axes for word in (axis.title, *axis.texts)]
    words += [word for axis in figure.axes if axis.axison for word in (axis.xaxis.label, *axis.get_xticklabels())]
    boxes = [text.get_window_extent() for text in words]
    titles = " ".join(text.get_text().replace("\n", " ") for text in words)
    assert "What would teach “red thing, red thing," in titles
    for box in boxes:
        assert 0 <= box.x0 <= box.x1 <= figure.bbox.width
        assert 0 <= box.y0 <= box.y1 <= figure.bbox.height
    for one, other in itertools.combinations(boxes, 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        down = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert across < 1 or down < 1


def test_maps_of_weights_that_know_nothing_stay_nearly_clear():
    """Weights as uneven as a ResNet-50's, but of masks at random: what is coloured then is false."""
    coloured = []
    for seed in range(10):
        rng = torch.Generator().manual_seed(seed)
        made = ExpectedMask(1, SIZE)
        masks = MaskPrior(SIZE, length_scale=SIZE / 10).sample(1000, rng)
        made.add(masks, 2.0 * torch.randn(1000, 1, generator=rng))
        assert 5 < float(made.effective_samples) < 150
        few = replace(
            explain(classifier(), Image.new("RGB", (SIZE, SIZE), "grey"), [0], masks=2),
            maps=made.map,
            errors=made.standard_error,
            effective_samples=made.effective_samples,
        )
        drawn = np.asarray(few.overlay()).astype(int)
        coloured.append((drawn.max(-1) - drawn.min(-1) > 10).mean())
    assert np.mean(coloured) < 0.05


def test_a_photo_may_be_a_file_and_is_turned_as_its_camera_says(tmp_path):
    exif = Image.Exif()
    exif[0x112] = 6
    photo().save(tmp_path / "turned.png", exif=exif)
    from_file = explain(classifier(), tmp_path / "turned.png", [0], masks=4)
    assert from_file.photo.size == (72, 96)
    with Image.open(tmp_path / "turned.png") as opened:
        from_picture = explain(classifier(), opened, "red thing", masks=4)
    assert torch.equal(from_file.maps, from_picture.maps)
    assert torch.equal(from_file.maps, explain(classifier(), from_file.photo, 0, masks=4).maps)  # turned once


@pytest.mark.parametrize(("changes", "words"), [({"masks": 1}, "masks: found 1"), ({"seed": -1}, "seed: found -1")])
def test_numbers_that_serve_no_map_are_refused(changes, words):
    with pytest.raises(BadInput, match=words):
        explain(classifier(), photo(), **changes)


def test_memory_does_not_grow_with_the_masks():
    code = """
import resource
from tests.explain.discs import classifier
from tests.explain.test_explanation import photo
from bayesteach import explain
def peak(masks):
    explain(classifier(128), photo(), [0, 1], masks=masks)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
few, many = peak(512), peak(4096)
print(many - few)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert float(done.stdout) < 50  # megabytes; all masks together would be 230


def test_grey_photos_of_any_shape_are_explained():
    for size in ((SIZE, SIZE), (300, 50), (50, 300), (1, 1), (2001, 1), (1, 2000)):
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


@pytest.mark.parametrize("sampler", ["prior", "learned"])
def test_with_a_tolerance_masks_are_weighed_until_the_error_is_that_part_of_the_spread(sampler):
    weighed = []
    loose = explain(classifier(), photo(), [0], masks=1500, sampler=sampler, tolerance=0.9, progress=weighed.append)
    tight = explain(classifier(), photo(), [0], masks=300, sampler=sampler, tolerance=0.01)
    assert loose.masks == sum(weighed)
    assert loose.masks in LOOKS
    assert tight.masks == 300
    for found in (loose, tight):
        facts = found.facts()
        assert (facts["sampler"], facts["masks"], facts["tolerance"]) == (sampler, found.masks, found.tolerance)


def test_a_map_that_is_noise_is_never_finished_early():
    """However small its stated error: of masks worth few it is a guess."""
    found = explain(
        classifier(), Image.new("RGB", (48, 48), "black"), [0], masks=256, tolerance=0.999, sampler="learned"
    )
    assert found.verdicts == ("noise",)
    assert found.masks == 256


def test_a_learned_map_is_brightest_where_its_class_is():
    found = explain(classifier(), photo(), [0, 1], masks=256, sampler="learned")
    red, blue = found.maps
    left, right = np.s_[14:34, 6:20], np.s_[18:32, 30:42]
    assert red[left].mean() > red[right].mean() + 3 * found.errors[0].mean()
    assert blue[right].mean() > blue[left].mean() + 3 * found.errors[1].mean()
    assert found.facts()["explained"][0]["verdict"] == found.verdicts[0]
    found.plot()


def test_a_learned_map_says_so_when_it_is_noise():
    found = explain(classifier(), Image.new("RGB", (48, 48), "black"), [0], masks=128, sampler="learned")
    assert found.verdicts == ("noise",)
    assert "mostly noise: its 128 masks" in found.warnings[0]
    assert "Allow more masks, to 2,048" in found.warnings[0]
    assert float(found.doubt.min()) > 0.03  # 128 masks that know nothing


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"masks": 4096, "sampler": "learned"}, "masks: found 4096, expected at most 2048"),
        ({"tolerance": 0.0}, "tolerance: found 0.0"),
        ({"tolerance": 1.0}, "tolerance: found 1.0"),
    ],
)
def test_what_cannot_be_asked_is_refused(changes, said):
    with pytest.raises(BadInput, match=re.escape(said)):
        explain(classifier(), photo(), **changes)
