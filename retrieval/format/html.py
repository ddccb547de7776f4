"""HTML pages."""

from __future__ import annotations

import re
import warnings
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import Any

from bs4 import BeautifulSoup
from bs4.dammit import EncodingDetector
from markdownify import MarkdownConverter

from retrieval.format.loaded import Loaded, decoded
from retrieval.literal import escaped, literal
from text.clean import clean

_LEFT_OUT = ("head", "script", "style", "noscript", "template", "nav", "footer", "iframe")
_FIELDS = ("input", "select", "textarea", "button")
_HEADINGS = {f"h{level}" for level in range(1, 7)}
_CHARSETS = {*aliases, *aliases.values()}


def read(name: str, data: bytes, _limit: int) -> Loaded:
    return from_html(name, decoded(name, data, _declared(data)))


def _declared(data: bytes) -> str:
    """The encoding that the page says it has, if it is one; '' when it says none."""
    said = EncodingDetector.find_declared_encoding(data, is_html=True) or ""
    return said if normalize_encoding(said).lower() in _CHARSETS else ""


def from_html(name: str, html: str) -> Loaded:
    """A page's main part, without what frames it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files that look like an address or XML
        page = BeautifulSoup(html, "lxml")  # which knows where a tag ends that is not closed
    heading = page.find("h1", class_="title") or page.find("h1")
    title = page.title.get_text(" ", strip=True) if page.title else ""
    title = title or (heading.get_text(" ", strip=True) if heading else "")
    for part in page([*_LEFT_OUT, *_FIELDS]):
        part.decompose()
    for form in page("form"):
        form.unwrap()
    text = _Markdown().convert_soup(_main(page))
    return Loaded(name, clean(title), re.sub(r"\n{3,}", "\n\n", clean(text)).strip(), True, {})


def _main(page: Any) -> Any:
    """The one part that the page marks as its main one, if most of its text is there; else the whole page."""
    size = len(page.get_text(strip=True))
    for kind in ("main", "article"):
        found = page(kind)
        if len(found) == 1 and 2 * len(found[0].get_text(strip=True)) > size:
            return found[0]
    return page


class _Markdown(MarkdownConverter):
    """Text stays as it is written, pictures are their description, and links lead somewhere outside the page."""

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

    def convert_img(self, el: Any, text: str, parent_tags: set[str]) -> str:
        return _plain(" ".join(str(el.get("alt", "")).split()), parent_tags)

    def convert_td(self, el: Any, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_td(el, text.replace("|", r"\|"), parent_tags))  # type: ignore[misc]

    convert_th = convert_td


def _plain(text: str, inside: set[str]) -> str:
    if not inside & _HEADINGS:
        return literal(text)
    return text if "_noformat" in inside else escaped(text)
