"""Story worlds: how much of a story's state is right after every turn, which contradictions code finds, and the calls.

Two stories of 60 turns, Korean and English, played through the engine: scripted answers with their state blocks, 15 %
of them damaged. 40 turns change something, ten contradict what was told, ten only look as if. Light calls are answered
by a stand-in, which returns the true fields of the turn: that measures what reading blocks loses, not how well a model
extracts. Six stories of twelve turns, whole blocks: people who travel along, leave and come back to life, are called by
many names, things that are counted, corrections of the user (``company``; the third of each language was not looked at
while the rules were written). With ``--model`` the utility model of the settings answers light calls. The curator's
model is a stand-in as well.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from bench.world_block import DAMAGES, damaged, whole
from model import scripted
from model.modelset import ModelSet
from settings import load_current_settings, load_settings
from store import Store
from store.world.record import HELD, Changes, LoreEntry, StoryNode, World
from text.language import Language
from world.engine import WorldEngine
from world.story.state import StoryState

DATA = Path(__file__).parent / "data" / "world_truth"
SHARE = 0.15
MISSING = "missing"
WAIT_SECONDS = 600.0
Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--seed", type=int, default=15, help="which blocks are damaged, and how")
    parser.add_argument("--model", action="store_true", help="the utility model of the settings answers light calls")
    parser.add_argument("--missing", action="store_true", help="the damaged blocks are left out instead")
    parser.add_argument("--language", choices=("ko", "en"), help="one story only")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Plays the stories. ``calls``: over 100 turns, the count of these turns scaled."""
    languages = [args.language] if args.language else ["ko", "en"]
    played = [_play(language, args.seed, real=args.model, missing=args.missing) for language in languages]
    turns = sum(one.turns for one in played)
    calls = Counter[str]()
    for one in played:
        calls.update(one.calls)
    right, total = (sum(getattr(one, name) for one in played) for name in ("right", "total"))
    return {
        "correct_share": right / total,
        "correct_share_end": sum(one.end[0] for one in played) / sum(one.end[1] for one in played),
        "contradictions_found": min(one.found for one in played),
        "false_alarms": max(one.false for one in played),
        "calls": {kind: count * 100 / turns for kind, count in sorted(calls.items())},
        "specified_calls": {"narration": 100, "light": 100, "curator": 10},
        "damaged": sum(len(one.damaged) for one in played),
        "changed_turns": sum(one.changed for one in played),
        "company": _play_company(languages),
        "stories": {one.language: one.figures() for one in played},
        "light_by": "the utility model" if args.model else "a stand-in with the true fields",
        "seed": args.seed,
    }


@dataclass
class Played:
    """What one story gave. ``right`` of ``total`` values over all turns; ``wrong``: turn, value, expected and told."""

    language: str
    turns: int = 0
    changed: int = 0
    right: int = 0
    total: int = 0
    end: tuple[int, int] = (0, 1)
    found: int = 0
    false: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    damaged: dict[int, str] = field(default_factory=dict)
    origins: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, object]:
        """Returns the figures of this story, and what was wrong."""
        return {
            "correct_share": self.right / self.total,
            "correct_share_end": self.end[0] / self.end[1],
            "contradictions_found": self.found,
            "false_alarms": self.false,
            "calls": dict(self.calls),
            "origins": dict(self.origins),
            "damaged": {str(turn): kind for turn, kind in self.damaged.items()},
            "wrong": self.wrong,
            "missed": self.missed,
            "alarms": self.alarms,
        }


def rows(language: str) -> tuple[Row, list[Row]]:
    """Returns the head of a story (name, player, lorebook) and its turns."""
    head, *turns = map(json.loads, (DATA / f"{language}.jsonl").read_text("utf-8").splitlines())
    return head, turns


def company_rows(language: str, number: int) -> tuple[Row, list[Row]]:
    """Returns the head of a story about company and its turns, each with the whole true state: what a row says (``s``)
    changes the state before it. ``correct``: what the user corrects after the turn, ``corrected``: the state then."""
    head, *given = map(json.loads, (DATA / f"company_{language}_{number}.jsonl").read_text("utf-8").splitlines())
    state: Row = {"location": "", "hp": 100, "items": {}, "dead": [], "relations": {}, "met": {}, "places": {}}
    state["with"] = []
    turns = []
    for turn, row in enumerate(given, 1):
        state = _merged(state, row["s"])
        told = {"turn": turn, "question": row["q"], "answer": row["a"], "fields": row["f"], "state": state}
        if "c" in row:
            state = _merged(state, row["s2"])
            told |= {"correct": row["c"], "corrected": state}
        turns.append({**told, "changed": True})
    return head, turns


