"""Images as they are stored and sent: small, upright, without metadata; a file that is none says so."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageOps

from errors import ImageUnreadable
from graph.turn.image import build_image_part
from store.turn.image import StoredImage
from store.turn.image_file import LONGEST_SIDE, is_image_name, prepare_image, shrink_image

ORIENTATION = 0x0112
GPS = 0x8825


def write(image: Image.Image, form: str, **options: object) -> bytes:
    written = io.BytesIO()
    image.save(written, form, **options)
    return written.getvalue()


def read(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_a_photograph_is_made_small_and_loses_what_the_camera_noted() -> None:
    about = Image.Exif()
    about[ORIENTATION] = 6  # turned by a quarter
    about.get_ifd(GPS)[1] = "N"
    stored = prepare_image("a.jpg", write(Image.new("RGB", (4000, 3000), "red"), "JPEG", exif=about))
    made = read(stored.data)
    assert (stored.kind, made.size) == ("image/jpeg", (LONGEST_SIDE * 3 // 4, LONGEST_SIDE))
    assert not made.getexif()


def test_a_drawing_stays_sharp_and_transparent() -> None:
    stored = prepare_image("a.png", write(Image.new("RGBA", (40, 30), (9, 9, 9, 0)), "PNG"))
    assert (stored.kind, read(stored.data).mode, read(stored.data).size) == ("image/png", "RGBA", (40, 30))


def test_a_photograph_is_sent_as_jpeg_on_white() -> None:
    bands = [Image.effect_noise((1500, 1500), 90) for _ in range(3)]
    photo = Image.merge("RGBA", [*bands, Image.new("L", (1500, 1500), 0)])
    stored = prepare_image("a.png", write(photo, "PNG"))
    assert stored.kind == "image/jpeg"
    assert read(stored.data).getpixel((5, 5)) == (255, 255, 255)


@pytest.mark.parametrize("form", ["WEBP", "GIF", "BMP", "PNG"])
@pytest.mark.parametrize("mode", ["RGB", "L", "P", "1"])
def test_every_form_and_mode_is_read(form: str, mode: str) -> None:
    image = Image.new("RGB", (8, 8), "blue").convert(mode)
    source = image.convert("RGB") if form == "WEBP" else image
    assert prepare_image("a", write(source, form)).kind == "image/png"


def test_lines_of_a_palette_and_greys_of_sixteen_bits_are_seen() -> None:
    stripes = Image.new("P", (4096, 64))
    stripes.putpalette([255, 255, 255, 0, 0, 0])
    stripes.putdata([at % 2 for at in range(4096 * 64)])
    shrunk = read(prepare_image("a.png", write(stripes, "PNG")).data).convert("L")
    assert 90 < np.asarray(shrunk)[10, 1000] < 170, "grey, where lines of one pixel are made half as wide"
    grey = Image.fromarray(np.full((8, 8), 30000, np.uint16))
    assert read(prepare_image("a.png", write(grey, "PNG")).data).convert("L").getpixel((1, 1)) == 30000 >> 8


@pytest.mark.parametrize("turned", range(1, 9))
def test_every_way_that_a_camera_was_held_is_made_upright(turned: int) -> None:
    image = Image.new("RGB", (64, 32), "white")
    image.paste("black", (0, 0, 16, 16))
    about = Image.Exif()
    about[ORIENTATION] = turned
    data = write(image, "JPEG", exif=about, quality=100)
    made, wanted = read(prepare_image("a.jpg", data).data), ImageOps.exif_transpose(read(data))
    assert made.size == wanted.size
    corners = [(4, 4), (made.width - 5, made.height - 5), (4, made.height - 5), (made.width - 5, 4)]
    assert [made.convert("1").getpixel(at) for at in corners] == [wanted.convert("1").getpixel(at) for at in corners]


def test_a_shown_image_is_small_and_a_small_one_is_left() -> None:
    data = write(Image.new("RGB", (3000, 10)), "PNG")
    image = StoredImage("image/png", data)
    assert read(shrink_image(image, 1400).data).width == 1400
    assert shrink_image(image, 3000).data == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GIF89a",
        b"%PDF-1.7",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        write(Image.new("RGB", (300, 300), "red"), "PNG")[:200],
        write(Image.new("L", (12_000, 12_000)), "PNG"),
    ],
)
def test_what_is_no_image_or_too_large_is_refused(data: bytes) -> None:
    with pytest.raises(ImageUnreadable) as raised:
        prepare_image("photo.png", data)
    assert raised.value.values == {"name": "photo.png"}


def test_an_image_is_known_by_its_name_and_sent_as_itself() -> None:
    assert [is_image_name(name) for name in ("A.JPG", "a.webp", "a.svg", "png")] == [True, True, False, False]
    part = build_image_part(StoredImage("image/png", write(Image.new("RGB", (2, 2)), "PNG")))
    assert part["image_url"]["url"].startswith("data:image/png;base64,")


@pytest.mark.parametrize("kind", ["photo", "drawing"])
def test_what_was_prepared_once_is_left_to_the_byte(kind: str) -> None:
    bands = [Image.effect_noise((300, 300), 90) for _ in range(3)]
    image = Image.merge("RGB", bands) if kind == "photo" else Image.new("RGB", (30, 30), "red")
    once = prepare_image("a.png", write(image, "PNG"))
    assert once.kind == ("image/jpeg" if kind == "photo" else "image/png")
    assert prepare_image("b", once.data) == once
