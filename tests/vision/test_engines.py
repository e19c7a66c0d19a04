"""Engines beside the classifier itself, and a screened engine beside a true one."""

import math
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from bayesteach import BadInput, Classifier, ExpectedMask, Geometry
from bayesteach.explain.explanation import CHUNK
from bayesteach.vision import choice as choice_module
from bayesteach.vision.choice import Trial, choose_engine, fastest, try_engines
from bayesteach.vision.engines import (
    BLOCK,
    OFF,
    Engine,
    Screened,
    engine_names,
    make_engine,
    plain_engine,
    torch_engine,
    unscreened,
)
from bayesteach.vision.leaves import dead_leaves
from bayesteach.vision.masked import MaskedPhoto, mask_prior

SIZE = 32


class Small(nn.Module):
    """Convolution, batch norm, pooling, head: what folding and fusing have to get right."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 5, stride=2, padding=2), nn.BatchNorm2d(16), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU())
        self.fc = nn.Linear(32, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.body(self.stem(x)).mean((2, 3)))


class Branching(Small):
    """A network that cannot be traced: what it does depends on the values it sees."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x * 2 if float(x.abs().max()) > 100 else x)


def classifier(module: type[nn.Module] = Small) -> Classifier:
    torch.manual_seed(0)
    model = module()
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.running_mean, -0.3, 0.3)
            nn.init.uniform_(layer.running_var, 0.3, 2)
            nn.init.uniform_(layer.weight, 0.5, 2)
    nn.init.normal_(model.fc.weight, std=4.0)
    return Classifier.from_module(model, head="fc", preprocess=Geometry((SIZE, SIZE), SIZE))


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAYESTEACH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def correlation(one: torch.Tensor, other: torch.Tensor) -> float:
    return float(torch.corrcoef(torch.stack([one.flatten(), other.flatten()]))[0, 1])


def map_of(weigher, photo: MaskedPhoto, masks: torch.Tensor, target: int) -> torch.Tensor:
    found = ExpectedMask(1, SIZE)
    for chunk in masks.split(CHUNK):
        found.add(chunk, weigher.log_weights(photo, chunk, [target]))
    return found.map[0]


@pytest.mark.parametrize(("name", "module"), [("torch", Small), ("torch", Branching), ("openvino", Small)])
def test_fp32_engines_give_the_classifiers_features(name, module, rng):
    who = classifier(module)
    pixels = torch.rand(BLOCK + 5, 3, SIZE, SIZE, generator=rng)
    torch.testing.assert_close(make_engine(who, name).features(pixels), who.features(pixels), rtol=1e-4, atol=1e-4)


def test_a_network_that_depends_on_values_is_refused_by_openvino_with_a_way_out():
    with pytest.raises(BadInput, match="OpenVINO cannot take this network .* Use the torch engine"):
        make_engine(classifier(Branching), "openvino")


def test_bf16_is_near():
    who = classifier()
    pixels = dead_leaves(8, (SIZE, SIZE))
    found, own = torch_engine(who, "bf16").features(pixels), who.features(pixels)
    assert float((found - own).abs().max()) > 0  # it did run in bf16
    torch.testing.assert_close(found, own, rtol=0.05, atol=0.02)


@given(st.integers(0, 99), st.integers(1, 2 * BLOCK), st.data())
def test_an_answer_does_not_depend_on_what_else_is_asked(seed, count, data):
    engine = plain_engine(classifier())
    pixels = torch.rand(count, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(seed))
    alone = data.draw(st.integers(0, count - 1))
    assert torch.equal(engine.features(pixels)[alone], engine.features(pixels[alone : alone + 1])[0])


def test_no_images_have_no_features():
    assert plain_engine(classifier()).features(torch.empty(0, 3, SIZE, SIZE)).shape == (0, 33)


def test_log_weights_are_the_classifiers_answers_to_masked_pixels(rng):
    who = classifier()
    pixels, masks = torch.rand(3, SIZE, SIZE, generator=rng), torch.rand(40, SIZE, SIZE, generator=rng)
    for baseline, faded in (("black", (0.0, 0.0, 0.0)), ("mean", who.mean)):
        photo = MaskedPhoto.of(pixels, who, baseline)
        colour = torch.tensor(faded)[:, None, None]
        seen = torch.stack([mask * pixels + (1 - mask) * colour for mask in masks])
        expected = who.probabilities(seen).log()[:, [4, 1]]
        torch.testing.assert_close(plain_engine(who).log_weights(photo, masks, [4, 1]), expected, rtol=1e-4, atol=1e-4)


