"""The gallery: every trial with its pictures and numbers on one page, for a researcher to look through and discard from."""

import base64
import io
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from PIL import Image

from bayesteach.artifacts import Hidden, Lessons, Shown, Stimuli, Trials
from bayesteach.settings import Settings
from bayesteach.vision.overlay import CLEAR

# WebP at this quality takes a tenth of the PNGs, and shows the same to the eye.
_QUALITY = 82
_SIDE = 224


@cache
def _environment() -> Environment:
    return Environment(loader=PackageLoader("bayesteach.stages"), autoescape=True, undefined=StrictUndefined)


def gallery(
    settings: Settings,
    stimuli: Stimuli,
    trials: Trials,
    lessons: Lessons,
    discarded: Collection[str],
    labels: Sequence[str],
) -> str:
    """The page, with everything in it."""
    fullest = max(settings.study.arms, key=lambda arm: (arm.probe is not None) + (arm.examples is not None)).name
    rows = [_row(shown, hidden, stimuli, fullest) for shown, hidden in zip(stimuli.shown, stimuli.hidden, strict=True)]
    rows.sort(key=lambda row: (row["kind"] != "trial", row["category"], row["trial_type"]))
    by_trial = {trial.trial: trial for trial in trials.trials}
    return (
        _environment()
        .get_template("gallery.html")
        .render(
            rows=rows,
            types=sorted({row["trial_type"] for row in rows}),
            categories=sorted({row["category"] for row in rows}),
            kinds=sorted({row["kind"] for row in rows}),
            legend=as_address(stimuli.pictures["legend"]),
            refused=[
                (labels[by_trial[r.trial].category], by_trial[r.trial].trial_type, r.trial, r.reason)
                for r in lessons.refused
            ],
            unfilled=[(labels[u.category] if u.category >= 0 else "", u.trial_type, u.reason) for u in trials.unfilled],
            discarded=sorted(discarded),
            masks=settings.highlight.masks,
            at_most=settings.highlight.tolerance is not None,
            verdicts=Counter(row["map_verdict"] for row in rows if row["map_verdict"]),
            clear=CLEAR,
            arms=[(arm.name, arm.probe or "–", arm.examples or "–") for arm in settings.study.arms],
        )
    )


def _row(shown: Shown, hidden: Hidden, stimuli: Stimuli, fullest: str) -> dict[str, object]:
    panel = shown.panels[fullest]
    numbers = hidden.covariates
    return {
        "id": numbers["design_trial"],
        "kind": shown.kind,
        "trial_type": hidden.trial_type,
        "category": hidden.category,
        "target": hidden.target,
        "alternative": hidden.alternative,
        "source": numbers["source"],
        "confidence": numbers["confidence"],
        "prior": numbers.get("prior"),
        "posterior": numbers.get("posterior"),
        "taught": numbers.get("taught"),
        "rank": numbers.get("rank"),
        "candidates": numbers.get("candidates"),
        "effective_samples": numbers.get("effective_samples"),
        "map_noise": numbers.get("map_noise"),
        "map_verdict": numbers.get("map_verdict"),
        "probe": _picture(stimuli.pictures, shown.probe),
        "overlay": _picture(stimuli.pictures, panel.overlay),
        "groups": [
            {
                "heading": group.heading,
                "is_target": group.heading == hidden.target,
                "examples": [
                    (_picture(stimuli.pictures, image), _picture(stimuli.pictures, overlay))
                    for image, overlay in zip(group.images, group.overlays or [None] * len(group.images), strict=True)
                ],
            }
            for group in panel.groups
        ],
    }


def _picture(pictures: Mapping[str, bytes], name: str | None) -> str | None:
    return None if name is None else as_address(pictures[name])


def as_address(png: bytes) -> str:
    """A picture as an address that holds it, small enough for a page of many."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.thumbnail((2 * _SIDE, 2 * _SIDE))
    file = io.BytesIO()
    picture.save(file, "WEBP", quality=_QUALITY)
    return "data:image/webp;base64," + base64.b64encode(file.getvalue()).decode()
