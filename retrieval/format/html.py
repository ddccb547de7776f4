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
from text.clean import clean

_LEFT_OUT = ("head", "script", "style", "noscript", "template", "nav", "footer", "iframe")
_FIELDS = ("input", "select", "textarea", "button")
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
    heading = page.find("h1")
    title = page.title.get_text(" ", strip=True) if page.title else ""
    title = title or (heading.get_text(" ", strip=True) if heading else "")
    for part in page([*_LEFT_OUT, *_FIELDS]):
        part.decompose()
    for form in page("form"):
        form.unwrap()
    text = MarkdownConverter(heading_style="ATX", bullets="-", strip=["img", "a"]).convert_soup(_main(page))
    return Loaded(name, clean(title), re.sub(r"\n{3,}", "\n\n", clean(text)).strip(), True, {})


def _main(page: Any) -> Any:
    """The one part that the page marks as its main one, if most of its text is there; else the whole page."""
    size = len(page.get_text(strip=True))
    for kind in ("main", "article"):
        found = page(kind)
        if len(found) == 1 and 2 * len(found[0].get_text(strip=True)) > size:
            return found[0]
    return page
