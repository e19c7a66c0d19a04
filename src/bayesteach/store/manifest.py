"""What says that an artifact's folder is whole, and what it was made from."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from bayesteach.errors import BadStudy

ARTIFACTS, FILE = "artifacts", "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Written last into an artifact's folder.

    key      the digest of the stage, its version, its settings and its inputs: all that it depends on
    inputs   by stage, the digest of the artifact that went in
    settings what of study.toml it was made from
    files    the digest of every file
    """

    stage: str
    version: int
    key: str
    inputs: Mapping[str, str]
    settings: Mapping[str, Any]
    summary: str
    seconds: float
    versions: Mapping[str, str]
    files: Mapping[str, str]

    @property
    def digest(self) -> str:
        """What is in the artifact, however it was made."""
        return sha256(json.dumps(dict(self.files), sort_keys=True).encode()).hexdigest()[:32]


def artifact_folder(study: Path, stage: str) -> Path:
    """Where a study keeps the artifact of a stage."""
    return study / ARTIFACTS / stage


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """The last file of an artifact."""
    (folder / FILE).write_text(json.dumps(asdict(manifest), indent=1, sort_keys=True, default=str) + "\n", "utf-8")


def read_manifest(folder: Path, stage: str) -> Manifest | None:
    """The manifest of an artifact; None if there is no folder. A folder that is not this stage's artifact is refused."""
    if not folder.exists():
        return None
    try:
        manifest = Manifest(**json.loads((folder / FILE).read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise BadStudy(
            _wrong(folder, stage, f"has no readable {FILE}, so it is not an artifact of bayesteach")
        ) from error
    if manifest.stage != stage:
        raise BadStudy(_wrong(folder, stage, f"is the artifact of the stage {manifest.stage!r}"))
    return manifest


def check_files(folder: Path, manifest: Manifest) -> None:
    """Every file is there, and what it was."""
    found = file_digests(folder)
    for name in sorted(set(found) ^ set(manifest.files)):
        where = "is missing" if name in manifest.files else "does not belong to it"
        raise BadStudy(_wrong(folder, manifest.stage, f"is corrupted: {name} {where}"))
    for name, digest in manifest.files.items():
        if found[name] != digest:
            raise BadStudy(_wrong(folder, manifest.stage, f"is corrupted: {name} has changed since it was written"))


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder but the manifest."""
    digests = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).as_posix() != FILE:
            with path.open("rb") as file:
                digests[path.relative_to(folder).as_posix()] = file_digest(file, "sha256").hexdigest()
    return digests


def _wrong(folder: Path, stage: str, what: str) -> str:
    return f"{folder} {what}. Remake it with bayesteach run --remake {stage}, or put the right folder back."
