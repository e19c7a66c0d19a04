"""Photo, expected mask, Grad-CAM and occlusion of a study's first trials: python examples/explainers.py STUDY OUT.png."""

import sys
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from bayesteach.artifacts import MapOf, SaliencyMaps
from bayesteach.explain.attributions import grad_cam, occlusion
from bayesteach.pipeline import BY_NAME, Run
from bayesteach.settings import read_settings
from bayesteach.stages.attributed import on_one_scale
from bayesteach.store.workspace import Workspace
from bayesteach.vision.overlay import tinted

TRIALS, SIDE = 12, 100
METHODS = {"grad_cam": grad_cam, "occlusion": occlusion}


def main(study: Path, to: Path) -> None:
    workspace = Workspace(study)
    loaded: list[Any] = [workspace.load(name, BY_NAME[name].output) for name in ("design", "collect", "highlight")]
    trials, collected, maps = loaded
    classifier = Run(workspace, read_settings(study)).context().classifier()
    asked = [trial for trial in trials.trials if (trial.probe, trial.target, "expected_mask") in maps.places][:TRIALS]
    photos = [collected.entries[trial.probe].photo(study) for trial in asked]
    of = [MapOf(t.probe, t.target, name, torch.nan, 0.0, None) for t in asked for name in METHODS]
    found = torch.stack(
        [
            attribute(classifier, classifier.pixels(photo), t.target)
            for t, photo in zip(asked, photos, strict=True)
            for attribute in METHODS.values()
        ]
    )
    others = on_one_scale(SaliencyMaps(tuple(of), found, torch.zeros_like(found)), frozenset(METHODS))
    sheet = Image.new("RGB", (SIDE * len(asked), SIDE * (2 + len(METHODS))), "white")
    for column, (trial, photo) in enumerate(zip(asked, photos, strict=True)):
        crop = classifier.geometry.crop(photo).convert("RGB")
        box = (0.0, 0.0, float(crop.width), float(crop.height))
        shown = [(maps, "expected_mask"), *((others, name) for name in METHODS)]
        rows = [crop]
        for source, name in shown:
            place = source.places[trial.probe, trial.target, name]
            rows.append(tinted(crop, box, source.departures[place], source.doubts[place]))
        for row, picture in enumerate(rows):
            sheet.paste(picture.resize((SIDE, SIDE), Image.Resampling.LANCZOS), (SIDE * column, SIDE * row))
    sheet.quantize(256).save(to, optimize=True)
    print(f"{to}: {len(asked)} trials")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
