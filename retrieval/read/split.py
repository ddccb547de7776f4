"""Splitting of text into sections and passages.

A section is the text under one heading, with the path of headings above it. A long section becomes several passages,
cut between paragraphs, list items and sentences; a table or a code block stays whole, also inside a list item or a
quotation. Only a table or code block that no model could read at once is divided, between its rows or lines, and each
part repeats the table's head or the code's fence. No passage is much longer than ``WHOLE``, whatever the file is like.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from retrieval.read.escaped import MARK
from text import sentence
from text.clean import collapse_spaces
from text.cut import cut_graphemes

PASSAGE, WHOLE = 220, 900
"""Estimated tokens of a passage, and of the largest table or code block that is kept whole. The embedding model reads
512 tokens at once and averages over longer texts."""
HEADING_CHARS = 200
"""The longest heading or title, in characters; it is embedded with every passage below it. The whole of a longer
heading is also kept as text."""
_STEP = (
    r"[ \t>*+-]*(?:(?:step|단계)\s*\d|\d+\s*단계|[①-⑳]|(?:first|second|third)(?:ly)?,"
    r"|(?:첫|두|둘|세|셋|네|넷)\s?(?:번\s?)?째(?:로|[,.:]))"
)
STEPS = re.compile(rf"^(?:{_STEP}|[ \t>*+-]*\(?\d{{1,2}}[.)]\**\s+\S)", re.IGNORECASE | re.MULTILINE)
"""Matches the beginning of a line that is one of several steps. In a heading, a number alone does not make a step
(``_STEP_HEADING``): the heading may have it for another reason."""
_STEP_HEADING = re.compile(_STEP, re.IGNORECASE)
_KEPT_WHOLE = ("table_open", "fence", "code_block", "html_block")
_QUOTED = re.compile(r"^ {0,3}> ?")
_HANGUL = re.compile(r"[^\x00-\u02af]")
_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage before it is stored. ``section`` counts a document's sections from 0, ``number`` a section's
    passages."""

    section: int
    number: int
    path: tuple[str, ...]
    text: str
    has_steps: bool


@dataclass(frozen=True, slots=True)
class _Block:
    """A stretch of a section. It stays whole up to ``limit`` estimated tokens; a longer one is divided into ``parts``,
    joined by ``glue``.

    A block without parts is cut between words.
    """

    text: str
    limit: int = WHOLE
    parts: tuple[_Block, ...] = ()
    glue: str = " "


def split_passages(text: str, *, markdown: bool, title: str = "") -> list[Piece]:
    """Returns the passages of a text in reading order. ``title``: makes no passage by itself, and is left out of the
    path when the first heading repeats it."""
    pieces: list[Piece] = []
    sections = (
        _parse_sections(text) if markdown else [((), [_build_prose_block(part) for part in re.split(r"\n\s*\n", text)])]
    )
    nonblank = [(path, [block for block in blocks if block.text.strip()]) for path, blocks in sections]
    filled = [(path, blocks) for path, blocks in nonblank if blocks]
    filled = [(path, blocks) for path, blocks in filled if [block.text for block in blocks] != [title]] or filled
    stepped = Counter(path[:-1] for path, _ in filled if path and _STEP_HEADING.match(path[-1]))
    for section, (path, blocks) in enumerate(filled):
        own_steps = len(STEPS.findall("\n".join(block.text for block in blocks).replace(MARK, "")))
        sibling_steps = stepped[path[:-1]] if path and _STEP_HEADING.match(path[-1]) else 0
        steps = max(own_steps, sibling_steps) >= 2
        inner_path = path[1:] if path[:1] == (title,) else path
        packed = enumerate(_pack_blocks(blocks))
        pieces += [Piece(section, number, inner_path, text.replace(MARK, ""), steps) for number, text in packed]
    return pieces


def estimate_passage_tokens(text: str) -> int:
    """Estimates how many tokens a multilingual model makes of the text."""
    return _estimate_hundredths(text) // 100 + 1


def _estimate_hundredths(text: str) -> int:
    foreign = len(_HANGUL.findall(text))
    return (len(text) - foreign) * 27 + foreign * 62


# --- sections -------------------------------------------------------------------------------------


def _parse_sections(text: str) -> Iterator[tuple[tuple[str, ...], list[_Block]]]:
    """Yields path and blocks of every section, including empty ones."""
    lines, headings, blocks = text.split("\n"), list[tuple[int, str]](), list[_Block]()
    parsed = _PARSER.parse(text)
    for token, block_lines, inner_tokens in _list_sibling_blocks(parsed, lines, 0):
        if token.type != "heading_open":
            blocks.append(_build_block(token, block_lines, inner_tokens))
            continue
        depth, words = int(token.tag[1]), _read_heading_text(inner_tokens[0])
        yield _build_section(headings, blocks, depth)
        above = [heading for heading in headings if heading[0] < depth]
        headings = [*above, (depth, cut_graphemes(words, HEADING_CHARS))]
        blocks = [_build_prose_block(words)] if len(words) > HEADING_CHARS else []
    yield _build_section(headings, blocks, 0)


def _build_section(
    headings: Sequence[tuple[int, str]], blocks: list[_Block], following: int
) -> tuple[tuple[str, ...], list[_Block]]:
    """Returns path and blocks of a section. A heading with nothing below it becomes the section's text, unless the next
    heading, of level ``following``, is deeper."""
    alone = headings and not blocks and following <= headings[-1][0]
    return tuple(name for _, name in headings), [_build_prose_block(headings[-1][1])] if alone else blocks


