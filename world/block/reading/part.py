"""Decides which part of an answer is a state block, from its beginning and while more of it comes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from world.block.field import BY_NAME, field_of, is_asked_for, may_become, normalise_field_name, says_state

STATE = ("state", "state_block", "stateblock", "state block", "상태", "상태블록", "상태 블록")
"""What the first line of a fence, or a tag, says of a block for certain."""
MAYBE_TAGS = ("details", "!--")
"""What may stand around a block to fold or hide it."""
MAYBE = ("", "json", "yaml", "yml", "text", "txt", "plaintext")
"""What the first line of a fence may say around a block or around anything else."""
FEWEST = 2
"""Lines that say fields and make a block without a fence."""
SURE = 3
"""The same where none of them has a name that was asked for: a letter in the story names a place and its mood, too."""
LONGEST = 20_000
"""Characters after which what has begun like a block is shown: no block is as long."""
_FENCE = re.compile(r"(`{3,}|~{3,})([^\n`]*)(\n?)")
_TITLE = rf"[ \t#>*_-]*(?:{'|'.join(STATE)})[*_ \t]*[:：]?[*_ \t]*"
_RULE = r"[ \t]*(?:-{3,}|\*{3,})[ \t]*"
_HEADING = re.compile(rf"(?:(?:{_TITLE}|{_RULE})\r?\n(?:[ \t]*\r?\n)*){{1,3}}", re.IGNORECASE)
"""Lines that may stand above a block: its title, a rule."""
_KEY = re.compile(r"\W*[\w ]{1,30}[\"'`*_]*[ \t]*[:：]")
_TAG = re.compile(r"<\s*([^<>\n/]{1,20}?)\s*>|(<!--)|\[\s*([^\[\]\n/]{1,20}?)\s*\]")
_JSON = re.compile(r"\{\s*[\"']([^\"'\n]{1,40})[\"']\s*:")
_JSON_BEGUN = re.compile(r"\{\s*[\"']?[^\"'\n:]*[\"']?\s*")
_NAMES = re.compile(r"[\"'{,]\s*([^\"'\n:{},]{1,40}?)[\"']?\s*[:：]")
"""Names in an object of JSON, or of YAML on one line."""
_EXACT = re.compile(r"[^\w\n]*(?:\d{1,2}[.)] )?[\"'`*_]*[a-z]+_[a-z]+[\"'`*_]*[ \t]*[:：]")
CLOSING = re.compile(r"[ \t]*(?:`{3,}|~{3,}|</[^\n>]{1,20}>|\[/[^\n\]]{1,20}\]|-{3,})[ \t]*(?:\n|$)")

_CLOSING_BEGUN = re.compile(r"[ \t\n]{0,2}(?:`*|~*|-*|</?[^\n<>]{0,20}>?|\[/?[^\n\[\]]{0,20}\]?)[ \t]*")
"""What may still become the end of a block."""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A part of the answer that is decided. ``size``: of the text that it takes from the beginning of the rest."""

    size: int
    hidden: bool


STILL = AnswerPart(-2, False)


def line_end(rest: str, last: bool) -> AnswerPart | None:
    """Returns what is left of the line on which a block ended: blanks and the line's end; ``STILL`` for anything
    else."""
    if not rest.strip(" \t"):
        return AnswerPart(len(rest), True) if last else None
    match = re.match(r"[ \t]*\n", rest)
    return AnswerPart(match.end(), True) if match else STILL


def decide_answer_part(rest: str, fresh: bool, after: bool, last: bool) -> AnswerPart | None:
    """Returns the first part of the rest of an answer, or None while more must come. ``fresh``: the rest begins a line;
    ``after``: a block stands right before it; ``last``: nothing more comes."""
    if after and (closing := CLOSING.match(rest)) and (last or closing.end() < len(rest) or rest.endswith("\n")):
        return AnswerPart(closing.end(), True)
    if after and not last and _CLOSING_BEGUN.fullmatch(rest):
        return None
    if fresh and (part := _find_titled_block(rest, last)) is not _NOTHING:
        return part
    return _take_prose_part(rest, fresh, last)


_NOTHING = AnswerPart(-1, False)


def _find_titled_block(rest: str, last: bool) -> AnswerPart | None:
    """Returns the block that begins with the rest, with the title above it; ``_NOTHING`` where none does."""
    heading = _HEADING.match(rest)
    if heading is None:
        return None if not last and _may_be_heading(rest) else _find_untitled_block(rest, last)
    under = rest[heading.end() :]
    if not last and (not under or _may_be_heading(under)):
        return None
    part = _find_untitled_block(under, last) if under else _NOTHING
    return part if part is None or not part.hidden else AnswerPart(heading.end() + part.size, True)