def test_the_mean_baseline_is_zero_once_normalised(rng):
    who = classifier()
    photo = MaskedPhoto.of(torch.rand(3, SIZE, SIZE, generator=rng), who, "mean")
    hidden = who.normalised(photo.under(torch.zeros(1, SIZE, SIZE)))
    torch.testing.assert_close(hidden, torch.zeros_like(hidden), atol=1e-6, rtol=0)


@dataclass(frozen=True)
class Rough:
    """A true engine whose log weights are off as much as int8's are."""

    true: Engine
    name: str = "rough"

    def log_weights(self, photo, masks, classes):
        found = self.true.log_weights(photo, masks, classes)
        return found - 3 + OFF["int8"] * torch.randn(found.shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("seed", range(3))
def test_a_screened_engine_asks_the_true_one_where_it_matters_and_its_map_is_true(seed):
    who, rng = classifier(), torch.Generator().manual_seed(seed)
    photo = MaskedPhoto.of(dead_leaves(1, (SIZE, SIZE), seed)[0], who)
    masks = mask_prior(who).sample(2 * CHUNK, rng)
    asked = []

    def counting(pixels: torch.Tensor) -> torch.Tensor:
        asked.append(len(pixels))
        return who.backbone(who.normalised(pixels))

    target = int(who.probabilities(photo.pixels[None])[0].argmin())  # the class with the most uneven weights
    true = Engine("true", who, counting)
    own, alone = (map_of(weigher, photo, masks, target) for weigher in (plain_engine(who), Rough(true)))
    asked.clear()
    screened = map_of(Screened(Rough(plain_engine(who)), true, OFF["int8"]), photo, masks, target)
    assert correlation(own, alone) < 0.999
    assert correlation(own, screened) > 0.999
    assert 0 < sum(asked) <= len(masks) / 2


def test_behind_all_screens_stands_the_true_engine():
    engine = plain_engine(classifier())
    assert unscreened(engine) is engine
    assert unscreened(Screened(Rough(engine), Screened(Rough(engine), engine, 0.1), 0.3)) is engine


def test_screening_with_a_true_engine_changes_nothing(rng):
    who = classifier()
    photo = MaskedPhoto.of(torch.rand(3, SIZE, SIZE, generator=rng), who)
    masks, engine = mask_prior(who).sample(64, rng), plain_engine(who)
    torch.testing.assert_close(
        Screened(engine, engine, 0.1).log_weights(photo, masks, [0, 3]), engine.log_weights(photo, masks, [0, 3])
    )


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_screened_maps_are_true(precision, rng):
    who = classifier()
    if precision not in engine_names()["openvino"]:
        pytest.skip(f"this processor has no {precision}")
    photo = MaskedPhoto.of(dead_leaves(1, (SIZE, SIZE), seed=3)[0], who)
    masks = mask_prior(who).sample(256, rng)
    target = int(who.probabilities(photo.pixels[None])[0].argmax())
    found = make_engine(who, "openvino", precision)
    assert isinstance(found, Screened)
    assert correlation(map_of(found, photo, masks, target), map_of(plain_engine(who), photo, masks, target)) > 0.999


def test_engines_that_do_not_exist_are_refused_with_those_that_do():
    with pytest.raises(BadInput, match="found torch int8, expected one of torch fp32, torch bf16, openvino fp32"):
        make_engine(classifier(), "torch", "int8")


def test_the_fastest_engine_whose_map_is_true_is_chosen():
    trials = [
        Trial("openvino", "int8", 9.0, 0.99),
        Trial("openvino", "bf16", 5.0, 0.9995),
        Trial("torch", "fp32", 1.2, 1.0),
        Trial("torch", "bf16", 7.0, math.nan),
    ]
    assert fastest(trials) == trials[1]
    # A map that does not vary correlates with none, not even with itself.
    unknown = [replace(trial, correlation=math.nan) for trial in trials]
    assert fastest(unknown) == unknown[2]


def test_every_installed_engine_is_tried_and_the_choice_is_kept(monkeypatch):
    who = classifier()
    trials = try_engines(who, dead_leaves(1, (SIZE, SIZE))[0])
    assert {(t.engine, t.precision) for t in trials} == {(e, p) for e, all_p in engine_names().items() for p in all_p}
    assert all(t.true for t in trials if t.precision == "fp32")

    assert choose_engine(who, passes=100) == ("openvino", "fp32")  # too few passes for a trial
    chosen = choose_engine(who, passes=10_000)
    monkeypatch.setattr(choice_module, "try_engines", lambda *_: pytest.fail("tried again"))
    assert choose_engine(who, passes=100) == chosen == choose_engine(who, passes=10_000)
