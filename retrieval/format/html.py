"""HTML pages."""

from __future__ import annotations

import re
import warnings
from typing import Any

from retrieval.format.loaded import Loaded, decoded
from text.clean import clean


def read(name: str, data: bytes, _limit: int) -> Loaded:
    from bs4 import BeautifulSoup

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files that look like an address or XML
        page = BeautifulSoup(data if _declares(data) else decoded(name, data), "html.parser")
    return from_html(name, page)


def _declares(data: bytes) -> bool:
    return re.search(rb"charset\s*=", data[:2048], re.IGNORECASE) is not None


def from_html(name: str, page: Any) -> Loaded:
    from markdownify import MarkdownConverter

    heading = page.find("h1")
    title = page.title.get_text(" ", strip=True) if page.title else ""
    title = title or (heading.get_text(" ", strip=True) if heading else "")
    for part in page(["script", "style", "noscript", "template", "nav", "footer", "form", "iframe", "head"]):
        part.decompose()
    body = page.find("main") or page.find("article") or page.body or page
    text = MarkdownConverter(heading_style="ATX", bullets="-", strip=["img", "a"]).convert_soup(body)
    return Loaded(name, clean(title), re.sub(r"\n{3,}", "\n\n", clean(text)).strip(), True, {})
