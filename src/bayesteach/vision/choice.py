"""Which engine to use: the fastest that is installed, among those whose maps are the classifier's own."""

import json
import os
import platform
import time
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bayesteach.maths.saliency import ExpectedMask
from bayesteach.vision.cache import cache_root, cached
from bayesteach.vision.classifier import Classifier
from bayesteach.vision.engines import Weigher, engine_names, fastest_of, make_engine, plain_engine
from bayesteach.vision.leaves import dead_leaves
from bayesteach.vision.masked import MaskedPhoto, mask_prior

# A map is true if it correlates so with that of fp32 torch on the same masks.
TRUE = 0.999
MASKS = 256
# Jobs of fewer passes end before a trial of all engines would, the int8 graph's calibration included.
WORTH_A_TRIAL = 5000
# Where a classifier is unsure of a picture, masks weigh much alike and a screen asks for most of them again, as it hardly does on
# photos: so engines are tried on the picture of so many that it is surest of.
_LEAVES = 8
_FILE = "choice.json"


@dataclass(frozen=True, slots=True)
class Trial:
    """What an engine did on one photo: its rate over that of the plain classifier, and its map beside that one's."""

    engine: str
    precision: str
    speed: float
    correlation: float

    @property
    def true(self) -> bool:
        return self.correlation >= TRUE


def choose_engine(classifier: Classifier, passes: int) -> tuple[str, str]:
    """Engine and precision for so many passes: as found before on this machine, else tried if that will pay.

    A short job on a machine where nothing was tried yet gets fp32, whose map needs no trial.
    """
    folder = cache_root() / "engines" / _machine(classifier)
    if not folder.is_dir():
        if passes < WORTH_A_TRIAL:
            return fastest_of("fp32"), "fp32"
        leaves = dead_leaves(_LEAVES, classifier.geometry.size)
        surest = classifier.probabilities(leaves).amax(1).argmax()
        trials = try_engines(classifier, leaves[surest])
        cached(f"engines/{folder.name}", lambda unfinished: _write(unfinished / _FILE, trials))
    best = fastest([Trial(**row) for row in json.loads((folder / _FILE).read_text())])
    return best.engine, best.precision


def fastest(trials: list[Trial]) -> Trial:
    """The fastest whose map is true; fp32 torch always is, even where a map does not vary and correlates with none."""
    return max((t for t in trials if t.true or (t.engine, t.precision) == ("torch", "fp32")), key=lambda t: t.speed)


def try_engines(classifier: Classifier, pixels: Float[Tensor, "3 height width"]) -> list[Trial]:
    """All that are installed, on the same masks of one photo, for the classifier's answer; fastest first."""
    target = int(classifier.probabilities(pixels[None])[0].argmax())
    photo = MaskedPhoto.of(pixels, classifier)
    masks = mask_prior(classifier).sample(MASKS, Generator().manual_seed(0))

    def timed(weigher: Weigher) -> tuple[float, Tensor]:
        weigher.log_weights(photo, masks[:1], [target])
        start = time.perf_counter()
        log_weights = weigher.log_weights(photo, masks, [target])
        took = time.perf_counter() - start
        return took, ExpectedMask(1, classifier.geometry.size).add(masks, log_weights).map.flatten()

    plain, own = timed(plain_engine(classifier))
    trials = []
    for engine, precisions in engine_names().items():
        for precision in precisions:
            took, found = timed(make_engine(classifier, engine, precision))
            agreement = float(torch.corrcoef(torch.stack([own, found]))[0, 1])
            trials.append(Trial(engine, precision, plain / took, agreement))
    return sorted(trials, key=lambda trial: -trial.speed)


def _write(file: Path, trials: list[Trial]) -> None:
    file.write_text(json.dumps([asdict(trial) for trial in trials], indent=2))


def _machine(classifier: Classifier) -> str:
    """A digest of all that the choice depends on."""
    packages = [version(name) for name in ("bayesteach", "torch", "openvino", "nncf") if find_spec(name)]
    processor = [platform.machine(), processor_name(), str(os.cpu_count()), str(torch.cuda.is_available())]
    return sha256(" ".join([classifier.digest(), *packages, *processor]).encode()).hexdigest()[:32]


def processor_name() -> str:
    """As Linux has it; elsewhere what Python knows."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
