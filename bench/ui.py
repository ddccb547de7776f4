"""The app in Chromium on a scripted model: start, first token, reruns, bytes and CPU of an answer, size of the page.

``start_seconds``: from the start of the process to a page that takes input, with the model ready. ``first_token_ms``:
from Enter to the first text on the page, with a model that answers at once. ``rerun_ms.N``: from a slider move to the
new rate in the panel, at N turns with their summaries; ``rerun_ratio``: 1,000 turns against 50. ``answer_bytes``: bytes
over the websocket for an answer of 2,000 words in one paragraph, at 20 words a second; ``stream_cpu_share``: CPU
seconds of the server per second of that answer. ``dom_nodes``: at 1,000 turns. ``axe_serious``: violations that
axe-core calls serious or critical. ``reload_mid_answer_s``: from the reload of a page of 1,000 turns, whose answer is
still arriving, to an input that takes text; the median of ``RELOADS``, and the slowest. ``hurried_kept``: of
``HURRIED`` messages that are sent 100 ms apart in a new chat, how many are in the record, in their order;
``hurried_doubled``: what stands there beside them; ``hurried_seconds``: from the first to the last one's answer on the
page. Needs the development requirements.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from graph.context.turns import CHUNK
from graph.state import SummaryRecord
from settings import load_settings
from store import Finished, Store

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.journey.application import App, Person
    from tests.stub.reply import Reply

SIZES = (50, 1000)
WORD = "말하자면 "
RELOADS = 5
HURRIED = 50
PATIENCE_MS = 120_000
"""How long a busy machine may take to show what is waited for, before the measurement breaks off."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeats", type=int, default=10, help="questions and slider moves per figure")
    parser.add_argument("--tokens", type=int, default=2000, help="length of the long answer")
    parser.add_argument("--rate", type=float, default=20.0, help="tokens per second of the long answer")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    from playwright.sync_api import expect, sync_playwright

    from tests import browser
    from tests.journey.application import started
    from tests.stub.upstream import Upstream

    expect.set_options(timeout=PATIENCE_MS)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        sessions = {size: seeded(folder / "data", size) for size in SIZES}
        chrome = playwright.chromium.launch(executable_path=browser.executable(), args=browser.flags())
        with Upstream(always=lambda body: reply(body, args)) as upstream:
            began = time.monotonic()
            with started(folder, OPENAI_BASE_URL=upstream.url, OPENAI_API_KEY="x", GIEOK_TITLES="false") as app:
                figures = measure(chrome, app, sessions, args, began)
        chrome.close()
    return figures


def measure(
    chrome: Browser, app: App, sessions: dict[int, str], args: argparse.Namespace, began: float
) -> dict[str, object]:
    """Returns all figures of one running app, which was started at ``began``."""
    person = opened(chrome, app, "/")
    figures: dict[str, object] = {"start_seconds": round(time.monotonic() - began, 2)}
    first = [first_token(person, number) for number in range(1, args.repeats + 1)]
    figures |= {"first_token_ms.p50": round(statistics.median(first)), "first_token_ms.p95": round(sorted(first)[-1])}
    person.page.context.close()
    person = opened(chrome, app, "/")
    figures |= long_answer(person, app, args)
    person.page.context.close()
    pages = {size: opened(chrome, app, f"/?s={session}") for size, session in sessions.items()}
    figures |= reruns(pages, args.repeats)
    largest = pages[max(SIZES)].page
    figures["dom_nodes"] = largest.evaluate("document.querySelectorAll('*').length")
    figures["axe_serious"] = serious(largest)
    figures |= reload_mid_answer(pages[max(SIZES)])
    return figures | hurry(opened(chrome, app, "/"), app)


def hurry(person: Person, app: App) -> dict[str, object]:
    """Sends messages as quickly as the page takes them, and looks into the record."""
    from playwright.sync_api import TimeoutError as NotSeen

    began, text = time.monotonic(), "급한 질문 {}번"
    person.hurry(text, HURRIED)
    with contextlib.suppress(NotSeen):  # a lost message shows in the record
        person.page.locator(f".st-key-actions-{HURRIED}").wait_for(timeout=PATIENCE_MS)
    spent = time.monotonic() - began
    session = parse_qs(urlsplit(person.page.url).query)["s"][0]
    with contextlib.closing(Store(load_settings(data_dir=app.log.parent / "data").database)) as store:
        questions = [turn.question for turn in store.turns(session, limit=2 * HURRIED)]
    wanted = [text.replace("{}", str(number)) for number in range(1, HURRIED + 1)]
    kept = sum(block.size for block in SequenceMatcher(None, wanted, questions, False).get_matching_blocks())
    return {"hurried_kept": kept, "hurried_doubled": len(questions) - kept, "hurried_seconds": round(spent, 1)}


