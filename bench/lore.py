"""Lorebooks as their authors meant them: which entries are active, files in and out, and the time to decide.

``right``: share of the cases in ``bench/data/lore`` (an entry, a chat, whether it is active) that the product decides
as the documentation of SillyTavern and RisuAI, the specification of cards or a public bug report says; every case is a
world of its own, read from a file and played on a scripted model. ``unseen``: the same of the cases that were written
last. ``changed``: files that do not come out as they went in. ``decide_ms``: processor time to decide for a book of
1,000 entries, fifty of them with patterns, hostile ones among them: median and 95th percentile.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from model import scripted
from settings import load_settings
from store import Store
from store.world.record import LoreEntry, NewNode, StoryNode, World
from world.beginning import book_of, create_story_world, from_book
from world.book import read_book, write_again
from world.book.container import card_in_charx, card_in_png, is_png, is_zip_book
from world.engine import RecognisedRequest, WorldEngine
from world.lore.activation import Scan, decide_activation
from world.lore.lorebook import Lorebook
from world.lore.rule import Rule

Json = dict[str, Any]
FOLDER = Path(__file__).parent / "data" / "lore"
PLAYER = "Mina"
BLOCK = "```state\nmood: calm\n```"
ENTRIES, PATTERNS = 1000, 50
HOSTILE = (r"/(a+)+$/", r"/x.{14}y/s", r"/(a|b)*a(a|b){12}/", r"/([\s\S]*)*zq/", r"/(?:[^\x01]*){1,20}q/")
"""Patterns that keep an engine with backtracking busy for ever."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--rounds", type=int, default=200, help="decisions that are timed")
    parser.add_argument("--files", type=Path, nargs="*", default=[], help="further folders with books and cards")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    wrong: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    with opened_engine() as engine:
        for path in sorted(FOLDER.glob("*.yaml")):
            cases = read_cases(path)
            counts[path.stem] = len(cases)
            wrong[path.stem] = [told for case in cases if (told := check_case(engine, case))]
        files = sorted(path for folder in (FOLDER / "file", *args.files) for path in folder.iterdir() if path.is_file())
        changed = [path.name for path in files if is_changed(engine, path)]
    times = measure(args.rounds)
    seen = sum(count for name, count in counts.items() if name != "unseen")
    return {
        "right": 1 - sum(map(len, wrong.values())) / sum(counts.values()),
        "unseen": 1 - len(wrong.get("unseen", ())) / counts["unseen"] if counts.get("unseen") else None,
        "cases": seen + counts.get("unseen", 0),
        "cases_unseen": counts.get("unseen", 0),
        "wrong": [told for some in wrong.values() for told in some],
        "files": len(files),
        "changed": len(changed),
        "changed_files": changed,
        "decide_ms": {"median": statistics.median(times), "p95": float(np.percentile(times, 95))},
    }


# --- cases ------------------------------------------------------------------------------------------


def read_cases(path: Path) -> list[Json]:
    """Reads the cases of a file."""
    cases: list[Json] = yaml.safe_load(path.read_text("utf-8"))
    return cases


@contextmanager
def opened_engine() -> Iterator[WorldEngine]:
    """Opens an engine on a database and a folder of its own, with a scripted model."""
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder:
        settings = load_settings(data_dir=Path(folder), world_budget_lore=100_000)
        store, models = (
            Store(settings.database),
            scripted.build_scripted_models(scripted.ScriptedModel(lambda _: ""), lambda _: "{}"),
        )
        engine = WorldEngine.open(settings, store, lambda: models)
        engine.learn = lambda world_id: None  # type: ignore[method-assign]  # nothing is compared by vector here
        try:
            yield engine
        finally:
            engine.close()
            store.close()


def check_case(engine: WorldEngine, case: Json) -> str:
    """Returns what was decided otherwise than the case says; empty when nothing was."""
    book = read_book(json.dumps(file_of(case), ensure_ascii=False).encode(), "case.json")
    world, node = create_story_world(engine, replace(from_book(book, "ko", PLAYER), name=case["about"][:80]))
    for name, text in case.get("files", {}).items():
        engine.files.write(world.id, name, text)
    node = _greeting(engine, world, node, case)
    for turn in case.get("turns") or [{"chat": case["chat"], "active": case["active"]}]:
        active, node = _play(engine, world, node, turn)
        wanted = set(turn["active"]) if "active" in turn else active
        if active != wanted:
            said = turn.get("say", turn.get("chat"))
            return f"{case['about']}: {sorted(active)} instead of {sorted(wanted)} at {said!r}"
    return ""


def _greeting(engine: WorldEngine, world: World, node: StoryNode | None, case: Json) -> StoryNode | None:
    """Returns the greeting with which a case begins: the card's with this number, or its own text."""
    if "greeting" in case:
        return engine.store.worlds.children(world.id, 0)[case["greeting"]]
    if "greet" in case:
        return engine.store.worlds.add(world.id, None, NewNode("", (case["greet"],), case["greet"], "given"))
    return node


