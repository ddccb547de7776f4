"""Decides which part of an answer is a state block, from its beginning and while more of it comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from world.block.field import BY_NAME, field_of, may_become, normalise_field_name, says_state
from world.block.reading.verdict import STATE, TITLES, Verdict, goes_on, judge_block

MAYBE_TAGS = ("details", "!--")
"""What may stand around a block to fold or hide it."""
MAYBE = ("", "json", "yaml", "yml", "text", "txt", "plaintext")
"""What the first line of a fence may say around a block or around anything else."""
FEWEST = 2
"""Lines that say fields and make a block without a fence."""
BEHIND = 300
"""Characters that may stand behind a block at the end of an answer, such as a question or choices."""
LONGEST = 20_000
"""Characters after which what has begun like a block is shown: no block is as long."""
DEEPEST = 20
"""Objects and lists within each other; no block has as many."""
FIRST_LINES = 20
"""Lines of a fence among which its first two with content are looked for."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"(`{3,}|~{3,})([^\n`]*)(\n?)")
_TITLE = rf"[ \t#>*_-]*(?:{'|'.join(STATE)})[*_ \t]*[:：]?[*_ \t]*"
_RULE = r"[ \t]*(?:-{3,}|\*{3,})[ \t]*"
_RULE_BELOW = re.compile(rf"{_RULE}\r?\n")
_HEADING = re.compile(rf"(?:(?:{_TITLE}|{_RULE})\r?\n(?:[ \t]*\r?\n)*){{1,3}}", re.IGNORECASE)
"""Lines that may stand above a block: its title, a rule."""
_TAG = re.compile(r"<\s*([^<>\n/]{1,20}?)\s*>|(<!--)|\[\s*([^\[\]\n/]{1,20}?)\s*\]")
_JSON = re.compile(r"\{\s*[\"']([^\"'\n]{1,40})[\"']\s*:")
_NAMES = re.compile(r"[\"'{,]\s*([^\"'\n:{},]{1,40}?)[\"']?\s*[:：]")
"""Names in an object of JSON, or of YAML on one line."""
_EXACT = re.compile(r"[^\w\n]*(?:\d{1,2}[.)] )?[\"'`*_]*[a-z]+_[a-z]+[\"'`*_]*[ \t]*[:：]")
CLOSING = re.compile(r"[ \t]*(?:`{3,}|~{3,}|</[^\n>]{1,20}>|\[/[^\n\]]{1,20}\]|-{3,})[ \t]*(?:\n|$)")

_CLOSING_BEGUN = re.compile(r"[ \t\n]{0,2}(?:`*|~*|-*|</?[^\n<>]{0,20}>?|\[/?[^\n\[\]]{0,20}\]?)[ \t]*")
"""What may still become the end of a block."""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A part of the answer that is decided. ``size``: of the text that it takes from the beginning of the rest;
    ``fence``: of the author's part that is open behind it, empty for none."""

    size: int
    hidden: bool
    fence: str = ""


STILL = AnswerPart(-2, False)


def line_end(rest: str, last: bool) -> AnswerPart | None:
    """Returns what is left of the line on which a block ended: blanks and the line's end; ``STILL`` for anything
    else."""
    if not rest.strip(" \t"):
        return AnswerPart(len(rest), True) if last else None
    match = re.match(r"[ \t]*\n", rest)
    return AnswerPart(match.end(), True) if match else STILL


def decide_answer_part(rest: str, fresh: bool, after: bool, last: bool, fence: str, below: bool) -> AnswerPart | None:
    """Returns the first part of the rest of an answer, or None while more must come. ``fresh``: the rest begins a line;
    ``after``: a block stands right before it; ``last``: nothing more comes; ``fence``: of the author's part that is
    open; ``below``: the line before has text, so that a rule belongs to it."""
    if fence and not (fresh and _OUR_FENCE.match(rest)):
        return _take_fenced_prose(rest, fence, fresh, last)
    if after and (closing := CLOSING.match(rest)) and (last or closing.end() < len(rest) or rest.endswith("\n")):
        return AnswerPart(closing.end(), True)
    if after and not last and _CLOSING_BEGUN.fullmatch(rest):
        return None
    if fresh and not (below and _RULE_BELOW.match(rest)) and (part := _find_titled_block(rest, last)) is not _NOTHING:
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
    part = _find_untitled_block(under, last, _find_block_title(heading[0])) if under else _NOTHING
    if part is None:
        return None
    return AnswerPart(heading.end() + part.size, True) if part.hidden else _NOTHING


