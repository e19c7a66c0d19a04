"""The photos and weights of ../shared/imagenet, for the tests that need them."""

from pathlib import Path

import pytest

ROOT = next(
    (p / "shared" / "imagenet" for p in Path(__file__).parents if (p / "shared" / "imagenet").is_dir()), Path("absent")
)

needs_imagenet = pytest.mark.skipif(not ROOT.is_dir(), reason="needs the photos and weights of ../shared/imagenet")
