"""How much of a story's prompts comes from the provider's cache, and what that saves.

``specified``: the layout of the specification (about 4,600 tokens of system text, 325 new ones a turn, 308 of them the
answer; its model keeps prompts from 4,096 tokens on), which must give its figures. ``ours``: the requests that the
engine builds for a client whose system text is as long, with a lorebook, in Korean. ``ours_without_block``: the same
without the part that changes, which the specification's figures do not count. ``naive``: the same, what changes in the
system message. ``automatic``: the same, one breakpoint at the end instead of three. All by a provider's rules without
a provider (``bench.provider_cache``). ``embedded``, with ``--model``: the embedded model's own count of cached tokens.

``hit_share``: the mean over the turns from 5 on of the cached part of the prompt; ``saved_share``: of the whole cost,
answers included. ``changing_tokens``: the mean size of the part that changes.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.provider_cache import Block, Cost, ProviderCache, blocks, shares
from model import scripted
from model.cache import mark_breakpoints
from model.call.token import estimate_tokens
from model.raw import RawAnswer
from settings import Settings, load_settings
from store import Store
from store.world.record import LAYERS, LoreEntry, World
from world.engine import WorldEngine
from world.story.told import StoryMessage
from world.turn.turn import StoryTurn

Json = dict[str, Any]
SYSTEM, QUESTION, ANSWER, MINIMUM = 4600, 17, 308, 4096
"""The specification's layout in tokens."""
HIT, SAVED = 0.955, 0.767
"""The specification's figures for 50 turns."""
PAUSE = 30.0
"""Seconds between two turns."""
PLACES = ("어둠의 숲", "마을 광장", "은빛 성채", "고블린 동굴", "안개 항구")
WORDS = "바람이 낮게 불고 멀리서 종소리가 들린다. 에르겐은 말없이 등불을 들어 길을 비춘다. "
LORE = 40
EMBEDDED_ANSWER = 60
"""Longest answer of the embedded model in tokens: it is slow, and how long it answers changes nothing here."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--turns", type=int, default=50, help="turns of the story")
    parser.add_argument("--model", action="store_true", help="also play the story with the embedded model")
    parser.add_argument(
        "--model-turns", type=int, default=12, help="turns of that story: the model reads it on two cores"
    )
    parser.add_argument("--model-pause", type=float, default=PAUSE, help="seconds between two of these turns")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    rows = [_row("specified", _specified(args.turns))]
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder:
        sent = _played(Path(folder), args.turns)
    rows += [_row(name, _costs(sent, layout)) for name, layout in LAYOUTS.items()]
    size = sum(estimate_tokens(_changing(one.body)) for one in sent) / len(sent)
    if args.model:
        rows.append(_embedded(args.model_turns, args.model_pause))
    return {"specification": {"hit_share": HIT, "saved_share": SAVED}, "changing_tokens": round(size), "rows": rows}


def _row(name: str, costs: Sequence[Cost]) -> dict[str, object]:
    return {"layout": name, **shares(costs)}


def _specified(turns: int) -> list[Cost]:
    cache = ProviderCache(MINIMUM)
    return [cache.ask(list(_layout(turn)), ANSWER, PAUSE * turn) for turn in range(1, turns + 1)]


def _layout(turn: int) -> Iterator[Block]:
    """Yields the blocks of the specification's request, with breakpoints on the system text, in the middle, and at the
    end."""
    yield Block("system", SYSTEM, True)
    middle = (turn - 1) // 2
    for past in range(1, turn):
        yield Block(f"question {past}", QUESTION)
        yield Block(f"answer {past}", ANSWER, past == middle)
    yield Block(f"question {turn}", QUESTION, True)


# --- the engine's requests --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that went upstream, and the tokens of its answer."""

    body: Json
    answer: int


@dataclass
class Recording:
    """A model's server that answers from a function and keeps the requests."""

    answer: Callable[[int], str]
    sent: list[Sent] = field(default_factory=list)
    url: str = "https://openrouter.ai/api/v1"
    model: str = "anthropic/claude-haiku-4.5"
    only: bool = False

    @contextmanager
    def ask(self, body: Mapping[str, Any], stop: threading.Event) -> Iterator[RawAnswer]:
        """Keeps the request and answers it."""
        text = self.answer(len(self.sent) + 1)
        self.sent.append(Sent(dict(body), estimate_tokens(text)))
        with scripted.ScriptedRaw(scripted.ScriptedModel([text])).ask(body, stop) as answer:
            yield answer


@dataclass
class Story:
    """A client that plays a story turn by turn with the whole history. ``options``: further fields of its requests."""

    engine: WorldEngine
    world: World
    raw: Any
    messages: list[Json]
    options: Json = field(default_factory=dict)

    def play(self, turn: int) -> Json:
        """Asks the next question; returns the receipt."""
        question = _text(f"{turn}번째로 {PLACES[turn % 5]}에서 둘러본다.", QUESTION)
        self.messages.append({"role": "user", "content": question})
        begun = self.engine.begin([StoryMessage(one["role"], one["content"]) for one in self.messages], self.world)
        body = {"model": self.raw.model, "messages": self.messages, "stream": True, **self.options}
        running = StoryTurn(self.engine, self.raw, begun, body, counted=False)
        ended = running.run(threading.Event(), lambda *_: None, lambda _: None)
        self.messages.append({"role": "assistant", "content": running.reply.visible_text})
        return ended.receipt


