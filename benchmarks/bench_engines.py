"""Masked photos a second by engine and precision, end to end, beside the plain network in fp32; and how true the maps are.

End to end is all that `bayesteach explain` does for a mask: it is drawn, multiplied, normalised, seen by the network, weighed and
added up. Every engine gets the same masks of the same photos. Repetitions go round by turns, so that what else the machine does
meets all engines alike, and a ratio is the median over rounds of the ratio within a round.

    python benchmarks/bench_engines.py                        # on a quiet machine: eight minutes on 2 cores
    python benchmarks/bench_engines.py --photos 12 --masks 1024  # maps of more photos: half an hour

Weights and photos are those of ../shared/imagenet where it is. Else the architecture has random weights and the photos are those
of scikit-image, and the results say so: speeds are then the same, and the agreement of maps says little.
"""

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import skimage.data
import torch
from torch import Generator, Tensor

from bayesteach import Classifier, ExpectedMask, MaskPrior, open_photo
from bayesteach.explain.explanation import CHUNK
from bayesteach.maths.samplers import BATCH
from bayesteach.vision.choice import TRUE
from bayesteach.vision.engines import Screened, Weigher, engine_names, make_engine, plain_engine
from bayesteach.vision.masked import MaskedPhoto, mask_prior
from bayesteach.vision.torchvision_import import import_torchvision
from report import IMAGENET, write

TARGET = 6.0
PLAIN = "plain torch fp32"


@dataclass(frozen=True)
class Job:
    """A photo, the class whose map is asked for, and the prior of its masks."""

    photo: MaskedPhoto
    target: int
    prior: MaskPrior


def imagenet(root: Path) -> tuple[Classifier, list[Path]]:
    """A real ResNet-50, and photos of which it gets some right and some wrong."""
    who = Classifier.load("timm:resnet50.tv_in1k", checkpoint=root / "resnet50.safetensors")
    photos = [min(folder.iterdir()) for folder in sorted((root / "val").iterdir())]
    return who, sorted((root / "adversarial").rglob("*.png"))[::4] + photos[::43]


def stand_in() -> tuple[Classifier, list[Path]]:
    """The architecture with random weights, and the photos of scikit-image."""
    import_torchvision()
    import timm  # noqa: PLC0415 — after torchvision

    torch.manual_seed(0)
    names = ("chelsea.png", "astronaut.png", "coffee.png", "rocket.jpg", "motorcycle_left.png")
    folder = Path(skimage.data.__file__).parent
    model = timm.create_model("resnet50", num_classes=1000)
    return Classifier.from_module(model, head="fc"), [folder / name for name in names if (folder / name).exists()]


def end_to_end(weigher: Weigher, job: Job, masks: int) -> tuple[float, Tensor]:
    """Seconds, and the map, by the steps and sizes of `explain`."""
    start = time.perf_counter()
    estimate = ExpectedMask(1, job.prior.shape)
    for chunk in job.prior.stream(masks, Generator().manual_seed(0), CHUNK):
        log_weights = weigher.log_weights(job.photo, chunk, [job.target])
        for some, weights in zip(chunk.split(BATCH), log_weights.split(BATCH), strict=True):
            estimate.add(some, weights)
    found = estimate.map.flatten()
    return time.perf_counter() - start, found


def rates(weighers: dict[str, Weigher], jobs: list[Job], masks: int, rounds: int) -> dict[str, list[float]]:
    """Masked photos a second, by turns: all engines on one photo, then all on the next; those that screen on most masks."""
    found: dict[str, list[float]] = {name: [] for name in weighers}
    for turn in range(rounds):
        for name, weigher in weighers.items():
            # What a screen asks again depends on how many masks it looks among; the others' rates do not.
            count = masks if isinstance(weigher, Screened) else masks // 4
            took, _ = end_to_end(weigher, jobs[turn % len(jobs)], count)
            found[name].append(count / took)
            print(f"round {turn + 1}: {name:16} {found[name][-1]:7.1f} masked photos a second", flush=True)
    return found


def agreements(weighers: dict[str, Weigher], jobs: list[Job], masks: int) -> dict[str, list[float]]:
    """The correlation of each engine's map of each photo with the plain network's, on the same masks."""
    found: dict[str, list[float]] = {name: [] for name in weighers if name != PLAIN}
    for job in jobs:
        _, own = end_to_end(weighers[PLAIN], job, masks)
        for name, correlations in found.items():
            _, its = end_to_end(weighers[name], job, masks)
            correlations.append(float(torch.corrcoef(torch.stack([own, its]))[0, 1]))
        print("maps: " + ", ".join(f"{name} {its[-1]:.5f}" for name, its in found.items()), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=int, default=6)
    parser.add_argument("--masks", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=6)
    asked = parser.parse_args()

    who, files = imagenet(IMAGENET) if IMAGENET.is_dir() else stand_in()
    jobs = []
    for file in files[: asked.photos]:
        pixels = who.pixels(open_photo(file))
        jobs.append(Job(MaskedPhoto.of(pixels, who), int(who.probabilities(pixels[None])[0].argmax()), mask_prior(who)))
    weighers: dict[str, Weigher] = {PLAIN: plain_engine(who)}
    weighers |= {f"{e} {p}": make_engine(who, e, p) for e, precisions in engine_names().items() for p in precisions}
    for weigher in weighers.values():
        end_to_end(weigher, jobs[0], BATCH)

    before = os.getloadavg()[0]
    speed = rates(weighers, jobs, asked.masks, asked.rounds)
    truth = agreements(weighers, jobs, asked.masks)
    results: dict[str, object] = {
        "network": "ResNet-50, "
        + ("ImageNet weights" if IMAGENET.is_dir() else "RANDOM weights: agreement of maps says little"),
        "photos, masks, rounds": f"{len(jobs)}, {asked.masks}, {asked.rounds}",
        "load of the machine before, and at the end": f"{before:.1f}, {os.getloadavg()[0]:.1f}",
        f"{PLAIN}: masked photos a second": median(speed[PLAIN]),
    }
    ratios = {name: [own / plain for own, plain in zip(speed[name], speed[PLAIN], strict=True)] for name in truth}
    for name, correlations in truth.items():
        results |= {
            f"{name}: masked photos a second": median(speed[name]),
            f"{name}: ratio to plain": median(ratios[name]),
            f"{name}: ratio to plain, least and most of the rounds": f"{min(ratios[name]):.2f} to {max(ratios[name]):.2f}",
            f"{name}: correlation of maps, least and median": f"{min(correlations):.5f}, {median(correlations):.5f}",
        }
    ratio, best = max((median(ratios[name]), name) for name, found in truth.items() if min(found) >= TRUE)
    results["fastest engine whose maps are all true"] = best
    results[f"target: {TARGET:.0f} × plain, maps at {TRUE}"] = (
        f"{'reached' if ratio >= TARGET else 'MISSED'}: {ratio:.2f} ×"
    )
    write("engines", results)


if __name__ == "__main__":
    main()
