"""One photo, explained: the expected masks of some classes, with their errors."""

import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from scipy.stats import norm as normal
from scipy.stats import t as student
from torch import Tensor

from bayesteach.errors import OutOfRange
from bayesteach.maths.learned import MOST, LearnedSampler
from bayesteach.maths.masks import MaskPrior
from bayesteach.maths.samplers import LEAST, LOOKS, NOISE, Found, PriorSampler, Sampler, Verdict
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.engines import Weigher, make_engine
from bayesteach.vision.masked import Baseline, MaskedPhoto, mask_prior
from bayesteach.vision.overlay import CLEAR, tinted
from bayesteach.vision.photos import as_photo, open_photo

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Masks weighed at a time: a screened engine looks for those that matter among so many, in 100 MB at 224 × 224.
CHUNK = 512
SamplerName = Literal["learned", "prior"]
_SAMPLERS: Mapping[SamplerName, Callable[[int, MaskPrior, int], Sampler]] = MappingProxyType(
    {"learned": LearnedSampler, "prior": PriorSampler}
)


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The expected masks of some classes for a photo, with their errors, and what they were made from.

    maps, errors       E[M | photo, class] and its standard error, at the size that the network sees
    effective_samples  how many equally weighted masks those of each class were worth
    noise              the share of each map's variance over its pixels that is error
    verdicts           converged, rough or noise, of each map
    probabilities      the classifier's own answer to the photo, of every class
    prior_mean         the mask that one expects before asking the classifier, the same at every pixel
    sampler            prior, whose map is the average of its masks, or learned, from the logarithms of their weights
    tolerance          the error beside the map's spread at which it was to be finished; without one it had all its masks
    """

    photo: Image.Image
    classifier: Classifier
    targets: tuple[int, ...]
    maps: Float[Tensor, "targets height width"]
    errors: Float[Tensor, "targets height width"]
    effective_samples: Float[Tensor, " targets"]
    noise: tuple[float, ...]
    verdicts: tuple[Verdict, ...]
    probabilities: Float[Tensor, " classes"]
    prior_mean: float
    masks: int
    baseline: Baseline
    seed: int
    engine: str
    seconds: float
    sampler: SamplerName
    tolerance: float | None

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes explained."""
        return tuple(self.classifier.labels[t] for t in self.targets)

    @property
    def warnings(self) -> tuple[str, ...]:
        """In plain words, what one should not believe."""
        said = []
        for label, verdict, noise, worth in zip(
            self.labels, self.verdicts, self.noise, self.effective_samples.tolist(), strict=True
        ):
            of = f"its {self.masks:,} masks are worth {worth:.0f}"
            error = f"error is {min(noise, 1):.0%} of what varies in it"
            if verdict == "noise":
                why = f"{of}, and {error}" if noise > NOISE else f"{of}, too few to trust"
                said.append(f"The map of {label!r} is mostly noise: {why}. {self._more(noise, worth)}")
            elif verdict == "rough":
                said.append(f"The map of {label!r} is rough: {of}, and {error}. Read its large shapes only.")
        return tuple(said)

    def _more(self, noise: float, worth: float) -> str:
        """What would help."""
        if self.sampler == "learned":
            return f"Allow more masks, to {MOST:,}." if self.masks < MOST else "Average many, with the sampler prior."
        return f"About {self._enough(noise, worth):,} masks would show its shapes."

    def _enough(self, noise: float, worth: float) -> int:
        """Error falls as one over the masks: to a third of the map's variance, and to enough effective masks."""
        share = min(noise, 0.9)
        factor = max(share / (1 - share) * 2, LEAST / worth)
        return max(1000, round(self.masks * factor / 1000) * 1000)

    def facts(self, best: int = 5) -> dict[str, object]:
        """All but the arrays, for JSON."""
        top = self.probabilities.argsort(descending=True, stable=True)[:best].tolist()
        return {
            "classifier": self.classifier.name,
            "classifier_digest": self.classifier.digest(),
            "answers": [self._answer(i) for i in top],
            "explained": [
                {
                    **self._answer(target),
                    "effective_samples": round(worth, 2),
                    "error_share": round(noise, 4),
                    "verdict": verdict,
                }
                for target, worth, noise, verdict in zip(
                    self.targets, self.effective_samples.tolist(), self.noise, self.verdicts, strict=True
                )
            ],
            "warnings": list(self.warnings),
            "masks": self.masks,
            "sampler": self.sampler,
            "tolerance": self.tolerance,
            "baseline": self.baseline,
            "seed": self.seed,
            "prior_mean": round(self.prior_mean, 6),
            "engine": self.engine,
            "crop": [round(edge, 1) for edge in self.classifier.geometry.box(*self.photo.size)],
            "photo_size": list(self.photo.size),
            "map_size": list(self.maps.shape[1:]),
            "seconds": round(self.seconds, 2),
            "versions": {name: version(name) for name in ("bayesteach", "torch", "timm")},
        }

    def _answer(self, index: int) -> dict[str, object]:
        return {
            "index": index,
            "label": self.classifier.labels[index],
            "probability": round(float(self.probabilities[index]), 6),
        }

    @property
    def doubt(self) -> Float[Tensor, "targets height width"]:
        """The errors that the pictures go by: not less than those of as many effective masks that know nothing.

        While few masks hold the weight, their own spread says too little: where all of them happen to be dark it is 0. And two
        errors of few masks rule out less than those of many, so they are widened as Student's t is beside the normal. The errors
        of a learned map hold both, unless its verdict is noise.
        """
        ignorant = (self.prior_mean * (1 - self.prior_mean) / self.effective_samples).sqrt()
        freedom = (self.effective_samples - 1).clamp_min(1).numpy()
        wider = torch.from_numpy(student.ppf(normal.cdf(CLEAR), freedom) / CLEAR)
        widened = wider[:, None, None] * self.errors.maximum(ignorant[:, None, None])
        believed = torch.tensor([self.sampler == "learned" and verdict != "noise" for verdict in self.verdicts])
        return torch.where(believed[:, None, None], self.errors, widened)

    def overlay(self, which: int = 0) -> Image.Image:
        """The photo with one map laid over it."""
        return self._tinted(self.maps[which] - self.prior_mean, self.doubt[which])

    def contrast(self) -> Image.Image:
        """The photo with the first map less the second laid over it."""
        # The two share their masks; the sum bounds the error of the difference however they go together.
        return self._tinted(self.maps[0] - self.maps[1], self.doubt[0] + self.doubt[1])

    def _tinted(self, departure: Tensor, error: Tensor) -> Image.Image:
        box = self.classifier.geometry.box(*self.photo.size)
        return tinted(self.photo, box, departure.float(), error.float())

    def plot(self) -> "Figure":
        """Photo, maps and errors, with their scales."""
        from bayesteach.explain.figure import explanation_figure  # noqa: PLC0415 — pyplot takes half a second

        return explanation_figure(self)

    def _repr_png_(self) -> bytes:
        """The picture that a notebook shows."""
        picture = io.BytesIO()
        self.plot().savefig(picture, format="png")
        return picture.getvalue()

    def save(self, folder: Path | str, **facts: object) -> Path:
        """Write saliency.npy, saliency_error.npy, overlay.png, and, with these facts too, explanation.json last.

        With one class the arrays are (height, width), with several (classes, height, width).
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, values in (("saliency", self.maps), ("saliency_error", self.errors)):
            array = values.float().numpy()
            np.save(folder / f"{name}.npy", array[0] if len(self.targets) == 1 else array)
        (folder / "overlay.png").write_bytes(self._repr_png_())
        (folder / "explanation.json").write_text(
            json.dumps({**self.facts(), **facts}, indent=2, ensure_ascii=False) + "\n", "utf-8"
        )
        return folder


def explain(  # noqa: PLR0913 — what is asked, and how; all but three by name
    classifier: Classifier,
    image: Image.Image | Path | str,
    targets: Sequence[str | int] | str | int = (),
    *,
    alternative: str | int | None = None,
    masks: int = 1000,
    sampler: SamplerName = "prior",
    tolerance: float | None = None,
    baseline: Baseline = "black",
    seed: int = 0,
    engine: Weigher | None = None,
    progress: Callable[[int], None] | None = None,
) -> Explanation:
    """The expected mask of each target, all from the same masks; without targets, of the classifier's answer.

    image        a picture, or the file of a photo
    alternative  a class more, to set against the first
    sampler      prior averages masks, as the paper does; learned is a smooth, biased estimate that needs fewer, at most 2,048
    tolerance    finish before all masks once no map's error is above this part of its spread: looked at after 128, 256, 512, …
    progress     told how many masks were weighed, now and then
    """
    _in_range(masks, sampler, tolerance, seed)
    start = time.perf_counter()
    photo = as_photo(image) if isinstance(image, Image.Image) else open_photo(image)
    pixels = classifier.pixels(photo)
    probabilities = classifier.probabilities(pixels[None])[0]
    asked = (targets,) if isinstance(targets, str | int) else tuple(targets)
    asked = asked or (int(probabilities.argmax()),)
    chosen = tuple(dict.fromkeys(classifier.index(t) for t in (*asked, alternative) if t is not None))
    weigher = engine or make_engine(classifier)
    seen = MaskedPhoto.of(pixels, classifier, baseline)
    prior = mask_prior(classifier)
    source = _SAMPLERS[sampler](len(chosen), prior, seed)
    for size in _sizes(masks, tolerance):
        while source.count < size:
            proposed = source.propose(min(CHUNK, size - source.count))
            source.learn(proposed, weigher.log_weights(seen, proposed, chosen))
            if progress is not None:
                progress(len(proposed))
        found = source.found()
        if tolerance is not None and _within(tolerance, found):
            break
    return Explanation(
        photo=photo,
        classifier=classifier,
        targets=chosen,
        maps=found.map,
        errors=found.standard_error,
        effective_samples=found.effective_samples,
        noise=tuple(found.noise.tolist()),
        verdicts=found.verdicts,
        probabilities=probabilities,
        prior_mean=prior.mean_mask,
        masks=source.count,
        baseline=baseline,
        seed=seed,
        engine=weigher.name,
        seconds=time.perf_counter() - start,
        sampler=sampler,
        tolerance=tolerance,
    )


def _sizes(masks: int, tolerance: float | None) -> Iterator[int]:
    """After how many masks the error is looked at: without a tolerance, only after all."""
    if tolerance is not None:
        yield from (size for size in LOOKS if size < masks)
    yield masks


def _within(tolerance: float, found: Found) -> bool:
    """Whether the errors of all maps are small enough beside their spreads, and to be believed."""
    return float(found.noise.max()) <= tolerance**2 and "noise" not in found.verdicts


def _in_range(masks: int, sampler: SamplerName, tolerance: float | None, seed: int) -> None:
    if masks < 2:
        raise OutOfRange(f"masks: found {masks}, expected at least 2: from one, no error can be told.")
    if sampler not in _SAMPLERS:
        raise OutOfRange(f"sampler: found {sampler!r}, expected one of {', '.join(_SAMPLERS)}.")
    if sampler == "learned" and masks > MOST:
        raise OutOfRange(
            f"masks: found {masks}, expected at most {MOST} to learn from. Average them, with the sampler prior."
        )
    if tolerance is not None and not 0 < tolerance < 1:
        raise OutOfRange(f"tolerance: found {tolerance}, expected a part of the map's spread, between 0 and 1.")
    if not 0 <= seed < 2**63:
        raise OutOfRange(f"seed: found {seed}, expected a whole number from 0 to 2⁶³ − 1.")
