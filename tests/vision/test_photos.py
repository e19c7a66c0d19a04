"""Photos of every kind beside the plain picture that they show."""

import io
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms, ImageOps, TiffImagePlugin
from skimage.data import astronaut

from bayesteach.errors import BadImage
from bayesteach.vision.photos import MAX_PIXELS, decode, open_photo

ORIENTATION = 0x0112


@pytest.fixture(scope="module")
def plain() -> Image.Image:
    # 96 × 64: one side must not be taken for the other.
    return Image.fromarray(astronaut()[:256, 64:448]).resize((96, 64), Image.Resampling.BOX)


def saved(picture: Image.Image, kind: str, **options) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def off(data: bytes, expected: Image.Image) -> int:
    """The largest difference of a channel of a pixel, in 255ths."""
    photo = decode(data, "photo")
    assert photo.mode == "RGB"
    assert photo.size == expected.size
    return int(np.abs(np.asarray(photo, np.int16) - np.asarray(expected.convert("RGB"), np.int16)).max())


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "PPM", "JPEG2000"])
def test_lossless_formats_come_out_exactly(kind, plain):
    assert off(saved(plain, kind), plain) == 0


def test_lossy_formats_come_out_as_they_are_stored(plain):
    assert off(saved(plain, "JPEG", quality=100, subsampling=0), plain) <= 4
    assert off(saved(plain, "WEBP", lossless=True), plain) == 0


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_a_photo_is_turned_as_its_camera_says(kind, orientation, plain):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    data = saved(plain, kind, exif=exif, **({"lossless": True} if kind == "WEBP" else {}))
    with_tag = Image.new("RGB", plain.size)
    with_tag.paste(plain)
    with_tag.getexif()[ORIENTATION] = orientation
    upright = ImageOps.exif_transpose(with_tag)
    assert upright.size == (plain.size if orientation < 5 else plain.size[::-1])
    if kind == "JPEG":
        unturned = Image.open(io.BytesIO(saved(plain, kind))).convert("RGB")
        unturned.getexif()[ORIENTATION] = orientation
        upright = ImageOps.exif_transpose(unturned)
    assert off(data, upright) == 0


@pytest.mark.parametrize(
    "exif", [b"Exif\0\0", b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + b"\x12\x01" * 9, b"Exif\0\0nonsense"]
)
def test_torn_metadata_does_not_spoil_the_pixels_and_warns_of_nothing(exif, plain):
    assert off(saved(plain, "JPEG", exif=exif), Image.open(io.BytesIO(saved(plain, "JPEG")))) == 0


@pytest.mark.parametrize("mode", ["1", "L", "LA"])
@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_grey(mode, kind, plain):
    grey = plain.convert("L").convert(mode)
    assert off(saved(grey, kind), grey.convert("L")) == 0


def test_grey_of_sixteen_bits(plain):
    grey = np.asarray(plain.convert("L"))
    deep = grey.astype(np.uint16) * 257
    expected = Image.fromarray(grey)
    assert off(saved(Image.fromarray(deep), "PNG"), expected) == 0
    assert off(saved(Image.fromarray(deep), "TIFF"), expected) == 0
    assert off(saved(Image.fromarray(deep.astype(np.int32)), "TIFF"), expected) == 0
    big_endian = io.BytesIO()
    tifffile.imwrite(big_endian, deep, byteorder=">")
    assert off(big_endian.getvalue(), expected) == 0
    assert off(b"P5 96 64 65535\n" + deep.astype(">u2").tobytes(), expected) == 0
    # Between the levels of 8 bits the nearest one is taken.
    assert off(saved(Image.fromarray((deep.astype(int) + 120).clip(0, 65535).astype(np.uint16)), "PNG"), expected) == 0


def test_a_dark_photo_of_sixteen_bits_stays_dark():
    dark = Image.fromarray(np.full((4, 5), 200, np.uint16))
    assert off(saved(dark, "PNG"), Image.new("L", (5, 4), 1)) == 0


@pytest.mark.parametrize("top", [1.0, 255.0, 65535.0])
def test_grey_of_real_numbers(top, plain):
    grey = np.asarray(plain.convert("L"))
    real = Image.fromarray((grey / 255 * top).astype(np.float32))
    assert off(saved(real, "TIFF"), Image.fromarray(grey)) == 0


