"""A photo as a network should see it: upright, in colour, 8 bits a channel, from whatever a camera or a program wrote.

What is done, and why so, is in docs/decisions/0003-photos.md.
"""

import io
import warnings
from pathlib import Path
from threading import Lock

import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError

from bayesteach.errors import BadImage
from bayesteach.vision import hugging_face

# Beyond this a photo counts as a decompression bomb: twice Pillow's own mark, where Pillow refuses by itself. In RGB, 0.7 GB.
MAX_PIXELS = 178_956_970

# What Pillow may try, whatever the file is called: some of its other formats run programs (EPS) or reach beyond the file.
_FORMATS = ("BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")

# How a camera's orientation is undone, by the number in its EXIF.
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

# Pillow warns of torn metadata and of size while it reads a header. Python's filters belong to all threads, so only one
# thread at a time may set them aside; pixels are decoded outside of it.
_header = Lock()


def open_photo(path: Path | str, *, max_pixels: int = MAX_PIXELS) -> Image.Image:
    """The photo of a file, or of a row of a Hugging Face dataset (`hf:DATASET:SPLIT#ROW`), upright and in RGB."""
    return decode(contents(path), str(path), max_pixels=max_pixels)


def contents(path: Path | str) -> bytes:
    """The bytes of a photo, as they are stored."""
    if hugging_face.is_locator(str(path)):
        return hugging_face.contents(str(path))
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise BadImage(f"image: {path} cannot be read ({reason}). Check the path.") from error
    if not data:
        raise BadImage(f"image: {path} is empty. Fetch it again, or leave it out.")
    return data


def decode(data: bytes, name: str, *, max_pixels: int = MAX_PIXELS) -> Image.Image:
    """The first picture in these bytes, upright and in RGB; `name` is what an error calls it."""
    try:
        photo = _opened(data)
        pixels = photo.width * photo.height
        if pixels <= max_pixels:
            return as_photo(photo)
    except Image.DecompressionBombError as error:
        raise BadImage(_bomb(name, str(error).split("(")[-1].split(" ")[0], max_pixels)) from error
    except Exception as error:  # whatever a decoder can raise on a broken file
        reason = "no format that is read here" if isinstance(error, UnidentifiedImageError) else _first_line(error)
        raise BadImage(
            f"image: {name} cannot be read as a photo ({reason}). Fetch it again, or leave it out."
        ) from error
    raise BadImage(_bomb(name, str(pixels), max_pixels))


def as_photo(picture: Image.Image) -> Image.Image:
    """A picture upright and in RGB, 8 bits a channel, without the tags by which another program would turn it once more."""
    picture.load()
    seen = _in_rgb(_upright(picture))
    seen.info = {name: value for name, value in seen.info.items() if name == "icc_profile"}
    return seen


def _opened(data: bytes) -> Image.Image:
    with _header, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Image.open(io.BytesIO(data), formats=_FORMATS)


def _upright(photo: Image.Image) -> Image.Image:
    # After the pixels, because Pillow turns TIFF files itself then, and takes the tag away.
    with _header, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            turn = _UPRIGHT.get(photo.getexif().get(ExifTags.Base.Orientation, 1))
        except Exception:  # noqa: BLE001 — a torn EXIF can raise anything; the pixels are good without it
            turn = None
    return photo if turn is None else photo.transpose(turn)


def _in_rgb(photo: Image.Image) -> Image.Image:
    if photo.mode.startswith("I") or photo.mode == "F":
        return _eight_bits(np.asarray(photo)).convert("RGB")
    if photo.has_transparency_data:
        seen = photo.convert("RGBA")
        # White, as the page of a browser.
        page = Image.new("RGB", photo.size, "white")
        page.paste(seen, mask=seen.getchannel("A"))
        return page
    return photo.convert("RGB")


def _eight_bits(grey: np.ndarray) -> Image.Image:
    """Whole numbers count to 65535; real ones to the first of 1, 255 and 65535 that holds them all."""
    low, high = float(grey.min()), float(grey.max())
    tops = (1.0, 255.0, 65535.0) if grey.dtype.kind == "f" else (65535.0,)
    top = next((top for top in tops if high <= top), None)
    if top is None or not low >= 0:
        raise ValueError(f"grey values from {low:.4g} to {high:.4g}, expected 0 to 65535")
    return Image.fromarray((grey * (255 / top) + 0.5).astype(np.uint8))


def _bomb(name: str, pixels: str, max_pixels: int) -> str:
    return (
        f"image: {name} has {pixels} pixels, more than the {max_pixels} that are read: it may be a decompression bomb. "
        "If you trust it, make it smaller."
    )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
