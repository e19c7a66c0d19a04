"""What the network makes of the drawn world: it goes by the background, and one can see that it does."""

import dataclasses

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from scipy.stats import mannwhitneyu
from typer.testing import CliRunner

from bayesteach.cli import app
from bayesteach.errors import BadClassifier
from bayesteach.explain.explanation import explain
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.engines import make_engine
from bayesteach.vision.geometry import Geometry
from bayesteach.vision.shortcuts import LABELS, look, places, training
from bayesteach.vision.shortcuts.categories import CATEGORIES
from bayesteach.vision.shortcuts.report import Answers, answers
from bayesteach.vision.shortcuts.training import Recipe, train

SMALL = Recipe(each=4, small=1, large=1, batch=32)


def weights(recipe: Recipe) -> torch.Tensor:
    return torch.cat([tensor.flatten().float() for tensor in train(recipe).state_dict().values()])


def test_the_same_recipe_gives_the_same_weights_whatever_the_threads():
    before = torch.get_num_threads()
    state = torch.random.get_rng_state()
    one = weights(SMALL)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.set_num_threads(3)
    try:
        other = weights(SMALL)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert torch.equal(one, other)
    assert not torch.equal(one, weights(dataclasses.replace(SMALL, seed=1)))


def test_training_shows_each_step():
    seen = []

    def watch(steps):
        for step in steps:
            yield step
            seen.append(step)

    train(SMALL, progress=watch)
    pictures = SMALL.each * len(LABELS)
    assert sum(len(step.members) for step in seen) == 2 * pictures
    assert sorted(torch.cat([step.members for step in seen if step.draws]).tolist()) == list(range(pictures))
    assert [step.small for step in seen] == sorted((step.small for step in seen), reverse=True)


def test_it_is_trained_once_and_then_read(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("BAYESTEACH_CACHE", str(tmp_path))
    monkeypatch.setattr(training, "RECIPE", SMALL)
    one = Classifier.load("embedded")
    said = capfd.readouterr()
    assert "once on this machine" in said.err
    assert not said.out
    monkeypatch.setattr(training, "train", None)
    other = Classifier.load("embedded")
    assert other.digest() == one.digest()
    assert not capfd.readouterr().err
    # Another recipe is other weights, which are not there.
    monkeypatch.setattr(training, "RECIPE", dataclasses.replace(SMALL, seed=1))
    with pytest.raises(TypeError):
        Classifier.load("embedded")


def test_weights_from_a_file(tmp_path):
    network = train(SMALL)
    state = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    save_file(state, tmp_path / "w.safetensors")
    loaded = Classifier.load("embedded", checkpoint=tmp_path / "w.safetensors")
    assert torch.equal(loaded.head[:, :-1], network.head.weight)
    save_file({name: tensor for name, tensor in state.items() if "head" not in name}, tmp_path / "w.safetensors")
    with pytest.raises(BadClassifier, match=r"w.safetensors does not fit the embedded network: .*head"):
        Classifier.load("embedded", checkpoint=tmp_path / "w.safetensors")


def test_the_embedded_classifier(embedded):
    assert embedded.name == "embedded"
    assert embedded.labels == LABELS
    assert embedded.geometry == Geometry((128, 128), 128)
    assert embedded.index("traffic light") == LABELS.index("traffic light")
    sight = look(places("standard", 1)[0])
    # Nothing is cropped, nothing resampled: the network sees the drawn pixels.
    seen = embedded.pixels(Image.fromarray(sight.picture.pixels))
    assert torch.equal(seen, torch.from_numpy(sight.picture.pixels).permute(2, 0, 1).float() / 255)


@pytest.fixture(scope="module")
def standard(embedded) -> Answers:
    return answers(embedded, places("standard", 80, seed=11))


@pytest.fixture(scope="module")
def adversarial(embedded) -> Answers:
    return answers(embedded, places("adversarial", 16, seed=11))


def test_it_does_well_where_things_are_at_home_with_errors_in_enough_categories(standard):
    """Among as many images as `write_world` writes. Which category nearly always comes out right depends on the processor."""
    assert 0.85 < standard.accuracy < 0.96
    hits = np.stack([standard.hits[standard.truth == k] for k in range(len(LABELS))])
    assert (hits.mean(1) > 0.7).all()
    assert ((~hits).sum(1) >= 1).sum() >= 33
    assert standard.confidence(hits=True) > 0.85


def test_it_is_confidently_wrong_where_they_are_not(adversarial):
    assert adversarial.accuracy < 0.25
    for label in LABELS:
        assert (~adversarial.hits[adversarial.truth == LABELS.index(label)]).sum() >= 8
    assert adversarial.confidence(hits=False) > 0.6
    # It answers with a category that lives where the thing was put.
    assert adversarial.lives_there[~adversarial.hits].mean() > 0.8


def test_each_category_has_another_that_it_is_most_confused_with(standard, adversarial):
    confused = standard.confusion + adversarial.confusion
    np.fill_diagonal(confused, 0)
    assert (confused.max(1) > 0).all()
    # By mean probability, on standard images, most are confused with one that shares their home.
    means = standard.mean_probabilities
    np.fill_diagonal(means, 0)
    homes = [CATEGORIES[label].home for label in LABELS]
    shared = [homes[int(row.argmax())] == home for row, home in zip(means, homes, strict=True)]
    assert np.mean(shared) > 0.7


MASKS, IMAGES = 200, 64


def on_the_thing(classifier, engine, found: Answers, which: np.ndarray) -> list[float]:
    """How the map of the answer correlates with where the thing is, for some images of these."""
    correlations = []
    for k in np.flatnonzero(which)[:: which.sum() // IMAGES][:IMAGES]:
        drawn = look(found.places[k]).picture
        photo = Image.fromarray(drawn.pixels)
        shown = explain(classifier, photo, [int(found.answer[k])], masks=MASKS, engine=engine).maps[0].numpy()
        correlations.append(float(np.corrcoef(shown.ravel(), drawn.mask.ravel())[0, 1]))
    return correlations


def test_its_errors_come_from_the_background(embedded, standard, adversarial):
    engine = make_engine(embedded)
    hits = on_the_thing(embedded, engine, standard, standard.hits)
    errors = on_the_thing(embedded, engine, adversarial, ~adversarial.hits)
    assert len(hits) == len(errors) == IMAGES
    assert mannwhitneyu(hits, errors, alternative="greater").pvalue < 0.05
    assert np.median(hits) > 0.1


def test_the_command_explains_a_drawn_image(embedded, tmp_path):
    sight = look(places("standard", 1, categories=["umbrella"])[0])
    file = tmp_path / "umbrella.png"
    Image.fromarray(sight.picture.pixels).save(file)
    words = ["explain", str(file), "--model", "embedded", "--masks", "64", "--engine", "torch"]
    done = CliRunner().invoke(app, [*words, "--target", "umbrella", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert np.load(tmp_path / "out" / "saliency.npy").shape == (128, 128)
    assert (tmp_path / "out" / "overlay.png").stat().st_size > 10_000
