"""Torch modules made on the spot, as classifiers: what is split, what is refused, what is named."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torch import nn

from bayesteach.errors import BadClassifier, BadShape, NotFinite, OutOfRange
from bayesteach.vision.classifier import IMAGENET_MEAN, IMAGENET_STD, Classifier
from bayesteach.vision.geometry import Geometry

SIZE = 16


class Net(nn.Module):
    """Convolution, batch norm, dropout, pooling, and a head that is not called `head`."""

    def __init__(self, classes: int = 3, *, bias: bool = True):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
        )
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(5, classes, bias=bias)

    def forward(self, x):
        return self.fc(self.dropout(self.body(x)))


@pytest.fixture(scope="module")
def net() -> Net:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Net()
        # A batch norm that has seen something, so that training and evaluation differ.
        model(torch.randn(64, 3, SIZE, SIZE))
    return model


@pytest.fixture
def pixels(rng) -> torch.Tensor:
    return torch.rand(6, 3, SIZE, SIZE, generator=rng)


def load(model: nn.Module, head: str = "fc", **changes) -> Classifier:
    return Classifier.from_module(model, **{"head": head, "size": SIZE, **changes})


def by_hand(model: nn.Module, pixels: torch.Tensor, mean=IMAGENET_MEAN, std=IMAGENET_STD) -> torch.Tensor:
    shown = (pixels - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]
    with torch.no_grad():
        return copy.deepcopy(model).eval()(shown)


def test_features_and_head_make_the_models_logits(net, pixels):
    classifier = load(net, labels=["cat", "dog", "eel"])
    features = classifier.features(pixels)
    assert features.shape == (6, 6)
    assert (features[:, -1] == 1).all()
    assert classifier.head.shape == (3, 6)
    assert torch.equal(classifier.head[:, -1], net.fc.bias)
    expected = by_hand(net, pixels)
    torch.testing.assert_close(classifier.logits(features), expected)
    torch.testing.assert_close(classifier.probabilities(pixels), expected.softmax(1))
    assert not features.requires_grad
    assert not classifier.head.requires_grad


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.lists(st.floats(0.1, 2), min_size=3, max_size=3))
def test_normalisation_is_the_callers(mean, std):
    torch.manual_seed(0)
    model, pixels = Net(), torch.rand(2, 3, SIZE, SIZE)
    classifier = load(model, mean=mean, std=std)
    torch.testing.assert_close(classifier.logits(classifier.features(pixels)), by_hand(model, pixels, mean, std))


def test_a_batch_does_not_matter(net, pixels):
    classifier = load(net)
    together = classifier.features(pixels)
    torch.testing.assert_close(torch.cat([classifier.features(p[None]) for p in pixels]), together)
    assert classifier.features(pixels[:0]).shape == (0, 6)


def test_a_head_without_bias(pixels):
    model = Net(bias=False)
    classifier = load(model)
    assert (classifier.head[:, -1] == 0).all()
    torch.testing.assert_close(classifier.logits(classifier.features(pixels)), by_hand(model, pixels))


def test_a_head_deep_inside(net, pixels):
    model = nn.Sequential(nn.Identity(), nn.ModuleDict({"net": net})["net"])
    classifier = load(model, head="1.fc")
    torch.testing.assert_close(classifier.logits(classifier.features(pixels)), by_hand(net, pixels))


@pytest.mark.parametrize("precision", [torch.float64, torch.float16])
def test_a_model_in_another_precision_is_run_in_float32(net, pixels, precision):
    classifier = load(copy.deepcopy(net).to(precision))
    assert classifier.head.dtype == torch.float32
    torch.testing.assert_close(classifier.probabilities(pixels), load(net).probabilities(pixels), atol=2e-3, rtol=0)


def test_the_callers_model_is_left_alone_and_leaves_the_classifier_alone(net, pixels):
    model = copy.deepcopy(net).train()
    before = copy.deepcopy(model.state_dict())
    classifier = load(model)
    answer = classifier.probabilities(pixels)
    assert model.training
    assert isinstance(model.fc, nn.Linear)
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)
    assert torch.equal(classifier.probabilities(pixels), answer)


class Softmaxed(Net):
    def forward(self, x):
        return super().forward(x).softmax(-1)


class Mapped(Net):
    """A head on every place."""

    def forward(self, x):
        return self.fc(self.body[:3](x).permute(0, 2, 3, 1))


class Pooled(Mapped):
    """And the greatest of its answers."""

    def forward(self, x):
        return super().forward(x).amax((1, 2))


class Early(Net):
    """A hidden layer in front of the head."""

    def __init__(self, width: int):
        super().__init__()
        self.hidden = nn.Linear(5, width)
        self.fc = nn.Linear(width, 5)

    def forward(self, x):
        return self.fc(self.hidden(self.body(x)).relu())


class Several(Net):
    """As many libraries' models do, it answers with more than logits."""

    def forward(self, x):
        return {"logits": super().forward(x)}


