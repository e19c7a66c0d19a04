"""What `bayesteach plan` says of a study beside what it then takes, planned from 1/8, 1/4, 1/2 and all of its images.

Of the stages that are counted: collect, embed, fit and highlight. The plan of a part is scaled up, as a user would with --images.
"""

import sys
import tempfile
from pathlib import Path

from bayesteach.pipeline import Made, Run
from bayesteach.scale.plan import enlarged, listed, plan, sample, scope
from bayesteach.scale.rates import PHOTOS, measure_rates
from bayesteach.settings import Settings
from bayesteach.stages.context import Context, OneRun
from bayesteach.store.workspace import Workspace
from report import write

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests import small_study

EACH = {"train": 320, "val": 320, "adversarial": 80}
COUNTED = ("collect", "embed", "fit", "highlight")


def main() -> None:
    settings = small_study.settings(highlight={"masks": 200})
    whole = sum(EACH.values()) * len(small_study.CLASSES)
    results: dict[str, object] = {"images": whole}
    plans: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for part in (8, 4, 2, 1):
            folder = Path(scratch) / f"part-{part}"
            small_study.write_study(folder, {name: count // part for name, count in EACH.items()})
            plans[part] = planned(folder, settings, whole)
            until = "highlight" if part == 1 else "fit"
            took = {made.stage.name: seconds(made) for made in Run(Workspace(folder), settings).make(until)}
            if part > 1:
                scaled = sum(part * took[name] for name in COUNTED[:3])
                results[f"1/{part}: collect, embed and fit as they ran, scaled up, seconds"] = scaled
    truth = sum(took[name] for name in COUNTED)
    results |= {f"the whole took, {name}, seconds": took[name] for name in COUNTED}
    for part, plan_of in plans.items():
        results |= {f"1/{part}: plan, {name}, seconds": plan_of[name] for name in COUNTED}
        results[f"1/{part}: plan over truth"] = sum(plan_of.values()) / truth
    write("plan", results)


def seconds(made: Made) -> float:
    """What a stage took."""
    return made.manifest.seconds if made.manifest is not None else 0.0


def planned(folder: Path, settings: Settings, images: int) -> dict[str, float]:
    """Seconds of each stage that is counted, for so many images, from this folder's."""
    places = listed(settings, folder)
    counts = enlarged({name: len(some) for name, some in places.items()}, images)
    wanted, context = scope(settings, counts), Context.of(settings, folder, OneRun())
    photos = sample(places, PHOTOS, folder)
    rates = measure_rates(settings, context, photos, list(wanted.pictures), by_engine=wanted.by_engine)
    shape = context.classifier().head.shape
    found = plan(settings, wanted, rates, (shape[0], shape[1]), context.classifier().geometry.size)
    return {name: sum(step.seconds for step in found.steps if step.stage == name) for name in COUNTED}


if __name__ == "__main__":
    main()