def _may_be_heading(line: str) -> bool:
    """Returns whether a line that is not complete may become the title of a block, or a rule."""
    begun = line.strip(" \t#>*_-\r").casefold()
    if not begun:
        return 0 < len(line.strip()) < 40 and "\n" not in line
    return any(name.startswith(begun) or begun.rstrip(":： \t*_") == name for name in STATE) and "\n" not in line


def _find_untitled_block(rest: str, last: bool) -> AnswerPart | None:
    """Returns the block that begins with the rest; ``_NOTHING`` where none does."""
    indent = len(rest) - len(rest.lstrip(" \t>"))
    text = rest[indent:]
    part: AnswerPart | None = _NOTHING
    if not text:
        return None if not last else _NOTHING
    if text[0] in "`~":
        part = _find_fenced_block(text, last)
    elif text[0] in "<[":
        part = _find_tagged_block(text, last)
    elif text[0] == "{":
        part = _find_json_block(text, last)
    if part is _NOTHING:
        return _find_field_lines(rest, last)
    return None if part is None else AnswerPart(part.size + indent, part.hidden)


def _take_prose_part(rest: str, fresh: bool, last: bool) -> AnswerPart | None:
    """Returns the part up to the next place where a block may begin."""
    if not fresh and rest.startswith("```"):
        part = _find_fenced_block(rest, last)
        return AnswerPart(3, False) if part is _NOTHING else part
    ends = (rest.find("\n") + 1, rest.find("```", 1))
    end = min((at for at in ends if at > 0), default=0)
    if end or last:
        return AnswerPart(end or len(rest), False)
    whole = rest.rstrip("`")  # a fence may have begun
    return AnswerPart(len(whole), False) if whole else None


def _find_fenced_block(text: str, last: bool) -> AnswerPart | None:
    match = _FENCE.match(text)
    if match is None:  # one or two of its signs so far
        return None if not last and len(text) < 3 and not text.strip("`~") else _NOTHING
    if not match[3] and not last:
        return None
    info = match[2].strip().casefold()
    inside = text[match.end() :]
    maybe = not _names_state(info)
    if maybe and (info not in MAYBE or not (sure := _says_field(inside, last))):
        return _NOTHING if info not in MAYBE or sure is False else None
    close = re.search(rf"^[ \t>]*{re.escape(match[1][0])}{{3,}}[ \t]*(?:\r?\n|\Z)", inside, re.MULTILINE)
    if close is not None and (last or inside[close.start() :].endswith("\n") or close.end() < len(inside)):
        is_block = (
            _mostly_fields(inside[: close.start()]) if maybe else _is_readable(info + "\n" + inside[: close.start()])
        )
        return AnswerPart(match.end() + close.end(), is_block)
    return _take_unclosed_block(match.end(), inside, last, info)


def _names_state(info: str) -> bool:
    """Returns whether the first line of a fence says ``state``, alone or with a field behind it on the same line."""
    first, _, behind = info.partition(" ")
    return normalise_field_name(info) in _STATE or (
        normalise_field_name(first) in _STATE and field_of(behind) is not None
    )


_STATE = frozenset(map(normalise_field_name, STATE))


def _says_field(inside: str, last: bool) -> bool | None:
    """Returns whether one of the first two lines with content says a field; None while that is not known."""
    others = 0
    for line in inside.splitlines(keepends=True):
        bare = line.strip()
        if not bare or bare.startswith(("```", "~~~", "<summary")):
            continue
        if bare[0] == "{":
            match = _JSON.match(inside[inside.index("{") :])
            if match is not None:
                return BY_NAME.get(normalise_field_name(match[1]), "time") != "time"
            return False if last or len(inside) > 100 else None
        if not line.endswith("\n") and not last:
            return None if may_become(line) or not others else False
        if says_state(line):
            return True
        others += 1
        if others == 2:
            return False
    return False if last else None


def _mostly_fields(inside: str) -> bool:
    """Returns whether more than half of the lines with a name are fields: the author's own status window, which names
    a place among other things, is shown."""
    if inside.lstrip().startswith("{"):
        return True
    keys = [line for line in inside.splitlines() if _KEY.match(line)]
    return 2 * sum(map(says_state, keys)) > len(keys) or not keys


def _is_readable(text: str) -> bool:
    """Returns whether a block says a field, or nothing at all: what says something else is the author's and is shown,
    whatever its fence is called. ``text``: what stands inside, with what the fence says."""
    if re.sub(r"[\W_]+", "", text).casefold() in ("", *_STATE):
        return True
    if any(field_of(line) is not None for line in text.splitlines()):
        return True
    names = [*_NAMES.findall(text), text.splitlines()[0].partition(" ")[2].partition(":")[0]]
    return any(normalise_field_name(name) in BY_NAME for name in names)