@pytest.mark.parametrize(
    ("model", "head", "words"),
    [
        (Net(), "head", ["there is no layer 'head'", "linear layers are fc", "head="]),
        (nn.Sequential(nn.Flatten()), "fc", ["there is no layer 'fc'", "are none"]),
        (Net(), "body.0", ["'body.0' is a Conv2d, not a linear layer"]),
        (Net(), "", ["'' is a Net, not a linear layer"]),
        (Early(5), "hidden", ["model's output differs", "something follows its head 'hidden'"]),
        (Early(6), "hidden", ["without its head 'hidden': the model does not run", "last layer as head="]),
        (Softmaxed(), "fc", ["something follows its head 'fc'", "softmax", "Pass the model without it"]),
        (Pooled(), "fc", ["something follows its head 'fc'"]),
        (Mapped(), "fc", ["takes 5 features", "(2, 14, 14, 5)", "must be the last layer"]),
        (Several(), "fc", ["gives a dict, expected a tensor", "returns the logits"]),
        (nn.Sequential(nn.Flatten(), nn.Linear(99, 2)), "1", ["does not run on a tensor of shape (2, 3, 16, 16)"]),
    ],
)
def test_models_that_do_not_end_in_their_head_are_refused(model, head, words):
    with pytest.raises(BadClassifier) as caught:
        load(model, head, name="mine")
    assert str(caught.value).startswith("mine")
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"labels": ["cat", "dog"]}, "found 2 labels for 3 classes"),
        ({"labels": list("abcd")}, "found 4 labels for 3 classes"),
        ({"mean": (0.5,)}, "found mean .* expected three numbers each"),
        ({"std": (1.0, 1.0)}, "expected three numbers each"),
        ({"std": (1.0, 0.0, 1.0)}, "std above 0"),
        ({"mean": (0.5, float("nan"), 0.5)}, "expected three numbers each"),
    ],
)
def test_labels_and_normalisation_that_do_not_fit(net, changes, words):
    with pytest.raises(BadClassifier, match=words):
        load(net, **changes)


def test_pixels_that_are_none(net, pixels):
    classifier = load(net)
    cases = [
        (pixels * 255, BadShape, r"expected \[0, 1\]. Pass pixels before normalisation"),
        (pixels - 0.5, BadShape, r"expected \[0, 1\]"),
        (pixels / 0, NotFinite, "pixels"),
        (pixels[:, :, 1:], BadShape, "images, 3, 16, 16"),
    ]
    for wrong, error, message in cases:
        with pytest.raises(error, match=message):
            classifier.features(wrong)


