"""Long-term memory: which of the facts of a long conversation the next prompt still holds, by configuration.

Sixty facts in sixty turns about six topics, in each language; some replace an earlier one. The answers are given and
say nothing of the facts; summaries and folds are made as the profile says, by code alone or by the model (``--model``).
A value's letters are looked for: nothing judges.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench import models as bench_models
from graph.agent import Agent, open_agent
from graph.event import Done
from memory import MemoryView
from memory.state import SHORT_TURNS
from model.modelset import ModelSet
from model.scripted import ScriptedModel
from prompt import render
from settings import load
from text import fact
from text.language import Language

DATA = Path(__file__).parent / "data" / "recall.jsonl"
LANGUAGES: tuple[Language, ...] = ("ko", "en")
LAST = {"ko": "지금까지 이야기한 것 가운데 무엇을 먼저 하면 좋을까?", "en": "What of all this should I do first?"}
IDLE_SECONDS = 1800.0
READY_SECONDS = 30.0


@dataclass(frozen=True)
class Fact:
    """One turn with one fact. ``old``: the value that it replaces, '' where it replaces none."""

    user: str
    answer: str
    key: str
    value: str
    old: str = ""


@dataclass(frozen=True)
class Cost:
    """Calls and tokens of one kind of work."""

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Played:
    """A finished conversation: what each configuration gives the next turn, oldest first, and what the work cost."""

    contexts: dict[str, list[str]]
    answers: Cost
    summaries: Cost
    folds: Cost


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this bench."""
    parser.add_argument("--turns", "--facts", type=int, default=60, help="turns of each language, a fact in each")
    parser.add_argument("--language", choices=LANGUAGES, help="only one of the languages")
    parser.add_argument("--rows", action="store_true", help="list every fact, and the last lines of the prompt")
    parser.add_argument(
        "--model",
        action="store_true",
        help="measure the profile of the settings' model, or of --url (else: code alone)",
    )
    bench_models.add_arguments(parser)


def run(args: argparse.Namespace) -> dict[str, object]:
    """Recall of the current values, and of those that replaced one, for each configuration."""
    models = bench_models.models(args) if args.model or args.url else bench_models.codes()
    chosen = [each for each in LANGUAGES if args.language in (None, each)]
    facts = {language: planted(language)[: args.turns] for language in chosen}
    return {"model": models.name, "profile": models.side.name, "turns": args.turns, **measure(models, facts, args.rows)}


def measure(models: ModelSet, facts: dict[Language, list[Fact]], rows: bool = False) -> dict[str, object]:
    """The figures of one conversation per language, with ``rows`` every fact, too."""
    played = {language: play(models, language, each) for language, each in facts.items()}
    found = _figures(facts, played)
    return found | {"facts": _listed(facts, played)} if rows else found


def _listed(facts: dict[Language, list[Fact]], played: dict[Language, Played]) -> list[dict[str, object]]:
    """Every fact with the configurations that hold its value, and the lines of the whole prompt that tell it or the
    value it replaced."""
    return [
        {
            "language": language,
            "turn": number,
            "value": each.value,
            "old": each.old,
            "held_by": [
                name for name, lines in played[language].contexts.items() if holds("\n".join(lines), each.value)
            ],
            "lines": [
                line
                for line in played[language].contexts["together"]
                if holds(line, each.value) or (each.old and holds(line, each.old))
            ],
        }
        for language, mine in facts.items()
        for number, each in enumerate(mine, 1)
    ]


def _figures(facts: dict[Language, list[Fact]], played: dict[Language, Played]) -> dict[str, object]:
    """Of each configuration; ``together`` is the real prompt of the next turn."""
    names = list(next(iter(played.values())).contexts)
    rows = [
        {
            "configuration": name,
            **_together([scores(each, played[language].contexts[name]) for language, each in facts.items()]),
            **{
                f"recall_{language}": scores(each, played[language].contexts[name])["recall"]
                for language, each in facts.items()
            },
        }
        for name in names
    ]
    by_name = {str(row["configuration"]): {key: row[key] for key in list(row)[1:]} for row in rows}
    return {"planted": sum(map(len, facts.values())), **by_name, "configurations": rows}


def scores(facts: Sequence[Fact], context: Sequence[str]) -> dict[str, float]:
    """``recall`` of the values that hold at the end; of those that replaced one: ``newest_present`` and
    ``old_as_current``, each as a share, with their numbers.

    An old value counts as current when the last line that tells either of the two tells only the old one.
    """
    whole = "\n".join(context)
    replaced = {(each.key, each.old) for each in facts if each.old}
    current = [each for each in facts if (each.key, each.value) not in replaced]
    changed = [each for each in current if each.old]
    return {
        "recall": _share([holds(whole, each.value) for each in current]),
        "newest_present": _share([holds(whole, each.value) for each in changed]),
        "old_as_current": _share([_stale(context, each) for each in changed]),
        "current": len(current),
        "changed": len(changed),
    }


