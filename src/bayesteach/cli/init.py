"""`bayesteach init`."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bayesteach.cli.console import err, loading, out, progress

# Mask passes of a study of 90 trials with 256 masks for a probe and four examples: what an engine is chosen for.
_PASSES = 90 * 5 * 256


def init(  # noqa: PLR0913, PLR0917 — one parameter an option
    study: Annotated[Path, typer.Argument(help="The folder of the new study.", metavar="STUDY")],
    recipe: Annotated[
        Literal["shortcuts", "imagefolder", "imagenet"],
        typer.Option(help="The embedded world; your own folders of images; or ImageNet with ImageNet-A."),
    ] = "shortcuts",
    train: Annotated[Path | None, typer.Option(help="Training images, TRAIN/CLASS/*.jpg.")] = None,
    val: Annotated[Path | None, typer.Option(help="Images for standard trials, VAL/CLASS/*.jpg.")] = None,
    adversarial: Annotated[
        Path | None, typer.Option(help="Adversarial images; without, confident errors are mined from VAL.")
    ] = None,
    model: Annotated[str, typer.Option(help="timm:MODEL or efficientnet-lite0.")] = "timm:resnet50.tv_in1k",
    checkpoint: Annotated[Path | None, typer.Option(help="Local weights, .safetensors or .pth.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Class names: a text file, one a line, or a CSV.")] = None,
    preset: Annotated[Literal["default", "paper"], typer.Option(help="Whose numbers hold.")] = "default",
    seed: Annotated[int, typer.Option(help="The one seed of the study.")] = 0,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting, as teach.candidates=500; repeatable.", metavar="KEY=VALUE"),
    ] = None,
) -> None:
    """Begin a study: a folder with a commented study.toml.

    The fastest engine on this machine whose maps stay true is found
    and written down.
    """
    from bayesteach import recipes  # noqa: PLC0415 — torch takes a second
    from bayesteach.errors import BadStudy  # noqa: PLC0415
    from bayesteach.settings import STUDY_FILE  # noqa: PLC0415
    from bayesteach.vision.choice import choose_engine  # noqa: PLC0415
    from bayesteach.vision.classifier import Classifier  # noqa: PLC0415

    if (study / STUDY_FILE).exists():
        raise BadStudy(f"{study / STUDY_FILE} is there already. Edit it, or begin in another folder.")
    if recipe == "shortcuts":
        with progress() as bar:
            said = recipes.shortcuts(study, seed, lambda jobs: bar.track(jobs, description="drawing images"))
    else:
        if train is None or val is None:
            raise typer.BadParameter(f"the recipe {recipe} needs --train and --val, folders with one folder a class.")
        if recipe == "imagenet" and adversarial is None:
            raise typer.BadParameter("the recipe imagenet needs --adversarial, the folder imagenet-a.")
        told: dict[str, Any] = {"name": model, "checkpoint": checkpoint and str(checkpoint.absolute())}
        told |= {"labels": labels and str(labels.absolute())}
        said = recipes.folders({key: value for key, value in told.items() if value}, train, val, adversarial)
        said |= {"seed": seed} | (recipes.IMAGENET if recipe == "imagenet" else {})
    if preset != "default":
        said["preset"] = preset
    name, files = said["model"]["name"], {key: said["model"].get(key) for key in ("checkpoint", "labels")}
    with loading(name):
        classifier = Classifier.load(name, **files)
    with err.status("Trying the engines of this machine"):
        engine, precision = choose_engine(classifier, _PASSES)
    said["model"] |= {"engine": engine, "precision": precision}
    file = recipes.write_study(study, said, change or ())
    out.print(f"{file}: {name}, engine {engine} {precision}. Next: bayesteach run {study}", soft_wrap=True)
