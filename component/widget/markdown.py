"""Text for the screen: a model's Markdown so that it renders as meant, and all other text as harmless plain text.

CommonMark leaves ``**압축률(0.3)**은`` as raw asterisks (its flanking rule) and reads ``10~20, 30~40`` as struck out.
This module turns a picture into a link (design 8.5), and ``server.network.policy`` keeps the browser from fetching
pictures.
Streamlit's own marks (``:red[…]``, ``:material/…:``) are for this page only: in other people's text they stay text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from text.clean import collapse_spaces
from text.cut import cut_graphemes

_CODE = re.compile(
    r"(?P<escape>\\[\\`])"
    r"|^ {0,3}(?P<fence>(?P<mark>[`~])(?P=mark){2,})(?:(?<=`)[^`\n]*|(?<=~)[^\n]*)$.*?"
    r"(?:^ {0,3}(?P=fence)(?P=mark)*[ \t]*$|\Z)"
    r"|^(?P<lead>[ \t]{4,}|[ \t]*>[ \t>]*)(?P<nested>`{3,})[^`\n]*\n"
    r"(?:(?P=lead)[^\n]*\n|[ \t>]*\n){0,300}?(?P=lead)(?P=nested)`*[ \t]*$"
    r"|(?<!`)(?P<span>`+)(?!`)[^\n]{1,1000}?(?<!`)(?P=span)(?!`)",
    re.S | re.M,
)
"""Fenced blocks of code, also in a list or a quotation, and code spans; escaped backticks open no code."""
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.{1,400}?)(?<=\S)\1")  # bounded: else the time grows with the square of the length
_PUNCTUATION = re.compile(r"[^\w\s]|_")
_WORD = re.compile(r"\w")
_SINGLE_TILDE = re.compile(r"(?<![~\\])~(?!~)")
_PICTURE = re.compile(r"!\[([^\]\n]{0,400})\](?=[(\[])")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$&])")
_ESCAPED = r"\\\1"
_DOLLAR = re.compile(r"(?<![\\$])\$(?!\$)")
_FORMULA = re.compile(r"\$([^$\n]+)(?<!\\)\$(?![$\d])")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_DISPLAYED = re.compile(r"((?<![\\$])\$\$(?!\$)(?:(?!\n[ \t]*\n)[^$])+\$\$(?!\$))")
_NAMED = (
    r"(?:(?:red|orange|yellow|green|blue|violet|gr[ae]y|primary|rainbow)(?:-background|-badge)?"
    r"|small|shimmer|help|color)(?![\w-])"
)
_DIRECTIVE = re.compile(rf"(?<!\\)((?:\\\\)*):(?=[^\s!-,./:-@\[-^`{{-~]+[\[{{]|{_NAMED})")
_ICON = re.compile(r"(:|&(?:#0*58|#[xX]0*3[aA]|colon);)(?=(?:material\\?[/_][\w\\]+|streamlit)(?:\\?:|&))")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_BREAK = "&#8203;"
_PARTED = rf"\1{_BREAK}"


def _return_unchanged(text: str) -> str:
    return text


def fix_markdown(text: str, link: Callable[[str], str] = _return_unchanged) -> str:
    """Returns a model's Markdown, changed only where CommonMark misreads it or it is unsafe; code stays as it is.

    ``link``: called last on every piece that is neither code nor formula, to put the page's own links into it.
    """
    source, parts, position = sanitize_text(text), list[str](), 0
    for code in _CODE.finditer(source):
        if not code["escape"]:
            parts += [_fixed_prose(source[position : code.start()], link), code[0]]
            position = code.end()
    return "".join(parts) + _fixed_prose(source[position:], link)


def escape_markdown(text: str) -> str:
    """Returns ``text`` escaped for a place that reads Markdown (labels, captions): it shows as it is, on one line."""
    words = collapse_spaces(sanitize_text(text))
    lead, trail = text[:1].isspace() and words, text[-1:].isspace() and words
    escaped = _ICON.sub(_PARTED, _SPECIAL.sub(_ESCAPED, words))
    return f"{' ' if lead else ''}{escaped}{' ' if trail else ''}"


def sanitize_text(text: str) -> str:
    """Returns ``text`` with visible signs for the characters that cannot travel to a browser (NUL, lone surrogates).

    Removes the characters that turn the direction of the text after them: they could make this text, and the page
    after it, read differently. Arabic and Hebrew letters have their direction without them (Unicode Annex 9).
    """
    return _TURNING.sub("", _SURROGATE.sub("\ufffd", text.replace("\x00", "\u2400")))


def shorten_text(text: str, limit: int) -> str:
    """Returns ``text`` cut to ``limit`` characters; a cut text ends with an ellipsis."""
    return text if len(text) <= limit else cut_graphemes(text, limit - 1).rstrip() + "…"


def _fixed_prose(text: str, link: Callable[[str], str]) -> str:
    text = _PICTURE.sub(lambda match: f"[{match[1] or 'image'}]", text)
    text = _BOLD.sub(_flank_bold_text, text)
    parts = _DISPLAYED.split(_SINGLE_TILDE.sub(r"\\~", text))
    return "".join(part if index % 2 else _escape_money(part, link) for index, part in enumerate(parts))


def _escape_directives(text: str) -> str:
    """Returns ``text`` with Streamlit's directives, icons and logo escaped, so that they show as text.

    Streamlit drops the text in the brackets of an unknown directive, as in «10:30[1]», so all directives are escaped.
    Streamlit looks for icons after it has read escapes, so an icon gets an invisible break instead.
    """
    return _ICON.sub(_PARTED, _DIRECTIVE.sub(r"\1\\:", text))


def _escape_money(text: str, link: Callable[[str], str]) -> str:
    """Returns ``text`` with ``$5에서 $10`` as amounts and ``$x^2$`` as a formula.

    Text outside formulas passes ``_escape_directives``, then ``link``. By Pandoc's rule (manual, «tex_math_dollars»), a
    formula has no space inside its marks and no digit after the closing mark. Text with Hangul is no formula unless it
    has a command.
    """
    parts, position = [], 0
    while opening := _DOLLAR.search(text, position):
        formula = _FORMULA.match(text, opening.start())
        is_formula = formula is not None and _is_formula(formula[1])
        end = formula.end() if formula and is_formula else opening.end()
        parts += [
            link(_escape_directives(text[position : opening.start()])),
            text[opening.start() : end] if is_formula else r"\$",
        ]
        position = end
    return "".join(parts) + link(_escape_directives(text[position:]))


def _is_formula(body: str) -> bool:
    return body == body.strip() and ("\\" in body or not _HANGUL.search(body))


def _flank_bold_text(found: re.Match[str]) -> str:
    """Returns bold text that opens and closes wherever it stands.

    Puts an invisible break between a mark and the letter outside it, because CommonMark's flanking rule needs one.
    """
    body, whole = found[2], found.string
    before, after = whole[found.start() - 1 : found.start()], whole[found.end() : found.end() + 1]
    left = _BREAK if _PUNCTUATION.match(body[0]) and _WORD.match(before) else ""
    right = _BREAK if _PUNCTUATION.match(body[-1]) and _WORD.match(after) else ""
    if found[1] == "__" and not (left or right):
        return found[0]
    return f"{left}**{body}**{right}"
