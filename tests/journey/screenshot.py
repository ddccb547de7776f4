"""``make screenshots``: the pictures of the documentation, taken of the real app in Chromium.

The conversation is read from ``conversation.json`` and held by the real agent on a scripted model; with ``--url`` its
questions go to the model of a server instead. Writes ``docs/image/app-<language>.png`` and its variants.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from playwright.sync_api import Browser, expect, sync_playwright

from graph.agent import Agent, open_agent
from graph.event import Failed
from model import scripted
from settings import load
from store import Finished
from tests import browser
from tests.journey.application import ROOT, Person, answer, started
from tests.stub.upstream import Upstream

IMAGES = ROOT / "docs" / "image"
TALKS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("conversation.json").read_text("utf-8"))
LOCALES = {"ko": "ko-KR", "en": "en-US"}
READY = {"ko": "모델 준비됨", "en": "Model ready"}
DESK, PHONE = (1440, 900), (390, 844)
MODEL = "scripted-model"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--url", help="OpenAI-compatible server that answers, up to and including /v1")
    parser.add_argument("--model", default="", help="model of that server")
    parser.add_argument("--out", type=Path, default=IMAGES)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    for language in TALKS:
        with tempfile.TemporaryDirectory() as folder:
            take(Path(folder), language, asked)


def take(folder: Path, language: str, asked: argparse.Namespace) -> None:
    """Holds the conversation of a language and takes its pictures."""
    session = hold(folder / "data", language, asked)
    with upstream(asked) as environment, started(folder, **environment) as app, chromium() as chrome:
        for name, size, scheme in (("", DESK, "light"), ("-dark", DESK, "dark"), ("-phone", PHONE, "light")):
            width, height = size
            context = chrome.new_context(
                viewport={"width": width, "height": height},
                locale=LOCALES[language],
                color_scheme="dark" if scheme == "dark" else "light",
                device_scale_factor=2 if size == PHONE else 1,
            )
            person = Person(context.new_page(), app)
            person.open(f"/?s={session}")
            expect(person.answer(10)).to_be_visible(timeout=30_000)
            person.page.wait_for_timeout(1500)
            person.page.screenshot(path=asked.out / f"app-{language}{name}.png")
            context.close()


def hold(folder: Path, language: str, asked: argparse.Namespace) -> str:
    """The conversation in a store of its own, beside a few others; returns the session's id."""
    folder.mkdir(parents=True)
    talk = TALKS[language]
    fields = {"openai_base_url": asked.url, "openai_api_key": "none", "chat_model": asked.model} if asked.url else {}
    agent = open_agent(load(data_dir=folder, **fields), None if asked.url else lambda: played(talk))
    for title in talk["others"]:
        one(agent, language, title)
    session = agent.store.create_session(language, 0.3).id  # type: ignore[arg-type]
    for question, *_ in talk["turns"]:
        say(agent, session, question)
    agent.store.rename_session(session, talk["title"])
    agent.close()
    return session


def one(agent: Agent, language: str, title: str) -> None:
    """A conversation for the list, accepted and never answered by a model."""
    session = agent.store.create_session(language, 0.3).id  # type: ignore[arg-type]
    agent.store.accept_turn(session, title)
    agent.store.finish_turn(session, 1, Finished("done", answer="…"))


def say(agent: Agent, session: str, question: str) -> None:
    for event in agent.run(session, question):
        if isinstance(event, Failed):
            raise RuntimeError(event)
    agent.background.idle(300)


def played(talk: dict[str, Any]) -> Any:
    """Models that say what the file says: each answer after its question, each summary for its turns."""

    def chat(messages: list[BaseMessage]) -> AIMessage:
        asked = next(turn for turn in reversed(talk["turns"]) if any(turn[0] in str(each.content) for each in messages))
        if len(asked) > 2 and not isinstance(messages[-1], ToolMessage):
            call = {"name": "calculate", "args": {"expression": asked[2]}, "id": "c1", "type": "tool_call"}
            return AIMessage("", tool_calls=[call])
        return AIMessage(asked[1])

    def utility(messages: list[BaseMessage]) -> str:
        said = "".join(str(each.content) for each in messages)
        found = [index for index, turn in enumerate(talk["turns"]) if turn[1] in said]
        return str(talk["summaries"][found[-1] // 3]) if len(found) >= 3 else str(talk["title"])

    return scripted.models(scripted.ScriptedModel(chat, delay=0.02), utility)


@contextmanager
def upstream(asked: argparse.Namespace) -> Iterator[dict[str, str]]:
    """The settings of the app that is photographed."""
    if asked.url:
        yield {"OPENAI_BASE_URL": asked.url, "OPENAI_API_KEY": "none", "CHAT_MODEL": asked.model}
        return
    with Upstream(always=answer, models=(MODEL,)) as stub:
        yield {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "x", "CHAT_MODEL": MODEL}


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=browser.executable(), args=browser.flags())
        yield chrome
        chrome.close()


if __name__ == "__main__":
    main()
