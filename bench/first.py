"""The first answer in Chromium on the real app: seconds to the page, to «ready», and to the first and last token.

For every text below, the bench starts the app as ``make run`` does on a machine where everything is installed. Every
start has a fresh data folder with links to the weights, so that every question is the first one of its app.
``first_token_seconds``: the slowest first token of a question (greetings excluded), from Enter to text on the page.
Needs the development requirements.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.everyday.side import fresh
from settings import child_environment, find_variable_name, load_current_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.journey.application import Person

ROOT = Path(__file__).parent.parent
LOCALES = {"ko": "ko-KR", "en": "en-US"}
TEXTS = {
    ("ko", "greeting"): "안녕하세요!",
    ("ko", "question"): "제주도에서 하루 동안 가 볼 만한 곳을 알려 줘.",
    ("en", "greeting"): "Hello there!",
    ("en", "question"): "What is worth seeing in Edinburgh in one day?",
}
READY = "[class*='st-key-chip-ready']"
"""Matches the chip by which the page shows that the model is ready."""
START_SECONDS, ANSWER_SECONDS = 300.0, 600.0


@dataclass(frozen=True)
class First:
    """Seconds of one start. ``page``, ``ready``: from the start of the command to a page that takes input, and to its
    «ready»; ``first_token``, ``last_token``: from Enter to the first token, and to the end of the answer."""

    page: float
    ready: float
    first_token: float
    last_token: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--language", choices=sorted(LOCALES), help="only in this language")
    parser.add_argument("--repeats", type=int, default=1, help="starts for every text; the slowest of each counts")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Starts the app ``--repeats`` times for every text and returns the slowest seconds."""
    from playwright.sync_api import sync_playwright

    from tests import browser

    texts = {key: text for key, text in TEXTS.items() if args.language in (None, key[0])}
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=browser.executable(), args=browser.flags())
        starts = {key: [measured(chrome, key[0], text) for _ in range(args.repeats)] for key, text in texts.items()}
        chrome.close()
    return figures(starts)


def figures(done: dict[tuple[str, str], list[First]]) -> dict[str, object]:
    """Returns the slowest seconds: to the page and to «ready» over all starts, to the first and last token by language
    and kind of text."""
    starts = [first for firsts in done.values() for first in firsts]
    return {
        "first_token_seconds": max(
            first.first_token for (_, kind), firsts in done.items() for first in firsts if kind == "question"
        ),
        "page_seconds": max(first.page for first in starts),
        "ready_seconds": max(first.ready for first in starts),
        **{
            f"{name}.{language}.{kind}": max(getattr(first, name) for first in firsts)
            for (language, kind), firsts in done.items()
            for name in ("first_token", "last_token")
        },
    }


def measured(chrome: Browser, language: str, text: str) -> First:
    """Starts the app once, sends one text and returns the seconds."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        began = time.monotonic()
        with started(Path(folder) / "data") as url, _page(chrome, url, language) as person:
            page = time.monotonic() - began
            person.page.locator(READY).first.wait_for(state="attached", timeout=START_SECONDS * 1000)
            ready = time.monotonic() - began
            first, last = answered(person, text)
    return First(*(round(seconds, 2) for seconds in (page, ready, first, last)))


def answered(person: Person, text: str) -> tuple[float, float]:
    """Sends the text; returns the seconds from Enter to the first text of the answer, and to its end."""
    person.input.fill(text)
    began = time.monotonic()
    person.input.press("Enter")
    answer = person.page.locator(".st-key-live-answer [data-testid=stMarkdown], .st-key-answer-1")
    answer.first.wait_for(timeout=ANSWER_SECONDS * 1000)
    first = time.monotonic() - began
    person.see(1, ANSWER_SECONDS)
    return first, time.monotonic() - began


@contextmanager
def started(folder: Path) -> Iterator[str]:
    """Runs the app as ``make run`` starts it, with its data in ``folder``; yields its address."""
    from tests.journey.application import App, free_port, wait_for

    fresh(load_current_settings(), folder)
    environment = {**child_environment(), find_variable_name("data_dir"): str(folder)}
    subprocess.run(
        [sys.executable, "-m", "model.embedded.weights"], cwd=ROOT, env=environment, check=True, capture_output=True
    )
    port, log = free_port(), folder / "app.log"
    command = [sys.executable, "cli.py", "run", "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        app = App(f"http://127.0.0.1:{port}", log, process.pid)
        wait_for(app, process)
        yield app.url
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def _page(chrome: Browser, url: str, language: str) -> Iterator[Person]:
    """Opens the page in a new browser context; yields as soon as the page takes input."""
    from tests.journey.application import App, Person

    context = chrome.new_context(viewport={"width": 1440, "height": 900}, locale=LOCALES[language])
    person = Person(context.new_page(), App(url, Path()))
    person.open(ready="")
    try:
        yield person
    finally:
        context.close()
