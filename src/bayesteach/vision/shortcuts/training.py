"""Training on the drawn world: minutes on a processor, once on a machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track
from safetensors.torch import load_file, save_file
from torch import Generator, Tensor
from torch.nn.functional import avg_pool2d, cross_entropy

from bayesteach.vision.cache import cached
from bayesteach.vision.images import Progress
from bayesteach.vision.shortcuts.network import ShortcutNet, normalised
from bayesteach.vision.shortcuts.picture import SIDE
from bayesteach.vision.shortcuts.workers import spread
from bayesteach.vision.shortcuts.world import LABELS, Sight, look, places

_WEIGHTS = "weights.safetensors"
# Modules that use the weights: all others make them.
_USERS = ("__init__.py", "embedded.py", "report.py", "writing.py")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the network is trained.

    each          pictures of each category
    small, large  passes over them at half their size, which cost a quarter, and then at their size
    """

    each: int = 180
    small: int = 6
    large: int = 4
    batch: int = 64
    rate: float = 0.1
    momentum: float = 0.9
    decay: float = 2e-4
    seed: int = 0


RECIPE = Recipe()


def trained_weights() -> dict[str, Tensor]:
    """The weights of the embedded classifier: from the cache, else trained now, with a bar on the standard error."""

    def make(folder: Path) -> None:
        console = Console(stderr=True)
        console.print("The embedded classifier is drawn and trained, once on this machine: about a minute and a half.")
        bar = partial(track, description="training", console=console, transient=True)
        weights = train(RECIPE, progress=bar).state_dict()
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, folder / _WEIGHTS)

    return load_file(cached(f"embedded/{_digest(RECIPE)}", make) / _WEIGHTS)


def train(recipe: Recipe, progress: Progress = iter) -> ShortcutNet:
    """The network trained so; the same recipe gives the same weights on the same machine.

    It runs in one thread, so that the number of processors plays no part; the others draw the pictures meanwhile.
    """
    rng = Generator().manual_seed(recipe.seed)
    where = places("train", recipe.each, recipe.seed)
    where = [where[k] for k in torch.randperm(len(where), generator=rng).tolist()]
    sights = spread(look, where)
    pixels = torch.empty(len(where), 3, SIDE, SIDE, dtype=torch.uint8)
    labels = torch.empty(len(where), dtype=torch.long)
    steps = _steps(recipe, len(where), rng)
    with _one_thread(), torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        network = ShortcutNet(len(LABELS)).to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it
        descent = torch.optim.SGD(
            network.parameters(), recipe.rate, recipe.momentum, weight_decay=recipe.decay, nesterov=True
        )
        rate = torch.optim.lr_scheduler.OneCycleLR(descent, recipe.rate, total_steps=len(steps), pct_start=0.2)
        for step in progress(steps):
            if step.draws:
                for k, sight in zip(step.members.tolist(), sights, strict=False):
                    pixels[k], labels[k] = _tensor(sight), sight.label
            seen = _views(pixels[step.members], rng)
            seen = avg_pool2d(seen, 2) if step.small else seen
            loss = cross_entropy(network(normalised(seen)), labels[step.members])
            descent.zero_grad()
            loss.backward()
            descent.step()
            rate.step()
    return network.eval()


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A batch: which pictures, whether they are still to be drawn, and whether they are seen at half their size."""

    members: Tensor
    draws: bool
    small: bool


def _steps(recipe: Recipe, count: int, rng: Generator) -> list[_Step]:
    steps = []
    for epoch in range(recipe.small + recipe.large):
        order = torch.randperm(count, generator=rng) if epoch else torch.arange(count)
        steps += [_Step(part, epoch == 0, epoch < recipe.small) for part in order.split(recipe.batch) if len(part) > 1]
    return steps


def _tensor(sight: Sight) -> Tensor:
    return torch.from_numpy(sight.picture.pixels).permute(2, 0, 1)


def _views(pixels: Tensor, rng: Generator) -> Tensor:
    """In [0, 1], half of them mirrored."""
    mirrored = torch.rand(len(pixels), 1, 1, 1, generator=rng) < 0.5
    return torch.where(mirrored, pixels.flip(3), pixels).float() / 255


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _digest(recipe: Recipe) -> str:
    """What the weights depend on: the recipe, and the code that draws and trains."""
    state = sha256(repr(recipe).encode())
    for source in sorted(files("bayesteach.vision.shortcuts").iterdir(), key=lambda file: file.name):
        if source.name.endswith(".py") and source.name not in _USERS:
            state.update(source.name.encode() + source.read_bytes())
    return state.hexdigest()[:32]
