"""The real app as a process of its own, and a person in front of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

import settings
from bench.port import free_port as free_port
from tests.product import Forked, launch
from tests.stub.reply import Reply, called, failed, said
from tests.stub.upstream import Upstream
from tests.wait import until

ROOT = Path(__file__).parents[2]
START_SECONDS = 120
READY = "모델 준비됨"
REPEATED = 6
LASTING = 4 * REPEATED
"""How often the text stands in an answer that comes very slowly: it takes two minutes, which somebody cuts short."""
SLOW, SLOW_SECONDS = "느리게요약될", 4.0
SUMMARISED = (
    "사용자와 AI가 여행 이야기를 나눔. 1번째, 2번째, 3번째 질문에 예산 500,000원, 3월 5일 부산에서 제주로 사흘."
)
TARGET = re.compile(r"\d+자쯤")
"""The length that a summary shall have stands in its request."""
MARKDOWN = """**압축률(0.3)**은 30%입니다. **“공개 문서”**는 10~20개, 30~40개입니다. 값은 $5에서 $10 사이입니다.

| 항목 | 값 |
|---|---|
| 하나 | 10~20 |
| 둘 | **2(둘)**개 |

```python
print("**그대로** 10~20")
```

$$
x^2 + y^2
$$

1. 첫째
2. 둘째
"""
_COLUMNS = range(1, 25)
WIDE = "\n".join(
    (
        f"| {' | '.join(f'{number}분기매출' for number in _COLUMNS)} |",
        "|---" * len(_COLUMNS) + "|",
        f"| {' | '.join(f'{number * 1234567:,}원' for number in _COLUMNS)} |",
        f"\n```python\nprint('{'가나다' * 200}')\n```",
    )
)
LONG = "이 답변은 한 단어씩 천천히 도착하는 긴 답변입니다. 기억은 대화를 세 턴마다 요약합니다. "


SCENE = """안개가 걷히고 등불 탑이 모습을 드러낸다. 회색 여우가 계단 위에서 당신을 내려다본다.

“불씨를 찾으러 왔구나.” 여우가 꼬리를 말며 말한다.

```state
location: 등불 탑
location_moved: true
npc_met: [회색 여우]
hp_change: -5
items_lost: [없는 검]
mood: 긴장
```"""
_SCENES = count(1)

_LEFT = re.compile(
    r"Exception in ASGI application\n(?:(?!Exception in ASGI).*\n)*?"
    r"starlette\.websockets\.WebSocketDisconnected: Cannot call \"send\" once a close message has been sent\.\n"
)
"""What Starlette writes then."""


@dataclass(frozen=True)
class App:
    """A running app: where it is, what it has written, and the stub it asks."""

    url: str
    log: Path
    pid: int = 0
    upstream: Upstream | None = None

    def complaints(self) -> list[str]:
        """Lines of the log that nobody expects. A page that leaves while Streamlit closes its socket is expected."""
        log = _LEFT.sub("", self.log.read_text("utf-8"))
        return [line for line in log.splitlines() if re.search("Traceback|ERROR|Error", line)]


@contextmanager
def started(folder: Path, port: int = 0, /, **environment: str) -> Iterator[App]:
    """The app with these settings and its data in ``folder``, on any port or on that one; ends with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    port, log = port or free_port(), folder / "app.log"
    own = {settings.find_variable_name(name) for name in settings.Settings.model_fields}
    env = {name: value for name, value in os.environ.items() if name not in own}
    off = {"GIEOK_MEMORY": "false", "GIEOK_RETRIEVAL": "false"}
    off["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"  # the keyring of this machine stays untouched
    env |= {"GIEOK_DATA_DIR": str(folder / "data"), "GIEOK_LOCAL_SERVERS": ",", **off, **environment}
    log.touch()
    process = launch(["streamlit", "run", str(ROOT / "app.py"), "--server.port", str(port)], env, log)
    try:
        app = App(f"http://127.0.0.1:{port}", log, process.pid)
        wait_for(app, process)
        yield app
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)


