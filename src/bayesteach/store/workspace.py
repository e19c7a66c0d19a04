"""A study's folder: its artifacts, its finished units of work, and the lock of the one run that may write."""

import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout
from safetensors import SafetensorError
from torch import Tensor

from bayesteach.errors import BadStudy
from bayesteach.store import codecs
from bayesteach.store.manifest import (
    ARTIFACTS,
    Manifest,
    artifact_folder,
    check_files,
    file_digests,
    read_manifest,
    write_manifest,
)
from bayesteach.store.tensors import TensorFile, save_tensors

T = TypeVar("T")

_UNITS, _LOCK = "units", ".lock"
_UNFINISHED = ".unfinished-"
_VERSIONS = ("bayesteach", "torch", "timm", "numpy")


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where a study keeps what it makes."""

    root: Path

    @contextmanager
    def alone(self) -> Iterator[None]:
        """The only run in this folder; another is refused. The lock goes with its process, however that ends."""
        if not self.root.is_dir():
            raise BadStudy(f"study: there is no folder {self.root}. Make one with bayesteach init.")
        lock = FileLock(self.root / _LOCK)
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise BadStudy(f"study: another run is at work in {self.root}. Wait for it, or stop it.") from error
        try:
            self._sweep()
            for rest in (self.root / _UNITS).glob(f"*/*/{_UNFINISHED}*"):
                rest.unlink()
            yield
        finally:
            lock.release()

    def folder(self, stage: str) -> Path:
        """Where the artifact of a stage is."""
        return artifact_folder(self.root, stage)

    def manifest(self, stage: str) -> Manifest | None:
        """What its artifact was made from, if there is one."""
        return read_manifest(self.folder(stage), stage)

    def load(self, stage: str, kind: type[T]) -> T:
        """The artifact of a stage, checked file by file."""
        manifest = self.manifest(stage)
        if manifest is None:
            raise BadStudy(f"{self.folder(stage)} is not there. Make it with bayesteach run --until {stage}.")
        check_files(self.folder(stage), manifest)
        return codecs.read(self.folder(stage), kind)

    def save(
        self,
        stage: str,
        make: Callable[[], Any],
        *,
        stage_version: int,
        key: str,
        inputs: Mapping[str, str],
        settings: Mapping[str, Any],
    ) -> Manifest:
        """Make an artifact in a temporary folder, its manifest last, and rename: it is whole or not there."""
        start = time.perf_counter()
        value = make()
        folder = self.folder(stage)
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = folder.with_name(f"{_UNFINISHED}{stage}")
        try:
            codecs.write(unfinished, value)
            manifest = Manifest(
                stage=stage,
                version=stage_version,
                key=key,
                inputs=inputs,
                settings=settings,
                summary=getattr(value, "summary", ""),
                seconds=round(time.perf_counter() - start, 2),
                versions={name: version(name) for name in _VERSIONS},
                files=file_digests(unfinished),
            )
            write_manifest(unfinished, manifest)
            # The old one steps aside first: at no moment is there half of either under the stage's name.
            if folder.exists():
                folder.rename(folder.with_name(f"{_UNFINISHED}old-{stage}"))
            unfinished.rename(folder)
        finally:
            self._sweep()
        return manifest

    def forget(self, stage: str) -> None:
        """Remove a stage's artifact, whatever is there."""
        if self.folder(stage).exists():
            shutil.rmtree(self.folder(stage))

    def recall(self, kind: str, key: str) -> Mapping[str, Tensor] | None:
        """A finished unit of work; one that cannot be read was cut off by the machine, and is made again."""
        file = self._unit(kind, key)
        if not file.is_file():
            return None
        found = TensorFile(file.absolute())
        try:
            len(found)
        except (SafetensorError, OSError):
            return None
        return found

    def keep(self, kind: str, key: str, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Keep a finished unit. Two machines may be at the same one, each under a name of its own, and the last one stays."""
        file = self._unit(kind, key)
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_name(f"{_UNFINISHED}{uuid.uuid4().hex}-{file.name}")
        save_tensors(unfinished, tensors)
        unfinished.rename(file)
        return TensorFile(file.absolute())

    def _unit(self, kind: str, key: str) -> Path:
        return self.root / _UNITS / kind / key[:2] / f"{key}.safetensors"

    def _sweep(self) -> None:
        """Remove what a run that was killed left unfinished."""
        for rest in (self.root / ARTIFACTS).glob(f"{_UNFINISHED}*"):
            shutil.rmtree(rest, ignore_errors=True)
