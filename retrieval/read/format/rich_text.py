"""RTF."""

from __future__ import annotations

from retrieval.read.escaped import escape_blocks
from retrieval.read.format.loaded import Loaded
from text.clean import clean_text


def read_rich_text(name: str, data: bytes, _limit: int) -> Loaded:
    from striprtf.striprtf import rtf_to_text

    text = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    return Loaded(name, "", escape_blocks(clean_text(text).replace("\n", "\n\n")), True, {})
