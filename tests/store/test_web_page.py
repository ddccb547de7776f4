"""A conversation as one HTML file: everything is in it, and nothing in it acts or loads."""

from __future__ import annotations

import pytest

from store import Finished, Store
from store.export.transcript import render_transcript
from store.export.web_page import load_page_images, render_web_page
from store.turn.image import StoredImage

QUESTION = "Is <script>alert(1)</script> & <b>this</b> text? ![pixel](https://elsewhere.example/p.png)"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
ANSWER = f"Yes: **bold**, a [link](javascript:alert(1)) and\n\n{TABLE}\n\n```python\nprint('<i>')"


def render(store: Store, question: str = QUESTION, answer: str = ANSWER) -> str:
    session = store.create_session("en", 0.3).id
    store.begin_turn(session, question)
    store.finish_turn(session, 1, Finished("done", answer, messages=[], tokens=3))
    return render_web_page(render_transcript(store, session, "en", images=()), "en")


def test_the_page_shows_the_turn_and_keeps_its_markdown(store: Store) -> None:
    page = render(store)
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert "<strong>bold</strong>" in page
    assert "<td>1</td>" in page
    assert "<code class=\"language-python\">print('&lt;i&gt;')" in page.replace("&#x27;", "'")


def test_nothing_in_the_page_acts_or_loads(store: Store) -> None:
    page = render(store)
    assert "<script" not in page
    assert "<b>this" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert 'href="javascript' not in page
    assert "default-src 'none'" in page.partition("<style>")[0], "an image of elsewhere is not loaded"


def test_a_title_with_tags_is_text(store: Store) -> None:
    page = render(store, "</title><script>x</script>")
    assert "<title>&lt;/title&gt;&lt;script&gt;x&lt;/script&gt;</title>" in page


@pytest.mark.parametrize(
    "answer",
    [
        "```print(1)```",
        "1. a\n   ```py\n   x",
        "- a\n\n    ```py\n    x\n   ```",
        "```py\nx\u2028```\ny",
        "```py\nprint(1)",
        "~~~~\n```\nx",
        "<details>\n```\ncode\n\nmore\n```\n</details>",
        "<div>\n```\nx",
    ],
)
def test_no_code_block_swallows_what_follows(store: Store, answer: str) -> None:
    page = render(store, "Hello", answer)
    session = store.sessions()[0].id
    store.begin_turn(session, "next")
    store.finish_turn(session, 2, Finished("done", "fine", messages=[], tokens=3))
    page = render_web_page(render_transcript(store, session, "en", images=()), "en")
    assert "<h2>Turn 2" in page


def test_the_images_of_a_question_are_in_the_page(store: Store) -> None:
    session = store.create_session("en", 0.3).id
    store.images.attach(
        session, [("map [old].png", StoredImage("image/png", b"pixels")), ("b.png", StoredImage("image/png", b"x"))]
    )
    store.attachments.add(session, [("notes.md", "0123")])
    store.begin_turn(session, "Where?")
    store.finish_turn(session, 1, Finished("done", "Here.", messages=[], tokens=3))
    images = load_page_images(store, session)
    page = render_web_page(render_transcript(store, session, "en", images=images), "en", images)
    assert '<img src="data:image/png;base64,cGl4ZWxz" alt="map old.png"' in page
    assert page.count("<img ") == 2
    assert "📎 notes.md" in page
    assert "![" not in render_transcript(store, session, "en")
