"""The stages of a study in their order, and a run: whatever is missing or stale is made, and nothing else."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, get_type_hints

from bayesteach.artifacts import Measures
from bayesteach.errors import BadSettings
from bayesteach.settings import Settings
from bayesteach.stages.arms import check_arms, own_digests
from bayesteach.stages.collect import collect
from bayesteach.stages.compose import compose
from bayesteach.stages.context import Context, Watch, model_digest, unwatched
from bayesteach.stages.crew import ALONE, Crew
from bayesteach.stages.design import design
from bayesteach.stages.embed import embed
from bayesteach.stages.fit import fit
from bayesteach.stages.highlight import highlight
from bayesteach.stages.measure import measure
from bayesteach.stages.own_tables import EXCLUDE, LESSONS, TRIALS
from bayesteach.stages.teach import teach
from bayesteach.store.manifest import Manifest, check_files
from bayesteach.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a study.

    version   raised when the function comes to answer differently
    inputs    the stages whose artifacts it takes, in the order of its parameters
    settings  what of study.toml it depends on: sections, or single fields
    tables    files of the researcher's in the study's folder that it reads, if they are there
    model     whether the classifier's weights, and engine whether the engine, enter its result
    """

    name: str
    version: int
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    settings: tuple[str, ...]
    tables: tuple[str, ...] = ()
    model: bool = True
    engine: bool = False

    @property
    def output(self) -> type:
        """What it makes."""
        kind: type = get_type_hints(self.function)["return"]
        return kind


STAGES = (
    Stage("collect", 1, collect, (), ("source", "collect"), model=False),
    Stage(
        "embed",
        2,
        embed,
        ("collect",),
        ("fit.train", "fit.held_out", "design.standard", "design.adversarial", "design.mined", "design.pool"),
        engine=True,
    ),
    Stage("fit", 1, fit, ("collect", "embed"), ("seed", "fit"), engine=True),
    Stage("design", 1, design, ("collect", "embed"), ("seed", "design", "teach.each"), (TRIALS,)),
    Stage(
        "teach",
        1,
        teach,
        ("collect", "embed", "fit", "design"),
        ("seed", "teach", "study.arms"),
        (LESSONS,),
        engine=True,
    ),
    Stage("highlight", 2, highlight, ("collect", "design", "teach"), ("seed", "highlight", "study.arms"), engine=True),
    Stage(
        "compose",
        2,
        compose,
        ("collect", "design", "teach", "highlight"),
        ("seed", "compose", "study.arms", "highlight.masks", "highlight.tolerance"),
        (EXCLUDE,),
    ),
)
BY_NAME = {stage.name: stage for stage in STAGES}


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a stage in a run, or is known of it: `fresh` if it was there already, and why it was or is to be made."""

    stage: Stage
    folder: Path
    manifest: Manifest | None
    fresh: bool
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A study's folder, what it is told, and the means to work with."""

    workspace: Workspace
    settings: Settings
    watch: Watch = unwatched
    crew: Crew = ALONE

    def make(self, until: str | None = None, remake: tuple[str, ...] = ()) -> Iterator[Made]:
        """Stage by stage what is missing, stale or to be remade, up to one of them; each is told of as it is done."""
        context = self.context()
        check_arms(self.settings, self.workspace.root)
        loaded: dict[str, Any] = {}
        with self.workspace.alone():
            for stage in (named(name) for name in remake):
                self.workspace.forget(stage.name)
            for stage in up_to(until):
                state = self._state(stage, context)
                if not state.fresh:
                    for name in stage.inputs:
                        if name not in loaded:
                            loaded[name] = self.workspace.load(name, BY_NAME[name].output)
                    manifest = self.workspace.save(
                        stage.name,
                        partial(stage.function, self.settings, context, *(loaded[name] for name in stage.inputs)),
                        stage_version=stage.version,
                        key=self._key(stage, context),
                        inputs=self._digests(stage),
                        settings=_chosen(self.settings, stage),
                    )
                    state = replace(state, manifest=manifest)
                yield state

    def status(self) -> Iterator[Made]:
        """What is there; a stage whose inputs are stale is stale."""
        context = self.context()
        stale: set[str] = set()
        for stage in STAGES:
            behind = [name for name in stage.inputs if name in stale]
            state = self._state(stage, context)
            if behind:
                state = replace(state, fresh=False, reason=state.reason or f"{behind[0]} is to be made")
            if not state.fresh:
                stale.add(stage.name)
            yield state

    def measure(self) -> Measures:
        """What a machine can tell of the explanations that are there."""
        names = ("collect", "embed", "fit", "design", "teach", "highlight")
        made: Iterator[Any] = (self.workspace.load(name, BY_NAME[name].output) for name in names)
        with self.workspace.alone():
            return measure(self.settings, self.context(), *made)

    def _state(self, stage: Stage, context: Context) -> Made:
        manifest = self.workspace.manifest(stage.name)
        folder = self.workspace.folder(stage.name)
        if manifest is None:
            return Made(stage, folder, None, fresh=False, reason="not made yet")
        if manifest.version != stage.version:
            return Made(stage, folder, manifest, fresh=False, reason="made by another version of bayesteach")
        changed = [name for name, digest in self._digests(stage).items() if manifest.inputs.get(name) != digest]
        if changed:
            return Made(stage, folder, manifest, fresh=False, reason=f"{', '.join(changed)} changed")
        for name, value in _chosen(self.settings, stage).items():
            if manifest.settings.get(name) != value:
                return Made(stage, folder, manifest, fresh=False, reason=f"the setting {name} changed")
        if manifest.key != self._key(stage, context):
            return Made(
                stage,
                folder,
                manifest,
                fresh=False,
                reason="the model, its engine, an own explainer or the images changed",
            )
        check_files(folder, manifest)
        return Made(stage, folder, manifest, fresh=True, reason="")

    def _key(self, stage: Stage, context: Context) -> str:
        """The digest of all that a stage's artifact depends on."""
        classifier = context.classifier()
        parts = {
            "stage": stage.name,
            "version": stage.version,
            "settings": _chosen(self.settings, stage),
            "inputs": self._digests(stage),
            "labels": classifier.labels,
            "model": model_digest(classifier) if stage.model else None,
            "engine": (self.settings.model.engine, self.settings.model.precision) if stage.engine else None,
            "own": own_digests(self.settings, self.workspace.root) if "study.arms" in stage.settings else None,
            "images": None if stage.inputs else _listed(self.settings, self.workspace.root),
        }
        return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]

    def _digests(self, stage: Stage) -> dict[str, str]:
        """Of the artifacts and tables that go in; a missing one has none."""
        found = {}
        for name in stage.inputs:
            manifest = self.workspace.manifest(name)
            found[name] = manifest.digest if manifest is not None else ""
        for name in stage.tables:
            file = self.workspace.root / name
            found[name] = sha256(file.read_bytes()).hexdigest()[:32] if file.is_file() else ""
        return found

    def context(self) -> Context:
        """What its stages work with."""
        return Context.of(self.settings, self.workspace.root, self.workspace, self.watch, self.crew)


