"""Texts in the encodings that people's programs save them in, and names that are written in other code points."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from bench.messy import Verdict
from bench.messy.text_case import LOOKED, list_files
from text.decode import NoText, decode_text
from text.fold import fold_text, fold_with_places


def judge(args: argparse.Namespace) -> Iterator[Verdict]:
    """Yields a verdict on every row."""
    for name, data, declared, text, unseen in list_files():
        try:
            read = decode_text(data, declared)
        except NoText:
            read = "(no text)"
        yield Verdict("decoding", name, read == text, unseen, repr(read[:60]))
    for looked in LOOKED:
        folded, wanted = fold_with_places(looked.written), fold_text(looked.asked)
        at = folded.text.find(wanted)
        start, end = folded.span(at, at + len(wanted)) if at >= 0 else (0, 0)
        piece = looked.written[start:end]
        yield Verdict("letters", looked.name, piece == looked.piece, looked.unseen, repr(piece))