def _find_block_title(heading: str) -> str:
    """Returns the title in the lines above a block, empty for none; 상태 alone is a title of authors, too."""
    titles = (line.strip(" \t#>*_-:：\r") for line in heading.splitlines())
    return next((one for one in titles if one and one != "상태"), "")


def _may_be_heading(line: str) -> bool:
    """Returns whether a line that is not complete may become the title of a block, or a rule."""
    begun = line.strip(" \t#>*_-\r").casefold()
    if not begun:
        return 0 < len(line.strip()) < 40 and "\n" not in line
    return any(name.startswith(begun) or begun.rstrip(":： \t*_") == name for name in STATE) and "\n" not in line


def _find_untitled_block(rest: str, last: bool, title: str = "") -> AnswerPart | None:
    """Returns the block that begins with the rest, or the part of the author's that does; ``_NOTHING`` where neither
    does."""
    indent = len(rest) - len(rest.lstrip(" \t>"))
    text = rest[indent:]
    part: AnswerPart | None = _NOTHING
    if not text:
        return None if not last else _NOTHING
    if text[0] in "`~":
        part = _find_fenced_block(text, last, title)
    elif text[0] in "<[":
        part = _find_tagged_block(text, last)
    elif text[0] == "{":
        part = _find_json_block(text, last, title)
    if part is _NOTHING:
        return _find_field_lines(rest, last, title)
    return None if part is None else AnswerPart(part.size + indent, part.hidden, part.fence)


def _take_prose_part(rest: str, fresh: bool, last: bool) -> AnswerPart | None:
    """Returns the part up to the next place where a block may begin."""
    if not fresh and rest.startswith("```"):
        part = _find_fenced_block(rest, last)
        if part is _NOTHING or (part is not None and part.fence and " " in rest[: part.size].strip()):
            return AnswerPart(3, False)  # signs in a sentence
        return part
    ends = (rest.find("\n") + 1, rest.find("```", 1))
    end = min((at for at in ends if at > 0), default=0)
    if end or last:
        return AnswerPart(end or len(rest), False)
    whole = rest.rstrip("`")  # a fence may have begun
    return AnswerPart(len(whole), False) if whole else None


_OUR_FENCE = re.compile(rf"[ \t>]*(?:`{{3,}}|~{{3,}})[ \t]*(?:{'|'.join(STATE)})\b[^\n`]*", re.IGNORECASE)
"""The first line of our own block."""
_OUR_FENCE_WITHIN = re.compile(rf"^{_OUR_FENCE.pattern}\n", re.IGNORECASE | re.MULTILINE)
_FENCE_BEGUN = re.compile(r"[ \t>]*(?:[`~]*|(?:`{3,}|~{3,})[ \t]*[\w -]{0,15})")


def _take_fenced_prose(rest: str, fence: str, fresh: bool, last: bool) -> AnswerPart | None:
    """Returns the next part of a fence of the author's: a line, or what has come of it."""
    end = rest.find("\n") + 1
    if fresh and not end and not last and _FENCE_BEGUN.fullmatch(rest):
        return None
    line = rest[: end or len(rest)]
    closes = fresh and re.fullmatch(rf"[ \t>]*{re.escape(fence)}{re.escape(fence[0])}*[ \t\r]*\n?", line)
    return AnswerPart(len(line), False, "" if closes else fence)


def _find_fenced_block(text: str, last: bool, title: str = "") -> AnswerPart | None:
    match = _FENCE.match(text)
    if match is None:  # one or two of its signs so far
        return None if not last and len(text) < 3 and not text.strip("`~") else _NOTHING
    info = match[2].strip().casefold()
    named = _names_state(info)
    if match[1][0] in info:
        return _NOTHING  # waves around a word
    if not match[3]:
        return _take_one_line(text, match.end(), named, last)
    inside = text[match.end() :]
    author = AnswerPart(match.end(), False, match[1])
    ours = named and info != "상태"  # which authors write, too
    if not ours and info not in (*MAYBE, "상태"):
        return author
    close = re.search(rf"^[ \t>]*{re.escape(match[1][0])}{{3,}}[ \t]*(?:\r?\n|\Z)", inside, re.MULTILINE)
    closed = close is not None and (last or inside[close.start() :].endswith("\n") or close.end() < len(inside))
    body = inside[: close.start()] if close is not None and closed else inside
    if not ours:
        second = _OUR_FENCE_WITHIN.search(body)
        if (second and body[: second.start()].strip()) or (closed and not body.strip()):
            return author
        if not (sure := _says_field(inside, last)):
            return author if sure is False else None
    if close is not None and closed:
        end = match.end() + close.end()
        return _decide_part(_judge_fence(info, title, body, ours), text, end, last)
    part = _take_unclosed_block(match.end(), inside, last, lambda body: _judge_fence(info, title, body, ours))
    return author if part is not None and not part.hidden and not last else part