def test_the_default_geometry_and_others(net):
    photo = Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8))
    classifier = load(net)
    assert classifier.geometry == Geometry((16, 16), 18)
    assert torch.equal(classifier.pixels(photo), classifier.geometry.pixels(photo))
    assert load(net, size=(12, 20)).geometry == Geometry((12, 20), 22)
    own = Geometry((16, 16), 16, "bicubic")
    assert load(net, preprocess=own).geometry == own
    assert classifier.squashed().geometry == Geometry((16, 16), None)
    assert not torch.equal(classifier.squashed().pixels(photo), classifier.pixels(photo))
    views = [classifier.augment(photo, 3, torch.Generator().manual_seed(1)) for _ in range(2)]
    assert views[0].shape == (3, 3, 16, 16)
    assert torch.equal(*views)


def test_the_digest_is_of_what_answers_and_of_nothing_else(net):
    classifier = load(net, labels=["cat", "dog", "eel"])
    digest = classifier.digest()
    same = [
        load(copy.deepcopy(net)),
        load(net, name="other"),
        classifier.named(["a", "b", "c"]),
        replace(classifier, aliases=(("x",), ("y",), ("z",))),
    ]
    assert {c.digest() for c in same} == {digest}
    others = {"plain": digest}
    for name in net.state_dict():
        changed = copy.deepcopy(net)
        with torch.no_grad():
            changed.state_dict()[name].add_(1)
        others[name] = load(changed).digest()
    others |= {
        "squash": classifier.squashed().digest(),
        "filter": load(net, preprocess=Geometry((16, 16), 18, "bicubic")).digest(),
        "short": load(net, preprocess=Geometry((16, 16), 19)).digest(),
        "mean": load(net, mean=(0.4, 0.4, 0.4)).digest(),
        "std": load(net, std=(0.4, 0.4, 0.4)).digest(),
    }
    assert len(set(others.values())) == len(others), others


def test_classes_by_name_and_number(net):
    classifier = load(net, labels=["house cat, tabby", "Dog", "7"])
    found = {"house cat": 0, "HOUSE CAT, TABBY": 0, "dog": 1, "7": 2, "1": 1, 0: 0, 2: 2}
    assert {label: classifier.index(label) for label in found} == found
    named = replace(classifier, aliases=(("n02123045", "moggy"), ("n1",), ("n2",)))
    assert (named.index("N02123045"), named.index("Moggy"), named.index("n2")) == (0, 0, 2)
    # Under other names the old ones, and what they were also called, mean nothing.
    with pytest.raises(BadClassifier, match="found 'moggy', which is none of the 3 labels"):
        named.named(["a", "b", "c"]).index("moggy")
    assert load(net).index("2") == 2


@pytest.mark.parametrize(
    ("label", "error", "words"),
    [
        (3, OutOfRange, "class: found 3, expected an index from 0 to 2"),
        (-1, OutOfRange, "class: found -1"),
        ("9", OutOfRange, "class: found 9"),
        ("-1", BadClassifier, "found '-1', which is none"),
        ("²", BadClassifier, "found '²', which is none"),
        ("cat", BadClassifier, "Did you mean 'wild cat' or 'house cat'"),
        ("hous cat", BadClassifier, "Did you mean 'house cat'"),
        ("yak", BadClassifier, "none of the 3 labels.$"),
    ],
)
def test_classes_that_are_not_there(net, label, error, words):
    with pytest.raises(error, match=words):
        load(net, labels=["wild cat", "house cat", "dog"]).index(label)


def test_labels_are_read_from_a_file(tmp_path, monkeypatch, net):
    from bayesteach.vision import catalogue  # noqa: PLC0415 — to put a small network in its place

    monkeypatch.setattr(catalogue, "load", lambda name, checkpoint: load(net, name=name))
    (tmp_path / "labels.txt").write_text("cat\ndog\neel\n")
    classifier = Classifier.load("timm:small", labels=tmp_path / "labels.txt", geometry="squash")
    assert classifier.labels == ("cat", "dog", "eel")
    assert classifier.geometry.short is None
    with pytest.raises(BadClassifier, match="found 2 names for 3 classes"):
        classifier.named(["cat", "dog"])