def _take_unclosed_block(start: int, inside: str, last: bool, info: str = "") -> AnswerPart | None:
    """Returns a block whose end was never written: up to a line of prose after a blank line, else to the end. ``info``:
    what its fence says."""
    if not last:
        return None if len(inside) < LONGEST else AnswerPart(start, False)
    at, blank = 0, False
    for line in inside.splitlines(keepends=True):
        if blank and line.strip() and field_of(line) is None and line.lstrip()[0] not in "-[{}]\"'":
            break
        blank = not line.strip()
        at += len(line)
    return AnswerPart(start + at, _is_readable(info + "\n" + inside[:at]))


def _find_tagged_block(text: str, last: bool) -> AnswerPart | None:
    match = _TAG.match(text)
    if match is None:
        open_end = not last and len(text) <= 22 and "\n" not in text
        return None if open_end and _may_be_tag(text) else _NOTHING
    name = "!--" if match[2] else (match[1] or match[3]).casefold()
    inside = text[match.end() :]
    maybe = name in MAYBE_TAGS
    if maybe and not (sure := _says_field(inside, last)):
        return _NOTHING if sure is False else None
    if not maybe and name not in STATE:
        return _NOTHING
    close = re.search("-->" if match[2] else rf"[<\[]/\s*{re.escape(name)}\s*[>\]]", inside, re.IGNORECASE)
    if close is not None:
        is_block = _mostly_fields(inside[: close.start()]) if maybe else _is_readable(inside[: close.start()])
        return AnswerPart(match.end() + close.end(), is_block)
    return _take_unclosed_block(match.end(), inside, last)


def _may_be_tag(text: str) -> bool:
    begun = text[1:].lstrip().casefold()
    return any(name.startswith(begun.rstrip()) for name in (*STATE, *MAYBE_TAGS))


def _find_json_block(text: str, last: bool) -> AnswerPart | None:
    match = _JSON.match(text)
    if match is None:
        return (
            None if not last and len(text) < 60 and re.fullmatch(r"\{\s*[\"']?[^\"'\n:]*[\"']?\s*", text) else _NOTHING
        )
    if BY_NAME.get(normalise_field_name(match[1]), "time") == "time":
        return _NOTHING
    size = _measure_json_object(text)
    if size is None:
        return _take_unclosed_block(0, text, last)
    return AnswerPart(size, True)


def _measure_json_object(text: str) -> int | None:
    """Returns the size of the JSON object that begins a text; None when it does not end."""
    depth, quoted, escaped = 0, False, False
    for at, sign in enumerate(text):
        if quoted:
            quoted, escaped = escaped or sign != '"', not escaped and sign == "\\"
        elif sign == '"':
            quoted = True
        elif sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
            if not depth:
                return at + 1
    return None


def _find_field_lines(rest: str, last: bool) -> AnswerPart | None:
    """Returns lines that say fields: up to the end of the answer, or, where two of them have names that nobody but a
    program writes, up to the prose that follows."""
    if rest.lstrip(" \t\r").startswith("\n"):
        return _NOTHING  # an empty line before fields belongs to the prose
    fields, exact, own, at = 0, 0, 0, 0
    complete = rest if last else rest[: rest.rfind("\n") + 1]
    for line in complete.splitlines(keepends=True):
        if field_of(line) is not None:
            fields += says_state(line)
            exact += _EXACT.match(line) is not None
            own += is_asked_for(line)
        elif line.strip() and not (fields and goes_on(line)):
            return AnswerPart(at, True) if exact >= FEWEST else _NOTHING
        at += len(line)
    if last:
        return AnswerPart(len(rest), True) if fields >= (FEWEST if own else SURE) else _NOTHING
    open_line = rest[len(complete) :]
    if not complete and not open_line.strip(" \t"):
        return None
    if not fields:
        return None if open_line and may_become(open_line) and not complete.strip() else _NOTHING
    if exact >= FEWEST and len(rest) <= LONGEST:
        return None
    if len(rest) > LONGEST or (open_line.strip() and not may_become(open_line) and not _may_go_on(open_line)):
        return _NOTHING
    return None


def _may_go_on(line: str) -> bool:
    """Returns whether a line that is not complete can belong to the list of the field before it, or end a block."""
    return goes_on(line) or not line.strip(" \t-*•`~")


def goes_on(line: str) -> bool:
    """Returns whether a line can belong to the list of the field before it."""
    return bool(re.match(r"\s*(?:[-*•]\s|[\[\]{}]|[\"'])|[ \t]{2,}\S|\s*(?:`{3,}|~{3,}|-{3,})\s*$", line))
