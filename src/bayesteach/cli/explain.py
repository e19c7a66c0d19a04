"""`bayesteach explain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from bayesteach.cli.console import loading, out, progress

if TYPE_CHECKING:
    from bayesteach.explain.many import Outcome


def explain(  # noqa: PLR0913, PLR0917 — one parameter an option
    image: Annotated[Path, typer.Argument(help="A photo, or a folder of photos.")],
    model: Annotated[str, typer.Option(help="timm:MODEL, efficientnet-lite0 or embedded.")] = "timm:resnet50.tv_in1k",
    checkpoint: Annotated[Path | None, typer.Option(help="Local weights, .safetensors or .pth.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Class names: a text file, one a line, or a CSV.")] = None,
    geometry: Annotated[
        Literal["model", "squash"], typer.Option(help="The model's own crop, or the whole photo squashed (the paper).")
    ] = "model",
    target: Annotated[
        str | None, typer.Option(help="The class to explain, a label or an index. [default: the answer]")
    ] = None,
    alternative: Annotated[str | None, typer.Option(help="A second class, set against the first.")] = None,
    masks: Annotated[int, typer.Option(help="How many masks to weigh.", min=2)] = 1000,
    baseline: Annotated[
        Literal["black", "mean"], typer.Option(help="What masked pixels fade to: black, or the mean colour.")
    ] = "black",
    seed: Annotated[int, typer.Option(help="The same seed gives the same masks.")] = 0,
    engine: Annotated[
        Literal["auto", "torch", "openvino"],
        typer.Option(help="Who runs the passes; auto is the fastest that is true."),
    ] = "auto",
    precision: Annotated[
        Literal["fp32", "bf16", "int8"], typer.Option(help="For a named engine; int8 is screened by fp32.")
    ] = "fp32",
    faithfulness: Annotated[  # noqa: FBT002
        bool, typer.Option("--faithfulness", help="Insertion and deletion curves too (RISE's protocol).")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="Where to write. [default: explained/NAME]", metavar="DIR"),
    ] = None,
) -> None:
    """Show which parts of a photo would teach the classifier's answer.

    Writes saliency.npy (the expected mask), saliency_error.npy,
    overlay.png and explanation.json.

    With a folder, every photo in it gets a folder of its own, and
    what is finished is not done again.
    """
    from bayesteach.explain.many import Request, explain_photos, places  # noqa: PLC0415 — torch and timm take seconds
    from bayesteach.vision.choice import choose_engine  # noqa: PLC0415
    from bayesteach.vision.classifier import Classifier  # noqa: PLC0415
    from bayesteach.vision.engines import make_engine  # noqa: PLC0415

    if alternative is not None and target is None:
        raise typer.BadParameter("--alternative needs --target: the class that it is set against.")
    photos = places(image, to)
    with loading(model):
        classifier = Classifier.load(model, checkpoint=checkpoint, labels=labels, geometry=geometry)
        targets = tuple(classifier.labels[classifier.index(name)] for name in (target, alternative) if name is not None)
        name = (engine, precision) if engine != "auto" else choose_engine(classifier, masks * len(photos))
        weigher = make_engine(classifier, *name)
    out.print(f"{classifier.name}, engine {weigher.name}")
    request = Request(classifier.digest(), targets, masks, baseline, seed, weigher.name, faithfulness)
    outcomes = []
    with progress() as bar:
        task = bar.add_task("masks", total=masks * len(photos))
        for outcome in explain_photos(classifier, weigher, photos, request, lambda n: bar.advance(task, n)):
            _tell(outcome, bar.console)
            outcomes.append(outcome.kind)
    if outcomes.count("unreadable") == len(outcomes):
        raise typer.Exit(2)
    if len(outcomes) > 1:
        out.print(", ".join(f"{outcomes.count(kind)} {kind}" for kind in ("explained", "kept", "unreadable")))


def _tell(outcome: "Outcome", console: Console) -> None:
    """What a user wants to know of one photo at once: the answer, where to look, and what not to believe."""
    if outcome.unreadable is not None:
        console.print(f"[red]unreadable[/] {escape(outcome.unreadable)}", soft_wrap=True)
    elif outcome.explanation is None:
        console.print(f"kept {escape(str(outcome.place))}", soft_wrap=True)
    else:
        found = outcome.explanation
        best = int(found.probabilities.argmax())
        answer = f"{found.classifier.labels[best]}, p = {float(found.probabilities[best]):.2f}"
        console.print(f"{escape(outcome.photo.name)}: {escape(answer)} → {escape(str(outcome.place))}", soft_wrap=True)
        for warning in found.warnings:
            console.print(f"  [yellow]{escape(warning)}[/]")
