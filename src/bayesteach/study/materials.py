"""What a study is made of: its stimuli, its texts and its settings, and the digests that lock them at launch."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from bayesteach.artifacts import Hidden, Shown, Stimuli
from bayesteach.errors import BadStudy
from bayesteach.settings import Settings, read_settings
from bayesteach.store.manifest import artifact_folder, check_files, read_manifest
from bayesteach.store.stimuli import read_stimuli
from bayesteach.study.texts import Texts, read_texts

STAGE = "compose"


@dataclass(frozen=True, slots=True, eq=False)
class Materials:
    """All that people can be shown, with `digests` of every file that it comes from."""

    root: Path
    settings: Settings
    stimuli: Stimuli
    texts: Texts
    shown: Mapping[str, Shown]
    hidden: Mapping[str, Hidden]
    digests: Mapping[str, str]

    @property
    def digest(self) -> str:
        """One digest of all."""
        lines = "".join(f"{name} {digest}\n" for name, digest in sorted(self.digests.items()))
        return sha256(lines.encode()).hexdigest()

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the conditions."""
        return tuple(arm.name for arm in self.stimuli.arms)

    def of_kind(self, kind: str) -> list[Shown]:
        """The trials of a kind: trial, practice or attention."""
        return [shown for shown in self.stimuli.shown if shown.kind == kind]


def read_materials(study: Path) -> Materials:
    """The materials in a study's folder, whole and of one piece."""
    settings = read_settings(study)
    folder = artifact_folder(study, STAGE)
    manifest = read_manifest(folder, STAGE)
    if manifest is None:
        raise BadStudy(f"study: {study} has no stimuli yet. Make them with bayesteach run {study}.")
    check_files(folder, manifest)
    stimuli = read_stimuli(folder / "stimuli")
    told, made = [arm.name for arm in settings.study.arms], [arm.name for arm in stimuli.arms]
    if told != made:
        raise BadStudy(
            f"study: study.toml has the arms {', '.join(told)}, the stimuli {', '.join(made)}. "
            f"Make them anew with bayesteach run {study}."
        )
    texts = read_texts(study, settings.study.arms)
    digests = dict(texts.digests)
    made_of = {name: digest for name, digest in manifest.files.items() if name.startswith("stimuli/")}
    digests |= {f"artifacts/{STAGE}/{name}": digest for name, digest in made_of.items()}
    # The target number and the lease may change while a study runs: they change nothing that people see.
    told_to_people = settings.study.model_dump_json(include={"trials_per_person", "arms", "break_every"})
    digests["study.toml [study]"] = sha256(told_to_people.encode()).hexdigest()
    trials = [shown for shown in stimuli.shown if shown.kind == "trial"]
    each = settings.study.trials_per_person
    if not trials or (each is not None and each > len(trials)):
        raise BadStudy(
            f"study: there are {len(trials)} trials, and trials_per_person is {each}. Lower it in study.toml, or make "
            "more trials."
        )
    return Materials(
        root=study,
        settings=settings,
        stimuli=stimuli,
        texts=texts,
        shown={row.trial: row for row in stimuli.shown},
        hidden={row.trial: row for row in stimuli.hidden},
        digests=digests,
    )