def _merged(state: Row, changes: Row) -> Row:
    both = {**state, **changes}
    return {name: {**state[name], **value} if isinstance(value, dict) else value for name, value in both.items()}


def _play_company(languages: list[str]) -> Row:
    """Plays the stories about company; returns the share of right values, and what was wrong."""
    figures: Row = {}
    for number in (1, 2, 3):
        played = Played("company")
        for language in languages:
            _play_story(language, company_rows(language, number), played)
        figures[f"correct_share_{number}"] = played.right / played.total
        figures[f"wrong_{number}"] = played.wrong
        figures["right"] = figures.get("right", 0) + played.right
        figures["total"] = figures.get("total", 0) + played.total
    return {**figures, "correct_share": figures["right"] / figures["total"]}


def damages(count: int, seed: int) -> dict[int, str]:
    """Returns which turns have a damaged block, and how: every kind about as often."""
    chance = random.Random(seed)
    numbers = sorted(chance.sample(range(1, count + 1), round(SHARE * count)))
    kinds = [list(DAMAGES)[at % len(DAMAGES)] for at in range(len(numbers))]
    chance.shuffle(kinds)
    return dict(zip(numbers, kinds, strict=True))


def answers(turns: list[Row], language: str, hurt: Mapping[int, str], seed: int) -> Iterator[str]:
    """Yields the answers of the narrator with their blocks."""
    chance = random.Random(seed)
    for row in turns:
        kind = hurt.get(row["turn"])
        if kind == MISSING:
            yield row["answer"]
            continue
        block = damaged(kind, row["fields"], language, chance) if kind else whole(row["fields"])
        yield f"{row['answer']}\n\n{block}"


def _play(language: str, seed: int, *, real: bool, missing: bool) -> Played:
    """Plays one story in a data folder of its own."""
    story = rows(language)
    hurt = damages(len(story[1]), seed)
    played = Played(language, damaged=dict.fromkeys(hurt, MISSING) if missing else hurt)
    _play_story(language, story, played, seed, real=real)
    return played


def _play_story(
    language: str, story: tuple[Row, list[Row]], played: Played, seed: int = 0, *, real: bool = False
) -> None:
    head, turns = story
    told = answers(turns, language, played.damaged, seed)
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder:
        settings = load_settings(data_dir=Path(folder))
        models = _models(told, turns, played, real=real)
        store = Store(settings.database)
        engine = WorldEngine.open(settings, store, lambda: models)
        try:
            _turns(engine, _world(store, head, cast(Language, language)), turns, played)
        finally:
            engine.close()
            store.close()


def _world(store: Store, head: Row, language: Language) -> World:
    world = store.worlds.create(head["name"], language, head["player"])
    entries = [LoreEntry(0, **{**entry, "keys": tuple(entry["keys"])}) for entry in head["lore"]]
    store.worlds.put_lore(world.id, entries)
    return world


