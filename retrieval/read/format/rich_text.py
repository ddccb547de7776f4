"""RTF."""

from __future__ import annotations

from retrieval.read.escaped import literal
from retrieval.read.format.loaded import Loaded
from text.clean import clean


def read_rich_text(name: str, data: bytes, _limit: int) -> Loaded:
    from striprtf.striprtf import rtf_to_text

    text = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    return Loaded(name, "", literal(clean(text).replace("\n", "\n\n")), True, {})