def _judge_fence(info: str, title: str, body: str, ours: bool) -> Verdict:
    if ours:
        return "ours" if _is_readable(info + "\n" + body) else "author"
    if second := _OUR_FENCE_WITHIN.match(body.lstrip("\n")):
        return "ours" if _is_readable(body[second.end() :]) else "author"
    return judge_block(info if info == "상태" else title, body)


def _take_one_line(text: str, end: int, named: bool, last: bool) -> AnswerPart | None:
    """Returns a fence that begins and ends on one line. ``end``: where what it says ends."""
    signs = len(text) - end - len(text[end:].lstrip("`~"))
    if not last and (end + signs == len(text) or named):
        return None
    if last and named and _is_readable(text[3:end]):
        return _take_unclosed_block(0, text, last, lambda _: "ours")
    return AnswerPart(end + signs, False) if signs else AnswerPart(end, False, text[:3] if last else "")


def _decide_part(verdict: Verdict, text: str, size: int, last: bool) -> AnswerPart | None:
    """Returns the part of this size by its verdict. What is ours likely is so at the end of the answer, where no block
    with our own fence follows."""
    behind = text[size:]
    if verdict != "likely" or len(behind.strip()) > BEHIND or _OUR_FENCE_WITHIN.search(behind):
        return AnswerPart(size, verdict == "ours")
    return AnswerPart(size, True) if last else None


def _names_state(info: str) -> bool:
    """Returns whether the first line of a fence says ``state``, alone or with a field behind it on the same line."""
    first, _, behind = info.partition(" ")
    return normalise_field_name(info) in TITLES or (
        normalise_field_name(first) in TITLES and field_of(behind) is not None
    )


def _says_field(inside: str, last: bool) -> bool | None:
    """Returns whether one of the first two lines with content says a field; None while that is not known."""
    others = 0
    for line in islice(_iterate_lines(inside), FIRST_LINES):
        bare = line.strip()
        if not bare or bare.startswith("<summary"):
            continue
        if bare.startswith(("```", "~~~")):
            if others:
                return False
            continue
        if bare[0] == "{":
            match = _JSON.match(inside[inside.index("{") :])
            if match is not None:
                return BY_NAME.get(normalise_field_name(match[1])) != "time"
            return False if last or len(inside) > 100 else None
        if not line.endswith("\n") and not last:
            return None if may_become(line) or not others or "<summary".startswith(bare) else False
        if says_state(line):
            return True
        others += 1
        if others == 2:
            return False
    return False if last or inside.count("\n") >= FIRST_LINES else None


def _is_readable(text: str) -> bool:
    """Returns whether a block says a field, or nothing at all: what says something else is the author's and is shown,
    whatever its fence is called. ``text``: what stands inside, with what the fence says."""
    if re.sub(r"[\W_]+", "", text).casefold() in ("", *TITLES):
        return True
    if any(field_of(line) is not None for line in text.splitlines()):
        return True
    names = [*_NAMES.findall(text), text.splitlines()[0].partition(" ")[2].partition(":")[0]]
    return any(normalise_field_name(name) in BY_NAME for name in names)


def _take_unclosed_block(start: int, inside: str, last: bool, judge: Callable[[str], Verdict]) -> AnswerPart | None:
    """Returns a block whose end was never written: up to a line of prose after a blank line, else to the end."""
    if not last and len(inside) >= LONGEST:
        return AnswerPart(start, False) if start else _NOTHING
    if not last:
        return None
    end = _find_prose(inside, last)
    part = _decide_part(judge(inside[:end]), inside, end, last)
    return AnswerPart(start + end, part is not None and part.hidden)


def _find_prose(inside: str, last: bool) -> int:
    """Returns where a line of prose after a blank line begins; the end where none does."""
    at, blank = 0, False
    for line in _iterate_lines(inside):
        open_end = not last and not line.endswith("\n")
        if blank and line.strip() and field_of(line) is None and line.lstrip()[0] not in "-[{}]\"'<`~" and not open_end:
            return at
        blank = not line.strip()
        at += len(line)
    return len(inside)


