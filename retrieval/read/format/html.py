"""HTML pages."""

from __future__ import annotations

import re
import warnings
from encodings import normalize_encoding
from encodings.aliases import aliases
from types import MappingProxyType
from typing import Any

from bs4 import BeautifulSoup
from bs4.builder._lxml import LXMLTreeBuilder
from bs4.dammit import EncodingDetector
from markdownify import MarkdownConverter

from retrieval.read.escaped import escaped, literal
from retrieval.read.format.loaded import Loaded, decoded
from text.clean import clean

_FRAME = ("script", "style", "noscript", "template", "nav", "footer", "iframe")
_FIELDS = ("input", "select", "textarea", "button")
_LEFT_OUT = frozenset((*_FRAME, *_FIELDS))
_HEADINGS = {f"h{level}" for level in range(1, 7)}
_CHARSETS = {*aliases, *aliases.values()}


def read(name: str, data: bytes, _limit: int) -> Loaded:
    return from_html(name, decoded(name, data, _declared(data)))


def _declared(data: bytes) -> str:
    """Returns the encoding that the page declares, if it is a known one; else ''."""
    encoding = EncodingDetector.find_declared_encoding(data, is_html=True) or ""
    return encoding if normalize_encoding(encoding).lower() in _CHARSETS else ""


def from_html(name: str, html: str) -> Loaded:
    """Returns a page's main part as Markdown, without navigation and other parts around it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bs4 warns of files that look like an address or XML
        page = BeautifulSoup(html, builder=_Builder())
    heading = page.find("h1", class_="title") or page.find("h1")
    title = page.title.get_text(" ", strip=True) if page.title else ""
    title = title or (heading.get_text(" ", strip=True) if heading else "")
    for head in page("head"):
        head.decompose()
    text = _Markdown().convert_soup(_main(page))
    return Loaded(name, clean(title), re.sub(r"\n{3,}", "\n\n", clean(text)).strip(), True, {})


class _Builder(LXMLTreeBuilder):
    """A tree builder on lxml, which knows where an unclosed tag ends. It skips the parts around the content, and keeps
    the content of a form without the form. Removing parts from a finished tree takes the square of their number."""

    _inside = 0
    """The number of skipped elements that are open."""

    def feed(self, markup: Any) -> None:
        self._inside = 0
        super().feed(markup)

    def start(self, tag: Any, attrib: Any, nsmap: Any = MappingProxyType({})) -> None:
        if self._inside or tag in _LEFT_OUT:
            self._inside += 1
        elif tag != "form":
            super().start(tag, attrib, nsmap)

    def end(self, tag: Any) -> None:
        if self._inside:
            self._inside -= 1
        elif tag != "form":
            super().end(tag)

    def data(self, data: Any) -> None:
        if not self._inside:
            super().data(data)


def _main(page: Any) -> Any:
    """Returns the part that the page marks as its main one, if there is just one with most of the text; else the whole
    page."""
    size = len(page.get_text(strip=True))
    for kind in ("main", "article"):
        parts = page(kind)
        if len(parts) == 1 and 2 * len(parts[0].get_text(strip=True)) > size:
            return parts[0]
    return page


class _Markdown(MarkdownConverter):
    """A converter to Markdown. Text stays as it is written, pictures become their description, and only links that lead
    outside stay links."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[int, int] = {}  # the number of the next item, by list

    class Options:
        heading_style = "ATX"
        bullets = "-"
        escape_asterisks = False
        escape_underscores = False
        table_infer_header = True

    def process_text(self, el: Any, parent_tags: set[str] | None = None) -> str:
        return _plain(super().process_text(el, parent_tags), parent_tags or set())  # type: ignore[misc] # not in its stub

    def convert_a(self, el: Any, text: str, parent_tags: set[str]) -> str:
        target = str(el.get("href", "")).strip()
        outside = re.match(r"https?:|mailto:", target) and text.strip() not in ("", target)
        return f"[{text}]({target})" if outside and "_noformat" not in parent_tags else text

    def convert_li(self, el: Any, text: str, parent_tags: set[str]) -> str:
        """Converts as the base class does, but counts the items of an ordered list itself: the base class counts all
        items before every item."""
        if el.parent is None or el.parent.name != "ol":
            return str(super().convert_li(el, text, parent_tags))  # type: ignore[misc]
        number = self._numbers.get(id(el.parent), _first(el.parent))
        self._numbers[id(el.parent)] = number + 1
        bullet, text = f"{number}. ", text.strip()
        return bullet + re.sub(r"\n(?=[^\n])", "\n" + " " * len(bullet), text) + "\n" if text else "\n"

    def convert_img(self, el: Any, text: str, parent_tags: set[str]) -> str:
        return _plain(" ".join(str(el.get("alt", "")).split()), parent_tags)

    def convert_td(self, el: Any, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_td(el, text.replace("|", r"\|"), parent_tags))  # type: ignore[misc]

    convert_th = convert_td


def _first(numbered: Any) -> int:
    """Returns the number of the first item of an ordered list."""
    start = str(numbered.get("start", ""))
    return int(start) if start.isdecimal() and len(start) < 10 else 1


def _plain(text: str, inside: set[str]) -> str:
    if not inside & _HEADINGS:
        return literal(text)
    return text if "_noformat" in inside else escaped(text)
