"""What a study can be told: frozen settings, one model a stage, read from study.toml; and the presets "default" and "paper"."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bayesteach.errors import BadSettings

STUDY_FILE = "study.toml"


class Section(BaseModel):
    """Settings that cannot change, and of which none may be misspelt."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Model(Section):
    """The classifier that is explained, and who runs its passes."""

    name: str = "timm:resnet50.tv_in1k"
    """timm:MODEL, efficientnet-lite0 or embedded (paper: ResNet-50, torchvision's weights, §1)."""
    checkpoint: Path | None = None
    """Local weights, .safetensors or .pth."""
    labels: Path | None = None
    """Class names: a text file, one a line, or a CSV."""
    geometry: Literal["model", "squash"] = "model"
    """The model's own crop, or the whole photo squashed to its size (paper: squash, §7)."""
    engine: Literal["torch", "openvino"] = "torch"
    """Who runs the mask passes and the sums over training images; answers to probes are always fp32 torch."""
    precision: Literal["fp32", "bf16", "int8"] = "fp32"
    """fp32, bf16 screened by fp32, or int8 screened by both."""


class Source(Section):
    """Some labelled images: a folder ROOT/CLASS/*.jpg, a CSV with columns path and label, or a Hugging Face dataset."""

    name: str = Field(min_length=1)
    """How other settings call it."""
    folder: Path | None = None
    """ROOT/CLASS/*.jpg, with the names of classes, or their WordNet numbers."""
    csv: Path | None = None
    """A table with columns path and label."""
    dataset: str | None = None
    """A Hugging Face dataset, or a folder that save_to_disk wrote."""
    split: str = "train"
    """The dataset's own name for its part."""

    @model_validator(mode="after")
    def _one_place(self) -> "Source":
        if sum(place is not None for place in (self.folder, self.csv, self.dataset)) != 1:
            raise ValueError("expected one of folder, csv and dataset")
        return self


class Collect(Section):
    """Which images there are."""

    near_copies: int = Field(3, ge=-1, le=16)
    """Bits of 64 in which perceptual hashes of near-copies may differ, before pixels are compared; -1 looks for none."""
    strict: bool = False
    """Stop at the first image that cannot be read."""


class Fit(Section):
    """The posterior of the classifier's head (§2), and the learner that is taught in its place."""

    train: tuple[str, ...] = ("train",)
    """Sources that the sums run over."""
    held_out: tuple[str, ...] = ("val",)
    """Sources that shrinkage and temperature are chosen on (one half) and the Bayesian head is judged on (the other)."""
    images: int | None = Field(None, gt=0)
    """N, how many images the head was trained on; those of the sums if not said (paper: 1281167, §2)."""
    prior_precision: float = Field(1.0, ge=0)
    """τ, the precision of a weight before any image; at 0, classes without images vary without bound (paper: 0, §2)."""
    shrinkage: float | Literal["auto"] = "auto"
    """How far U is shrunk to its diagonal, 0 to 1; auto chooses by held-out log loss (paper: 0, §2)."""
    draws: int = Field(100, gt=0)
    """Draws of the head for its predictions (paper: 100, §2)."""
    refit: bool = False
    """Bring the head to its mode first (paper: true, §2)."""
    refit_views: int = Field(0, ge=0)
    """Epochs of the refit in which every training image is seen in a fresh random crop and flip (paper: 100 epochs, §2)."""
    weight_decay: float = Field(1e-4, gt=0)
    """L2 on the refitted head, per image."""
    dimensions: int = Field(256, gt=0)
    """Directions that the discriminant learner knows."""


class Design(Section):
    """Which trials there are (§6)."""

    categories: int = Field(30, gt=0)
    """Ground-truth categories, spanning the classifier's accuracy (paper: 30, §6)."""
    standard: tuple[str, ...] = ("val",)
    """Sources of standard trials; accuracy and confusions are counted on them (paper: ImageNet val, §6)."""
    adversarial: tuple[str, ...] = ()
    """Sources of adversarial trials (paper: ImageNet-A, §6)."""
    mined: tuple[str, ...] = ()
    """Sources whose confident errors serve as adversarial too, and then as nothing else."""
    mined_confidence: float = Field(0.5, ge=0, le=1)
    """The least probability of a wrong answer that counts as confident."""
    pool: tuple[str, ...] = ("train",)
    """Sources of examples; no probe is among them, nor a near-copy of one (paper: the training set, §4)."""
    pool_filter: Literal["none", "answered_as_labelled"] = "none"
    """Whether examples must be images that the classifier gets right."""
    practice: int = Field(2, ge=0)
    """Practice trials, from categories that the study does not use."""
    attention: int = Field(3, ge=0)
    """Attention trials, likewise: sure hits beside the class least like them."""


