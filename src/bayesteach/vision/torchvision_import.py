"""Import torchvision where its compiled operators do not fit the installed torch, as a CUDA build beside a CPU torch.

timm and torchmetrics import torchvision, and use only its Python parts. Where the operators' library cannot be loaded, the import
fails on the schemas of two operators; declared here, they let it through. Calling one of them still fails, as it must.
"""

import torch

_SCHEMAS = {
    "torchvision::nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "torchvision::qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}


def import_torchvision() -> None:
    """Leave torchvision imported, or raise ImportError if it is not installed."""
    try:
        import torchvision  # noqa: PLC0415 — tried first: a whole installation needs nothing from us
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        for name, schema in _SCHEMAS.items():
            torch.library.define(name, schema)
        import torchvision  # noqa: F401, PLC0415
