"""Who runs the forward pass: the classifier's own network in fp32, or the same network made faster.

What a classifier answers to a probe is always the classifier's own fp32. Engines serve the thousands of passes behind a map, and
the sums over training images. They work in padded blocks of one size, so an answer does not depend on what else is asked.
"""

import copy
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from bayesteach.errors import BadClassifier
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.masked import MaskedPhoto

Precision = Literal["fp32", "bf16", "int8"]
BLOCK = 32
# What a screened engine asks of the true one are a few masks of a chunk, so these come in small blocks.
FEW = 8
# How far log weights are off by themselves: standard deviations on real photos with a ResNet-50.
OFF = {"bf16": 0.08, "int8": 0.3}
# A map's own chance is Σ w² / (Σ w)² times the variance of a mask, and weights that are off by ε add ε² of the share of Σ w² that
# stays rough. So that share is this over ε²: a map loses at most half of this of its correlation with the true one.
TRUSTED = 1e-3


@runtime_checkable
class Weigher(Protocol):
    """Whatever can say how probable classes are when a photo is seen through masks."""

    @property
    def name(self) -> str:
        """The engine and its precision."""
        ...

    def log_weights(
        self, photo: MaskedPhoto, masks: Float[Tensor, "n height width"], classes: Sequence[int]
    ) -> Float[Tensor, "n classes"]:
        """log p(class | photo under mask)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Engine:
    """A way to get a classifier's features: `forward` takes a block of pixels in [0, 1] to features without the 1 of the bias."""

    name: str
    classifier: Classifier
    forward: Callable[[Tensor], Tensor]
    block: int = BLOCK

    @torch.no_grad()
    def features(self, pixels: Float[Tensor, "images 3 height width"]) -> Float[Tensor, "images cols"]:
        """As the classifier's own, with the 1 of the bias."""
        if not len(pixels):
            return pixels.new_empty(0, self.classifier.head.shape[1])
        found = torch.cat([self._block(part) for part in pixels.split(self.block)])
        return torch.cat([found, found.new_ones(len(found), 1)], 1)

    def log_weights(
        self, photo: MaskedPhoto, masks: Float[Tensor, "n height width"], classes: Sequence[int]
    ) -> Float[Tensor, "n classes"]:
        """log p(class | photo under mask), a block of masked photos in memory at a time."""
        parts = [self.features(photo.under(part)) for part in masks.split(self.block)]
        return self.classifier.logits(torch.cat(parts)).log_softmax(-1)[:, list(classes)]

    def _block(self, pixels: Tensor) -> Tensor:
        count = len(pixels)
        if count < self.block:
            pixels = torch.cat([pixels, pixels.new_zeros(self.block - count, *pixels.shape[1:])])
        return self.forward(pixels)[:count].float()


@dataclass(frozen=True, slots=True, eq=False)
class Screened:
    """A rough engine for all masks, and a true one for those that weigh: their log weights replace the rough ones.

    Weights are so uneven that those that matter are few. The rest keep their rough weights, shifted by the mean difference of the
    two engines where both were asked.

    off  the standard deviation by which rough log weights are off
    """

    rough: Weigher
    true: "Engine | Screened"
    off: float

    @property
    def name(self) -> str:
        return self.rough.name

    def log_weights(
        self, photo: MaskedPhoto, masks: Float[Tensor, "n height width"], classes: Sequence[int]
    ) -> Float[Tensor, "n classes"]:
        """log p(class | photo under mask)."""
        found = self.rough.log_weights(photo, masks, classes)
        weighs = _that_weigh(found, TRUSTED / self.off**2).any(1)
        truer = self.true.log_weights(photo, masks[weighs], classes)
        found = found + (truer - found[weighs]).mean(0)
        found[weighs] = truer
        return found


def unscreened(weigher: Engine | Screened) -> Engine:
    """The engine itself, or of a screened one the fp32 that stands behind all."""
    return unscreened(weigher.true) if isinstance(weigher, Screened) else weigher


def _that_weigh(log_weights: Float[Tensor, "n classes"], share: float) -> Bool[Tensor, "n classes"]:
    """The greatest weights of each class, down to where those below hold no more than this share of Σ w²."""
    squares = (2 * (log_weights - log_weights.amax(0)).double()).exp()
    ordered, order = squares.sort(0)
    trusted = ordered.cumsum(0) <= share * squares.sum(0)
    return torch.zeros_like(trusted).scatter(0, order, ~trusted)


