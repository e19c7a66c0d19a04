"""A classifier as Bayesian Teaching sees it: pixels ─▶ features ─▶ logits, with a linear head between the last two."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Literal, cast

import torch
from jaxtyping import Float
from PIL import Image
from torch import Generator, Tensor, nn

from bayesteach.errors import BadClassifier, BadShape
from bayesteach.maths import checks
from bayesteach.vision.geometry import Geometry
from bayesteach.vision.labels import find, read_labels

# How far a model's own logits may be from head · features before its head counts as not linear; float32 leaves about 1e-5.
_SAME = 1e-3

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """A network in evaluation, in float32, split where its features end and its linear head begins.

    backbone  normalised pixels to features, without the 1 of the bias
    head      n × m weights on [features, 1]
    mean, std of each channel, for pixels in [0, 1]
    aliases   other names that each class is found by, as ImageNet's WordNet numbers
    """

    name: str
    backbone: nn.Module
    head: Float[Tensor, "classes cols"]
    labels: tuple[str, ...]
    geometry: Geometry
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    aliases: tuple[tuple[str, ...], ...] = ()

    @staticmethod
    def load(
        name: str,
        *,
        checkpoint: Path | str | None = None,
        labels: Path | str | None = None,
        geometry: Literal["model", "squash"] = "model",
    ) -> "Classifier":
        """The classifier of this name: `timm:MODEL`, `efficientnet-lite0` or `embedded`.

        checkpoint  local weights for timm's architecture, .safetensors or .pth; without it timm fetches its own
        labels      a CSV or text file of class names, in the order of the logits; ImageNet's come with 1000 classes
        """
        from bayesteach.vision import catalogue  # noqa: PLC0415 — it builds classifiers, so it imports this module

        classifier = catalogue.load(name, checkpoint=Path(checkpoint) if checkpoint else None)
        if labels is not None:
            classifier = classifier.named(read_labels(Path(labels), len(classifier.labels)))
        return classifier.squashed() if geometry == "squash" else classifier

    @staticmethod
    def from_module(
        model: nn.Module,
        *,
        head: str,
        size: int | tuple[int, int] = 224,
        preprocess: Geometry | None = None,
        mean: Sequence[float] = IMAGENET_MEAN,
        std: Sequence[float] = IMAGENET_STD,
        labels: Sequence[str] | None = None,
        name: str = "module",
    ) -> "Classifier":
        """Any torch module that ends in the linear layer called `head`.

        preprocess  from a photo to pixels in [0, 1]; by default a resize to 8/7 of the size, and a crop at the centre
        mean, std   the normalisation that follows it
        """
        size = (size, size) if isinstance(size, int) else size
        geometry = preprocess or Geometry(size, max(size) * 8 // 7)
        whole = copy.deepcopy(model).float().eval().requires_grad_(requires_grad=False)
        backbone, weights = _split(whole, head, geometry.size, name)
        names = tuple(str(i) for i in range(len(weights))) if labels is None else tuple(labels)
        if len(names) != len(weights):
            raise BadClassifier(
                f"{name}: found {len(names)} labels for {len(weights)} classes. Pass one label a class."
            )
        channels = [tuple(float(x) for x in values) for values in (mean, std)]
        numbers = all(len(values) == 3 and all(isfinite(x) for x in values) for values in channels)
        if not numbers or min(channels[1]) <= 0:
            raise BadClassifier(f"{name}: found mean {mean} and std {std}, expected three numbers each, std above 0.")
        return Classifier(name, backbone, weights, names, geometry, *channels)  # type: ignore[arg-type]  # three, as checked

    def squashed(self) -> "Classifier":
        """The same classifier, shown whole photos squashed to its size, as the paper does."""
        return replace(self, geometry=self.geometry.squashed())

    def named(self, labels: Sequence[str]) -> "Classifier":
        """The same classifier under other class names, and these alone."""
        if len(labels) != len(self.labels):
            raise BadClassifier(
                f"labels: found {len(labels)} names for {len(self.labels)} classes. Pass one label a class."
            )
        return replace(self, labels=tuple(labels), aliases=())

    def pixels(self, photo: Image.Image) -> Float[Tensor, "3 height width"]:
        """What the network sees of a photo, in [0, 1]."""
        return self.geometry.pixels(photo)

    def augment(self, photo: Image.Image, views: int, rng: Generator) -> Float[Tensor, "views 3 height width"]:
        """Random resized crops and flips of a photo."""
        return self.geometry.views(photo, views, rng)

    def normalised(self, pixels: Float[Tensor, "images 3 height width"]) -> Float[Tensor, "images 3 height width"]:
        """Pixels as the backbone wants them."""
        mean, std = (pixels.new_tensor(values)[:, None, None] for values in (self.mean, self.std))
        return (pixels - mean) / std

    @torch.no_grad()
    def features(self, pixels: Float[Tensor, "images 3 height width"]) -> Float[Tensor, "images cols"]:
        """The features of images with pixels in [0, 1], and the 1 of the bias."""
        checks.sizes("pixels", pixels, "images", 3, *self.geometry.size)
        checks.finite("pixels", pixels)
        if len(pixels) and (float(pixels.min()) < 0 or float(pixels.max()) > 1):
            raise BadShape(
                f"pixels: found values from {float(pixels.min()):.3g} to {float(pixels.max()):.3g}, expected [0, 1]. "
                "Pass pixels before normalisation; the classifier normalises them itself."
            )
        device = self.head.device
        found = self.backbone(self.normalised(pixels.to(device, torch.float32)))
        return torch.cat([found, found.new_ones(len(found), 1)], 1)

    def logits(self, features: Float[Tensor, "*images cols"]) -> Float[Tensor, "*images classes"]:
        """The head on features that hold the 1 of the bias."""
        return features @ self.head.mT

    def probabilities(self, pixels: Float[Tensor, "images 3 height width"]) -> Float[Tensor, "images classes"]:
        """The softmax of the logits."""
        return self.logits(self.features(pixels)).softmax(-1)

    def index(self, label: str | int) -> int:
        """The class of this name, else of this number; case does not matter where one class alone has the name."""
        if isinstance(label, int) or (label not in self.labels and label.isdecimal()):
            checks.index("class", int(label), len(self.labels))
            return int(label)
        return find(label, self.labels, self.aliases)

    def digest(self) -> str:
        """What the classifier is, in a word: its layers and weights, its head, its geometry and its normalisation."""
        state = sha256(repr((self.backbone, self.geometry, self.mean, self.std)).encode())
        for name, tensor in sorted({**self.backbone.state_dict(), "head": self.head}.items()):
            state.update(name.encode())
            state.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return state.hexdigest()


def _split(model: nn.Module, head: str, size: tuple[int, int], name: str) -> tuple[nn.Module, Tensor]:
    """The model without its head, and the head's weights with the bias as last column; refused if they do not make the model."""
    linear = dict(model.named_modules()).get(head)
    if linear is None:
        ends = [n for n, m in model.named_modules() if isinstance(m, nn.Linear)]
        raise BadClassifier(
            f"{name}: there is no layer {head!r}. Its linear layers are {', '.join(ends[-5:]) or 'none'}; pass head=…"
        )
    if not isinstance(linear, nn.Linear):
        raise BadClassifier(
            f"{name}: its head {head!r} is a {type(linear).__name__}, not a linear layer on features. "
            "Bayesian Teaching of examples needs one; use a model that ends in nn.Linear."
        )
    trial = torch.rand(2, 3, *size, generator=torch.Generator().manual_seed(0))
    expected = _run(model, trial, name)
    parent, _, leaf = head.rpartition(".")
    setattr(model.get_submodule(parent), leaf, nn.Identity())
    features = _run(model, trial, f"{name} without its head {head!r}")
    bias = cast("Tensor | None", linear.bias)
    bias = linear.weight.new_zeros(linear.out_features) if bias is None else bias
    weights = torch.cat([linear.weight, bias[:, None]], 1).detach().float().clone()
    if tuple(features.shape) != (len(trial), linear.in_features):
        raise BadClassifier(
            f"{name}: its head {head!r} takes {linear.in_features} features, but the rest of the model gives a tensor of shape "
            f"{tuple(features.shape)}. The head must be the last layer, on one vector of features an image."
        )
    off = float((torch.nn.functional.linear(features, weights[:, :-1], weights[:, -1]) - expected).abs().max())
    if not off <= _SAME * (1 + float(expected.abs().max())):
        raise BadClassifier(
            f"{name}: the model's output differs by {off:.3g} from head · features, so something follows its head {head!r} "
            "(a softmax, a temperature). Pass the model without it."
        )
    return model, weights


@torch.no_grad()
def _run(model: nn.Module, pixels: Tensor, name: str) -> Tensor:
    try:
        answer = model(pixels)
    except Exception as error:  # whatever a stranger's model can raise
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
        raise BadClassifier(
            f"{name}: the model does not run on a tensor of shape {tuple(pixels.shape)} ({reason}). Pass its size=…, the name of "
            "its last layer as head=…, and a module that takes colour images."
        ) from error
    if not isinstance(answer, Tensor):
        raise BadClassifier(
            f"{name}: the model gives a {type(answer).__name__}, expected a tensor. Wrap it in a module that returns the logits."
        )
    return answer
