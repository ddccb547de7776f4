"""The menu links that are offered when no document fits lead to pages that there are."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

from component.answer.menu_link import WINDOWS
from component.page.view import DOCUMENTS, PAGE
from retrieval.answer.fallback import MENU


def test_every_link_of_the_menu_is_a_page_of_the_app() -> None:
    links = [str(entry["url"]) for entry in json.loads(MENU.read_text("utf-8"))]
    assert all(link.startswith("?") for link in links)
    pages = [dict(parse_qsl(link[1:])) for link in links]
    assert pages == [{PAGE: DOCUMENTS}, *({PAGE: name} for name in WINDOWS), {}]
