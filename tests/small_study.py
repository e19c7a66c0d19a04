"""A whole study in seconds: discs and squares of several colours, a test network of timm's, and a head fitted to them."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw
from safetensors.torch import save_file

from bayesteach import Classifier, refit_head
from bayesteach.pipeline import Made, Run
from bayesteach.settings import Settings, validated
from bayesteach.store.workspace import Workspace
from bayesteach.vision.torchvision_import import import_torchvision

COLOURS = {
    "red": (200, 40, 40),
    "rust": (190, 70, 40),
    "green": (40, 150, 60),
    "olive": (90, 140, 50),
    "blue": (50, 70, 190),
    "navy": (40, 50, 150),
    "grey": (120, 120, 120),
}
CLASSES = tuple(COLOURS)
SIZE = 64


def picture(label: str, rng: np.random.Generator, spread: float = 26.0) -> Image.Image:
    """A disc or a square of about this colour somewhere on a noisy ground; colours are near enough to be mistaken."""
    ground = np.clip(rng.normal(128, 30, (SIZE, SIZE, 3)), 0, 255).astype(np.uint8)
    image = Image.fromarray(ground, "RGB")
    colour = tuple(int(c) for c in np.clip(np.array(COLOURS[label]) + rng.normal(0, spread, 3), 0, 255))
    x, y, r = rng.integers(16, 48), rng.integers(16, 48), rng.integers(9, 15)
    draw = ImageDraw.Draw(image)
    (draw.ellipse if rng.random() < 0.5 else draw.rectangle)((x - r, y - r, x + r, y + r), fill=colour)
    return image


def write_images(folder: Path, each: dict[str, int], seed: int = 0) -> None:
    """Folders SOURCE/CLASS/*.png with so many of each class."""
    rng = np.random.default_rng(seed)
    for source, count in each.items():
        for label in CLASSES:
            place = folder / source / label
            place.mkdir(parents=True)
            for number in range(count):
                # Adversarial ones are further from their colour.
                picture(label, rng, 60.0 if source == "adversarial" else 26.0).save(place / f"{number:03}.png")


def write_study(folder: Path, each: dict[str, int] | None = None) -> None:
    """Images, a checkpoint and its labels."""
    write_images(folder / "images", each or {"train": 24, "val": 16, "adversarial": 8})
    import_torchvision()
    import timm  # noqa: PLC0415 — after torchvision

    torch.manual_seed(0)
    model = timm.create_model("test_resnet", num_classes=len(CLASSES))
    checkpoint, labels = folder / "small.safetensors", folder / "labels.txt"
    save_file(model.state_dict(), checkpoint)
    labels.write_text("\n".join(CLASSES))
    raw = Classifier.load("timm:test_resnet", checkpoint=checkpoint, labels=labels)
    files = sorted((folder / "images" / "train").rglob("*.png"))
    z = torch.cat([raw.features(raw.pixels(Image.open(file))[None]) for file in files])
    y = torch.tensor([CLASSES.index(file.parent.name) for file in files])
    head = refit_head(z, y, raw.head, weight_decay=3e-3, tolerance=1e-4).head.float()
    state = model.state_dict() | {"fc.weight": head[:, :-1].contiguous(), "fc.bias": head[:, -1].contiguous()}
    save_file(state, checkpoint)


SAID = {
    "model": {"name": "timm:test_resnet", "checkpoint": "small.safetensors", "labels": "labels.txt"},
    "source": [{"name": name, "folder": f"images/{name}"} for name in ("train", "val", "adversarial")],
    "design": {"adversarial": ["adversarial"], "categories": 4, "practice": 1, "attention": 1},
    "teach": {"threshold": 0.5, "candidates": 20},
    "highlight": {"masks": 16},
    "compose": {"size": 64},
}


def settings(**changes: dict[str, object]) -> Settings:
    """The small study's settings, with sections changed."""
    said = {**SAID, **{name: {**SAID.get(name, {}), **section} for name, section in changes.items()}}
    return validated(said, "test")


def make(folder: Path, told: Settings | None = None, **more: object) -> dict[str, Made]:
    """Run the study in this folder, by its own settings or others."""
    return {made.stage.name: made for made in Run(Workspace(folder), told or settings()).make(**more)}
