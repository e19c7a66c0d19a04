"""Near-copies: photos that were scaled, compressed or lightly edited from one another, which a content digest does not see.

Two photos are near-copies if their perceptual hashes differ in few bits, and then their thumbnails in little: the first finds
candidates among a million images at once, the second looks at the pixels.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise

import imagehash
import numpy as np
from jaxtyping import Float, UInt64
from PIL import Image

_BITS = 64
_THUMBNAIL = (32, 32)
# Mean difference of two thumbnails, for values in [0, 1]. On 143 ImageNet photos copies of half the size or JPEG quality 30 stay
# below 0.011, 8 % brighter ones below 0.059; two different photos are at least 0.087 apart.
ALIKE = 0.06


def perceptual_hash(photo: Image.Image) -> int:
    """64 bits: which of the lowest frequencies of the grey photo lie above their median."""
    bits = imagehash.phash(photo).hash.flatten()
    return int(np.packbits(bits).view(">u8")[0])


def candidates(hashes: UInt64[np.ndarray, " images"], bits: int) -> Iterator[tuple[int, int]]:
    """Pairs of places whose hashes differ in at most so many bits.

    Of bits + 1 bands one must be equal, so only images with an equal band are compared.
    """
    edges = np.linspace(0, _BITS, bits + 2).round().astype(int)
    found = set()
    for low, high in pairwise(edges):
        band = (hashes >> np.uint64(low)) & np.uint64((1 << int(high - low)) - 1)
        groups = defaultdict(list)
        for place, value in enumerate(band.tolist()):
            groups[value].append(place)
        for group in groups.values():
            for i, j in combinations(group, 2):
                if int(hashes[i] ^ hashes[j]).bit_count() <= bits:
                    found.add((i, j))
    yield from sorted(found)


def thumbnail(photo: Image.Image) -> Float[np.ndarray, "32 32 3"]:
    """A photo in small, in [0, 1]."""
    return np.asarray(photo.convert("RGB").resize(_THUMBNAIL, Image.Resampling.BOX), dtype=float) / 255


def alike(photo: Image.Image, other: Image.Image) -> bool:
    """Whether two photos look the same in small."""
    return float(np.abs(thumbnail(photo) - thumbnail(other)).mean()) < ALIKE
