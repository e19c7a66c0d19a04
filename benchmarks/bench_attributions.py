"""Our maps beside RISE, occlusion and Grad-CAM: time, insertion and deletion, and whether another seed gives the same map.

RISE is its published generator (bench_masks.py) and weighting, Σ Q·m / (n · ½), over the mean colour as its code does. Occlusion
and Grad-CAM are captum's. Photos are those of ../shared/imagenet: 16 of the validation set and all 14 adversarial ones, each for
the network's own answer. A photo that is done is kept, so the command goes on from where it was stopped.

    python benchmarks/bench_attributions.py --photos 30   # half an hour of a quiet machine
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from statistics import mean, median

import numpy as np
import torch
from torch import Generator, Tensor

from bayesteach import Classifier, open_photo
from bayesteach.explain.attributions import grad_cam, occlusion
from bayesteach.explain.faithfulness import faithfulness
from bayesteach.maths.learned import LearnedSampler
from bayesteach.maths.samplers import PriorSampler, Sampler
from bayesteach.vision.engines import Engine, Weigher, unscreened
from bayesteach.vision.masked import MaskedPhoto, mask_prior
from bench_masks import rise
from reference_maps import CHUNK, classifier, engine, tables
from report import IMAGENET, write

MASKS, FEW = 1024, 256
# Pixels enter and leave so many rows' worth at a time.
ROWS = 8
SHOWN = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Masks with the log weights of one class, and the seconds that they took."""

    masks: Tensor
    log_weights: Tensor
    seconds: float


def photos(wanted: int) -> list[Path]:
    """By turns from both."""
    adversarial = sorted((IMAGENET / "adversarial").rglob("*.png"))
    validation = [min(folder.iterdir()) for folder in sorted((IMAGENET / "val").iterdir())[::20]]
    return [photo for photo in chain(*zip_longest(validation, adversarial)) if photo is not None][:wanted]


def weigh(weigher: Weigher, seen: MaskedPhoto, target: int, draw: Callable[[int], Tensor]) -> Weighed:
    start = time.perf_counter()
    masks = torch.cat([draw(CHUNK) for _ in range(MASKS // CHUNK)])
    found = torch.cat([weigher.log_weights(seen, part, [target]) for part in masks.split(CHUNK)])
    return Weighed(masks, found, time.perf_counter() - start)


def judged(who: Classifier, weigher: Weigher, curves: Engine, photo: Path, seed: int) -> dict[str, dict[str, float]]:
    """What each method does on a photo."""
    pixels = who.pixels(open_photo(photo))
    target = int(who.probabilities(pixels[None])[0].argmax())
    prior = mask_prior(who)
    rng = Generator().manual_seed(seed)
    ours = weigh(weigher, MaskedPhoto.of(pixels, who), target, lambda n: prior.sample(n, rng))
    theirs = weigh(weigher, MaskedPhoto.of(pixels, who, "mean"), target, lambda n: rise(n, rng))

    def sampled(kind: type[PriorSampler] | type[LearnedSampler], first: int, count: int) -> Tensor:
        sampler: Sampler = kind(1, prior, seed)
        sampler.learn(ours.masks[first : first + count], ours.log_weights[first : first + count])
        return sampler.found().map[0]

    def rise_map(first: int, count: int) -> Tensor:
        weights = theirs.log_weights[first : first + count, 0].exp()
        return torch.einsum("n,nhw->hw", weights, theirs.masks[first : first + count]) / (count * SHOWN)

    def average(first: int, count: int) -> Tensor:
        return sampled(PriorSampler, first, count)

    def learned(first: int, count: int) -> Tensor:
        return sampled(LearnedSampler, first, count)

    made: dict[str, tuple[Callable[[], Tensor], float]] = {
        f"average, {MASKS} passes": (lambda: average(0, MASKS), ours.seconds),
        f"average, {FEW} passes": (lambda: average(0, FEW), ours.seconds * FEW / MASKS),
        f"learned, {FEW} passes": (lambda: learned(0, FEW), ours.seconds * FEW / MASKS),
        f"RISE, {MASKS} passes": (lambda: rise_map(0, MASKS), theirs.seconds),
        f"RISE, {FEW} passes": (lambda: rise_map(0, FEW), theirs.seconds * FEW / MASKS),
        "occlusion, 225 passes": (lambda: occlusion(who, pixels, target), 0.0),
        "Grad-CAM, one pass back": (lambda: grad_cam(who, pixels, target), 0.0),
        "a mask of the prior, which knows nothing": (lambda: prior.sample(1, rng)[0], 0.0),
    }
    twice = {
        f"average, {FEW} passes": average,
        f"learned, {FEW} passes": learned,
        f"RISE, {FEW} passes": rise_map,
    }
    rows = {}
    for name, (make, before) in made.items():
        start = time.perf_counter()
        found = make()
        seconds = before + time.perf_counter() - start
        areas = faithfulness(curves, pixels, found.float(), target, rows=ROWS).areas
        rows[name] = {"seconds": seconds, **areas}
        if name in twice:
            rows[name]["repeatability"] = correlation(found, twice[name](MASKS // 2, FEW))
    for name, again in ((f"average, {MASKS // 2} passes", average), (f"RISE, {MASKS // 2} passes", rise_map)):
        rows[name] = {"repeatability": correlation(again(0, MASKS // 2), again(MASKS // 2, MASKS // 2))}
    return rows


def correlation(one: Tensor, other: Tensor) -> float:
    return float(np.corrcoef(one.flatten().double(), other.flatten().double())[0, 1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=int, default=30)
    asked = parser.parse_args()
    kept = tables() / "attributions"
    kept.mkdir(exist_ok=True)
    who, weigher = classifier("resnet50"), engine("resnet50")
    # OpenVINO in fp32, where it is there.
    curves = unscreened(weigher)
    found = []
    for place, photo in enumerate(photos(asked.photos)):
        file = kept / f"{photo.stem}.json"
        if not file.exists():
            rows = judged(who, weigher, curves, photo, place)
            file.write_text(json.dumps(rows, indent=1))
            print(place, photo.stem, flush=True)
        found.append(json.loads(file.read_text()))
    write("attributions", {"photos": len(found), "engine": weigher.name, **table(found)})


def table(found: list[dict[str, dict[str, float]]]) -> dict[str, object]:
    """Of each method the medians of time beside the paper's map of the same photo, and means of the rest with standard errors."""
    paper = f"average, {MASKS} passes"
    results: dict[str, object] = {}
    for name in found[0]:
        row: dict[str, object] = {}
        for key in ("insertion", "deletion", "repeatability"):
            values = [rows[name][key] for rows in found if key in rows[name]]
            if values:
                row[key] = round(mean(values), 4)
                row[f"{key}, standard error"] = round(float(np.std(values, ddof=1) / len(values) ** 0.5), 4)
        if "seconds" in found[0][name]:
            row["time beside the paper's"] = round(median(r[name]["seconds"] / r[paper]["seconds"] for r in found), 4)
        results[name] = row
    return results


if __name__ == "__main__":
    main()