def holds(text: str, value: str) -> bool:
    """Whether a text has a value: its letters without spaces and commas, or the same fact in another form."""
    wanted = re.escape(_plain(value))
    if re.search(rf"(?<!\d){wanted}(?!\d)", _plain(text)):
        return True
    found = fact.facts(value)
    return bool(found) and all(fact.holds(text, each) for each in found)


def planted(language: str) -> list[Fact]:
    """The facts of one language, in order."""
    rows = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    mine = [row for row in rows if row["language"] == language]
    return [Fact(row["user"], row["answer"], row["key"], row["value"], row.get("old", "")) for row in mine]


def play(models: ModelSet, language: Language, facts: Sequence[Fact]) -> Played:
    """Holds the conversation; side work is waited for after every turn."""
    answers = iter([each.answer for each in facts])
    chat = ScriptedModel(lambda _: next(answers, "…"), piece=r"(?s).+")
    own = replace(models, chat=chat)
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder:
        agent = open_agent(load(data_dir=Path(folder), titles=False, retrieval=False, memory=True), lambda: own)
        try:
            session = agent.store.create_session(language, 0.3).id
            for each in [*(fact.user for fact in facts), LAST[language]]:
                _say(agent, session, each)
            return _played(agent, session, chat, len(facts))
        finally:
            agent.close()


def _say(agent: Agent, session: str, text: str) -> None:
    assert agent.memory is not None
    agent.memory.wait(READY_SECONDS)
    *_, end = agent.run(session, text)
    if not isinstance(end, Done):
        raise AssertionError(f"a turn did not end well: {end}")
    agent.background.idle(IDLE_SECONDS)


def _played(agent: Agent, session: str, chat: ScriptedModel, last: int) -> Played:
    assert agent.memory is not None
    rows = agent.store.turns_between(session, 1, last)
    view = agent.memory.context(agent.tenant, session, user=agent.user, count=agent.models().count)
    summaries = [each for each in agent.store.ledger.on_path(session, last + 1) if each.status == "active"]
    lines = [str((each.record or {}).get("summary", "")) for each in summaries]
    contexts = {
        "raw": [line for row in rows[-SHORT_TURNS:] for line in (row.question, row.answer or "")],
        "summaries": lines,
        "memory": _memory(view),
        "together": _prompt(chat, agent.store.session(session).language),
    }
    usage = [row.usage or {} for row in rows]
    made = agent.store.ledger.summaries(session, superseded=True)
    costs = [version.cost for version in agent.memory.versions(agent.tenant, session)]
    return Played(
        contexts,
        Cost(len(rows), sum(each["prompt_tokens"] for each in usage), sum(each["answer_tokens"] for each in usage)),
        Cost(len(made), sum(each.prompt_tokens for each in made), sum(each.answer_tokens for each in made)),
        Cost(
            sum(each.get("calls", 0) for each in costs),
            sum(each.get("prompt_tokens", 0) for each in costs),
            sum(each.get("answer_tokens", 0) for each in costs),
            sum(each.get("seconds", 0.0) for each in costs),
        ),
    )


def _memory(view: MemoryView) -> list[str]:
    return [*view.text.splitlines(), *(each.line for each in view.entities)]


def _prompt(chat: ScriptedModel, language: Language) -> list[str]:
    """The last prompt's lines in its own order, from the title of the summaries or of the memory on."""
    titles = [render(name, language, **{name: ""}).splitlines()[0] for name in ("summaries", "memory")]
    system, *rest = (str(message.text).splitlines() for message in chat.calls[-1])
    first = next((at for at, line in enumerate(system) if line in titles), len(system))
    return [*system[first:], *(line for told in rest for line in told)]


def _stale(context: Sequence[str], each: Fact) -> bool:
    telling = [line for line in context if holds(line, each.value) or holds(line, each.old)]
    return bool(telling) and not holds(telling[-1], each.value)


def _together(each: Sequence[dict[str, float]]) -> dict[str, float]:
    """Figures of several conversations as one: shares weighted by what they are shares of."""
    current, changed = (sum(row[name] for row in each) for name in ("current", "changed"))
    of = {"recall": "current", "newest_present": "changed", "old_as_current": "changed"}
    total = {"current": current, "changed": changed}
    shares = {
        name: round(sum(row[name] * row[base] for row in each) / max(1, total[base]), 4) for name, base in of.items()
    }
    return {**shares, **total}


def _share(found: Sequence[bool]) -> float:
    return round(sum(found) / max(1, len(found)), 4)


def _plain(text: str) -> str:
    return re.sub(r"[\s,]", "", text.casefold())