def _models(told: Iterator[str], turns: list[Row], played: Played, *, real: bool) -> ModelSet:
    """Returns the models: the scripted narrator, the stand-ins for light calls and for the curator."""

    def narrate(_: list[BaseMessage]) -> str:
        played.calls["narration"] += 1
        return next(told)

    def extract(messages: list[BaseMessage]) -> str:
        played.calls["light"] += 1
        text = "\n".join(str(message.text) for message in messages)
        fields = next(row["fields"] for row in reversed(turns) if row["answer"] in text)
        return json.dumps(fields, ensure_ascii=False)

    def curate(messages: list[BaseMessage]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            played.calls["curator"] += 1
            return AIMessage("Nothing is left to do.")
        call = ToolCall(name="read_turns", args={"first": 1, "last": 10}, id="read")
        return AIMessage("", tool_calls=[call])

    models = scripted.build_scripted_models(narrate, extract)
    models = replace(models, curator=scripted.ScriptedModel(curate), context_size=100_000)
    return replace(models, utility=_counted(played)) if real else models


def _counted(played: Played) -> Any:
    """Returns the utility model of the settings; counts its calls."""
    from model.choice import resolve

    class Counting(BaseCallbackHandler):
        def on_chat_model_start(self, *_: Any, **__: Any) -> None:
            played.calls["light"] += 1

    return resolve.resolve_models(load_current_settings()).utility.with_config(callbacks=[Counting()])


def _turns(engine: WorldEngine, world: World, turns: list[Row], played: Played) -> None:
    node: StoryNode | None = None
    for row in turns:
        node = engine.play(world.id, node, row["question"], threading.Event(), lambda _: None)
        assert engine.idle(WAIT_SECONDS), "a turn was not worked off"
        node = engine.store.worlds.node(node.id)
        played.origins[node.origin] += 1
        played.turns += 1
        played.changed += row["changed"]
        _compare(row, engine.state(node), played)
        _judge(engine, node, row, played)
        if "correct" in row:
            state = engine.state(node)
            people = [replace(state.characters[one["name"]], **one) for one in row["correct"]["characters"]]
            node = engine.correct(node, Changes(characters=tuple(people)))
            _compare({**row, "state": row["corrected"]}, engine.state(node), played)


def _compare(row: Row, state: StoryState, played: Played) -> None:
    """Counts the values that are as they should be. What the state has beyond the truth counts as wrong; of people, in
    the stories about company, everybody of whom the truth does not know."""
    truth, told = _truth(row["state"]), _told(row["state"], state)
    right = [name for name, value in truth.items() if told.get(name) == value]
    extra = [name for name in told if name not in truth]
    played.right += len(right)
    played.total += len(truth) + len(extra)
    played.end = (len(right), len(truth) + len(extra))
    played.wrong += [
        f"{row['turn']}: {name}: {truth.get(name)!r} but {told.get(name)!r}"
        for name in (*truth, *extra)
        if name not in right
    ]


def _truth(state: Row) -> dict[str, Any]:
    dead = state["dead"]
    return {
        **({"location": state["location"]} if state["location"] else {}),
        "hp": state["hp"],
        **{f"item {name}": status for name, status in state["items"].items()},
        **({"with": sorted(state["with"])} if "with" in state else {}),
        **{f"dead {name}": True for name in dead},
        **{f"relation {pair}": strength for pair, strength in state["relations"].items()},
        **{f"place of {name}": place for name, place in state["met"].items() if name not in dead},
        **{f"status of {name}": status for name, status in state["places"].items()},
    }


def _told(truth: Row, state: StoryState) -> dict[str, Any]:
    """Returns the state's values, of places of people only those that the truth knows."""
    people, places = state.characters, state.locations
    return {
        **({"location": state.me.location} if truth["location"] else {}),
        "hp": state.me.hp,
        **{
            f"item {one.name}": one.count if one.status == HELD and "with" in truth else one.status
            for one in state.items.values()
            if one.status == HELD or one.name in truth["items"]
        },
        **({"with": sorted(one.name for one in people.values() if one.companion)} if "with" in truth else {}),
        **{f"dead {one.name}": True for one in people.values() if one.dead},
        **{f"relation {a}→{b}": one.strength for (a, b), one in state.relations.items()},
        **{
            f"place of {name}": people[name].location
            for name in (people if "with" in truth else truth["met"])
            if name in people and name not in truth["dead"] and name != state.player
        },
        **{f"status of {one.name}": one.status for one in places.values() if one.status},
    }


def _judge(engine: WorldEngine, node: StoryNode, row: Row, played: Played) -> None:
    """Counts the findings of this turn, and accepts them, so that the same one is reported when it comes again."""
    worlds = engine.store.worlds
    findings = [one for one in worlds.findings(node, limit=500) if one.node == node.id]
    planted = row.get("planted") or {"kind": "", "subject": ""}
    about = (planted["kind"], planted["subject"])
    alarms = [one for one in findings if (one.kind, one.subject) != about]
    hit = len(alarms) < len(findings)
    played.found += hit
    played.missed += [f"{row['turn']}: {' '.join(about)}"] if planted["kind"] and not hit else []
    played.false += len(alarms)
    played.alarms += [f"{row['turn']}: {one.kind} {one.subject}: {one.text}" for one in alarms]
    for one in findings:
        worlds.set_finding(one.id, "accepted")
