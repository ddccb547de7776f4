"""Text into sections and passages.

A section is what stands under one heading, with the path of headings above it. A long one becomes several passages,
cut between paragraphs, list items and sentences; a table or a code block stays whole, also inside a list item or a
quotation. Only one that no model could read at once is divided, between its rows or lines, and each part has the
table's head or the code's fence again. No passage is much longer than ``WHOLE``, whatever the file is like.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langchain_text_splitters import RecursiveCharacterTextSplitter
from markdown_it import MarkdownIt
from markdown_it.token import Token

from retrieval.literal import MARK
from text import sentence

PASSAGE, WHOLE = 220, 900
"""Estimated tokens of a passage, and of a table or code block that is still kept whole. The embedding model reads
512 at once and averages over more."""
HEADING_CHARS = 200
"""Of a heading or title; it is embedded with every passage below it. A longer heading is text as well."""
_STEP = (
    r"[ \t>*+-]*(?:(?:step|단계)\s*\d|\d+\s*단계|[①-⑳]|(?:first|second|third)(?:ly)?,"
    r"|(?:첫|두|둘|세|셋|네|넷)\s?(?:번\s?)?째(?:로|[,.:]))"
)
STEPS = re.compile(rf"^(?:{_STEP}|[ \t>*+-]*\(?\d{{1,2}}[.)]\**\s+\S)", re.IGNORECASE | re.MULTILINE)
"""How a line that is one of several steps begins. A heading may have a number for another reason."""
_STEP_HEADING = re.compile(_STEP, re.IGNORECASE)
_KEPT_WHOLE = ("table_open", "fence", "code_block", "html_block")
_QUOTED = re.compile(r"^ {0,3}> ?")
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
    """A stretch of a section: whole up to ``limit`` estimated tokens, else divided into ``parts``, joined by ``glue``.

    Without parts it is cut between words.
    """

    text: str
    limit: int = WHOLE
    parts: tuple[_Block, ...] = ()
    glue: str = " "


def split(text: str, *, markdown: bool, title: str = "") -> list[Piece]:
    """The passages of a text in reading order. ``title``: no passage by itself, and left out of the path when
    the first heading repeats it."""
    made: list[Piece] = []
    sections = _sections(text) if markdown else [((), [_prose(part) for part in re.split(r"\n\s*\n", text)])]
    kept = [(path, [block for block in blocks if block.text.strip()]) for path, blocks in sections]
    filled = [(path, blocks) for path, blocks in kept if blocks]
    filled = [(path, blocks) for path, blocks in filled if [block.text for block in blocks] != [title]] or filled
    stepped = Counter(path[:-1] for path, _ in filled if path and _STEP_HEADING.match(path[-1]))
    for section, (path, blocks) in enumerate(filled):
        own = len(STEPS.findall("\n".join(block.text for block in blocks).replace(MARK, "")))
        beside = stepped[path[:-1]] if path and _STEP_HEADING.match(path[-1]) else 0
        steps = max(own, beside) >= 2
        below = path[1:] if path[:1] == (title,) else path
        packed = enumerate(_packed(blocks))
        made += [Piece(section, number, below, text.replace(MARK, ""), steps) for number, text in packed]
    return made


def tokens(text: str) -> int:
    """About how many tokens a multilingual model makes of it."""
    return _hundredths(text) // 100 + 1


def _hundredths(text: str) -> int:
    foreign = len(_HANGUL.findall(text))
    return (len(text) - foreign) * 27 + foreign * 62


# --- sections -------------------------------------------------------------------------------------


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], list[_Block]]]:
    """Path and blocks of every section, the empty ones too."""
    lines, headings, blocks = text.split("\n"), list[tuple[int, str]](), list[_Block]()
    parsed = _PARSER.parse(text)
    for token, own, inside in _siblings(parsed, lines, 0):
        if token.type != "heading_open":
            blocks.append(_block(token, own, inside))
            continue
        depth, words = int(token.tag[1]), _words(inside[0])
        yield _section(headings, blocks, depth)
        headings = [each for each in headings if each[0] < depth] + [(depth, words[:HEADING_CHARS])]
        blocks = [_prose(words)] if len(words) > HEADING_CHARS else []
    yield _section(headings, blocks, 0)


def _section(
    headings: Sequence[tuple[int, str]], blocks: list[_Block], following: int
) -> tuple[tuple[str, ...], list[_Block]]:
    """Path and blocks; a heading with nothing below it, before the next one of level ``following``, says it all."""
    alone = headings and not blocks and following <= headings[-1][0]
    return tuple(name for _, name in headings), [_prose(headings[-1][1])] if alone else blocks


def _siblings(
    parsed: Sequence[Token], lines: Sequence[str], first: int
) -> Iterator[tuple[Token, Sequence[str], Sequence[Token]]]:
    """Each block of one level with its lines and the tokens inside. ``lines`` begin at line ``first`` of the text."""
    at = 0
    while at < len(parsed):
        token, end = parsed[at], at + 1
        while end < len(parsed) and parsed[end].level > token.level:
            end += 1
        if token.map is not None and token.nesting >= 0:
            yield token, lines[token.map[0] - first : token.map[1] - first], parsed[at + 1 : end]
        at = end


def _words(inline: Token) -> str:
    """A heading without marks."""
    kept = [child.content for child in inline.children or () if child.type in ("text", "code_inline")]
    return " ".join("".join(kept).split()) or " ".join(inline.content.split())


def _block(token: Token, lines: Sequence[str], inside: Sequence[Token]) -> _Block:
    text = "\n".join(lines).rstrip()
    if token.type == "table_open":
        return _divided(text, lines[:2], lines[2:])
    if token.type == "fence":
        closed = re.fullmatch(r"\s*(?:`{3,}|~{3,})\s*", lines[-1]) is not None and len(lines) > 1
        return _divided(text, lines[:1], lines[1:-1] if closed else lines[1:], [token.markup])
    if token.type in ("code_block", "html_block"):
        return _divided(text, [], lines)
    if token.type in ("bullet_list_open", "ordered_list_open"):
        return _Block(text, PASSAGE, tuple(_items(token, lines, inside)), "\n")
    if token.type == "blockquote_open":
        return _holding(token, text, [_QUOTED.sub("", line) for line in lines], inside, PASSAGE)
    return _prose(text)


def _divided(text: str, head: Sequence[str], body: Sequence[str], tail: Sequence[str] = ()) -> _Block:
    """A table or code: whole, unless it is far too long."""
    if tokens(text) <= WHOLE:
        return _Block(text)
    if tokens("\n".join(head)) > PASSAGE:  # too long to stand in every part
        head, body, tail = [], [*head, *body, *tail], []
    parts, kept, size = list[str](), list[str](), 0
    for line in (part for each in body for part in ([each] if tokens(each) <= WHOLE else _forced(each, WHOLE))):
        if kept and size + tokens(line) > WHOLE:
            parts.append("\n".join([*head, *kept, *tail]))
            kept, size = [], 0
        kept.append(line)
        size += tokens(line)
    parts.append("\n".join([*head, *kept, *tail]))
    return _Block(text, WHOLE, tuple(_Block(part, 2 * WHOLE) for part in parts), "\n\n")


def _items(token: Token, lines: Sequence[str], inside: Sequence[Token]) -> Iterator[_Block]:
    """The items of a list, each with the lines up to the next one."""
    assert token.map is not None
    found = list(_siblings(inside, lines, token.map[0]))
    starts = [item.map[0] - token.map[0] for item, _, _ in found if item.map]
    for (item, _, deeper), start, end in zip(found, starts, [*starts[1:], len(lines)], strict=True):
        own = lines[start:end]
        unindented = [own[0], *textwrap.dedent("\n".join(own[1:])).split("\n")]
        yield _holding(item, "\n".join(own).rstrip(), unindented, deeper, 2 * PASSAGE)


def _holding(token: Token, text: str, lines: Sequence[str], inside: Sequence[Token], limit: int) -> _Block:
    """What holds blocks of its own. With a table or code in it, it stays together as far as that does."""
    assert token.map is not None
    parts = tuple(_block(*each) for each in _siblings(inside, lines, token.map[0]))
    holds = any(each.type in _KEPT_WHOLE for each in inside)
    return _Block(text, WHOLE if holds else limit, parts, "\n\n")


def _prose(text: str) -> _Block:
    short = tokens(text) <= PASSAGE
    sentences = () if short else tuple(_Block(each, 2 * PASSAGE) for each in sentence.split(text))
    return _Block(text.strip(), PASSAGE, sentences)


# --- passages -------------------------------------------------------------------------------------


def _packed(blocks: Sequence[_Block]) -> Iterator[str]:
    """Passages of about ``PASSAGE`` tokens from whole blocks where they fit; a small rest stays with what is before."""
    kept, size = list[str](), 0
    for text, glue in _atoms(blocks, "\n\n", "\n\n"):
        cost = tokens(text)
        if kept and size + cost > PASSAGE and not (size < PASSAGE // 5 and cost <= PASSAGE):
            yield "".join(kept)
            kept, size = [], 0
        kept.append(text if not kept else glue + text)
        size += cost
    if kept:
        yield "".join(kept)


def _atoms(blocks: Sequence[_Block], before: str, glue: str) -> Iterator[tuple[str, str]]:
    """What is not divided further, with what joins it to the one before."""
    for block in blocks:
        if tokens(block.text) <= block.limit:
            yield block.text, before
        elif block.parts:
            yield from _atoms(block.parts, before, block.glue)
        else:
            for place, text in enumerate(_forced(block.text, PASSAGE)):
                yield text, before if place == 0 else " "
        before = glue


def _forced(text: str, limit: int) -> list[str]:
    """A sentence or line without an end: cut at words, at last anywhere."""
    return RecursiveCharacterTextSplitter(
        chunk_size=limit * 100, chunk_overlap=0, length_function=_hundredths, separators=["\n", ". ", " ", ""]
    ).split_text(text)