def _list_sibling_blocks(
    parsed: Sequence[Token], lines: Sequence[str], first: int
) -> Iterator[tuple[Token, Sequence[str], Sequence[Token]]]:
    """Yields each block of one level with its lines and inner tokens. ``lines`` begin at line ``first`` of the text."""
    index = 0
    while index < len(parsed):
        token, end = parsed[index], index + 1
        while end < len(parsed) and parsed[end].level > token.level:
            end += 1
        if token.map is not None and token.nesting >= 0:
            yield token, lines[token.map[0] - first : token.map[1] - first], parsed[index + 1 : end]
        index = end


def _read_heading_text(inline: Token) -> str:
    """Returns the text of a heading without markup."""
    contents = [child.content for child in inline.children or () if child.type in ("text", "code_inline")]
    return collapse_spaces("".join(contents)) or collapse_spaces(inline.content)


def _build_block(token: Token, lines: Sequence[str], inside: Sequence[Token]) -> _Block:
    text = "\n".join(lines).rstrip()
    if token.type == "table_open":
        return _divide_block(text, lines[:2], lines[2:])
    if token.type == "fence":
        closed = re.fullmatch(r"\s*(?:`{3,}|~{3,})\s*", lines[-1]) is not None and len(lines) > 1
        return _divide_block(text, lines[:1], lines[1:-1] if closed else lines[1:], [token.markup])
    if token.type in ("code_block", "html_block"):
        return _divide_block(text, [], lines)
    if token.type in ("bullet_list_open", "ordered_list_open"):
        return _Block(text, PASSAGE, tuple(_list_item_blocks(token, lines, inside)), "\n")
    if token.type == "blockquote_open":
        return _build_holding_block(token, text, [_QUOTED.sub("", line) for line in lines], inside, PASSAGE)
    return _build_prose_block(text)


def _divide_block(text: str, head: Sequence[str], body: Sequence[str], tail: Sequence[str] = ()) -> _Block:
    """Returns a table or code block: whole, unless it is longer than ``WHOLE``."""
    if estimate_passage_tokens(text) <= WHOLE:
        return _Block(text)
    if estimate_passage_tokens("\n".join(head)) > PASSAGE:  # too long to stand in every part
        head, body, tail = [], [*head, *body, *tail], []
    parts, lines, size = list[str](), list[str](), 0
    for line in (
        part for row in body for part in ([row] if estimate_passage_tokens(row) <= WHOLE else _cut_anywhere(row, WHOLE))
    ):
        if lines and size + estimate_passage_tokens(line) > WHOLE:
            parts.append("\n".join([*head, *lines, *tail]))
            lines, size = [], 0
        lines.append(line)
        size += estimate_passage_tokens(line)
    parts.append("\n".join([*head, *lines, *tail]))
    return _Block(text, WHOLE, tuple(_Block(part, 2 * WHOLE) for part in parts), "\n\n")


def _list_item_blocks(token: Token, lines: Sequence[str], inside: Sequence[Token]) -> Iterator[_Block]:
    """Yields the items of a list, each with the lines up to the next item."""
    assert token.map is not None
    items = list(_list_sibling_blocks(inside, lines, token.map[0]))
    starts = [item.map[0] - token.map[0] for item, _, _ in items if item.map]
    for (item, _, deeper), start, end in zip(items, starts, [*starts[1:], len(lines)], strict=True):
        item_lines = lines[start:end]
        unindented = [item_lines[0], *textwrap.dedent("\n".join(item_lines[1:])).split("\n")]
        yield _build_holding_block(item, "\n".join(item_lines).rstrip(), unindented, deeper, 2 * PASSAGE)


def _build_holding_block(token: Token, text: str, lines: Sequence[str], inside: Sequence[Token], limit: int) -> _Block:
    """Returns a block that holds other blocks. One with a table or code inside stays whole up to their limit."""
    assert token.map is not None
    parts = tuple(_build_block(*child) for child in _list_sibling_blocks(inside, lines, token.map[0]))
    holds = any(child.type in _KEPT_WHOLE for child in inside)
    return _Block(text, WHOLE if holds else limit, parts, "\n\n")


def _build_prose_block(text: str) -> _Block:
    short = estimate_passage_tokens(text) <= PASSAGE
    sentences = () if short else tuple(_Block(part, 2 * PASSAGE) for part in sentence.split_sentences(text))
    return _Block(text.strip(), PASSAGE, sentences)


# --- passages -------------------------------------------------------------------------------------


def _pack_blocks(blocks: Sequence[_Block]) -> Iterator[str]:
    """Yields passages of about ``PASSAGE`` tokens from whole blocks where they fit; a beginning below a fifth of that
    takes in the next block as well."""
    parts, size = list[str](), 0
    for text, glue in _list_block_atoms(blocks, "\n\n", "\n\n"):
        cost = estimate_passage_tokens(text)
        if parts and size + cost > PASSAGE and not (size < PASSAGE // 5 and cost <= PASSAGE):
            yield "".join(parts)
            parts, size = [], 0
        parts.append(text if not parts else glue + text)
        size += cost
    if parts:
        yield "".join(parts)


def _list_block_atoms(blocks: Sequence[_Block], before: str, glue: str) -> Iterator[tuple[str, str]]:
    """Yields each text that is not divided further, with the glue that joins it to the text before."""
    for block in blocks:
        if estimate_passage_tokens(block.text) <= block.limit:
            yield block.text, before
        elif block.parts:
            yield from _list_block_atoms(block.parts, before, block.glue)
        else:
            for index, text in enumerate(_cut_anywhere(block.text, PASSAGE)):
                yield text, before if index == 0 else " "
        before = glue


def _cut_anywhere(text: str, limit: int) -> list[str]:
    """Cuts a sentence or line without an end between words, or else anywhere."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(
        chunk_size=limit * 100, chunk_overlap=0, length_function=_estimate_hundredths, separators=["\n", ". ", " ", ""]
    ).split_text(text)
