"""A dropped image file as it is stored and sent: small enough, and without what a camera notes of place and time.

Imported by whoever reads such a file, not at the start: Pillow takes its time.
"""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from errors import ImageUnreadable
from store.turn.image import StoredImage

SUFFIXES = ("png", "jpg", "jpeg", "webp", "gif", "bmp")
LONGEST_SIDE = 2048
"""Pixels of the longer side that an image keeps; the large hosted models scale it down to this or less themselves."""
MOST_PIXELS = 50_000_000
"""Pixels of the largest image that is opened, which takes 200 MB of memory while it is made smaller."""
MOST_BYTES = 40_000_000
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
_QUALITY = 88
_SAMPLE, _MOST_COLOURS = 200, 10_000
"""The side of a small copy, and how many colours it has at most where the image is a drawing or a picture of a screen:
as PNG its lines stay sharp. A photograph has more, and takes a tenth of the bytes as JPEG."""
_ENDS = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82"}
_PLAIN = {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
"""What Pillow reads of every JPEG; it says nothing of the picture."""
_ORIENTATION = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""How an image is turned, by what its camera noted (EXIF 2.3, tag Orientation)."""


def is_image_name(name: str) -> bool:
    """Returns whether a file is an image, by the end of its name."""
    return "." in name and name.rpartition(".")[2].lower() in SUFFIXES


def prepare_image(name: str, data: bytes) -> StoredImage:
    """Returns an image as it is stored and sent: upright, at most ``LONGEST_SIDE`` pixels long, without metadata. Of an
    animation the first picture. Raises ``ImageUnreadable``."""
    try:
        if len(data) > MOST_BYTES:
            raise ValueError("too many bytes")
        image = Image.open(io.BytesIO(data), formats=_FORMATS)
        if image.width * image.height > MOST_PIXELS:
            raise ValueError("too many pixels")
        if _is_prepared(image, data):
            return StoredImage(f"image/{str(image.format).lower()}", data)
        turned = _UPRIGHT.get(image.getexif().get(_ORIENTATION, 1))
        small = _convert_mode(image) if image.mode != "RGB" else image
        small.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        return _encode_image(small if turned is None else small.transpose(turned), is_jpeg=image.format == "JPEG")
    except Exception as error:  # of a damaged file Pillow raises whatever its reader meets
        raise ImageUnreadable(name=name) from error


def _is_prepared(image: Image.Image, data: bytes) -> bool:
    """Returns whether an image is as this module leaves it: small, with nothing beside its pixels, and whole. An import
    of it then is the same to the byte."""
    ends = data.endswith(_ENDS.get(str(image.format), b"\0"))
    is_small = max(image.size) <= LONGEST_SIDE and image.mode in ("RGB", "RGBA")
    if not ends or not is_small or image.getexif() or not image.info.keys() <= _PLAIN:
        return False
    image.load()
    return image.format == "JPEG" or _is_drawn(image)


def _is_drawn(image: Image.Image) -> bool:
    sample = image.convert("RGB").resize((_SAMPLE, _SAMPLE), Image.Resampling.NEAREST)
    return sample.getcolors(_MOST_COLOURS) is not None


def _convert_mode(image: Image.Image) -> Image.Image:
    """Returns an image in red, green and blue, with transparency where it has any: a palette cannot be scaled."""
    if image.mode.startswith("I"):  # grey in 16 bits
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    has_alpha = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    return image.convert("RGBA" if has_alpha else "RGB")


def _encode_image(image: Image.Image, *, is_jpeg: bool) -> StoredImage:
    written = io.BytesIO()
    if not is_jpeg and _is_drawn(image):
        _copy_pixels(image).save(written, "PNG")
        return StoredImage("image/png", written.getvalue())
    ground = Image.new("RGB", image.size, "white")
    ground.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    ground.save(written, "JPEG", quality=_QUALITY)
    return StoredImage("image/jpeg", written.getvalue())


def _copy_pixels(image: Image.Image) -> Image.Image:
    """Returns the image without what its file said beside the pixels."""
    plain = Image.new(image.mode, image.size)
    plain.paste(image)
    return plain


def shrink_image(image: StoredImage, side: int) -> StoredImage:
    """Returns a prepared image with at most ``side`` pixels on its longer side."""
    opened = Image.open(io.BytesIO(image.data), formats=_FORMATS)
    if max(opened.size) <= side:
        return image
    opened.thumbnail((side, side))
    return _encode_image(opened, is_jpeg=opened.format == "JPEG")


__all__ = ["SUFFIXES", "is_image_name", "prepare_image", "shrink_image"]
