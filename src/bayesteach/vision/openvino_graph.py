"""OpenVINO's graph of a classifier's network, in fp32, bf16 or int8, converted once a machine and cached.

int8 wants to see what values the network's layers take: it is shown dead leaves under masks of the prior.
"""

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import openvino
import torch
from torch import Tensor, nn

from bayesteach.errors import BadClassifier
from bayesteach.maths.masks import MaskPrior
from bayesteach.vision.cache import cached
from bayesteach.vision.leaves import dead_leaves

_HINTS = {"fp32": "f32", "bf16": "bf16", "int8": "f32"}
_FILE = "graph.xml"
# Blocks of masked leaves that int8 is fitted to: log probabilities were off as with 8 blocks of masked photos.
_CALIBRATION_BLOCKS = 3
# Convolutions that int8 leaves alone. What they lose, all later layers amplify: with the first two of a ResNet-50 as they are,
# log probabilities are off by 0.27 instead of 0.47, for 3 % of the rate; sparing the next six wins nothing more.
_SPARED = 2


def graph_forward(
    network: nn.Module, digest: str, size: tuple[int, int], precision: str, block: int
) -> Callable[[Tensor], Tensor]:
    """A function from one block of pixels to features.

    Its hint is latency: the throughput hint halves the rate on two cores.
    """
    int8 = precision == "int8"
    key = f"openvino-{openvino.__version__.split('-')[0]}/{digest[:32]}-{block}"
    folder = cached(key, lambda folder: openvino.save_model(_convert(network, size, block), folder / _FILE, False))
    if int8:
        whole = folder / _FILE
        folder = cached(
            f"{key}-int8-{_SPARED}", lambda folder: openvino.save_model(_quantise(whole, size, block), folder / _FILE)
        )
    hints = {
        "INFERENCE_PRECISION_HINT": _HINTS[precision],
        "PERFORMANCE_HINT": "LATENCY",
        # As many as torch takes: several processes on one machine, which share its cores, have been told so.
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
    }
    request = openvino.Core().compile_model(folder / _FILE, "CPU", hints).create_infer_request()

    def forward(pixels: Tensor) -> Tensor:
        (features,) = request.infer([pixels.contiguous().numpy()], share_inputs=True).values()
        return torch.from_numpy(features.copy())

    return forward


def _convert(network: nn.Module, size: tuple[int, int], block: int) -> openvino.Model:
    example = (torch.zeros(block, 3, *size),)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's exporter warns of its own deprecated parts
            # Exported and not traced: a trace follows the branch that its example took, whatever comes later.
            return openvino.convert_model(torch.export.export(network, example))
    except Exception as error:  # whatever either of the two does not know
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
        raise BadClassifier(f"engine: OpenVINO cannot take this network ({reason}). Use the torch engine.") from error


def _quantise(whole: Path, size: tuple[int, int], block: int) -> openvino.Model:
    import nncf  # noqa: PLC0415 — it takes seconds, and only this needs it

    logging.getLogger("nncf").setLevel(logging.ERROR)
    samples = list(_masked_leaves(size, block))
    graph = openvino.Core().read_model(whole)
    convolutions = [op.get_friendly_name() for op in graph.get_ordered_ops() if op.get_type_name() == "Convolution"]
    # It draws its progress on standard output, which is the user's.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return nncf.quantize(
            graph,
            nncf.Dataset(samples),
            preset=nncf.QuantizationPreset.MIXED,
            subset_size=len(samples),
            ignored_scope=nncf.IgnoredScope(names=convolutions[:_SPARED]),
        )


def _masked_leaves(size: tuple[int, int], block: int) -> Iterator[np.ndarray]:
    leaves = dead_leaves(block, size)
    prior, rng = MaskPrior(size, length_scale=max(size) / 10), torch.Generator().manual_seed(0)
    for _ in range(_CALIBRATION_BLOCKS):
        masks = prior.sample(block, rng)
        masks[: block // 8] = 1  # some leaves whole
        yield (masks[:, None] * leaves).numpy()
