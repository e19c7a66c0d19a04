"""A map laid over the photo that it explains, where the network's crop was.

One scale for every map there is, never stretched to the map at hand: stretched, noise looks like signal. Orange shows more,
purple less, than a mask that knows nothing; what lies within the map's own error is left clear.
"""

import numpy as np
import torch
from jaxtyping import Float
from matplotlib import colormaps
from PIL import Image
from torch import Tensor

# Brewer's purple to orange: about even in lightness from the middle outwards, and told apart with any colour blindness.
COLOURS = "PuOr_r"
# Departures from the prior's mean mask that take the full colour. Maps of a ResNet-50 have standard deviations of 0.04 to 0.16.
SPAN = 0.3
# How much of the photo the full colour covers.
OPACITY = 0.75
# Departures of two standard errors are clear, those of four take their full opacity. Of masks weighed at random, one in twenty
# pixels departs by more than two, and a third by more than one, in patches that look like findings.
CLEAR, SURE = 2.0, 4.0


def tinted(
    photo: Image.Image,
    box: tuple[float, float, float, float],
    departure: Float[Tensor, "height width"],
    error: Float[Tensor, "height width"],
) -> Image.Image:
    """The photo, with a map's departure from its prior laid over the box that the network saw; beyond the box it is dimmed."""
    strength = ((departure.abs() / error.clamp_min(1e-12) - CLEAR) / (SURE - CLEAR)).clamp(0, 1)
    colour = torch.from_numpy(colormaps[COLOURS](((departure / SPAN + 1) / 2).clamp(0, 1).numpy())[..., :3])
    # Faint where the departure is small, or the pale middle of the colours would cover the photo with milk.
    opacity = OPACITY * strength.float() * (2 * departure.abs() / SPAN).clamp_max(1)
    layer = torch.cat([colour.float(), opacity[..., None]], -1)
    left, top, right, bottom = (round(edge) for edge in box)
    right, bottom = max(right, left + 1), max(bottom, top + 1)
    laid = _picture(layer).resize((right - left, bottom - top), Image.Resampling.BILINEAR)
    # Half grey, so that the photo's own colours are not taken for the map's.
    grey = Image.blend(photo, photo.convert("L").convert("RGB"), 0.5)
    whole = Image.blend(grey, Image.new("RGB", photo.size, "white"), 0.5)
    inside = grey.crop((left, top, right, bottom)).convert("RGBA")
    whole.paste(Image.alpha_composite(inside, laid).convert("RGB"), (left, top))
    return whole


def _picture(layer: Float[Tensor, "height width 4"]) -> Image.Image:
    return Image.fromarray((layer.numpy() * 255).round().astype(np.uint8), "RGBA")


def legend(size: tuple[int, int] = (448, 24)) -> Image.Image:
    """The scale that all maps share, from what would hide the answer to what would show it."""
    ramp = np.linspace(0, 1, size[0])[None].repeat(size[1], 0)
    return Image.fromarray((colormaps[COLOURS](ramp)[..., :3] * 255).round().astype(np.uint8), "RGB")
