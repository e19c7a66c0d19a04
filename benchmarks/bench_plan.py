"""What `bayesteach plan` says of a study beside what it then takes, planned from 1/8, 1/4, 1/2 and all of its images.

Of the stages that are counted: collect, embed, fit and highlight. The plan of a part is scaled up, as a user would with --images.
"""

import sys
import tempfile
from pathlib import Path

from bayesteach.pipeline import Run
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
    settings = small_study.settings(highlight={"masks": 1000})
    whole = sum(EACH.values()) * len(small_study.CLASSES)
    results: dict[str, object] = {"images": whole}
    with tempfile.TemporaryDirectory() as scratch:
        for part in (8, 4, 2, 1):
            folder = Path(scratch) / f"part-{part}"
            small_study.write_study(folder, {name: count // part for name, count in EACH.items()})
            said = planned(folder, settings, whole)
            took = {
                made.stage.name: made.manifest.seconds
                for made in Run(Workspace(folder), settings).make()
                if made.manifest
            }
            if part > 1:
                # All that depends on the number of images, times the part; maps depend on the trials.
                scaled = {name: took[name] * (1 if name == "highlight" else part) for name in COUNTED}
                results[f"1/{part}: a run of it scaled up, seconds"] = scaled
            results[f"1/{part}: plan for the whole, seconds"] = said
            results[f"1/{part}: plan for the whole, sum"] = sum(said.values())
    true = {name: took[name] for name in COUNTED}
    results |= {"the whole took": true, "the whole took, sum": sum(true.values())}
    for part in (8, 4, 2, 1):
        results[f"1/{part}: plan over truth"] = float(str(results[f"1/{part}: plan for the whole, sum"])) / sum(
            true.values()
        )
    write("plan", results)


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
