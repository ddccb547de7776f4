"""HTML pages."""

from __future__ import annotations

import re
import warnings
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import Any

import lxml.html
from bs4 import BeautifulSoup
from bs4.dammit import EncodingDetector
from lxml import etree
from markdownify import MarkdownConverter

from errors import DocumentBroken
from retrieval.read.escaped import escape_blocks, escape_heading
from retrieval.read.format.loaded import Loaded, decode_file
from retrieval.read.format.page_frame import drop_frame
from retrieval.read.format.page_table import settle_tables
from text.clean import clean_text, collapse_spaces

_HEADINGS = {f"h{level}" for level in range(1, 7)}
_CHARSETS = {*aliases, *aliases.values()}
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")


def read_html(name: str, data: bytes, _limit: int) -> Loaded:
    return read_page(name, data)


def read_page(name: str, data: bytes) -> Loaded:
    """Returns a page of any encoding."""
    return from_html(name, decode_file(name, data, _find_declared_encoding(data)))


def _find_declared_encoding(data: bytes) -> str:
    """Returns the encoding that the page declares, if it is a known one; else ''."""
    encoding = EncodingDetector.find_declared_encoding(data, is_html=True) or ""
    return encoding if normalize_encoding(encoding).lower() in _CHARSETS else ""


def from_html(name: str, html: str) -> Loaded:
    """Returns a page's main part as Markdown, without navigation and other parts around it."""
    page = _parse_page(name, html)
    if page is None:
        return Loaded(name, "", "", True, {})
    title = (
        _join_words(page.find(".//title"))
        or _join_words(page.find(".//h1[@class='title']"))
        or _join_words(page.find(".//h1"))
    )
    for head in page.findall(".//head"):
        head.getparent().remove(head)
    drop_frame(page)
    settle_tables(page)
    main = lxml.html.tostring(_find_main_part(page), encoding="unicode")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bs4 warns of files that look like an address or XML
        text = _Markdown().convert_soup(BeautifulSoup(main, "lxml"))
    return Loaded(name, clean_text(title), re.sub(r"\n{3,}", "\n\n", clean_text(text)).strip(), True, {})


def _parse_page(name: str, html: str) -> Any:
    """Returns the tree of a page; None for a page without any element. libxml2 knows where an unclosed tag ends, and
    cuts off what lies more than 256 deep, so such a page is broken."""
    parser = lxml.html.HTMLParser(remove_comments=True, remove_pis=True)
    try:
        page = lxml.html.document_fromstring(_DECLARATION.sub("", html, count=1), parser=parser)
    except etree.ParserError:
        return None
    deep = next((each.message for each in parser.error_log if "depth" in each.message.lower()), None)
    if deep:
        raise DocumentBroken(name=name, reason=deep, reason_code="damaged", detail=deep)
    for behind in [*page.itersiblings()]:  # what a page has after its end
        page.append(behind)
        behind.drop_tag()
    return page


def _join_words(element: Any) -> str:
    return collapse_spaces("".join(element.itertext())) if element is not None else ""


def _find_main_part(page: Any) -> Any:
    """Returns the part that the page marks as its main one, if there is just one with most of the text; else the whole
    page."""
    size = len(_join_words(page))
    for kind in ("main", "article"):
        parts = page.findall(f".//{kind}")
        if len(parts) == 1 and 2 * len(_join_words(parts[0])) > size:
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
        return _escape_inline_text(super().process_text(el, parent_tags), parent_tags or set())  # type: ignore[misc] # not in its stub

    def convert_a(self, el: Any, text: str, parent_tags: set[str]) -> str:
        target = str(el.get("href", "")).strip()
        outside = re.match(r"https?:|mailto:", target) and text.strip() not in ("", target)
        return f"[{text}]({target})" if outside and "_noformat" not in parent_tags else text

    def convert_li(self, el: Any, text: str, parent_tags: set[str]) -> str:
        """Converts as the base class does, but counts the items of an ordered list itself: the base class counts all
        items before every item."""
        if el.parent is None or el.parent.name != "ol":
            return str(super().convert_li(el, text, parent_tags))  # type: ignore[misc]
        number = self._numbers.get(id(el.parent), _read_first_number(el.parent))
        self._numbers[id(el.parent)] = number + 1
        bullet, text = f"{number}. ", text.strip()
        return bullet + re.sub(r"\n(?=[^\n])", "\n" + " " * len(bullet), text) + "\n" if text else "\n"

    def convert_img(self, el: Any, text: str, parent_tags: set[str]) -> str:
        return _escape_inline_text(collapse_spaces(str(el.get("alt", ""))), parent_tags)

    def convert_td(self, el: Any, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_td(el, text.replace("|", r"\|"), parent_tags))  # type: ignore[misc]

    convert_th = convert_td


def _read_first_number(numbered: Any) -> int:
    """Returns the number of the first item of an ordered list."""
    start = str(numbered.get("start", ""))
    return int(start) if start.isdecimal() and len(start) < 10 else 1


def _escape_inline_text(text: str, inside: set[str]) -> str:
    if not inside & _HEADINGS:
        return escape_blocks(text)
    return text if "_noformat" in inside else escape_heading(text)
