"""``make screenshots``: the pictures of the documentation, taken of the real app in Chromium.

The conversation is read from ``conversation.json`` and held by the real agent on a scripted model; with ``--url`` its
questions go to the model of a server instead. Writes ``docs/image/<screen>-<language>.png`` and its variants.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from playwright.sync_api import Browser, expect, sync_playwright

from component.page.catalogue import Words
from graph.turn.agent import Agent, open_agent
from graph.turn.event import Failed
from model import scripted
from settings import load_settings
from store import Finished
from tests import browser
from tests.journey.application import ROOT, App, Person, answer, folded, started
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
    words = Words(language)  # type: ignore[arg-type]
    with upstream(asked) as environment, chromium() as chrome:
        with started(folder / "new", **environment) as app:
            picture(chrome, app, asked.out / f"first-{language}.png", language, lambda _: None, path="/")
        session = hold(folder / "data", language, asked)
        with started(folder, GIEOK_MEMORY="true", GIEOK_RETRIEVAL="true", **environment) as app:
            for name, form, show in screens(words):
                out = asked.out / f"{name}-{language}{form.suffix}.png"
                path = "/?view=documents" if name == "documents" else f"/?s={session}"
                picture(chrome, app, out, language, show, form, path)


@dataclass(frozen=True)
class Form:
    """A kind of screen."""

    suffix: str = ""
    size: tuple[int, int] = DESK
    dark: bool = False


def screens(words: Words) -> Iterator[tuple[str, Form, Callable[[Person], None]]]:
    """Every picture of the app with a conversation: its name, its screen, and what is done before."""

    def tab(name: str) -> Callable[[Person], None]:
        def show(person: Person) -> None:
            person.panel.get_by_role("tab", name=words(f"panel.tab.{name}")).click()

        return show

    def settings(person: Person) -> None:
        person.page.get_by_role("button", name=words("options.open"), exact=True).first.click()
        expect(person.page.get_by_role("dialog")).to_be_visible()

    def summary(person: Person) -> None:
        person.panel.get_by_role("button", name=words("revision.open")).first.click()
        expect(person.page.get_by_role("dialog")).to_be_visible()

    def drawer(person: Person) -> None:
        person.page.get_by_role("button", name=words("panel.open"), exact=True).click()
        expect(person.page.get_by_role("dialog")).to_be_visible()

    for form in (Form(), Form("-dark", dark=True), Form("-phone", PHONE)):
        yield "app", form, lambda _: None
    for form in (Form(), Form("-dark", dark=True)):
        yield "context", form, tab("context")
        yield "memory", form, tab("memory")
    yield "summary", Form(), summary
    yield "settings", Form(), settings
    yield "documents", Form(), lambda _: None
    yield "drawer", Form("-phone", PHONE), drawer


def picture(
    chrome: Browser,
    app: App,
    out: Path,
    language: str,
    show: Callable[[Person], None],
    form: Form = Form(),
    path: str = "/",
) -> None:
    """Opens the app in a new browser context and takes one picture."""
    context = chrome.new_context(
        viewport={"width": form.size[0], "height": form.size[1]},
        locale=LOCALES[language],
        color_scheme="dark" if form.dark else "light",
        device_scale_factor=2 if form.size == PHONE else 1,
    )
    person = Person(context.new_page(), app)
    if "view=" in path:
        person.page.goto(app.url + path)
        expect(person.page.locator(".st-key-document-rows")).to_be_visible()
    else:
        person.open(path, ready=READY[language])
    if "?s=" in path:
        expect(person.answer(10)).to_be_visible()
    show(person)
    person.page.wait_for_timeout(1500)
    person.page.screenshot(path=out)
    context.close()


def hold(folder: Path, language: str, asked: argparse.Namespace) -> str:
    """The conversation in a store of its own, beside a few others; returns the session's id."""
    folder.mkdir(parents=True)
    talk = TALKS[language]
    fields = {"openai_base_url": asked.url, "openai_api_key": "none", "chat_model": asked.model} if asked.url else {}
    chosen = load_settings(data_dir=folder, memory=True, retrieval=True, **fields)
    agent = open_agent(chosen, None if asked.url else lambda: played(talk))
    if agent.library is not None:
        agent.library.add([ROOT / "docs" / "faq" / language])
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
        said = "\n".join(str(each.content) for each in messages)
        if "<memory>" in said:  # a memory of what was told, not of what was asked
            lines = folded(said).splitlines()
            return "\n".join(line for line in lines if not line.endswith("?") or any(map(str.isdigit, line)))
        found = [index for index, turn in enumerate(talk["turns"]) if turn[1] in said]
        return str(talk["summaries"][found[-1] // 3]) if len(found) >= 3 else str(talk["title"])

    return scripted.build_scripted_models(scripted.ScriptedModel(chat, delay=0.02), utility)


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
