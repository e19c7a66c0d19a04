"""`bayesteach explain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from bayesteach.cli.console import err, loading, out, progress

if TYPE_CHECKING:
    from rich.console import Console

    from bayesteach.explain.many import Outcome


def explain(  # noqa: PLR0913, PLR0917 — one parameter an option
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="A photo, or a folder of photos.")],
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="timm:MODEL, efficientnet-lite0 or embedded.")
    ] = "timm:resnet50.tv_in1k",
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Local weights, .safetensors or .pth.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Class names: a text file, one a line, or a CSV.")
    ] = None,
    geometry: Annotated[
        Literal["model", "squash"],
        typer.Option(
            metavar="CROP", help="model, its own, or squash, the whole photo pressed to its size (the paper's)."
        ),
    ] = "model",
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS",
            help="The class to explain, a label or an index. Several, each with its --target, cost no more.",
            show_default="the answer",
        ),
    ] = None,
    alternative: Annotated[
        str | None, typer.Option(metavar="CLASS", help="A class more, set against the target.")
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="T",
            help="Stop when the standard error is this part of the map's spread, which 128, 256, … masks tell.",
        ),
    ] = 0.3,
    max_masks: Annotated[int, typer.Option(metavar="N", help="Stop after so many masks at the latest.", min=2)] = 1024,
    masks: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Weigh exactly so many, whatever the error.", min=2, show_default="by tolerance"
        ),
    ] = None,
    sampler: Annotated[
        Literal["learned", "prior"],
        typer.Option(
            metavar="SAMPLER",
            help="learned, a smooth estimate from few masks, or prior, the average of many (the paper, with --masks 1000).",
        ),
    ] = "learned",
    baseline: Annotated[
        Literal["black", "mean"], typer.Option(help="What masked pixels fade to: black, or the mean colour.")
    ] = "black",
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same masks.", min=0)] = 0,
    engine: Annotated[
        Literal["auto", "torch", "openvino"],
        typer.Option(metavar="ENGINE", help="torch, openvino, or auto: the fastest whose maps are true."),
    ] = "auto",
    precision: Annotated[
        Literal["fp32", "bf16", "int8"] | None,
        typer.Option(
            metavar="PREC", help="fp32, bf16 or int8; the last two fp32 screens.", show_default="the engine's"
        ),
    ] = None,
    faithfulness: Annotated[  # noqa: FBT002
        bool, typer.Option("--faithfulness", help="Insertion and deletion curves too (RISE's protocol).")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="Where to write.", metavar="DIR", show_default="explained/NAME"),
    ] = None,
) -> None:
    """Show which parts of a photo would teach the classifier's answer.

    Writes saliency.npy (the expected mask), saliency_error.npy, overlay.png and explanation.json.

    With a folder, every photo in it gets a folder of its own, and what is finished is not done again.
    """
    from bayesteach.explain.many import Request, explain_photos, places  # noqa: PLC0415 — torch and timm take seconds

    photos = places(image, to)
    most, wanted = (masks, None) if masks is not None else (max_masks, tolerance)
    from bayesteach.vision.choice import choose_engine  # noqa: PLC0415
    from bayesteach.vision.classifier import Classifier  # noqa: PLC0415
    from bayesteach.vision.engines import fastest_of, make_engine  # noqa: PLC0415

    with loading(model):
        classifier = Classifier.load(model, checkpoint=checkpoint, labels=labels, geometry=geometry)
    targets = tuple(classifier.labels[classifier.index(name)] for name in target or ())
    against = None if alternative is None else classifier.labels[classifier.index(alternative)]
    with err.status(f"Making an engine for {most * len(photos):,} passes"):
        named = engine != "auto" or precision is not None
        if named:
            precision = precision or "fp32"
            weigher = make_engine(classifier, fastest_of(precision) if engine == "auto" else engine, precision)
        else:
            weigher = make_engine(classifier, *choose_engine(classifier, most * len(photos)))
    out.print(f"{escape(classifier.name)}, engine {weigher.name}", soft_wrap=True)
    request = Request(
        targets, against, most, sampler, wanted, baseline, seed, weigher.name if named else "auto", faithfulness
    )
    outcomes = []
    with progress() as bar:
        task = bar.add_task("masks", total=most * len(photos))
        for outcome in explain_photos(classifier, weigher, photos, request, lambda n: bar.advance(task, n)):
            _tell(outcome, bar.console)
            outcomes.append(outcome.kind)
    if len(outcomes) > 1:
        out.print(", ".join(f"{outcomes.count(kind)} {kind}" for kind in ("explained", "kept", "unreadable")))
    if outcomes.count("unreadable") == len(outcomes):
        raise typer.Exit(2)


def _tell(outcome: "Outcome", console: "Console") -> None:
    """What a user wants to know of one photo at once: the answer, where to look, and what not to believe."""
    if outcome.unreadable is not None:
        console.print(f"[bold red]Unreadable[/] {escape(outcome.unreadable)}", soft_wrap=True)
    elif outcome.explanation is None:
        console.print(f"{escape(outcome.photo.name)}: kept → {escape(str(outcome.place))}", soft_wrap=True)
    else:
        found = outcome.explanation
        best = int(found.probabilities.argmax())
        answer = f"{found.classifier.labels[best]}, p = {float(found.probabilities[best]):.2f}"
        console.print(f"{escape(outcome.photo.name)}: {escape(answer)} → {escape(str(outcome.place))}", soft_wrap=True)
        for warning in found.warnings:
            console.print(f"  [yellow]{escape(warning)}[/]", soft_wrap=not console.is_terminal)
