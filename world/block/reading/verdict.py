"""Tells our state block from an author's status window by what most of its lines say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from world.block.field import BY_NAME, FIELDS, LINE, Field, normalise_field_name

Verdict = Literal["ours", "likely", "author"]
"""``ours``: hidden wherever it stands; ``likely``: hidden at the end of an answer; ``author``: shown."""
STATE = ("state", "state_block", "stateblock", "state block", "상태", "상태블록", "상태 블록")
"""What the first line of a fence, or a tag, says of a block."""
TITLES = frozenset(map(normalise_field_name, STATE))
EVERYDAY: frozenset[Field] = frozenset({"location", "companions", "mood"})
"""Fields that stand in authors' windows, too."""
_KEY = re.compile(r"\W*[\w ]{1,30}[\"'`*_]*[ \t]*[:：]")
_EDGE = re.compile(
    r"\s*(?:[`~]{2,}.*|-{3,}|<!--.*|-->|<summary.*|</?[^<>\n]{1,20}>|\[/?[^\[\]\n]{1,20}\])\s*", re.IGNORECASE
)
_LEAD = re.compile(r"[ \t>]*(?:[-*•]|\d{1,2}[.)])?")
_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'|[{}\[\]:：,]|[^\s\"{}\[\]:：,]+")


def judge_block(label: str, inside: str) -> Verdict:
    """Returns whose a part is: ours only where more than half of its lines are fields. ``label``: what its fence, tag
    or title says, empty for none. What says the time or the day counts for neither: both write it."""
    names = [name for name in _list_field_names(inside) if BY_NAME.get(normalise_field_name(name)) != "time"]
    labelled = normalise_field_name(label) in TITLES
    if not names:
        return "ours" if labelled else "author"
    fields = [(name, field) for name in names if (field := BY_NAME.get(normalise_field_name(name))) is not None]
    asked = [name for name, _ in fields if _bare(name).casefold() in FIELDS]
    if 2 * len(fields) <= len(names):
        return "author"
    if 2 * len(asked) > len(names) and any("_" in _bare(name) for name in asked):
        return "ours"
    as_asked = 2 * sum(_bare(name) in FIELDS for name in asked) > len(names)
    return "likely" if labelled or as_asked or any(field not in EVERYDAY for _, field in fields) else "author"


def _bare(name: str) -> str:
    return name.strip("\"'`*_ \t")


def _list_field_names(inside: str) -> Iterator[str]:
    """Yields the name that every line says, or every part of a line between bars; an empty one for a line without a
    field. Lines of a list belong to the field above."""
    text = inside.strip()
    if text.startswith("{"):
        yield from _list_object_names(text)
        return
    lead: str | None = None
    for line in text.splitlines():
        if not line.strip() or _EDGE.fullmatch(line) or normalise_field_name(line.strip(" \t#>*:：\r")) in TITLES:
            continue
        match = LINE.match(line)
        own = _LEAD.match(line)
        begins = own[0].strip(" ") if own else ""
        if match is None:
            if lead is not None and goes_on(line) and not (_KEY.match(line) and begins == lead):
                continue
            yield ""
            continue
        lead = begins
        yield match[1]
        for part in line[match.start(2) :].split("|")[1:]:
            if inner := LINE.match(part):
                yield inner[1]
            elif _KEY.match(part):
                yield ""


def _list_object_names(text: str) -> Iterator[str]:
    """Yields the names of an object, of one under the name ``state`` those in it."""
    found: dict[int, list[str]] = {}
    depth, before = 0, ""
    for token in _TOKEN.findall(text):
        if token in "{[":
            depth += 1
        elif token in "}]":
            depth -= 1
        elif token in ":：":
            found.setdefault(depth, []).append(_bare(before))
        before = token
    names = found.get(1, [])
    yield from found.get(2, []) if len(names) == 1 and normalise_field_name(names[0]) in TITLES else names


def goes_on(line: str) -> bool:
    """Returns whether a line can belong to the list of the field before it."""
    return bool(re.match(r"\s*(?:[-*•]\s|[\[\]{}]|[\"'])|[ \t]{2,}\S|\s*(?:`{3,}|~{3,}|-{3,})\s*$", line))
