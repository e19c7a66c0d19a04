"""Copies that a digest does not see are found; pictures that only have a kind in common are not."""

import io
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageEnhance
from skimage import data

from bayesteach.vision.near_copies import alike, candidates, perceptual_hash

NAMES = ("astronaut", "chelsea", "coffee", "rocket", "hubble_deep_field", "immunohistochemistry")


@pytest.fixture(scope="module")
def photos() -> dict[str, Image.Image]:
    return {name: Image.fromarray(getattr(data, name)()).convert("RGB") for name in NAMES}


def compressed(photo: Image.Image) -> Image.Image:
    file = io.BytesIO()
    photo.save(file, "JPEG", quality=40)
    return Image.open(file)


EDITS = {
    "smaller": lambda photo: photo.resize((photo.width // 2, photo.height // 2)),
    "compressed": compressed,
    "brighter": lambda photo: ImageEnhance.Brightness(photo).enhance(1.08),
    "sharper": lambda photo: ImageEnhance.Sharpness(photo).enhance(1.5),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_copy_is_found(edit, photos):
    for photo in photos.values():
        copy = EDITS[edit](photo)
        assert (perceptual_hash(photo) ^ perceptual_hash(copy)).bit_count() <= 3
        assert alike(photo, copy)


def test_other_photos_are_no_copies(photos):
    for one, other in combinations(photos.values(), 2):
        assert not alike(one, other)
        assert (perceptual_hash(one) ^ perceptual_hash(other)).bit_count() > 3


@given(seed=st.integers(0, 1000), bits=st.integers(0, 6))
def test_bands_find_every_pair_that_comparing_all_finds(seed, bits):
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 2**64, 40, dtype=np.uint64)
    for i in range(20):
        flips = rng.choice(64, int(rng.integers(0, 9)), replace=False)
        hashes[20 + i] = hashes[i] ^ np.uint64(sum(1 << int(b) for b in flips))
    expected = [(i, j) for i, j in combinations(range(40), 2) if int(hashes[i] ^ hashes[j]).bit_count() <= bits]
    assert list(candidates(hashes, bits)) == expected