def _play(engine: WorldEngine, world: World, before: StoryNode | None, turn: Json) -> tuple[set[str], StoryNode | None]:
    """Returns the names of the entries in the prompt of a turn, and its node."""
    said = turn.get("chat") or [turn["say"]]
    begun = begin_turn(engine, world, before, said)
    report = engine.preview(begun)
    active = {one["keyword"] for one in report["lore"]["in"]}
    if "say" not in turn:
        return active, before
    answer = turn.get("answer", "…")
    node = engine.keep(begun, f"{answer}\n\n{BLOCK}", answer, None, report)
    engine.work_off(node)
    return active, before if turn.get("again") else node


def begin_turn(engine: WorldEngine, world: World, before: StoryNode | None, said: Sequence[str]) -> RecognisedRequest:
    """Returns the request for a turn: the messages of its path, then those of ``said``, which alternate and end with
    the user's, or with an answer that goes on."""
    path = engine.store.worlds.path(before) if before is not None else []
    begun = engine.after(world.id, before, said[-1])
    turns = [(node.question, node.answer) for node in path]
    earlier = list(said[:-1])
    if len(earlier) % 2:
        turns.append(("", earlier.pop(0)))
    turns += zip(earlier[::2], earlier[1::2], strict=True)
    number = begun.number + sum(1 for question, _ in turns[len(path) :] if question)
    return replace(begun, number=number, told_story=replace(begun.told_story, turns=tuple(turns)))


def file_of(case: Json) -> Any:
    """Returns the JSON of the file that a case describes. Names of entries stand for their titles, and a content that
    is not written for one that names nobody."""
    form, entries = case.get("form", "world_info"), []
    for name, given in case["entries"].items():
        text = "text" if form == "novelai" else "entry" if form == "agnai" else "content"
        title = {"novelai": "displayName", "agnai": "name"}.get(form, "comment")
        entries.append({title: name, text: "…", "enabled": True, **(given or {})})
    root = case.get("root", {})
    if form == "world_info":
        return {**root, "entries": {str(at): one for at, one in enumerate(entries)}}
    if form in ("card_v2", "card_v3"):
        inner = {"name": "Book", "extensions": {}, **case.get("book", {}), "entries": entries}
        data = {"name": "Sera", "description": "", "extensions": {}, **root, "character_book": inner}
        return {"spec": f"chara_{form}", "spec_version": f"{form[-1]}.0", "data": data}
    if form == "lorebook_v3":
        return {"spec": form, "data": {"name": "Book", **root, "entries": entries}}
    if form == "risu":
        return {"type": "risu", "ver": 1, **root, "data": entries}
    if form == "list":
        return entries
    fronts: dict[str, Json] = {"novelai": {"lorebookVersion": 5}, "agnai": {"kind": "memory"}}
    return {**fronts[form], **root, "entries": entries}


# --- files ------------------------------------------------------------------------------------------


def is_changed(engine: WorldEngine, path: Path) -> bool:
    """Returns whether a file comes out otherwise than it went in, through a world."""
    data = path.read_bytes()
    world, _ = create_story_world(engine, from_book(read_book(data, path.name), "ko", PLAYER))
    written = write_again(book_of(engine, world))
    return _content(data) != _content(written) or _around(data) != _around(written)


def _content(data: bytes) -> Any:
    """Returns the JSON of a file."""
    if is_png(data):
        return json.loads(card_in_png(data, ""))
    return json.loads(card_in_charx(data, "", 30_000_000)[0] if is_zip_book(data) else data.decode("utf-8-sig"))


def _around(data: bytes) -> object:
    """Returns what a file holds beside the card: the picture, or the other members of the archive."""
    import io
    import zipfile

    from world.book.container import png_with

    if is_png(data):
        return png_with(data, {})
    if not is_zip_book(data):
        return None
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "card.json" and name[-1] != "/"}


# --- time -------------------------------------------------------------------------------------------


def measure(rounds: int) -> list[float]:
    """Returns the milliseconds of processor time of each decision for a large book."""
    chance = random.Random(7)
    syllables = [chr(code) for code in range(0xAC00, 0xD7A3, 9)]

    def word(length: int) -> str:
        return "".join(chance.choice(syllables) for _ in range(length))

    entries = []
    for id in range(1, ENTRIES + 1):
        rule = Rule(
            patterns=((*HOSTILE, f"/{word(2)}(이|가)?/")[id % (len(HOSTILE) + 1)],) if id <= PATTERNS else (),
            secondary=(word(2),) if id % 5 == 0 else (),
            whole_words=id % 2 == 0,
            sticky=4 if id % 7 == 0 else 0,
            chance=50 if id % 9 == 0 else 100,
        )
        entries.append(LoreEntry(id, word(3), word(60), keys=(word(2), word(3), word(4)), rule=rule.plain))
    book = Lorebook.of(entries)
    times = []
    for at in range(rounds + 5):
        names = " ".join(f"{one.keys[0].text}을 보았다." for one in book.keyed.entries[at % 50 :: 50])
        text = f"그는 고개를 들어 {names} 바람이 분다. aaaab abab abab xxxxx12345 " * 5
        scan = Scan(messages=((PLAYER, text), ("", text[::-1])), count=at, seed=str(at))
        begun = time.process_time()
        decide_activation(book.keyed, scan)
        times.append((time.process_time() - begun) * 1000)
    return times[5:]
