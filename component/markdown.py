"""Text for the screen: model Markdown that renders as meant, and everything else as harmless plain text.

CommonMark leaves ``**압축률(0.3)**은`` as raw asterisks (its flanking rule) and reads ``10~20, 30~40`` as struck out;
a picture becomes a link here (facts: ui.md §1.7), and ``door.policy`` keeps the browser from fetching any.
"""

from __future__ import annotations

import re

_CODE = re.compile(r"(^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)[^\n]*$|\Z)|`+[^`\n]+`+)", re.S | re.M)
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.{1,400}?)(?<=\S)\1")  # bounds: without them the time grows by the square
_PUNCTUATION = re.compile(r"[^\w\s]|_")
_WORD = re.compile(r"\w")
_SINGLE_TILDE = re.compile(r"(?<![~\\])~(?!~)")
_PICTURE = re.compile(r"!\[([^\]\n]{0,400})\](?=[(\[])")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")
_ESCAPED = r"\\\1"
_DOLLAR = re.compile(r"(?<![\\$])\$(?!\$)")
_FORMULA = re.compile(r"\$([^$\n]+)(?<!\\)\$(?![$\d])")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAK = "&#8203;"


def fixed(text: str) -> str:
    """The model's Markdown, changed only where CommonMark or safety would get it wrong; code is left alone."""
    parts = _CODE.split(shown(text))
    return "".join(part if index % 2 else _fixed_prose(part) for index, part in enumerate(parts))


def plain(text: str) -> str:
    """``text`` for a place that reads Markdown (labels, captions), so that it shows as it is, on one line."""
    words = " ".join(shown(text).split())
    lead, trail = text[:1].isspace() and words, text[-1:].isspace() and words
    return f"{' ' if lead else ''}{_SPECIAL.sub(_ESCAPED, words)}{' ' if trail else ''}"


def shown(text: str) -> str:
    """``text`` with what cannot travel to a browser (NUL, lone surrogates) made visible instead."""
    return _SURROGATE.sub("\ufffd", text.replace("\x00", "\u2400"))


def short(text: str, limit: int) -> str:
    """The first ``limit`` characters, with an ellipsis when something was cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _fixed_prose(text: str) -> str:
    text = _PICTURE.sub(lambda found: f"[{found[1] or 'image'}]", text)
    text = _BOLD.sub(_flanked, text)
    return _money(_SINGLE_TILDE.sub(r"\\~", text))


def _money(text: str) -> str:
    """``$5에서 $10`` as amounts and ``$x^2$`` as a formula.

    By Pandoc's rule (manual, «tex_math_dollars»): no space inside the marks and no digit after the closing one; nor
    Hangul between them, unless it is in a command.
    """
    made, at = [], 0
    while opened := _DOLLAR.search(text, at):
        formula = _FORMULA.match(text, opened.start())
        whole = formula is not None and _is_formula(formula[1])
        end = formula.end() if formula and whole else opened.end()
        made += [text[at : opened.start()], text[opened.start() : end] if whole else r"\$"]
        at = end
    return "".join(made) + text[at:]


def _is_formula(body: str) -> bool:
    return body == body.strip() and ("\\" in body or not _HANGUL.search(body))


def _flanked(found: re.Match[str]) -> str:
    """Bold that opens and closes wherever it stands: an invisible break between a mark and the letter at it."""
    body, whole = found[2], found.string
    before, after = whole[found.start() - 1 : found.start()], whole[found.end() : found.end() + 1]
    left = _BREAK if _PUNCTUATION.match(body[0]) and _WORD.match(before) else ""
    right = _BREAK if _PUNCTUATION.match(body[-1]) and _WORD.match(after) else ""
    if found[1] == "__" and not (left or right):
        return found[0]
    return f"{left}**{body}**{right}"