def _played(folder: Path, turns: int) -> list[Sent]:
    settings = load_settings(data_dir=folder, provider="hosted", openai_api_key="none")
    models = scripted.build_scripted_models(utility=lambda _: "{}")
    store = Store(settings.database)
    engine = WorldEngine.open(settings, store, lambda: models)
    raw = Recording(_answer)
    try:
        story = _story(engine, raw)
        for turn in range(1, turns + 1):
            story.play(turn)
    finally:
        engine.close()
        store.close()
    return raw.sent


def _story(engine: WorldEngine, raw: Any) -> Story:
    """Returns a story in a world with a lorebook. The client's system text and ours together have the specified
    size."""
    worlds = engine.store.worlds
    world = worlds.create("어둠의 숲", "ko", "아리아")
    worlds.put_lore(world.id, [_entry(at) for at in range(LORE)])
    ours = engine.prompt(engine.begin([StoryMessage("user", "시작")], world)).prefix
    return Story(engine, world, raw, [{"role": "system", "content": _text("카드.", SYSTEM - estimate_tokens(ours))}])


def _entry(at: int) -> LoreEntry:
    place = PLACES[at % 5]
    text = f"{place}에 얽힌 {at}번째 이야기. 오래전부터 사람들은 이곳을 두려워했고, 밤이면 아무도 지나지 않는다."
    return LoreEntry(0, f"{place} 이야기 {at}", text, layer=LAYERS[at % 4], location=place)


def _answer(turn: int) -> str:
    """Returns an answer of the specified size with its state block."""
    block = f"```state\nlocation: {PLACES[turn % 5]}\nhp_change: -1\nnpc_met: [인물 {turn % 9}]\nmood: tense\n```"
    return f"{_text(f'{turn}번째 장면.', ANSWER)}\n\n{block}"


def _text(begin: str, size: int) -> str:
    """Returns a text of about so many tokens."""
    text = begin
    while estimate_tokens(text) < size:
        text += f" {WORDS}" if size - estimate_tokens(text) > estimate_tokens(WORDS) else " 비."
    return text


# --- layouts ----------------------------------------------------------------------------------------


def _costs(sent: Sequence[Sent], layout: Callable[[Json], list[Block]]) -> list[Cost]:
    cache = ProviderCache(MINIMUM)
    return [cache.ask(layout(one.body), one.answer, PAUSE * turn) for turn, one in enumerate(sent)]


def _ours(body: Json) -> list[Block]:
    return blocks(body["messages"], estimate_tokens)


def _without_block(body: Json) -> list[Block]:
    return blocks([*body["messages"][:-2], body["messages"][-1]], estimate_tokens)


def _automatic(body: Json) -> list[Block]:
    return blocks(body["messages"], estimate_tokens, last=True)


def _naive(body: Json) -> list[Block]:
    """Returns the request with what changes in the first system message, and three breakpoints set alike."""
    plain = [{**one, "content": _plain(one)} for one in body["messages"]]
    first = {**plain[0], "content": f"{plain[0]['content']}\n\n{plain[-2]['content']}"}
    messages = [first, *plain[1:-2], plain[-1]]
    request = mark_breakpoints({"messages": messages}, len(messages) - 1, count=estimate_tokens, minimum=MINIMUM)
    return blocks(request["messages"], estimate_tokens)


def _changing(body: Json) -> str:
    return _plain(body["messages"][-2])


def _plain(message: Json) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


LAYOUTS: dict[str, Callable[[Json], list[Block]]] = {
    "ours": _ours,
    "ours_without_block": _without_block,
    "naive": _naive,
    "automatic": _automatic,
}


# --- the embedded model -----------------------------------------------------------------------------


def _embedded(turns: int, pause: float) -> dict[str, object]:
    """Plays the story with the embedded model, whose server tells how much of a prompt it had read before. ``pause``:
    seconds between an answer and the next message, in which the model reads ahead."""
    from model.choice.resolve import resolve_models as resolved

    base = Settings()
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder:
        settings = load_settings(data_dir=base.data_dir, provider="embedded")
        models = resolved(settings)
        store = Store(f"sqlite:///{folder}/world.db")
        engine = WorldEngine.open(load_settings(data_dir=Path(folder)), store, lambda: models)
        try:
            story = _story(engine, models.raw)
            story.options = {"max_tokens": EMBEDDED_ANSWER}
            receipts = []
            for turn in range(1, turns + 1):
                receipts.append(story.play(turn))
                time.sleep(pause)
        finally:
            engine.close()
            store.close()
    costs = [Cost(one["prompt_tokens"], one["cached_tokens"], 0, one["answer_tokens"]) for one in receipts]
    return {"layout": "embedded", "hit_share": shares(costs)["hit_share"], "saved_share": "no price"}
