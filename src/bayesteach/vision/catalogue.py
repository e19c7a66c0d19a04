"""The classifiers that have a name: timm's, a small ImageNet network from a package, and the one of the drawn world."""

import logging
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from bayesteach.errors import BadClassifier
from bayesteach.vision import efficientnet
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.geometry import Geometry
from bayesteach.vision.labels import imagenet_aliases, imagenet_labels
from bayesteach.vision.shortcuts.embedded import NAME, embedded
from bayesteach.vision.torchvision_import import import_torchvision
from bayesteach.vision.weights import load_weights


def load(name: str, *, checkpoint: Path | None) -> Classifier:
    """The classifier of this name, with its own preprocessing and labels."""
    if name.startswith("timm:"):
        return _timm(name, name.removeprefix("timm:"), load_weights(checkpoint) if checkpoint else None, checkpoint)
    if name == "efficientnet-lite0":
        file = checkpoint or efficientnet.packaged_weights()
        weights = efficientnet.in_timms_names(load_weights(file))
        return replace(
            _timm(name, efficientnet.ARCHITECTURE, weights, file), mean=efficientnet.MEAN, std=efficientnet.STD
        )
    if name == NAME:
        return embedded(checkpoint)
    raise BadClassifier(
        f"model: found {name!r}, expected timm:MODEL (such as timm:resnet50.tv_in1k), efficientnet-lite0 or embedded. "
        "For a torch module of your own use Classifier.from_module."
    )


def _timm(name: str, model_name: str, weights: dict[str, Tensor] | None, checkpoint: Path | None) -> Classifier:
    import_torchvision()
    import timm  # noqa: PLC0415 — after torchvision; and it takes a second
    from timm.data import resolve_data_config  # noqa: PLC0415

    architecture = model_name.partition(".")[0]
    if not timm.is_model(architecture):
        near = get_close_matches(architecture, timm.list_models(), 5)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        raise BadClassifier(f"model: timm has no model {model_name!r}.{hint} timm.list_models() lists them all.")
    try:
        head: Any = timm.get_pretrained_cfg(model_name).classifier
    except RuntimeError as error:
        near = timm.list_models(f"{architecture}.*", pretrained=True)[:5]
        raise BadClassifier(
            f"model: timm has no weights {model_name!r}. It has {', '.join(near) or 'none'}."
        ) from error
    if not isinstance(head, str):
        raise BadClassifier(f"model: {model_name} has heads {head}, expected one linear head. Use another model.")
    bias = f"{head}.bias"
    if weights is None:
        model = _downloaded(timm, model_name)
    else:
        model = timm.create_model(model_name, **({"num_classes": len(weights[bias])} if bias in weights else {}))
        _fill(model, weights, checkpoint, model_name)
    data = resolve_data_config({}, model=model)
    classifier = Classifier.from_module(
        model, head=head, preprocess=_geometry(data), mean=data["mean"], std=data["std"], name=name
    )
    if model.num_classes != 1000:
        return classifier
    return replace(classifier, labels=imagenet_labels(), aliases=imagenet_aliases())


def _fill(model: nn.Module, weights: dict[str, Tensor], checkpoint: Path | None, model_name: str) -> None:
    # How many batches a batch norm has seen plays no part in evaluation, and old checkpoints do not have it.
    expected = {name for name in model.state_dict() if not name.endswith("num_batches_tracked")}
    found = {name for name in weights if not name.endswith("num_batches_tracked")}
    if expected != found:
        missing, extra = sorted(expected - found), sorted(found - expected)
        raise BadClassifier(
            f"checkpoint: {checkpoint} does not fit {model_name}: {len(missing)} tensors missing ({', '.join(missing[:3])}), "
            f"{len(extra)} not known ({', '.join(extra[:3])}). Name the architecture that the weights belong to."
        )
    try:
        model.load_state_dict(weights, strict=False)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise BadClassifier(f"checkpoint: {checkpoint} does not fit {model_name}: {reason}") from error


def _downloaded(timm: Any, model_name: str) -> nn.Module:
    hub = logging.getLogger("huggingface_hub")
    level = hub.level
    hub.setLevel(logging.ERROR)  # it tells of each of its attempts; what came of them is told once, below
    try:
        model: nn.Module = timm.create_model(model_name, pretrained=True)
    except Exception as error:  # whatever a hub, a proxy or a socket can raise
        root: BaseException = error
        while root.__cause__ is not None:
            root = root.__cause__
        reason = (str(root).splitlines() or [type(root).__name__])[0][:160]
        raise BadClassifier(
            f"model: the weights of {model_name} could not be fetched ({reason}). Download them where there is a network, and "
            "pass the file: --checkpoint FILE, or checkpoint=FILE in Python (.safetensors or .pth)."
        ) from error
    finally:
        hub.setLevel(level)
    return model


def _geometry(data: dict[str, Any]) -> Geometry:
    _, height, width = data["input_size"]
    if data["crop_mode"] == "squash":
        return Geometry((height, width), None, data["interpolation"])
    return Geometry((height, width), int(max(height, width) / data["crop_pct"]), data["interpolation"])
