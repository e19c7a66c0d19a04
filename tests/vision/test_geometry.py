"""What the network sees, beside timm's own preparation of a photo."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bayesteach.errors import OutOfRange
from bayesteach.vision import geometry as module
from bayesteach.vision.geometry import Geometry
from bayesteach.vision.torchvision_import import import_torchvision

import_torchvision()

from timm.data import create_transform  # noqa: E402 — after torchvision


def picture(width: int, height: int, seed: int = 0) -> Image.Image:
    # Smooth and rough parts, so that a filter or a shift of one pixel shows.
    rng = np.random.default_rng(seed)
    rough = Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8))
    smooth = Image.fromarray(rng.integers(0, 256, (3, 4, 3), np.uint8)).resize(
        (width, height), Image.Resampling.BICUBIC
    )
    return Image.blend(rough, smooth, 0.6)


def timms(size: tuple[int, int], share: float, name: str, mode: str):
    """timm's evaluation, without the normalisation."""
    return create_transform(
        (3, *size), interpolation=name, crop_pct=share, crop_mode=mode, mean=(0, 0, 0), std=(1, 1, 1)
    )


SIZES = [(300, 200), (200, 300), (64, 64), (57, 91), (91, 57), (640, 333), (71, 70), (256, 1000), (40, 40)]


@pytest.mark.parametrize("name", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("side", "share"), [(64, 0.875), (60, 0.95), (48, 1.0), (37, 0.9)])
def test_the_crop_is_timms_pixel_for_pixel(name, side, share):
    geometry = Geometry((side, side), int(side / share), name)
    judge = timms((side, side), share, name, "center")
    for width, height in SIZES:
        photo = picture(width, height)
        assert torch.equal(geometry.pixels(photo), judge(photo)), (width, height)


@pytest.mark.parametrize("size", [(48, 48), (40, 60)])
def test_the_papers_squash_is_timms_pixel_for_pixel(size):
    geometry = Geometry(size, max(size), "bilinear").squashed()
    judge = timms(size, 1.0, "bilinear", "squash")
    for width, height in SIZES:
        photo = picture(width, height)
        assert torch.equal(geometry.pixels(photo), judge(photo)), (width, height)
        assert geometry.box(width, height) == (0, 0, width, height)


@given(st.integers(20, 400), st.integers(20, 400), st.integers(8, 64), st.integers(0, 20))
def test_the_box_is_where_the_crop_was_taken(width, height, side, margin):
    geometry = Geometry((side, side), side + margin)
    left, top, right, bottom = geometry.box(width, height)
    # Two ramps: what the crop shows of them says where it lies, to about a pixel of the photo or of the crop.
    x, y = np.meshgrid((np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height)
    ramps = Image.fromarray(np.rint(255 * np.stack([x, y, 0 * x], -1)).astype(np.uint8))
    seen = geometry.pixels(ramps)
    across, down = (torch.arange(side) + 0.5) / side, (torch.arange(side) + 0.5) / side
    near = 1.5 / 255 + 1 / min(width, height, side + margin)
    assert (seen[0].mean(0) - (left + across * (right - left)) / width).abs().max() <= near
    assert (seen[1].mean(1) - (top + down * (bottom - top)) / height).abs().max() <= near
    assert -1e-9 <= left < right <= width + 1e-9
    assert -1e-9 <= top < bottom <= height + 1e-9


def test_views_are_crops_of_the_usual_areas_and_proportions_and_half_are_mirrored(rng):
    # Each pixel tells its own place, so that a view's corners say where it comes from.
    width, height, count = 480, 360, 3000
    x, y = np.meshgrid(np.arange(width) / width, np.arange(height) / height)
    photo = Image.fromarray(np.rint(255 * np.stack([x, y, 0 * x], -1)).astype(np.uint8))
    views = Geometry((16, 16), 16).views(photo, count, rng)
    assert views.shape == (count, 3, 16, 16)
    across = (views[:, 0, :, -1] - views[:, 0, :, 0]).mean(-1) * 16 / 15
    down = (views[:, 1, -1] - views[:, 1, 0]).mean(-1) * 16 / 15
    assert float((across < 0).float().mean()) == pytest.approx(0.5, abs=0.04)
    assert (down > 0).all()
    area, ratio = across.abs() * down, across.abs() / down * width / height
    # A crop may not fit: wide ones of more than 3/4 of the area are drawn again, so the areas are torchvision's, not even.
    judged = torch.tensor([box_of_torchvision(photo) for _ in range(count)])
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        assert float(area.quantile(share)) == pytest.approx(float(judged[:, 0].quantile(share)), abs=0.04)
        assert float(ratio.log().quantile(share)) == pytest.approx(float(judged[:, 1].log().quantile(share)), abs=0.04)
    assert float(area.min()) > 0.06
    assert 0.7 < float(ratio.min()) < float(ratio.max()) < 1.43


def box_of_torchvision(photo: Image.Image) -> tuple[float, float]:
    from torchvision.transforms import RandomResizedCrop  # noqa: PLC0415 — after the import above

    _, _, height, width = RandomResizedCrop.get_params(photo, [0.08, 1.0], [3 / 4, 4 / 3])
    return height * width / (photo.width * photo.height), width / height


def test_views_come_again_with_their_seed_and_stay_within_pixels():
    geometry, photo = Geometry((24, 32), 40, "bicubic"), picture(90, 70)
    one, same, other = (geometry.views(photo, 4, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert one.shape == (4, 3, 24, 32)
    assert 0 <= float(one.min()) < float(one.max()) <= 1
    more = geometry.views(photo, 6, torch.Generator().manual_seed(1))
    assert torch.equal(more[:4], one)
    assert geometry.views(photo, 0, torch.Generator()).shape == (0, 3, 24, 32)


@pytest.mark.parametrize(("width", "height"), [(300, 40), (40, 300), (41, 41), (7, 301)])
def test_a_long_strip_is_cropped_without_resizing_all_of_it(width, height, monkeypatch):
    photo = picture(width, height)
    whole = Geometry((24, 24), 28, "bicubic").pixels(photo)
    monkeypatch.setattr(module, "_LARGE", 0)
    assert (Geometry((24, 24), 28, "bicubic").pixels(photo) - whole).abs().max() < 1.5 / 255
    monkeypatch.undo()
    strip = Image.new("RGB", (1000 * width, 1), "blue")  # resized to its side it would take ten gigabytes and more
    assert Geometry((224, 224), 1000).pixels(strip)[2].min() == 1


def test_a_photo_too_long_for_any_crop_gives_its_centre(rng):
    strip = Image.new("RGB", (900, 3), "red")
    strip.paste("blue", (448, 0, 452, 3))
    views = Geometry((8, 8), 8).views(strip, 50, rng)
    # The centre where nothing fits, and small crops where one does.
    assert float(views[:, 2].amax()) == 1.0
    assert torch.isfinite(views).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((8, 8), 8, "box"), "filter 'box', expected one of nearest"),
        (((8, 8), 7), "short side 7"),
        (((0, 8), 8), r"size \(0, 8\)"),
    ],
)
def test_geometries_that_cannot_be(arguments, words):
    with pytest.raises(OutOfRange, match=words):
        Geometry(*arguments)
