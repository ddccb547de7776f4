"""Word files, converted to HTML first."""

from __future__ import annotations

import io

from retrieval.read.format.archive import open_archive
from retrieval.read.format.html import from_html
from retrieval.read.format.loaded import Loaded

_TITLE = "p[style-name='Title'] => h1.title:fresh"


def read_word_file(name: str, data: bytes, limit: int) -> Loaded:
    import mammoth

    open_archive(name, data, limit).close()
    no_pictures = mammoth.images.img_element(lambda _: {"src": ""})
    converted = mammoth.convert_to_html(io.BytesIO(data), style_map=_TITLE, convert_image=no_pictures)
    return from_html(name, converted.value)
