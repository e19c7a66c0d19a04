"""Saliency by other methods than ours, to be set against it: Grad-CAM and occlusion, both captum's.

An attribution is a function (classifier, pixels, class) -> one number a pixel, in the method's own unit. Users bring their own.
"""

from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType

import torch
from jaxtyping import Float
from torch import Tensor, nn

from bayesteach.errors import BadClassifier, BadSettings
from bayesteach.vision.classifier import Classifier

Attribution = Callable[[Classifier, Float[Tensor, "3 height width"], int], Float[Tensor, "height width"]]

# The square that occlusion hides has an eighth of the image's side, and moves by half of its own: 225 passes a map.
_SQUARES = 8
_AT_ONCE = 32


def grad_cam(
    classifier: Classifier, pixels: Float[Tensor, "3 height width"], label: int
) -> Float[Tensor, "height width"]:
    """Grad-CAM (Selvaraju et al. 2017): the last feature maps weighed by the logit's mean gradient, where that is above 0."""
    attr = _captum()
    network = _Logits(classifier)
    layer = _last_places(network, pixels)
    seen = pixels[None].clone().requires_grad_(True)
    coarse = attr.LayerGradCam(network, layer).attribute(seen, target=label, relu_attributions=True)
    return attr.LayerAttribution.interpolate(coarse, tuple(pixels.shape[1:]), "bilinear")[0, 0].detach()


def occlusion(
    classifier: Classifier, pixels: Float[Tensor, "3 height width"], label: int
) -> Float[Tensor, "height width"]:
    """Occlusion (Zeiler & Fergus 2014): how far the class's probability falls when a square of the mean colour hides a pixel."""
    attr = _captum()
    side = max(2, round(max(pixels.shape[1:]) / _SQUARES))
    grey = torch.tensor(classifier.mean)[None, :, None, None].expand(1, *pixels.shape)
    found = attr.Occlusion(classifier.probabilities).attribute(
        pixels[None],
        sliding_window_shapes=(3, side, side),
        strides=(3, side // 2, side // 2),
        baselines=grey,
        target=label,
        perturbations_per_eval=_AT_ONCE,
    )
    # captum gives every channel the same: they are hidden together.
    return found[0, 0].float()


class _Logits(nn.Module):
    """Pixels in [0, 1] to logits, as one network that gradients go through."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self.classifier = classifier
        self.backbone = classifier.backbone

    def forward(self, pixels: Tensor) -> Tensor:
        features = self.backbone(self.classifier.normalised(pixels))
        return nn.functional.linear(features, self.classifier.head[:, :-1], self.classifier.head[:, -1])


def _last_places(network: _Logits, pixels: Tensor) -> nn.Module:
    """The last layer whose output still has places: (images, channels, height, width)."""
    last: list[tuple[int, nn.Module]] = []

    def look(module: nn.Module, _given: object, output: object) -> None:
        if isinstance(output, Tensor):
            last.append((output.ndim if output.ndim != 4 or min(output.shape[2:]) > 1 else 0, module))

    hooks = [module.register_forward_hook(look) for module in network.backbone.modules()]
    try:
        with torch.no_grad():
            network(pixels[None])
    finally:
        for hook in hooks:
            hook.remove()
    places = [k for k, (dimensions, _) in enumerate(last) if dimensions == 4]
    if not places or any(dimensions == 3 for dimensions, _ in last[places[-1] :]):
        raise BadClassifier(
            f"grad_cam: {network.classifier.name} does not end in feature maps with places, as convolutional networks do. "
            "Use occlusion, which asks nothing of a network."
        )
    return last[places[-1]][1]


def _captum() -> ModuleType:
    if not installed():
        raise BadSettings(MISSING)
    from captum import attr  # noqa: PLC0415 — an extra

    return attr


def installed() -> bool:
    """Whether captum is there."""
    return find_spec("captum") is not None


MISSING = "study.arms: grad_cam and occlusion need captum. Install it with pip install 'bayesteach[captum]'."
