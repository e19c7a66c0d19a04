"""Weights from a local file."""

import warnings
from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from bayesteach.errors import BadClassifier

# What training scripts wrap a state dict in.
_WRAPPERS = ("state_dict", "model", "state_dict_ema", "model_state_dict")


def load_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a .safetensors or .pth file by name, in float32; code in a .pth file is never run."""
    if not path.is_file():
        raise BadClassifier(f"checkpoint: there is no file {path}. Check the path.")
    try:
        # torch warns of pickles by other programs, just before it reads or refuses them.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = load_file(path) if path.suffix == ".safetensors" else torch.load(path, "cpu", weights_only=True)
    except (SafetensorError, UnpicklingError, RuntimeError, OSError, ValueError, EOFError, KeyError) as error:
        raise BadClassifier(_unreadable(path, error)) from error
    for wrapper in _WRAPPERS:
        if isinstance(state, dict) and isinstance(state.get(wrapper), dict):
            state = state[wrapper]
            break
    if not (
        isinstance(state, dict) and all(isinstance(n, str) and isinstance(value, Tensor) for n, value in state.items())
    ):
        raise BadClassifier(
            f"checkpoint: {path} holds no state dict of tensors. Save model.state_dict() as .safetensors."
        )
    return {
        name.removeprefix("module."): tensor.float() if tensor.is_floating_point() else tensor
        for name, tensor in state.items()
    }


def _unreadable(path: Path, error: Exception) -> str:
    if isinstance(error, UnpicklingError):
        # torch's own message says how to run the code all the same.
        reason = "it is no file of weights, or holds code, which is not run"
    elif isinstance(error, KeyError):  # torch's unpickler, of a byte that is no instruction
        reason = "it is no file of weights"
    else:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
    return f"checkpoint: {path} cannot be read as weights ({reason}). Save model.state_dict() as .safetensors or .pth."