class Teach(Section):
    """The lesson of every trial (§3, §4)."""

    learner: Literal["discriminant", "logistic"] = "discriminant"
    """Who is taught: one who meets both classes for the first time, or one who knows the head (paper: logistic, §3)."""
    knowledge: float = Field(1.0, ge=0)
    """How much of the head the logistic learner knows; 0 is a novice (paper: 1, §3)."""
    prior_strength: float = Field(1.0, gt=0)
    """How much the logistic learner's prior weighs, as a factor on N (paper: 1, §3)."""
    search: Literal["exchange", "first_past", "best_of", "from_teacher"] = "exchange"
    """How a lesson is found (paper: first_past, §4)."""
    candidates: int = Field(200, gt=0)
    """Random lessons to begin with (paper: 200, §4)."""
    restarts: int = Field(4, gt=0)
    """How many of them exchange improves."""
    threshold: float = Field(0.8, ge=0, le=1)
    """A lesson after which the learner gives the target less is refused, and its trial dropped (paper: 0.8, §4)."""
    each: int = Field(2, gt=0)
    """Examples of each class (paper: 2, §4)."""
    views: int = Field(0, ge=0)
    """Random crops and flips of every example that the learner sees (paper: 128, §3)."""
    rescored: int = Field(20, gt=0)
    """How many of the best lessons without views are taught again with them."""
    every_view_counts: bool = False
    """Each view is an example of its own; else an example counts once and its views share it."""


class Highlight(Section):
    """Saliency maps (§5)."""

    masks: int = Field(1000, ge=2)
    """Masks a map, the same for all; with a tolerance, at most (paper: 1000, §5)."""
    sampler: Literal["prior", "learned"] = "prior"
    """The average of masks, or a smooth, biased estimate that needs fewer, 2048 at most (paper: prior, §5)."""
    tolerance: float | None = Field(None, gt=0, lt=1)
    """Stop a map whose standard error is this part of its spread, which is looked at after 128, 256, 512, … masks."""
    baseline: Literal["black", "mean"] = "black"
    """What masked pixels fade to (paper: black, §5)."""


class Compose(Section):
    """What participants see."""

    size: int | None = Field(None, gt=0)
    """The side of every picture in pixels; a whole multiple of the network's that reaches 224 if not said."""


class Arm(Section):
    """A condition: which explanations it shows, and what that means to the analysis."""

    name: str = Field(min_length=1, pattern=r"^[a-z][a-z0-9_]*$")
    """control, saliency, …"""
    probe: str | None = None
    """The explainer whose map lies over the probe; with examples, over each of them too."""
    examples: str | None = None
    """The explainer that chooses the examples."""
    factors: Mapping[str, str | int] = Field(default_factory=dict)
    """The arm's level in each factor of the design."""


def _two_by_two() -> tuple[Arm, ...]:
    maps, lessons = "expected_mask", "lesson"
    return (
        Arm(name="control", factors={"saliency": 0, "examples": 0}),
        Arm(name="saliency", probe=maps, factors={"saliency": 1, "examples": 0}),
        Arm(name="examples", examples=lessons, factors={"saliency": 0, "examples": 1}),
        Arm(name="both", probe=maps, examples=lessons, factors={"saliency": 1, "examples": 1}),
    )


class Study(Section):
    """Who is shown what (§7)."""

    trials_per_person: int | None = Field(None, gt=0)
    """How many of the trials each person sees; all if not said (paper: all 89, §7)."""
    participants: int | None = Field(None, gt=0)
    """How many people are to finish; then the study is full. No limit if not said (paper: 160, §7)."""
    lease_minutes: float = Field(30.0, gt=0)
    """After how long a silence a person's place may go to another; the person may finish all the same."""
    break_every: int = Field(25, ge=0)
    """Trials between breaks; 0 for none."""
    arms: tuple[Arm, ...] = Field(default_factory=_two_by_two, min_length=1)
    """The conditions (paper: saliency yes/no × examples yes/no, §7)."""

    @model_validator(mode="after")
    def _arms_agree(self) -> "Study":
        names = [arm.name for arm in self.arms]
        if len(set(names)) < len(names):
            raise ValueError(f"arms: two arms have one name among {', '.join(names)}")
        if len({tuple(sorted(arm.factors)) for arm in self.arms}) > 1:
            raise ValueError("arms: every arm needs a level for the same factors")
        return self


