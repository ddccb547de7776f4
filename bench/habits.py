"""Whether a history that a client has changed still leads to its conversation: habits of chat programs, played.

Each habit (``bench.habit``) plays a story and a conversation of 15 turns, Korean and English, sending the whole history
each time. Every turn of a story gives the player one thing. ``lag``: how many of these things are missing in the state
of the prompt; of a conversation, how many of the client's turns are missing on its path, or stand there otherwise. What
an edit changes counts from the next turn on, because the changed text is read behind the answer. ``lost``: what is
missing at the end. ``wrong_story``: requests that were answered in another chat's; ``new_story_wrongly``: stories and
conversations that began though the chat had one; ``split_swipes``: things of swiped answers that stayed.

``held``: habits that nobody looked at while thresholds were chosen, apart. ``ms``: processor time of recognising a
history of so many turns, the median of 15, and among 1,000 other conversations.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import statistics
import tempfile
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from bench.habit import HABITS, HELD_OUT, Chat, Habit, Row, Said
from bench.world_block import whole
from graph.turn.agent import Agent, open_agent
from graph.turn.event import Done
from model import scripted
from server.request.conversation import plan_client_turn, prepare_turn_request
from server.request.message import ClientMessage
from settings import load_settings
from store import Finished, GivenTurn, Store
from store.world.record import HELD, NewNode
from text.clean import collapse_spaces
from text.fence import find_words
from world.engine import WorldEngine
from world.story.told import StoryMessage

KINDS = ("story", "conversation")
TURNS = 15
SIZES = (20, 200, 1000)
OTHERS = 1000
REPEATS = 15
WAIT_SECONDS = 60.0
TALES = json.loads((Path(__file__).parent / "data" / "habits.json").read_text("utf-8"))
"""Of each language the places of the 15 turns, with what is seen and given there."""
THOUGHT = "<think>\nThe player goes on. I give the thing and stop.\n</think>\n\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--habit", help="only habits whose name holds this")
    parser.add_argument("--untimed", action="store_true", help="without milliseconds")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    with open_all() as (engine, agent, answers):
        rows, held = (
            [row for habit in habits for row in play_habit(habit, engine, agent, answers)]
            for habits in ([habit for habit in some if (args.habit or "") in habit.name] for some in (HABITS, HELD_OUT))
        )
    by_kind = {kind: _sum([row for row in rows if row["kind"] == kind]) for kind in KINDS}
    return {
        **_sum(rows),
        "by": by_kind,
        "held": _sum(held),
        "ms": {} if args.untimed else measure_times(),
        "habits": rows,
        "held_habits": held,
    }


@dataclass
class Counts:
    """What one habit came to. ``lag``: turn by turn."""

    lag: list[int] = field(default_factory=list)
    lost: int = 0
    wrong_story: int = 0
    new_story_wrongly: int = 0
    split_swipes: int = 0

    @property
    def fine(self) -> bool:
        return not any((*self.lag, self.lost, self.wrong_story, self.new_story_wrongly, self.split_swipes))


def _sum(rows: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    names = ("lost", "wrong_story", "new_story_wrongly", "split_swipes")
    return {
        "lag_max": max((max(row["lag"]) for row in rows), default=0),
        **{name: sum(row[name] for row in rows) for name in names},
        "fine": sum(row["fine"] for row in rows),
        "of": len(rows),
    }


@contextmanager
def open_all() -> Iterator[tuple[WorldEngine, Agent, list[str]]]:
    """Opens what stories and conversations need, with the list from which conversations have their answers."""
    answers = list[str]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gieok-bench-")))
        engine = stack.enter_context(open_engine(folder / "story"))
        yield engine, stack.enter_context(open_conversations(folder / "talk", answers)), answers


def play_habit(habit: Habit, engine: WorldEngine, agent: Agent, answers: list[str]) -> Iterator[dict[str, Any]]:
    """Yields a row for each kind and language that the habit is played with, each as a user of its own."""
    for kind, language in itertools.product(KINDS, ("en", "ko")):
        user = f"{habit.name} {kind} {language}"
        if habit.kind in ("", kind):
            if kind == "story":
                counts = play_story(habit, language, engine.of(user))
            else:
                counts = play_conversation(habit, language, agent.of(user), answers)
            yield {"habit": habit.name, "kind": kind, "language": language, **asdict(counts), "fine": counts.fine}


def make_answer(habit: Habit, language: str, turn: int, version: int) -> tuple[str, str]:
    """Returns what the model answers in a turn, and the thing that it gives. ``version``: of the same answer."""
    tale, at = TALES[language], (turn - 1) % TURNS
    place, item, scene = tale[at]["place"], tale[at]["item"], tale[(at + 7 * version) % TURNS]["scene"]
    item = f"{item} {turn}.{version}" if version or turn > TURNS else item
    if language == "ko":
        told = f"*{place}에 이르자 바람이 잦아든다.* {scene}. 그리고 잿빛 옷의 여인이 말없이 너에게 {item}을 건넨다. "
        told += '"젖지 않게 해." 그녀가 말한다.' + (" 길은 다시" if habit.cut else "")
    else:
        told = (
            f"*The wind drops as you reach the {place}.* {scene}. A woman in grey hands you the {item} without a word. "
        )
        told += ' "Keep it dry," she says.' + (" The road goes on towards" if habit.cut else "")
    return (THOUGHT if habit.think else "") + told, item


def make_question(language: str, turn: int) -> str:
    place = TALES[language][(turn - 1) % TURNS]["place"]
    return (
        f"{place}로 간다. 거기에 무엇이 있지?" if language == "ko" else f"I go on to the {place}. What do I find there?"
    )


def take_step(habit: Habit, chat: Chat, turn: int) -> tuple[str, list[Said], str, str]:
    """Lets the user do what the habit says before a turn; returns the question, what is sent, and the answer with its
    thing."""
    habit.change(chat, turn)
    question, version = chat.again or make_question(chat.language, turn), int(bool(chat.again))
    number = turn - 1 if chat.again else turn
    chat.again = ""
    return question, habit.send(chat.messages(question), turn), *make_answer(habit, chat.language, number, version)


# --- a story ----------------------------------------------------------------------------------------


def play_story(habit: Habit, language: str, engine: WorldEngine) -> Counts:
    """Plays a story through the engine, and looks at the state that each prompt is made from."""
    counts, own = Counts(), ""
    chat = Chat(language, told_rows(habit, language))
    for turn in range(1, TURNS + 1):
        question, sent, answer, item = take_step(habit, chat, turn)
        begun = engine.begin([StoryMessage(role, text) for role, text in sent])
        engine.prompt(begun)
        counts.wrong_story += bool(begun.world and own and begun.world.id != own)
        held = set[str]()
        if begun.world is not None:
            state = engine.state(begun.base, begun.world)
            held = {one.name for one in state.items.values() if one.status == HELD}
        missing = [row for row in chat.rows if row.item and row.item not in held and row not in chat.late]
        counts.lag.append(len(missing) if turn > 1 else 0)
        counts.split_swipes += len(held & set(chat.gone) - set(chat.fresh))
        counts.lost = len(missing)
        chat.late, chat.fresh = [], []
        place = TALES[language][(turn - 1) % TURNS]["place"]
        raw = f"{answer}\n\n{whole({'location': place, 'items_gained': [item], 'location_moved': True})}"
        node = engine.finish(begun, raw, answer, None, None)
        assert engine.idle(WAIT_SECONDS), "a turn was not worked off"
        own = own or node.world
        chat.rows.append(Row(question, habit.show(answer), item, answer))
    counts.new_story_wrongly = len(engine.store.worlds.all()) - 1
    return counts


@contextmanager
def open_engine(folder: Path) -> Iterator[WorldEngine]:
    """Opens an engine whose light calls read what an answer tells."""
    settings = load_settings(data_dir=folder)
    curator = scripted.ScriptedModel(lambda _: "Nothing is left to do.")
    models = replace(scripted.build_scripted_models(lambda _: "", read_answer), curator=curator, context_size=100_000)
    store = Store(settings.database)
    engine = WorldEngine.open(settings, store, lambda: models)
    try:
        yield engine
    finally:
        engine.close()
        store.close()


def read_answer(messages: list[BaseMessage]) -> str:
    """Stands in for the light call: the thing that the last answer gives, and where."""
    text = str(messages[-1].text)
    items = re.findall(r"hands you the (.+?)(?: without|\.(?!\d))", text) + re.findall(r"너에게 (.+?)을 건넨다", text)
    places = re.findall(r"you reach the (.+?)\.", text) + re.findall(r"\*?([^*\n]+?)에 이르자", text)
    place = {"location": places[-1], "location_moved": True} if places else {}
    return json.dumps({**place, **({"items_gained": items[-1:]} if items else {})}, ensure_ascii=False)


def told_rows(habit: Habit, language: str) -> list[Row]:
    """Returns the turns that another program told before the first one."""
    rows = list[Row]()
    for turn in range(TURNS + 1, TURNS + 1 + habit.before):
        answer, item = make_answer(habit, language, turn, 0)
        rows.append(Row(f"({turn}) {make_question(language, turn)}", answer, item))
    return rows


# --- a conversation ---------------------------------------------------------------------------------


def play_conversation(habit: Habit, language: str, agent: Agent, answers: list[str]) -> Counts:
    """Plays a conversation, and holds its path against what the client shows."""
    counts, own = Counts(), ""
    chat = Chat(language, told_rows(habit, language))
    for turn in range(1, TURNS + 1):
        question, sent, answer, item = take_step(habit, chat, turn)
        answers[:] = [answer]
        planned = plan_client_turn(agent, [ClientMessage(role, text) for role, text in sent], None)
        request = prepare_turn_request(agent, planned)
        end = agent.turn(request, threading.Event(), lambda _: None)
        assert isinstance(end, Done)
        counts.wrong_story += bool(own and request.session != own and not planned.created)
        own = own or request.session
        missing = count_missing(agent, request.session, chat, habit)
        counts.lag.append(missing)
        counts.lost = missing
        chat.late, chat.fresh = [], []
        chat.rows.append(Row(question, habit.show(answer), item, answer))
    counts.new_story_wrongly = len(agent.store.sessions(1000)) - 1
    return counts


def count_missing(agent: Agent, session: str, chat: Chat, habit: Habit) -> int:
    """Returns how many turns of the client are not on the path of a session, or are there though it shows them not."""
    path = [
        (plain(find_words(turn.question)), plain(turn.answer or "")) for turn in agent.store.turns(session, limit=1000)
    ]
    path.pop()
    missing, at = 0, 0
    rows = [row for row in chat.rows if row.answer]
    for row in rows:
        asked, said = plain(row.question), {plain(row.said), plain(row.answer)} - {""}
        here = next((n for n in range(at, len(path)) if asked in path[n][0] and (not said or path[n][1] in said)), None)
        missing += here is None and not habit.hides
        at = at if here is None else here + 1
    extra = len(path) - len(rows) - (1 if habit.puts_first else 0)
    return missing + max(0, extra)


def plain(text: str) -> str:
    """Returns a text without what a habit does to its form."""
    return collapse_spaces(unicodedata.normalize("NFKC", text))


@contextmanager
def open_conversations(folder: Path, answers: Sequence[str]) -> Iterator[Agent]:
    settings = load_settings(data_dir=folder, titles=False, retrieval=False, ahead=False, memory=False)
    models = scripted.build_scripted_models(lambda _: answers[-1], lambda _: "A short summary.")
    agent = open_agent(settings, lambda: models)
    try:
        yield agent
    finally:
        agent.close()


# --- time -------------------------------------------------------------------------------------------


def measure_times() -> dict[str, dict[str, float]]:
    """Returns milliseconds of processor time by the kind and the number of turns."""
    with open_all() as (engine, agent, _):
        ways = {"story": _story_way(engine), "conversation": _conversation_way(agent)}
        for add, _ in ways.values():
            for size in SIZES:
                add(f"size {size}", size)
        times = {name: {str(size): _time(ask, size) for size in SIZES} for name, (_, ask) in ways.items()}
        for name, (add, ask) in ways.items():
            for at in range(OTHERS):
                add(f"other {at}", 3)
            times[name]["200 among others"] = _time(ask, 200)
    return times


Way = tuple[Callable[[str, int], None], Callable[[list[tuple[str, str]]], object]]
"""Adds a history of so many turns under a name; recognises one."""


def _history(name: str, size: int) -> list[tuple[str, str]]:
    habit = HABITS[0]
    made = (make_answer(habit, "en", turn, 0)[0] for turn in range(1, size + 1))
    return [
        (f"{name}: {make_question('en', turn)}", f"({turn} of {name}) {answer}") for turn, answer in enumerate(made, 1)
    ]


def _time(ask: Callable[[list[tuple[str, str]]], object], size: int) -> float:
    took = []
    for _ in range(REPEATS):
        history = [(bytes(q, "utf-8").decode(), bytes(a, "utf-8").decode()) for q, a in _history(f"size {size}", size)]
        begun = time.process_time()
        ask(history)
        took.append((time.process_time() - begun) * 1000)
    return round(statistics.median(took), 2)


def _story_way(engine: WorldEngine) -> Way:
    def add(name: str, size: int) -> None:
        world, node = engine.store.worlds.create(name, "en"), None
        for question, answer in _history(name, size):
            node = engine.store.worlds.add(world.id, node, NewNode(question, (answer,), answer, "given"))

    def ask(history: list[tuple[str, str]]) -> object:
        begun = engine.begin([*_lines(history), StoryMessage("user", "And now?")])
        assert begun.parent is not None
        assert not begun.given
        return begun

    return add, ask


def _lines(history: Sequence[tuple[str, str]]) -> list[StoryMessage]:
    return [
        StoryMessage(role, text) for turn in history for role, text in zip(("user", "assistant"), turn, strict=True)
    ]


def _conversation_way(agent: Agent) -> Way:
    def add(name: str, size: int) -> None:
        session = agent.store.create_session("en", 0.3).id
        given = [GivenTurn(question, answer, 1) for question, answer in _history(name, size)]
        agent.store.tree.give(session, 1, given, 1_700_000_000.0)
        number = agent.store.begin_turn(session, "Are you there?").number
        agent.store.finish_turn(session, number, Finished("done", f"Yes, {name}."))

    def ask(history: list[tuple[str, str]]) -> object:
        name = history[0][0].partition(":")[0]
        turns = [*history, ("Are you there?", f"Yes, {name}.")]
        said = [ClientMessage(line.role, line.text) for line in _lines(turns)]
        planned = plan_client_turn(agent, [*said, ClientMessage("user", "And now?")], None)
        assert not planned.created
        assert not planned.request.given
        return planned

    return add, ask