def engine_names() -> dict[str, tuple[Precision, ...]]:
    """The engines that are installed, with the precisions that this processor runs at more than fp32's speed."""
    names: dict[str, tuple[Precision, ...]] = {"torch": ("fp32",)}
    if torch.cuda.is_available():
        names["torch"] = ("bf16", "fp32")
    if find_spec("openvino") is not None:
        import openvino  # noqa: PLC0415 — an extra

        able = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        fast: list[Precision] = [name for name, word in (("bf16", "BF16"), ("int8", "INT8")) if word in able]  # type: ignore[misc]
        if find_spec("nncf") is None:
            fast = [precision for precision in fast if precision != "int8"]
        names["openvino"] = (*fast, "fp32")
    return names


def make_engine(classifier: Classifier, engine: str = "torch", precision: str = "fp32") -> Engine | Screened:
    """The engine of this name and precision; bf16 and int8 are screened, because alone their maps are not true."""
    makers: dict[tuple[str, str], Callable[[], Engine | Screened]] = {
        ("torch", "fp32"): lambda: torch_engine(classifier, "fp32"),
        ("torch", "bf16"): lambda: Screened(
            torch_engine(classifier, "bf16"), torch_engine(classifier, "fp32", FEW), OFF["bf16"]
        ),
        ("openvino", "fp32"): lambda: _openvino(classifier, "fp32"),
        ("openvino", "bf16"): lambda: _screened(classifier, "bf16"),
        ("openvino", "int8"): lambda: _screened(classifier, "int8"),
    }
    if (engine, precision) not in makers:
        known = ", ".join(" ".join(key) for key in makers)
        raise BadClassifier(f"engine: found {engine} {precision}, expected one of {known}.")
    return makers[engine, precision]()


def fastest_of(precision: str) -> str:
    """The engine for a precision that was asked for: OpenVINO where it is installed, and for int8."""
    return "openvino" if precision == "int8" or find_spec("openvino") is not None else "torch"


def plain_engine(classifier: Classifier) -> Engine:
    """The classifier as it is, which the others are judged by."""
    return Engine("plain", classifier, lambda pixels: classifier.backbone(classifier.normalised(pixels)))


class FromPixels(nn.Module):
    """Normalisation and backbone as one network, so that an engine can fuse them."""

    shift: Tensor
    scale: Tensor

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self.backbone = copy.deepcopy(classifier.backbone)
        self.register_buffer("shift", torch.tensor(classifier.mean)[:, None, None])
        self.register_buffer("scale", torch.tensor(classifier.std)[:, None, None])

    def forward(self, pixels: Tensor) -> Tensor:
        """Pixels in [0, 1] to features."""
        features: Tensor = self.backbone((pixels - self.shift) / self.scale)
        return features


def torch_engine(classifier: Classifier, precision: Literal["fp32", "bf16"] = "fp32", block: int = BLOCK) -> Engine:
    """Channels last, batch norms folded into their convolutions where the network can be traced, on the GPU if there is one."""
    network = FromPixels(classifier).eval()
    # A network whose control flow depends on data cannot be traced, and runs as it is. A warning is no reason not to.
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.fx.experimental.optimization import fuse  # noqa: PLC0415 — half a second

        network.backbone = fuse(network.backbone)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = network.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it

    def forward(pixels: Tensor) -> Tensor:
        block = pixels.to(device, memory_format=torch.channels_last)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            return network(block).float().cpu()

    return Engine(f"torch-{precision}", classifier, forward, block)


def _screened(classifier: Classifier, precision: Precision) -> Screened:
    """fp32 stands behind bf16; behind int8 stands bf16, so screened, where the processor has it."""
    true: Engine | Screened = _openvino(classifier, "fp32", FEW)
    if precision == "int8" and "bf16" in engine_names()["openvino"]:
        true = Screened(_openvino(classifier, "bf16", FEW), true, OFF["bf16"])
    return Screened(_openvino(classifier, precision), true, OFF[precision])


def _openvino(classifier: Classifier, precision: Precision, block: int = BLOCK) -> Engine:
    if find_spec("openvino") is None or (precision == "int8" and find_spec("nncf") is None):
        raise BadClassifier("engine: OpenVINO is not installed. Install it with pip install 'bayesteach[openvino]'.")
    from bayesteach.vision.openvino_graph import graph_forward  # noqa: PLC0415 — an extra

    network = FromPixels(classifier).eval()
    forward = graph_forward(network, classifier.digest(), classifier.geometry.size, precision, block)
    return Engine(f"openvino-{precision}", classifier, forward, block)
