"""``make screenshots``: the pictures of the documentation, taken of the real app in Chromium.

The conversation is read from ``conversation.json`` and held by the real agent on a scripted model; with ``--url`` its
questions go to the model of a server instead. Writes ``docs/image/<screen>-<language>.png`` and its variants.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from PIL import Image
from playwright.sync_api import Browser, FilePayload, expect, sync_playwright

from component.page.catalogue import Words
from graph.turn.agent import Agent, open_agent
from graph.turn.event import Failed
from model import scripted
from settings import load_settings
from store import Finished
from tests import browser
from tests.journey.application import ROOT, App, Person, answer, folded, started
from tests.stub.reply import Reply, said
from tests.stub.upstream import Upstream

IMAGES = ROOT / "docs" / "image"
TALKS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("conversation.json").read_text("utf-8"))
LOCALES = {"ko": "ko-KR", "en": "en-US"}
READY = {"ko": "모델 준비됨", "en": "Model ready"}
DESK, PHONE = (1440, 900), (390, 844)
PATIENCE = 60_000.0
LONG = 40
"""Turns of the conversation with a map."""
MODEL = "scripted-model"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--url", help="OpenAI-compatible server that answers, up to and including /v1")
    parser.add_argument("--model", default="", help="model of that server")
    parser.add_argument("--out", type=Path, default=IMAGES)
    parser.add_argument("--only", nargs="+", help="names of screens, such as app or usage; by default all")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=PATIENCE)
    for language in TALKS:
        with tempfile.TemporaryDirectory() as folder:
            take(Path(folder), language, asked)


def take(folder: Path, language: str, asked: argparse.Namespace) -> None:
    """Holds the conversation of a language and takes its pictures."""
    words = Words(language)  # type: ignore[arg-type]
    with upstream(asked) as environment, chromium() as chrome:
        if not asked.only or "first" in asked.only:
            with started(folder / "new", **environment) as app:
                picture(chrome, app, asked.out / f"first-{language}.png", language, lambda _: None)
        session, long = hold(folder / "data", language, asked)
        with started(folder, GIEOK_MEMORY="true", GIEOK_RETRIEVAL="true", **environment) as app:
            paths = {"documents": "/?view=documents", "map": f"/?s={long}", "story": "/?view=world", "image": "/"}
            for name, form, show in screens(words, TALKS[language]):
                if asked.only and name not in asked.only:
                    continue
                out = asked.out / f"{name}-{language}{form.suffix}.png"
                picture(chrome, app, out, language, show, form, paths.get(name, f"/?s={session}"))


@dataclass(frozen=True)
class Form:
    """A kind of screen."""

    suffix: str = ""
    size: tuple[int, int] = DESK
    dark: bool = False


DARK = Form("-dark", dark=True)


def screens(words: Words, talk: dict[str, Any]) -> Iterator[tuple[str, Form, Callable[[Person], None]]]:
    """Every picture of the app with a conversation: its name, its screen, and what is done before. Those that leave
    something in the list of conversations come last."""
    windows = Windows(words)
    for form in (Form(), DARK, Form("-phone", PHONE)):
        yield "app", form, lambda _: None
    for form in (Form(), DARK):
        yield "context", form, partial(windows.choose_tab, "context")
        yield "memory", form, partial(windows.choose_tab, "memory")
        yield "summary", form, windows.open_summary
        yield "settings", form, partial(windows.press, "options.open")
        yield "usage", form, partial(windows.press, "usage.open")
        yield "model", form, windows.open_models
        yield "known", form, windows.open_known
        yield "palette", form, windows.open_palette
    yield "summarise", Form(), windows.write_summary
    yield "documents", Form(), windows.unfold_guides
    yield "drawer", Form("-phone", PHONE), partial(windows.press, "panel.open")
    yield "map", Form(), lambda _: None
    yield "side", Form(), partial(windows.ask_aside, talk["side"])
    yield "story", Form(), partial(windows.play_story, talk["story"])
    yield "image", Form(), partial(windows.ask_with_image, talk["image"])


@dataclass(frozen=True)
class Windows:
    """What is done to the page before a picture of it."""

    words: Words

    def press(self, name: str, person: Person) -> None:
        """Opens the window of a button with this name."""
        person.page.get_by_role("button", name=self.words(name), exact=True).first.click()
        expect(person.page.get_by_role("dialog")).to_be_visible()

    def choose_tab(self, name: str, person: Person) -> None:
        person.panel.get_by_role("tab", name=self.words(f"panel.tab.{name}")).click()

    def open_summary(self, person: Person) -> None:
        person.panel.get_by_role("button", name=self.words("revision.open")).first.click()
        expect(person.page.get_by_role("dialog")).to_be_visible()

    def open_models(self, person: Person) -> None:
        person.page.locator(".st-key-model-open button").first.click()
        expect(person.page.locator(".st-key-switch-list")).to_be_visible()

    def open_known(self, person: Person) -> None:
        self.choose_tab("memory", person)
        self.press("known.open", person)

    def unfold_guides(self, person: Person) -> None:
        person.unfold(person.page.locator(".st-key-document-product summary"))

    def open_palette(self, person: Person) -> None:
        expect(person.page.locator(".gieok-palette")).to_be_attached()
        person.page.keyboard.press("Control+k")
        expect(person.page.get_by_role("option").first).to_be_visible()

    def write_summary(self, person: Person) -> None:
        self.press("summarise.open", person)
        dialog = person.page.get_by_role("dialog")
        dialog.get_by_role("button", name=self.words("summarise.write"), exact=True).click()
        expect(dialog.get_by_role("button", name=self.words("summarise.use"), exact=True)).to_be_visible()

    def ask_aside(self, said: Sequence[str], person: Person) -> None:
        """Asks a question that leaves the conversation as it is."""
        person.say(f"/btw {said[0]}")
        expect(person.page.get_by_role("dialog")).to_contain_text(said[1][-20:])

    def play_story(self, said: Sequence[str], person: Person) -> None:
        """Begins the bundled story and plays a turn."""
        person.page.locator(".st-key-world-sample-play button").click()
        expect(person.answer(0)).to_be_visible()
        person.ask(said[0], 1)

    def ask_with_image(self, said: Sequence[str], person: Person) -> None:
        """Asks about a picture."""
        written = io.BytesIO()
        view = Image.new("RGB", (600, 400), "#7fb6d8")
        view.paste("#3f7f93", (0, 190, 600, 300))
        view.paste("#e0c995", (0, 300, 600, 400))
        view.save(written, "PNG")
        file: FilePayload = {"name": "beach.png", "mimeType": "image/png", "buffer": written.getvalue()}
        person.page.locator("[data-testid=stChatInput] input[type=file]").set_input_files(file)
        expect(person.page.get_by_test_id("stChatInput")).to_contain_text("beach.png")
        person.input.fill(said[0])
        submit = person.page.get_by_test_id("stChatInputSubmitButton")
        expect(submit).to_be_enabled()  # until then the file is on its way
        person.input.press("Enter")
        person.see(1)


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
        expect(person.page.locator(".st-key-documents-filter, .st-key-world-sample")).to_be_visible()
    else:
        person.open(path, ready=READY[language])
    if "?s=" in path:
        expect(person.page.locator("[class*='st-key-actions-']").last).to_be_visible()
    show(person)
    drawn = "[data-testid=stSkeleton], [data-test-script-state=running] [data-testid=stApp]"
    expect(person.page.locator(drawn).locator("visible=true")).to_have_count(0)
    person.page.wait_for_timeout(1500)
    person.page.screenshot(path=out)
    context.close()


def hold(folder: Path, language: str, asked: argparse.Namespace) -> tuple[str, str]:
    """The conversation in a store of its own, beside a few others; returns the ids of its session and of a long one."""
    folder.mkdir(parents=True)
    talk = TALKS[language]
    fields = {"openai_base_url": asked.url, "openai_api_key": "none", "chat_model": asked.model} if asked.url else {}
    chosen = load_settings(data_dir=folder, memory=True, retrieval=True, **fields)
    agent = open_agent(chosen, None if asked.url else lambda: played(talk))
    if agent.library is not None:
        agent.library.add([ROOT / "docs" / "faq" / language])
    first, *others = talk["others"]
    long = one(agent, language, first, *(pair for number in range(LONG) for pair in [talk["turns"][number % 10]]))
    for title in others:
        one(agent, language, title)
    session = agent.store.create_session(language, 0.3).id  # type: ignore[arg-type]
    for question, *_ in talk["turns"]:
        say(agent, session, question)
    agent.store.rename_session(session, talk["title"])
    agent.close()
    return session, long


def one(agent: Agent, language: str, title: str, *more: Sequence[str]) -> str:
    """A conversation for the list, accepted and never answered by a model; returns its id. ``more``: further turns."""
    session = agent.store.create_session(language, 0.3).id  # type: ignore[arg-type]
    for question, answered, *_ in ((title, "…"), *more):
        number = agent.store.begin_turn(session, question).number
        agent.store.finish_turn(session, number, Finished("done", answer=answered))
    return session


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
            made = json.loads(folded(said))
            made["memory"] = [line for line in made["memory"] if not line.endswith("?") or any(map(str.isdigit, line))]
            return json.dumps(made, ensure_ascii=False)
        found = [index for index, turn in enumerate(talk["turns"]) if turn[1] in said]
        return str(talk["summaries"][found[-1] // 3]) if len(found) >= 3 else str(talk["title"])

    return scripted.build_scripted_models(scripted.ScriptedModel(chat, delay=0.02), utility)


def reply(body: dict[str, object]) -> Reply:
    """What the stub says while pictures are taken."""
    messages = str(body["messages"])
    for talk in TALKS.values():
        for question, answered, *title in (talk["side"], talk["story"], talk["image"]):
            if question in messages:
                return said(title[0] if title and "tools" not in body else answered)
        if "tools" not in body and "<memory>" not in messages and talk["turns"][-1][0] in messages:
            return said(talk["summaries"][-1])
    return answer(body)


@contextmanager
def upstream(asked: argparse.Namespace) -> Iterator[dict[str, str]]:
    """The settings of the app that is photographed."""
    if asked.url:
        yield {"OPENAI_BASE_URL": asked.url, "OPENAI_API_KEY": "none", "CHAT_MODEL": asked.model}
        return
    with Upstream(always=reply, models=(MODEL,)) as stub:
        yield {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "x", "CHAT_MODEL": MODEL}


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=browser.executable(), args=browser.flags())
        yield chrome
        chrome.close()


if __name__ == "__main__":
    main()
