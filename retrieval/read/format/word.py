"""Word files, converted to HTML first."""

from __future__ import annotations

import io
import zipfile

from errors import DocumentTooLarge
from retrieval.read.format.html import from_html
from retrieval.read.format.loaded import Loaded

UNPACKED = 20
"""How many times the size limit an archive may unpack to."""
_TITLE = "p[style-name='Title'] => h1.title:fresh"


def read(name: str, data: bytes, limit: int) -> Loaded:
    import mammoth

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(part.file_size for part in archive.infolist())
        if size > limit * UNPACKED:
            raise DocumentTooLarge(name=name, size=size, limit=limit * UNPACKED)
    no_pictures = mammoth.images.img_element(lambda _: {"src": ""})
    converted = mammoth.convert_to_html(io.BytesIO(data), style_map=_TITLE, convert_image=no_pictures)
    return from_html(name, converted.value)
