"""Dead leaves: discs that hide each other, whose edges, contrasts and spectrum are those of photos (Lee, Mumford & Huang 2001).

They stand in where a network must be shown something like photos, and none can be shipped.
"""

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image, ImageDraw
from torch import Tensor

_LEAVES = 1500


def dead_leaves(count: int, size: tuple[int, int], seed: int = 0) -> Float[Tensor, "count 3 height width"]:
    """Pictures of discs that hide each other, with radii of density r⁻³, drawn at twice the size."""
    rng = np.random.default_rng(seed)
    height, width = size
    pictures = []
    for _ in range(count):
        picture = Image.new("RGB", (2 * width, 2 * height))
        draw = ImageDraw.Draw(picture)
        least, most = 2.0, float(max(size))
        radii = (least**-2 - rng.random(_LEAVES) * (least**-2 - most**-2)) ** -0.5
        places = rng.random((_LEAVES, 2)) * (2 * width, 2 * height)
        colours = np.clip(rng.normal(120, 60, (_LEAVES, 1)) + rng.normal(0, 30, (_LEAVES, 3)), 0, 255).astype(int)
        for (x, y), radius, colour in zip(places, radii, colours, strict=True):
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=tuple(colour.tolist()))
        pictures.append(np.asarray(picture.resize((width, height), Image.Resampling.LANCZOS)))
    return torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() / 255