def reruns(pages: dict[int, Person], repeats: int) -> dict[str, object]:
    """Moves the slider on all pages in turn, so that other load of the machine falls on all of them alike."""
    spent: dict[int, list[float]] = {size: [] for size in pages}
    for step in range(repeats + 1):
        for size, person in pages.items():
            spent[size].append(rerun(person, step))
    medians = {size: statistics.median(ms[1:]) for size, ms in spent.items()}  # the first move warms up
    ratio = medians[max(pages)] / medians[min(pages)]
    return {f"rerun_ms.{size}": round(ms) for size, ms in medians.items()} | {"rerun_ratio": round(ratio, 3)}


def opened(chrome: Browser, app: App, path: str) -> Person:
    from tests.journey.application import Person

    context = chrome.new_context(viewport={"width": 1440, "height": 900}, locale="ko-KR")
    person = Person(context.new_page(), app)
    person.open(path)
    return person


def first_token(person: Person, number: int) -> float:
    """Asks a question and returns the milliseconds from Enter to the first text of the answer."""
    person.input.fill(f"{number}번째 질문에 짧게 답해줘")
    began = time.monotonic()
    person.input.press("Enter")
    answer = person.page.locator(
        f".st-key-live [data-testid=stMarkdown]:has-text('{number}번'), .st-key-answer-{number}"
    )
    answer.first.wait_for(timeout=PATIENCE_MS)
    spent = (time.monotonic() - began) * 1000
    person.see(number)
    return spent


def long_answer(person: Person, app: App, args: argparse.Namespace) -> dict[str, object]:
    """Asks for a long answer and returns the bytes and the CPU share while the answer arrives."""
    received: list[int] = []
    person.page.on("websocket", lambda socket: socket.on("framereceived", lambda data: received.append(len(data))))
    person.page.reload()
    person.open()
    received.clear()
    person.say("긴 답변을 해줘")
    person.live.wait_for(timeout=PATIENCE_MS)
    began, before = time.monotonic(), cpu_seconds(app.pid)
    person.see(1, seconds=args.tokens / args.rate * 3 + 60)
    share = (cpu_seconds(app.pid) - before) / (time.monotonic() - began)
    return {"answer_bytes": sum(received), "stream_cpu_share": round(share, 4)}


def reload_mid_answer(person: Person) -> dict[str, object]:
    """Reloads the page while a long answer arrives; returns the seconds until its input takes text."""
    from playwright.sync_api import expect

    person.say("긴 답변을 해줘")
    person.live.wait_for(timeout=PATIENCE_MS)
    spent = []
    for number in range(RELOADS):
        typed = f"{number}번째로 쓴 글"
        began = time.monotonic()
        person.page.reload(wait_until="commit")
        person.input.fill(typed)  # waits until the input is there and enabled
        spent.append(time.monotonic() - began)
        expect(person.live).to_be_visible(timeout=PATIENCE_MS)  # else the answer was over, and nothing was measured
        expect(person.input).to_have_value(typed)  # what was typed early is not lost while the rest is drawn
    return {
        "reload_mid_answer_s": round(statistics.median(spent), 2),
        "reload_mid_answer_s.slowest": round(max(spent), 2),
    }


def rerun(person: Person, step: int) -> float:
    """Moves the slider and returns the milliseconds until the panel shows the new rate."""
    down = step % 2 == 1
    rate = "0.3" if down else "0.35"
    began = time.monotonic()
    person.move_slider(-1 if down else 1)
    person.panel.get_by_text(f"현재 압축률: {rate} (").wait_for(timeout=PATIENCE_MS)
    return (time.monotonic() - began) * 1000


def reply(body: dict[str, Any], args: argparse.Namespace) -> Reply:
    """Returns the reply of the scripted model: a short one at once, or a long one at the given rate."""
    from tests.stub.reply import said

    question = str(body["messages"][-1].get("content")).rsplit("\n", 1)[-1]
    if "긴 답변" in question:
        return said(WORD * args.tokens).but(pause=1 / args.rate)
    return said(question[:60])


def seeded(folder: Path, turns: int) -> str:
    """Writes a session of finished turns straight into the store and returns its id."""
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(load_settings(data_dir=folder).database)
    session = store.create_session("ko", 0.3).id
    for number in range(1, turns + 1):
        store.begin_turn(session, f"{number}번째 질문입니다")
        store.finish_turn(session, number, Finished("done", answer=f"**{number}번째** 답입니다. " + WORD * 30))
        if number % CHUNK == 0:
            summarise(store, session, number)
    store.close()
    return session


def summarise(store: Store, session: str, last: int) -> None:
    """Stores a finished summary of the three turns up to ``last``."""
    turns, text = list(range(last - CHUNK + 1, last + 1)), WORD * 30
    record = SummaryRecord(
        thread_id=session,
        turns=turns,
        turn_length=CHUNK,
        original_chars=len(WORD) * 100,
        summary_chars=len(text),
        compression_rate=0.3,
        summary=text,
    )
    store.ledger.add(session, turns, 0.3, "active", record=record, kept=["말하자면"])


def cpu_seconds(pid: int) -> float:
    """Returns the CPU seconds of a process so far."""
    import psutil

    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def serious(page: Any) -> int:
    from axe_playwright_python.sync_playwright import Axe

    violations = Axe().run(page).response["violations"]
    return sum(violation["impact"] in ("serious", "critical") for violation in violations)