def wait_for(app: App, process: Forked | subprocess.Popen[bytes]) -> None:
    """Until the app answers, or an assertion with its log."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            urllib.request.urlopen(f"{app.url}/_stcore/health", timeout=10).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"the app did not start:\n{app.log.read_text('utf-8')}")


def list_holding(folder: Path, text: str, largest: int | None = None) -> list[str]:
    """The paths of the files below a folder that have this text in them, as far as they are smaller than ``largest``
    bytes. What is there for a moment only, such as the journal of a database, may go while it is looked at."""
    holding = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file() and (largest is None or path.stat().st_size < largest):
                holding += [str(path)] if text.encode() in path.read_bytes() else []
    return holding


def answer(body: dict[str, object]) -> Reply:
    """What the stub says to a question, by the words in it; anything that is not a chat with tools is a summary.

    A request to write the memory anew gets the old lines, what the user said, and its values.
    """
    messages = body["messages"]
    assert isinstance(messages, list)
    material = "\n".join(str(each.get("content")) for each in messages[:2])
    if "<memory>" in material and "<dialogue>" in material:
        return said(folded(material))
    if SLOW in material and "tools" not in body:
        return said(SUMMARISED).but(silence=600 if "아주" in material else SLOW_SECONDS)
    if "tools" not in body and TARGET.search(str(messages[-1].get("content"))):
        return said(SUMMARISED)
    last = messages[-1]
    text = str(last.get("content"))
    question = text.rsplit("\n", 1)[-1] if last["role"] == "user" else ""
    if last["role"] == "tool":
        return said(f"계산 결과는 {text} 입니다.")
    if "생각하고" in question:
        return said(f"<think>\n무엇을 물었나 봅니다.\n</think>\n\n생각한 답: {question[:200]}")
    if "마크다운" in question:
        return said(MARKDOWN)
    if "넓은" in question:
        return said(WIDE)
    if "아주 천천히" in question:
        return said(LONG * LASTING).but(pause=0.4)
    if "천천히" in question:
        return said(LONG * REPEATED).but(pause=0.04)
    if "실패" in question:
        return failed(500, "server_error", kind="server_error", x_should_retry="false").but(silence=1.0)
    if "장면" in question:
        return said(f"{next(_SCENES)}번째 장면. {SCENE}")
    if "예약해" in question:
        return called("house__book", {"place": "Seoul"})
    if "계산" in question:
        return called("calculate", {"expression": "15*24"})
    return said(f"알겠습니다. {question[:200]} 에 대해 답합니다.")


def folded(material: str) -> str:
    """A new memory as a good model writes it (prompt/ko/memory_fold_reply.md)."""
    known = material.rsplit("<memory>", 1)[-1].partition("</memory>")[0].strip()
    dialogue = material.rsplit("<dialogue>", 1)[-1].partition("</dialogue>")[0]
    told = re.findall(r"\[(?:사용자|User)\] (.+)", dialogue)
    found = (re.findall(r"(\S+?)(?:[은는]| is) ([\d,]+(?:만 )?(?:원| dollars)?)", each) for each in told)
    values = [{"key": name, "value": value, "replaces": None} for pairs in found for name, value in pairs]
    lines = [line for line in known.replace("–", "").splitlines() if line]
    return json.dumps({"memory": [*lines, *told], "entities": values, "gone": []}, ensure_ascii=False)


def push(thumb: Locator, key: str) -> None:
    """Moves a slider by one step with this arrow key."""
    before = thumb.input_value()

    def moved() -> bool:
        if thumb.input_value() == before:  # the page may take the cursor between focus and key
            thumb.press(key)
        return thumb.input_value() != before

    until(moved)


HURRY = """async ([text, count, pause]) => {
  const { set } = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value");
  const wait = () => new Promise((done) => setTimeout(done, pause / 2));
  for (let number = 1; number <= count; number++) {
    const area = document.querySelector("[data-testid=stChatInput] textarea");
    set.call(area, text.replace("{}", number));
    area.dispatchEvent(new Event("input", { bubbles: true }));
    await wait();  // the input takes over what was typed
    area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", code: "Enter", bubbles: true, cancelable: true }));
    await wait();
  }
}"""
"""Types and sends messages; Playwright would wait for the page before each."""

PAUSE_MESSAGES = """
window.messagePause = 0;
window.WebSocket = class extends window.WebSocket {
  addEventListener(kind, listener, ...rest) {
    if (kind !== "message") return super.addEventListener(kind, listener, ...rest);
    let before = Promise.resolve();
    super.addEventListener(kind, (event) => {
      const pause = () => window.messagePause && new Promise((done) => setTimeout(done, window.messagePause));
      before = before.then(pause).then(() => listener(event));
    }, ...rest);
  }
};"""
"""Lets the page hear what a busy server says piece by piece: ``messagePause`` is the time before each, in ms."""
WATCH_WINDOW = """pause => {
  window.messagePause = pause;
  window.windowWasAway = false;
  new MutationObserver(() => {
    if (!document.querySelector('[role="dialog"]')) window.windowWasAway = true;
  }).observe(document.body, { childList: true, subtree: true });
}"""


@dataclass(frozen=True)
class Person:
    """Someone at the page; waits as a person would, for what can be seen."""

    page: Page
    app: App

    def open(self, path: str = "/", ready: str = READY) -> None:
        self.page.goto(self.app.url + path)
        expect(self.input).to_be_visible()
        if ready:
            badge = "[class*='st-key-chip-ready'], [class*='st-key-chip-away']"  # away: an earlier test's call failed
            expect(self.page.locator(badge)).to_have_count(1)

    @property
    def input(self) -> Locator:
        return self.page.locator("[data-testid=stChatInput] textarea")

    @property
    def live(self) -> Locator:
        """The answer that is growing."""
        return self.page.locator(".st-key-live")

    @property
    def panel(self) -> Locator:
        return self.page.locator(".st-key-panel")

    def row(self, title: str) -> Locator:
        """A row of the list of conversations."""
        return self.page.locator(".gieok-list .row", has_text=title).first

    def choose(self, action: str, row: Locator | None = None) -> None:
        """Chooses an action of the menu of a row; of the open conversation's by default."""
        of = row if row is not None else self.page.locator(".gieok-list .row.here")
        of.hover()
        of.locator(".kebab").click()
        self.page.get_by_role("menuitem", name=action, exact=True).click()

    def answer(self, number: int) -> Locator:
        return self.page.locator(f".st-key-answer-{number}")

    def say(self, text: str) -> None:
        self.input.fill(text)
        self.input.press("Enter")

    def hurry(self, text: str, count: int, pause: float = 100) -> None:
        """Sends so many messages, ``pause`` milliseconds apart if the browser is as quick; ``{}`` is their number."""
        self.page.evaluate(HURRY, [text, count, pause])

    def ask(self, text: str, number: int, seconds: float = 90) -> Locator:
        """Sends a message as turn ``number`` and waits for the whole answer."""
        self.say(text)
        return self.see(number, seconds)

    def see(self, number: int, seconds: float = 90) -> Locator:
        """Waits until turn ``number`` has ended, and its answer is drawn whole: the row under it is drawn last.

        That can be so already before an answer is asked for again; then wait for what the new one alone has.
        """
        expect(self.page.locator(f".st-key-actions-{number}")).to_be_visible(timeout=seconds * 1000)
        expect(self.live).to_have_count(0, timeout=seconds * 1000)
        expect(self.answer(number)).to_be_visible(timeout=seconds * 1000)
        return self.answer(number)

    def see_whole(self, number: int, times: int, seconds: float = 90) -> None:
        """Waits until turn ``number`` has ended with the text of the slow answer that often: complete, and once."""
        part = "천천히 도착하는"
        every = re.compile(f"^(?:(?!{part}).)*(?:{part}(?:(?!{part}).)*){{{times}}}$", re.S)
        expect(self.see(number, seconds)).to_have_text(every, use_inner_text=True)

    @contextmanager
    def keep_window(self, pause: float = 100) -> Iterator[None]:
        """While the block runs the server is slow (``PAUSE_MESSAGES`` is in the page), and the open window must not be
        away for a moment: what is typed then is lost."""
        self.page.evaluate(WATCH_WINDOW, pause)
        yield
        assert not self.page.evaluate("windowWasAway")

    def unfold(self, label: Locator) -> None:
        """Opens a folded part and waits until it stands still: what moves under a click is missed."""
        label.click()
        folded = label.locator("xpath=ancestor-or-self::details").last
        expect(folded).to_have_attribute("open", "")
        self.page.wait_for_function(
            "of => !of.getAnimations({ subtree: true }).some(one => one.playState === 'running')",
            arg=folded.element_handle(),
        )

    def move_slider(self, steps: int) -> None:
        """Moves the compression slider with the arrow keys."""
        thumb = self.page.locator(".st-key-rate").get_by_role("slider")
        if not self.page.locator(".st-key-rate details[open]").count():
            self.unfold(self.page.locator(".st-key-rate summary"))
        thumb.focus()
        for _ in range(abs(steps)):
            push(thumb, "ArrowRight" if steps > 0 else "ArrowLeft")
