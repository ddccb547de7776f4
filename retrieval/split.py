"""Text into sections and passages (issue «Split»).

A section is what stands under one heading, with the path of headings above it. A long one becomes several passages,
cut between paragraphs, list items and sentences; a table or a code block stays whole. Only one that no model could
read at once is divided, between its rows or lines, and each part has the table's head or the code's fence again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langchain_text_splitters import RecursiveCharacterTextSplitter
from markdown_it import MarkdownIt
from markdown_it.token import Token

from text import sentence

PASSAGE, WHOLE = 220, 900
"""Estimated tokens of a passage, and of a table or code block that is still kept whole. The embedding model reads
512 at once and averages over more."""
_STEPS = re.compile(r"^\s*(?:\d{1,2}[.)]\s+\S|(?:step|단계)\s*\d|\d+\s*단계)", re.IGNORECASE | re.MULTILINE)
_HANGUL = re.compile(r"[^\x00-\u02af]")
_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage before it is stored. ``section`` counts the document's sections from 0, ``number`` its passages."""

    section: int
    number: int
    path: tuple[str, ...]
    text: str
    has_steps: bool


@dataclass(frozen=True, slots=True)
class _Block:
    """A stretch of a section; ``parts``: what it may be divided into, joined by ``glue``. Empty: it stays whole."""

    text: str
    parts: tuple[str, ...] = ()
    glue: str = " "


def split(text: str, *, markdown: bool, title: str = "") -> list[Piece]:
    """The passages of a text in reading order. ``title``: left out of the path when the first heading repeats it."""
    made: list[Piece] = []
    sections = _sections(text) if markdown else [((), [_prose(part) for part in re.split(r"\n\s*\n", text)])]
    filled = [(path, [block for block in blocks if block.text.strip()]) for path, blocks in sections]
    for section, (path, blocks) in enumerate((path, blocks) for path, blocks in filled if blocks):
        steps = len(_STEPS.findall("\n".join(block.text for block in blocks))) >= 2
        below = path[1:] if path[:1] == (title,) else path
        packed = enumerate(_packed(blocks))
        made += [Piece(section, number, below, text, steps) for number, text in packed]
    return made


def tokens(text: str) -> int:
    """About how many tokens a multilingual model makes of it."""
    foreign = len(_HANGUL.findall(text))
    return int((len(text) - foreign) * 0.27 + foreign * 0.62) + 1


# --- sections -------------------------------------------------------------------------------------


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], list[_Block]]]:
    """Path and blocks of every section, the empty ones too."""
    lines, headings, blocks = text.split("\n"), list[tuple[int, str]](), list[_Block]()
    parsed = _PARSER.parse(text)
    for at, token in enumerate(parsed):
        if token.level or token.map is None:
            continue
        if token.type == "heading_open":
            yield tuple(name for _, name in headings), blocks
            depth, blocks = int(token.tag[1]), []
            headings = [each for each in headings if each[0] < depth] + [(depth, _words(parsed[at + 1]))]
        else:
            blocks.append(_block(token, lines[token.map[0] : token.map[1]], parsed[at + 1 :]))
    yield tuple(name for _, name in headings), blocks


def _words(inline: Token) -> str:
    """A heading without marks."""
    kept = [child.content for child in inline.children or () if child.type in ("text", "code_inline")]
    return " ".join("".join(kept).split()) or " ".join(inline.content.split())


def _block(token: Token, lines: list[str], after: Sequence[Token]) -> _Block:
    text = "\n".join(lines).rstrip()
    if token.type == "table_open":
        return _divided(text, head=lines[:2], body=lines[2:], tail=[])
    if token.type == "fence":
        closed = re.fullmatch(r"\s*(?:`{3,}|~{3,})\s*", lines[-1]) is not None and len(lines) > 1
        body = lines[1:-1] if closed else lines[1:]
        return _divided(text, head=lines[:1], body=body, tail=[token.markup])
    if token.type in ("code_block", "html_block"):
        return _divided(text, head=[], body=lines, tail=[])
    if token.type in ("bullet_list_open", "ordered_list_open"):
        return _list(text, lines, token, after)
    return _prose(text)


def _divided(text: str, head: list[str], body: list[str], tail: list[str]) -> _Block:
    """A table or code: whole, unless it is far too long."""
    if tokens(text) <= WHOLE:
        return _Block(text)
    parts, kept = list[str](), list[str]()
    for line in body:
        if kept and tokens("\n".join([*kept, line])) > WHOLE:
            parts.append("\n".join([*head, *kept, *tail]))
            kept = []
        kept.append(line)
    return _Block(text, (*parts, "\n".join([*head, *kept, *tail])), "\n\n")


def _list(text: str, lines: list[str], token: Token, after: Sequence[Token]) -> _Block:
    """A list, divisible between its items."""
    assert token.map is not None
    starts = []
    for each in after:
        if each.level <= token.level and each.type != "list_item_open":
            break
        if each.type == "list_item_open" and each.level == token.level + 1 and each.map:
            starts.append(each.map[0] - token.map[0])
    ends = [*starts[1:], len(lines)]
    return _Block(text, tuple("\n".join(lines[a:b]).rstrip() for a, b in zip(starts, ends, strict=True)), "\n")


def _prose(text: str) -> _Block:
    return _Block(text.strip(), tuple(sentence.split(text)) if tokens(text) > PASSAGE else ())


# --- passages -------------------------------------------------------------------------------------


def _packed(blocks: Sequence[_Block]) -> Iterator[str]:
    """Passages of about ``PASSAGE`` tokens from whole blocks where they fit; a small rest stays with what is before."""
    kept, size = list[str](), 0
    for text, glue in _atoms(blocks):
        cost = tokens(text)
        if kept and size + cost > PASSAGE and not (size < PASSAGE // 5 and cost <= PASSAGE):
            yield "".join(kept)
            kept, size = [], 0
        kept.append(text if not kept else glue + text)
        size += cost
    if kept:
        yield "".join(kept)


def _atoms(blocks: Sequence[_Block]) -> Iterator[tuple[str, str]]:
    """What is not divided further, with what joins it to the one before."""
    for block in blocks:
        if not block.parts or tokens(block.text) <= PASSAGE:
            yield block.text, "\n\n"
            continue
        for number, part in enumerate(block.parts):
            first = "\n\n" if number == 0 else block.glue
            whole = block.glue == "\n\n" or tokens(part) <= 2 * PASSAGE
            for place, text in enumerate([part] if whole else _forced(part)):
                yield text, first if place == 0 else " "


def _forced(text: str) -> list[str]:
    """A sentence without an end: cut at words, at last anywhere."""
    return RecursiveCharacterTextSplitter(
        chunk_size=PASSAGE, chunk_overlap=0, length_function=tokens, separators=["\n", ". ", " ", ""]
    ).split_text(text)