def up_to(name: str | None) -> tuple[Stage, ...]:
    """The stages up to this one, it included; all if none is named."""
    if name is None:
        return STAGES
    return STAGES[: STAGES.index(named(name)) + 1]


def named(name: str) -> Stage:
    """The stage of this name."""
    if name not in BY_NAME:
        raise BadSettings(f"stage: found {name!r}, expected one of {', '.join(BY_NAME)}.")
    return BY_NAME[name]


def _chosen(settings: Settings, stage: Stage) -> dict[str, Any]:
    """The settings that a stage depends on, by name, as JSON would give them back."""
    whole = settings.model_dump(mode="json")
    found = {}
    for name in stage.settings:
        value: Any = whole
        for part in name.split("."):
            value = value[part]
        found[name] = value
    return found


def _listed(settings: Settings, root: Path) -> str:
    """A digest of the names, sizes and times of the files of every source, which tells of changes without reading them."""
    state = sha256()
    for source in settings.source:
        place = source.folder or source.csv
        if place is not None:
            base = root / place
            for name, facts in sorted(_files(base)) if base.is_dir() else [(base.name, _facts(base))]:
                state.update(f"{source.name} {name} {facts}\n".encode())
    return state.hexdigest()


def _files(folder: Path, above: str = "") -> Iterator[tuple[str, str]]:
    """Every file below a folder by its path there, in a quarter of the time that Path.rglob takes: ImageNet has a million."""
    with os.scandir(folder) as inside:
        for item in inside:
            if item.is_dir():
                yield from _files(Path(item.path), f"{above}{item.name}/")
            else:
                yield above + item.name, _facts(item)


def _facts(file: "os.DirEntry[str] | Path") -> str:
    """Its size and time; a link that leads nowhere has none, and `collect` will say so."""
    try:
        state = file.stat()
    except OSError:
        return "absent"
    return f"{state.st_size} {state.st_mtime_ns}"
