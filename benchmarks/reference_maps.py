"""Long references for saliency: log Q of tens of thousands of prior masks, photo by photo, and the expected masks that they give.

A table holds log Q alone, because a mask is a function of its seed. So whatever reuses masks of the prior can be tried again and
again without a pass, and the maps that samplers are judged by do not depend on any of them.

    python benchmarks/reference_maps.py --masks 4096 --long 65536      # an hour and more; stop it and start it again at will
    python benchmarks/reference_maps.py --maps                         # the maps of what is there, into benchmarks/results/

Masks are weighed by the engine that `explain` would use. For each photo there is one scramble of 1,024 Sobol points too.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from PIL import Image
from torch import Generator, Tensor

from bayesteach import Classifier, MaskPrior, open_photo
from bayesteach.vision.cache import cache_root
from bayesteach.vision.engines import Engine, Screened, engine_names, make_engine
from bayesteach.vision.masked import MaskedPhoto
from bayesteach.vision.shortcuts.picture import SIDE
from bayesteach.vision.shortcuts.world import Place, look
from report import IMAGENET

CHUNK = 512
SOBOL = 1024
STEPS = 8192
# Maps are compared at every eighth pixel: of 224, 28 a side.
STEP = 8
RESULT = Path(__file__).parent / "results" / "reference_maps.npz"
# Among the photos that the prototypes were judged by.
LONG = ("hit stingray", "adversarial dragonfly", "error 1")


@dataclass(frozen=True)
class Case:
    """A photo, or a picture of the drawn world, and the class whose map is asked for."""

    name: str
    number: int
    model: str
    source: str
    target: int
    label: str
    probability: float

    @property
    def photo(self) -> Image.Image:
        if self.model == "embedded":
            split, category, number = self.source.split("/")
            return Image.fromarray(look(Place(split, category, int(number))).picture.pixels)  # type: ignore[arg-type]
        return open_photo(IMAGENET / self.source)

    @property
    def prior(self) -> MaskPrior:
        """As `mask_prior` has it, without the classifier, which a table does not need."""
        side = SIDE if self.model == "embedded" else 224
        return MaskPrior(side, side / 10)

    def seen(self) -> MaskedPhoto:
        return MaskedPhoto.of(classifier(self.model).pixels(self.photo), classifier(self.model))

    def latents(self, chunk: int) -> Tensor:
        """What the masks of this chunk are made from, independent of those of all other chunks and photos."""
        rng = Generator().manual_seed(1_000_003 * (self.number + 1) + chunk)
        return torch.randn(CHUNK, *self.prior.latent_size, generator=rng)

    def sobol_masks(self) -> Tensor:
        return self.prior.sample_sobol(SOBOL, self.number)


@cache
def classifier(model: str) -> Classifier:
    if model == "embedded":
        return Classifier.load("embedded")
    return Classifier.load("timm:resnet50.tv_in1k", checkpoint=IMAGENET / "resnet50.safetensors")


@cache
def engine(model: str) -> Engine | Screened:
    """The fastest whose maps are true: int8 for a ResNet-50 (benchmarks/bench_engines.py), and bf16 for the small network."""
    wanted = ("int8", "bf16", "fp32") if model == "resnet50" else ("bf16", "fp32")
    able = engine_names().get("openvino", ())
    found = next((precision for precision in wanted if precision in able), None)
    return make_engine(classifier(model), "openvino", found) if found else make_engine(classifier(model))


def tables() -> Path:
    """Where tables are kept."""
    folder = cache_root() / "reference_maps"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def cases() -> list[Case]:
    """4 hits, 4 natural errors and 4 adversarial photos for a ResNet-50; 3 hits and 3 errors of the drawn world."""
    file = tables() / "cases.json"
    if not file.exists():
        found = [*_photos(), *_drawn()]
        file.write_text(json.dumps([asdict(case) for case in found], indent=1))
    return [Case(**case) for case in json.loads(file.read_text())]


def log_q(case: Case) -> np.ndarray:
    """The table of this case, as long as it is."""
    file = tables() / f"{case.name}.npy"
    return np.load(file) if file.exists() else np.empty(0, np.float32)


def extend(case: Case, masks: int) -> None:
    """Weigh masks until the table holds so many; each chunk is kept as soon as it is there."""
    known = log_q(case)
    seen = case.seen()
    while len(known) < masks:
        chunk = case.prior.masks(case.latents(len(known) // CHUNK))
        new = engine(case.model).log_weights(seen, chunk, [case.target])[:, 0].numpy()
        known = np.concatenate([known, new.astype(np.float32)])
        unfinished = tables() / f".{case.name}.npy"
        np.save(unfinished, known)
        unfinished.replace(tables() / f"{case.name}.npy")
        print(f"{case.name}: {len(known)} masks", flush=True)


def sobol(case: Case) -> np.ndarray:
    """log Q of the masks at the points of one scramble, if they were weighed."""
    file = tables() / f"{case.name}.sobol.npy"
    return np.load(file) if file.exists() else np.empty(0, np.float32)


def weigh_sobol(case: Case) -> None:
    """Weigh the masks at the points of one scramble."""
    if not len(sobol(case)):
        found = engine(case.model).log_weights(case.seen(), case.sobol_masks(), [case.target])[:, 0]
        np.save(tables() / f"{case.name}.sobol.npy", found.numpy().astype(np.float32))
        print(f"{case.name}: {SOBOL} Sobol points", flush=True)


def reference(case: Case) -> tuple[np.ndarray, np.ndarray, float]:
    """The expected mask at every eighth pixel, its standard error, and the effective share of the masks."""
    weights = np.exp(log_q(case).astype(np.float64))
    pixels = np.concatenate([coarse(case.prior, latents).flatten(1).numpy() for latents in _all_latents(case)])
    mean = weights @ pixels / weights.sum()
    error = np.sqrt((weights[:, None] ** 2 * (pixels - mean) ** 2).sum(0)) / weights.sum()
    side = coarse(case.prior, case.latents(0)[:1]).shape[1:]
    return mean.reshape(side), error.reshape(side), float(weights.sum() ** 2 / (weights**2).sum() / len(weights))


def coarse(prior: MaskPrior, latents: Tensor) -> Tensor:
    """The masks' values at every eighth pixel."""
    rows, cols = prior.row_factor[STEP // 2 :: STEP], prior.col_factor[STEP // 2 :: STEP]
    return ((prior.sd * rows) @ latents @ cols.mT).add_(prior.mean).sigmoid_()


def _all_latents(case: Case) -> Iterator[Tensor]:
    for chunk in range(len(log_q(case)) // CHUNK):
        yield case.latents(chunk)


def _photos() -> Iterator[Case]:
    who = classifier("resnet50")
    folders = sorted((IMAGENET / "val").iterdir())
    wnids = {line.split(",")[1]: int(line.split(",")[0]) for line in _classes()}
    adversarial = {
        "dragonfly": "n02268443",
        "digital clock": "n03196217",
        "fox squirrel": "n02356798",
        "bullfrog": "n01498041",
    }

    def case(name: str, file: Path) -> tuple[Case, bool]:
        p = who.probabilities(who.pixels(open_photo(file))[None])[0]
        best = int(p.argmax())
        number = sum(ord(letter) * 31**i for i, letter in enumerate(name)) % 1_000_003
        found = Case(name, number, "resnet50", str(file.relative_to(IMAGENET)), best, who.labels[best], float(p[best]))
        return found, best == wnids[file.parent.name]

    def first(name: str, folder: Path, *, right: bool) -> Case:
        for place in folders[folders.index(folder) :]:
            for file in sorted(place.iterdir()):
                found, is_right = case(name, file)
                if is_right == right:
                    return found
        raise LookupError(name)

    hits = {"hit stingray": IMAGENET / "val" / "n01498041", **{f"hit {k}": folders[k * 85] for k in (1, 2, 3)}}
    for name, folder in hits.items():
        yield first(name, folder, right=True)
    for k in range(4):
        yield first(f"error {k + 1}", folders[40 + 85 * k], right=False)
    for name, wnid in adversarial.items():
        yield case(f"adversarial {name}", min((IMAGENET / "adversarial" / wnid).iterdir()))[0]


def _classes() -> list[str]:
    return (IMAGENET / "labels" / "imagenet_classes.csv").read_text("utf-8").splitlines()[1:]


def _drawn() -> Iterator[Case]:
    who = classifier("embedded")
    splits: tuple[tuple[bool, Literal["standard", "adversarial"]], ...] = ((True, "standard"), (False, "adversarial"))
    for right, split in splits:
        count = 0
        for category in who.labels[:: max(1, len(who.labels) // 8)]:
            source = f"{split}/{category}/0"
            photo = Image.fromarray(look(Place(split, category, 0)).picture.pixels)
            p = who.probabilities(who.pixels(photo)[None])[0]
            best = int(p.argmax())
            if (who.labels[best] == category) == right and count < 3:
                count += 1
                name = f"drawn {'hit' if right else 'error'} {count}"
                yield Case(
                    name, 2_000_000 + 10 * right + count, "embedded", source, best, who.labels[best], float(p[best])
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--masks", type=int, default=4096)
    parser.add_argument("--long", type=int, default=65536)
    parser.add_argument("--model", default=None, choices=("resnet50", "embedded"))
    parser.add_argument("--maps", action="store_true")
    asked = parser.parse_args()
    todo = [case for case in cases() if asked.model in {None, case.model}]
    if asked.maps:
        save_maps(todo)
        return
    # All photos a little before any photo much.
    for case in todo:
        extend(case, asked.masks)
        weigh_sobol(case)
    for length in range(STEPS, asked.long + 1, STEPS):
        for case in todo:
            if case.name in LONG or case.model == "embedded":
                extend(case, length)


def save_maps(todo: list[Case]) -> None:
    """Numbers alone: maps and their standard errors as float16, of each table its length and effective share."""
    arrays, facts = {}, {}
    for case in todo:
        if len(log_q(case)) >= CHUNK:
            mean, error, share = reference(case)
            arrays[f"{case.name} map"], arrays[f"{case.name} error"] = mean.astype(np.float16), error.astype(np.float16)
            rms, spread = float(np.sqrt((error**2).mean())), float(mean.std())
            facts[case.name] = {
                **asdict(case),
                "masks": len(log_q(case)),
                "share": share,
                "spread": spread,
                "error": rms,
            }
            print(f"{case.name:24} {len(log_q(case)):6} masks, share {share:.3%}, spread {spread:.4f}, error {rms:.4f}")
    RESULT.parent.mkdir(exist_ok=True)
    np.savez_compressed(RESULT, **arrays)  # type: ignore[arg-type]  # numpy's stubs take any name for its option
    RESULT.with_suffix(".json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