def _find_tagged_block(text: str, last: bool) -> AnswerPart | None:
    match = _TAG.match(text)
    if match is None:
        open_end = not last and len(text) <= 22 and "\n" not in text
        return None if open_end and _may_be_tag(text) else _NOTHING
    name = "!--" if match[2] else (match[1] or match[3]).casefold()
    inside = text[match.end() :]
    if name not in (*MAYBE_TAGS, *STATE):
        return _NOTHING
    close = re.search("-->" if match[2] else rf"[<\[]/\s*{re.escape(name)}\s*[>\]]", inside, re.IGNORECASE)
    if name in STATE and close is not None and not inside[: close.start()].strip():
        return AnswerPart(match.end() + close.end(), True)
    if not (sure := _says_field(inside, last)):
        return _NOTHING if sure is False else None
    prose = _find_prose(inside, last)
    closed = close is not None and close.start() <= prose
    body = inside[: close.start() if close is not None and closed else prose]
    if _OUR_FENCE_WITHIN.search(body) and not _has_only_ours(body):
        return _NOTHING
    label = "" if name in MAYBE_TAGS or name == "상태" else name
    if close is not None and closed:
        return _decide_part(_judge_tag(label, body), text, match.end() + close.end(), last)
    if prose < len(inside) and _judge_tag(label, body) == "author":
        return _NOTHING
    return _take_unclosed_block(match.end(), inside, last, lambda body: _judge_tag(label, body))


def _judge_tag(label: str, body: str) -> Verdict:
    return "ours" if _has_only_ours(body) else judge_block(label, body)


def _has_only_ours(inside: str) -> bool:
    """Returns whether our own fence stands in a tag below nothing but a summary or signs."""
    second = _OUR_FENCE_WITHIN.search(inside)
    return second is not None and not re.sub(r"<summary.*|[`~-]", "", inside[: second.start()]).strip()


def _may_be_tag(text: str) -> bool:
    begun = text[1:].lstrip().casefold()
    return any(name.startswith(begun.rstrip()) for name in (*STATE, *MAYBE_TAGS))


def _find_json_block(text: str, last: bool, title: str) -> AnswerPart | None:
    if _JSON.match(text) is None:
        return (
            None if not last and len(text) < 60 and re.fullmatch(r"\{\s*[\"']?[^\"'\n:]*[\"']?\s*", text) else _NOTHING
        )
    size = _measure_json_object(text)
    if size is None:
        return _take_unclosed_block(0, text, last, lambda body: judge_block(title, body))
    return _decide_part(judge_block(title, text[:size]), text, size, last)


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
            if depth > DEEPEST:
                return None
        elif sign in "}]":
            depth -= 1
            if not depth:
                return at + 1
    return None


def _find_field_lines(rest: str, last: bool, title: str = "") -> AnswerPart | None:
    """Returns lines that say fields: up to the end of the answer, or, where two of them have names that nobody but a
    program writes, up to the prose that follows."""
    if rest.lstrip(" \t\r").startswith("\n"):
        return _NOTHING  # an empty line before fields belongs to the prose
    fields, exact, at = 0, 0, 0
    complete = rest if last else rest[: rest.rfind("\n") + 1]
    for line in _iterate_lines(complete):
        if field_of(line) is not None:
            fields += says_state(line)
            exact += _EXACT.match(line) is not None
        elif line.strip() and not (fields and goes_on(line)):
            return AnswerPart(at, True) if exact >= FEWEST else _take_plain_lines(rest[:at])
        at += len(line)
    if last:
        is_block = fields and (fields >= FEWEST or "|" in rest) and judge_block(title, rest) != "author"
        return AnswerPart(len(rest), True) if is_block else _take_plain_lines(rest)
    open_line = rest[len(complete) :]
    if not complete and not open_line.strip(" \t"):
        return None
    if not fields:
        return None if open_line and may_become(open_line) and not complete.strip() else _NOTHING
    if exact >= FEWEST and len(rest) <= LONGEST:
        return None
    if len(rest) > LONGEST or (open_line.strip() and not may_become(open_line) and not _may_go_on(open_line)):
        return _take_plain_lines(complete)
    return None


def _take_plain_lines(text: str) -> AnswerPart:
    """Returns the first lines of fields that make no block, up to one with which another kind of block may begin: from
    each further line on there are fewer fields, so that none of them needs another look."""
    at = 0
    for line in _iterate_lines(text):
        if "```" in line or line.lstrip(" \t>").startswith(("`", "~", "<", "[", "{")) or _HEADING.match(line):
            break
        at += len(line)
    return AnswerPart(at, False) if at else _NOTHING


def _iterate_lines(text: str) -> Iterator[str]:
    """Yields the lines with their ends, one by one."""
    return (match[0] for match in _LINE.finditer(text))


def _may_go_on(line: str) -> bool:
    """Returns whether a line that is not complete can belong to the list of the field before it, or end a block."""
    return goes_on(line) or not line.strip(" \t-*•`~")