@pytest.mark.parametrize("value", [-1.0, 70000.0, np.nan, np.inf])
def test_grey_that_is_no_photo_is_refused(value):
    real = np.zeros((3, 3), np.float32)
    real[1, 1] = value
    with pytest.raises(BadImage, match="depth.tif cannot be read .*grey values from"):
        decode(saved(Image.fromarray(real), "TIFF"), "depth.tif")


def png(width: int, height: int, depth: int, colour: int, rows: bytes) -> bytes:
    """A PNG made by hand, because Pillow does not write 16 bits a channel, nor a size that is not there."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def deep_png(channels: np.ndarray, colour: int) -> bytes:
    height, width = channels.shape[:2]
    return png(width, height, 16, colour, b"".join(b"\0" + row.astype(">u2").tobytes() for row in channels))


def test_colour_of_sixteen_bits(plain):
    deep = np.asarray(plain).astype(np.uint16) * 257
    assert off(deep_png(deep, 2), plain) == 0
    tiff = io.BytesIO()
    tifffile.imwrite(tiff, deep, photometric="rgb")
    assert off(tiff.getvalue(), plain) == 0
    opaque = np.full((64, 96, 1), 65535, np.uint16)
    assert off(deep_png(np.concatenate([deep, opaque], 2), 6), plain) == 0
    grey = np.asarray(plain.convert("L")).astype(np.uint16)[..., None] * 257
    assert off(deep_png(np.concatenate([grey, opaque], 2), 4), plain.convert("L")) == 0


def test_palettes(plain):
    few = plain.quantize(64)
    assert off(saved(few, "PNG"), few) == 0
    assert off(saved(few, "GIF"), few) == 0
    clear = Image.new("P", (2, 1))
    clear.putpalette([10, 20, 30, 40, 50, 60])
    clear.putdata([0, 1])
    expected = Image.new("RGB", (2, 1), "white")
    expected.putpixel((1, 0), (40, 50, 60))
    assert off(saved(clear, "PNG", transparency=0), expected) == 0
    assert off(saved(clear, "GIF", transparency=0), expected) == 0
    half = Image.new("RGB", (2, 1), (132, 138, 142))
    half.putpixel((1, 0), (40, 50, 60))
    assert off(saved(clear, "PNG", transparency=bytes([128, 255])), half) <= 1


def test_what_is_transparent_is_white_as_on_a_page(plain):
    cut = plain.convert("RGBA")
    alpha = np.zeros((64, 96), np.uint8)
    alpha[:, 32:] = 255
    alpha[:, 64:] = 51
    cut.putalpha(Image.fromarray(alpha))
    share = alpha[..., None] / 255
    expected = Image.fromarray(np.rint(np.asarray(plain) * share + 255 * (1 - share)).astype(np.uint8))
    assert off(saved(cut, "PNG"), expected) <= 1
    assert off(saved(cut, "TIFF"), expected) <= 1
    assert off(saved(cut, "WEBP", lossless=True, exact=True), expected) <= 1
    grey = expected.convert("L")
    assert off(saved(cut.convert("LA"), "PNG"), grey) <= 2
    keyed = Image.new("RGB", (2, 1), (1, 2, 3))
    keyed.putpixel((1, 0), (9, 9, 9))
    white = keyed.copy()
    white.putpixel((0, 0), (255, 255, 255))
    assert off(saved(keyed, "PNG", transparency=(1, 2, 3)), white) == 0


def inks(picture: Image.Image) -> Image.Image:
    """Cyan, magenta, yellow and black, a good part of the black by its own ink."""
    colour = np.asarray(picture).astype(float)
    black = (255 - colour.max(-1, keepdims=True)) // 2
    ink = np.concatenate([255 * (1 - colour / (255 - black)), black], -1)
    return Image.fromarray(np.rint(ink).clip(0, 255).astype(np.uint8), "CMYK")


def test_inks(plain):
    assert off(saved(inks(plain), "TIFF"), plain) <= 2
    # Adobe's JPEG stores inks inverted, and Pillow writes them so.
    adobe = saved(inks(plain), "JPEG", quality=100, subsampling=0)
    assert b"Adobe" in adobe
    assert off(adobe, plain) <= 6


def test_inks_stored_as_brightness_and_colour(plain):
    # YCCK: what Photoshop writes. The same file as CMYK, but for the marker that says how its first three channels are meant.
    colour = ImageOps.invert(plain).convert("YCbCr")
    channels = [ImageOps.invert(channel) for channel in colour.split()]
    data = saved(Image.merge("CMYK", [*channels, Image.new("L", plain.size, 0)]), "JPEG", quality=100, subsampling=0)
    marker = data.index(b"Adobe") + 11
    assert data[marker] == 0
    assert off(data[:marker] + b"\x02" + data[marker + 1 :], plain) <= 6


def test_the_first_of_several_pictures(plain):
    other = Image.new("RGB", plain.size, "red")
    for kind, options in {"GIF": {}, "PNG": {}, "TIFF": {}, "WEBP": {"lossless": True}}.items():
        first = plain.quantize(64) if kind == "GIF" else plain
        assert off(saved(first, kind, save_all=True, append_images=[other], **options), first) == 0


def test_a_name_says_nothing_and_the_bytes_everything(plain, tmp_path):
    (tmp_path / "photo.jpg").write_bytes(saved(plain, "PNG"))
    assert off((tmp_path / "photo.jpg").read_bytes(), plain) == 0
    assert open_photo(tmp_path / "photo.jpg").tobytes() == plain.tobytes()


def test_colour_profiles_are_left_aside_as_in_training(plain):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    assert off(saved(plain, "PNG", icc_profile=profile), plain) == 0


def test_a_very_large_photo_is_read():
    # Beyond Pillow's mark of 89 million, where it warns, with a shape that is quick to decode.
    wide = Image.new("1", (30_000, 3_000), 1)
    photo = decode(saved(wide, "PNG"), "wide.png")
    assert photo.size == wide.size
    assert photo.getpixel((29_999, 2_999)) == (255, 255, 255)


def test_a_decompression_bomb_is_refused_before_it_goes_off(plain):
    # Just past our limit, and past Pillow's own.
    for width, pixels in ((13_378, 178_957_506), (60_000, 802_620_000)):
        with pytest.raises(BadImage, match=f"bomb.png has {pixels} pixels, more than the {MAX_PIXELS} .* bomb"):
            decode(png(width, 13_377, 1, 0, bytes(99)), "bomb.png")
    with pytest.raises(BadImage, match="6144 pixels, more than the 6143"):
        decode(saved(plain, "PNG"), "photo", max_pixels=6143)
    assert decode(saved(plain, "PNG"), "photo", max_pixels=6144).size == plain.size


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "JPEG2000"])
@pytest.mark.parametrize("part", [0.02, 0.5, 0.9])
def test_half_a_photo_is_refused(kind, part, plain):
    data = saved(plain, kind)
    with pytest.raises(BadImage, match="cat cannot be read as a photo") as caught:
        decode(data[: int(len(data) * part)], "cat")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<html>404</html>", "no format that is read here"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "no format that is read here"),
        (b"\xff\xd8\xff\xe0" + bytes(64), "cat"),
        (b"\x89PNG\r\n\x1a\n" + bytes(64), "cat"),
    ],
)
def test_what_is_no_photo_is_refused(data, reason):
    with pytest.raises(BadImage, match=reason):
        decode(data, "cat")


def test_brightness_and_two_colours(plain):
    srgb, lab = (ImageCms.createProfile(name) for name in ("sRGB", "LAB"))
    converted = ImageCms.profileToProfile(plain, srgb, lab, outputMode="LAB")
    assert off(saved(converted, "TIFF"), plain) <= 4


def test_files_that_are_not_there(tmp_path):
    (tmp_path / "empty.jpg").touch()
    for name, reason in (("no.jpg", "No such file"), ("", "Is a directory"), ("empty.jpg", "is empty"), ("\0", "null")):
        with pytest.raises(BadImage, match=reason):
            open_photo(f"{tmp_path}/{name}")


def test_warnings_are_left_as_they_were_by_many_threads(plain):
    torn = TiffImagePlugin.ImageFileDirectory_v2()
    torn[ORIENTATION] = 6
    data = saved(plain, "JPEG", exif=b"Exif\0\0" + torn.tobytes()[:-3] + b"\xff" * 3)
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: decode(data, "photo"), range(64)))
    assert warnings.filters == before
    assert Image.MAX_IMAGE_PIXELS == MAX_PIXELS // 2
