"""Tensors in files: safetensors, mapped into memory where they are read."""

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor


@dataclass(frozen=True, slots=True)
class TensorFile(Mapping[str, Tensor]):
    """The tensors of a file by their names, mapped when asked for: gigabytes of them take no memory, and travel as a path."""

    file: Path

    def __getitem__(self, name: str) -> Tensor:
        with safe_open(self.file, framework="pt") as tensors:
            if name not in tensors.keys():  # noqa: SIM118 — it has names and is no mapping
                raise KeyError(name)
            return tensors.get_tensor(name)

    def __iter__(self) -> Iterator[str]:
        with safe_open(self.file, framework="pt") as tensors:
            return iter(tensors.keys())

    def __len__(self) -> int:
        return sum(1 for _ in self)


def save_tensors(file: Path, tensors: Mapping[str, Tensor]) -> None:
    """Tensors by name; what the disk does not take is said as with any other file."""
    try:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, file)
    except SafetensorError as error:
        raise OSError(errno.EIO, str(error), str(file)) from error


def put(folder: Path, parts: Iterable[Mapping[str, Tensor]]) -> None:
    """Parts, a file each; those that are files already are not kept twice where the disk can give one file two names."""
    folder.mkdir()
    for number, part in enumerate(parts):
        file = folder / f"{number:06}.safetensors"
        if not isinstance(part, TensorFile):
            save_tensors(file, part)
            continue
        try:
            os.link(part.file, file)
        except OSError:
            shutil.copyfile(part.file, file)
