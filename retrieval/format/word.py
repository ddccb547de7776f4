"""Word files, by way of HTML."""

from __future__ import annotations

import io
import zipfile

from errors import DocumentTooLarge
from retrieval.format.html import from_html
from retrieval.format.loaded import Loaded

UNPACKED = 20
"""How many times its own limit an archive may unpack to."""


def read(name: str, data: bytes, limit: int) -> Loaded:
    import mammoth

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(part.file_size for part in archive.infolist())
        if size > limit * UNPACKED:
            raise DocumentTooLarge(name=name, size=size, limit=limit * UNPACKED)
    made = mammoth.convert_to_html(io.BytesIO(data), convert_image=mammoth.images.img_element(lambda _: {"src": ""}))
    return from_html(name, made.value)