class Settings(Section):
    """All of them."""

    seed: int = 0
    """The one seed of a run."""
    preset: Literal["default", "paper"] = "default"
    """paper: every number of Folke et al. 2021, where this file does not say otherwise."""
    model: Model = Model()
    source: tuple[Source, ...] = ()
    """Where the images are, each source a table of its own."""
    collect: Collect = Collect()
    fit: Fit = Fit()
    design: Design = Design()
    teach: Teach = Teach()
    highlight: Highlight = Highlight()
    compose: Compose = Compose()
    study: Study = Study()

    @model_validator(mode="after")
    def _sources_are_known(self) -> "Settings":
        names = [source.name for source in self.source]
        if len(set(names)) < len(names):
            raise ValueError(f"source: two sources have one name among {', '.join(names)}")
        fit, design = self.fit, self.design
        roles = {
            "fit.train": fit.train,
            "fit.held_out": fit.held_out,
            "design.standard": design.standard,
            "design.adversarial": design.adversarial,
            "design.mined": design.mined,
            "design.pool": design.pool,
        }
        for role, wanted in roles.items():
            for name in wanted if names else ():
                if name not in names:
                    raise ValueError(f"{role}: there is no source {name!r}, only {', '.join(names)}")
        return self


# What the paper fixes, where the default does something else. docs/paper.md says why.
PAPER: Mapping[str, Any] = {
    "model": {"geometry": "squash"},
    "fit": {"images": 1_281_167, "prior_precision": 0.0, "shrinkage": 0.0, "refit": True, "refit_views": 100},
    "teach": {"learner": "logistic", "search": "first_past", "views": 128},
    "design": {"practice": 0, "attention": 0},
    "study": {"participants": 160},
}
PRESETS: Mapping[str, Mapping[str, Any]] = {"default": {}, "paper": PAPER}


def read_settings(study: Path, overrides: Iterable[str] = (), preset: str | None = None) -> Settings:
    """study.toml over its preset, with `section.key=value` overrides on top."""
    file = study / STUDY_FILE
    if not file.is_file():
        raise BadSettings(f"study: there is no {file}. Make one with bayesteach init {study} --recipe shortcuts.")
    try:
        written = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadSettings(f"{file}: {error}. Mend the line, or start anew with bayesteach init.") from error
    for text in overrides:
        override(written, text)
    if preset is not None:
        written["preset"] = preset
    return validated(written, str(file))


def validated(said: Mapping[str, Any], where: str) -> Settings:
    """Settings from what is said, over its preset; `where` it was said, for the error."""
    preset = str(said.get("preset", "default"))
    if preset not in PRESETS:
        raise BadSettings(f"{where}: found preset {preset!r}, expected one of {', '.join(PRESETS)}.")
    try:
        return Settings.model_validate(_merged(PRESETS[preset], said))
    except ValidationError as error:
        raise BadSettings(f"{where}: {_first(error)}") from error


def override(settings: dict[str, Any], text: str) -> None:
    """Put `section.key=value` into settings; a value that is no TOML is a word."""
    key, equals, written = text.partition("=")
    if not equals or not key.strip():
        raise BadSettings(f"--set: found {text!r}, expected section.key=value, such as teach.candidates=500.")
    try:
        value = tomllib.loads(f"value = {written}")["value"]
    except tomllib.TOMLDecodeError:
        value = written.strip()  # a word needs no quotes on the command line
    *sections, name = key.strip().split(".")
    for section in sections:
        inner = settings.setdefault(section, {})
        if not isinstance(inner, dict):
            raise BadSettings(f"--set: {section!r} in {key!r} is not a section. `bayesteach init` writes them all.")
        settings = inner
    settings[name] = value


def departures(made_from: Mapping[str, Any]) -> Iterator[str]:
    """Of settings as a manifest keeps them, by section or by name, those that are not the default, as `section.key = value`."""
    default = Settings().model_dump(mode="json")
    for name, value in made_from.items():
        usual: Any = default
        for part in name.split("."):
            usual = usual[part]
        inner = [(f"{name}.{key}", v, usual[key]) for key, v in value.items()] if isinstance(value, Mapping) else []
        for key, found, expected in inner or [(name, value, usual)]:
            if found != expected:
                yield f"{key} = {_plain(found)}"


def _plain(value: Any) -> str:
    """Tables by their names; all else as JSON, which TOML reads too."""
    named = isinstance(value, list) and value and all(isinstance(row, Mapping) and "name" in row for row in value)
    return ", ".join(row["name"] for row in value) if named else json.dumps(value, ensure_ascii=False)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        known = merged.get(key)
        merged[key] = _merged(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return merged


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, in our words."""
    wrong = error.errors()[0]
    where = ".".join(str(part) for part in wrong["loc"])
    if wrong["type"] == "extra_forbidden":
        return f"there is no setting {where}. Check its spelling; `bayesteach init` writes them all."
    found = f"found {wrong['input']!r}; " if wrong["type"] != "value_error" else ""
    reason = wrong["msg"].removeprefix("Value error, ")
    return f"{where + ': ' if where else ''}{found}{reason[0].lower()}{reason[1:]}."
