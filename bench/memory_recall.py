"""Long-term memory: which facts of a long conversation the next prompt still contains, by configuration.

In each language, sixty turns about six topics tell sixty facts; some facts replace an earlier one. The answers are
scripted and do not mention the facts. Summaries and folds are written as the profile says: by code alone, or by the
model (``--model``). The bench looks for the letters of a value; no model judges.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import models as bench_models
from evaluation.form import Form
from evaluation.play import CallCost, RecordedConversation, play_turns
from evaluation.probe import has_stale_value, is_value_held
from evaluation.scenario import RecordedTurn
from model.modelset import ModelSet
from text.language import Language

DATA = Path(__file__).parent / "data" / "recall.jsonl"
LANGUAGES: tuple[Language, ...] = ("ko", "en")
CONFIGURATIONS: dict[str, Form] = {"raw": "turns", "summaries": "chunks", "memory": "recursive", "together": "all"}


@dataclass(frozen=True)
class PlantedFact:
    """One turn with one fact. ``old``: the value that the fact replaces, '' for none."""

    user: str
    answer: str
    key: str
    value: str
    old: str = ""


@dataclass(frozen=True)
class PlayedRecall:
    """A finished conversation: the lines that the next turn gets in each configuration, oldest first, and the cost of
    the work."""

    contexts: dict[str, list[str]]
    answers: CallCost
    summaries: CallCost
    folds: CallCost


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
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
    """Returns for each configuration the recall of the current values, and of the values that replaced another one."""
    models = bench_models.models(args) if args.model or args.url else bench_models.codes()
    chosen = [candidate for candidate in LANGUAGES if args.language in (None, candidate)]
    facts = {language: planted(language)[: args.turns] for language in chosen}
    return {"model": models.name, "profile": models.side.name, "turns": args.turns, **measure(models, facts, args.rows)}


def measure(models: ModelSet, facts: dict[Language, list[PlantedFact]], rows: bool = False) -> dict[str, object]:
    """Returns the figures of one conversation per language; with ``rows`` also every fact."""
    played = {language: play(models, language, language_facts) for language, language_facts in facts.items()}
    figures = _figures(facts, played)
    return figures | {"facts": _listed(facts, played)} if rows else figures


def _listed(facts: dict[Language, list[PlantedFact]], played: dict[Language, PlayedRecall]) -> list[dict[str, object]]:
    """Returns every fact with the configurations that contain its value, and with the lines of the whole prompt that
    contain its value or the value that it replaced."""
    return [
        {
            "language": language,
            "turn": number,
            "value": entry.value,
            "old": entry.old,
            "held_by": [
                name
                for name, lines in played[language].contexts.items()
                if is_value_held("\n".join(lines), entry.value)
            ],
            "lines": [
                line
                for line in played[language].contexts["together"]
                if is_value_held(line, entry.value) or (entry.old and is_value_held(line, entry.old))
            ],
        }
        for language, language_facts in facts.items()
        for number, entry in enumerate(language_facts, 1)
    ]


def _figures(facts: dict[Language, list[PlantedFact]], played: dict[Language, PlayedRecall]) -> dict[str, object]:
    """Returns the figures of each configuration; ``together`` is the real prompt of the next turn."""
    names = list(next(iter(played.values())).contexts)
    rows = [
        {
            "configuration": name,
            **_together(
                [scores(language_facts, played[language].contexts[name]) for language, language_facts in facts.items()]
            ),
            **{
                f"recall_{language}": scores(language_facts, played[language].contexts[name])["recall"]
                for language, language_facts in facts.items()
            },
        }
        for name in names
    ]
    by_name = {str(row["configuration"]): {key: row[key] for key in list(row)[1:]} for row in rows}
    return {"planted": sum(map(len, facts.values())), **by_name, "configurations": rows}


def scores(facts: Sequence[PlantedFact], context: Sequence[str]) -> dict[str, float]:
    """Returns ``recall``, the share of the current values that the context contains, and two shares of the values that
    replaced another one: ``newest_present`` (the context contains the value) and ``old_as_current``; with the numbers
    of both kinds of values.

    An old value counts as current when the last line that contains either of the two values contains only the old one.
    """
    whole = "\n".join(context)
    replaced = {(entry.key, entry.old) for entry in facts if entry.old}
    current = [entry for entry in facts if (entry.key, entry.value) not in replaced]
    changed = [entry for entry in current if entry.old]
    return {
        "recall": _share([is_value_held(whole, entry.value) for entry in current]),
        "newest_present": _share([is_value_held(whole, entry.value) for entry in changed]),
        "old_as_current": _share([has_stale_value(context, entry.value, [entry.old]) for entry in changed]),
        "current": len(current),
        "changed": len(changed),
    }


def planted(language: str) -> list[PlantedFact]:
    """Returns the facts of one language, in order."""
    rows = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    selected = [row for row in rows if row["language"] == language]
    return [PlantedFact(row["user"], row["answer"], row["key"], row["value"], row.get("old", "")) for row in selected]


def play(models: ModelSet, language: Language, facts: Sequence[PlantedFact]) -> PlayedRecall:
    """Plays the conversation; waits for side work after every turn."""
    turns = [RecordedTurn(user=item.user, answer=item.answer) for item in facts]
    with play_turns(models, RecordedConversation(turns, language)) as play:
        usage = [row.usage or {} for row in play.rows]
        costs = play.costs()
        return PlayedRecall(
            {name: list(play.context(form).lines) for name, form in CONFIGURATIONS.items()},
            CallCost(
                len(usage), sum(item["prompt_tokens"] for item in usage), sum(item["answer_tokens"] for item in usage)
            ),
            costs["summaries"],
            costs["folds"],
        )


def _together(each: Sequence[dict[str, float]]) -> dict[str, float]:
    """Returns the figures of several conversations as one; each share is weighted by the number of values that it is a
    share of."""
    current, changed = (sum(row[name] for row in each) for name in ("current", "changed"))
    bases = {"recall": "current", "newest_present": "changed", "old_as_current": "changed"}
    total = {"current": current, "changed": changed}
    shares = {
        name: round(sum(row[name] * row[base] for row in each) / max(1, total[base]), 4) for name, base in bases.items()
    }
    return {**shares, **total}


def _share(found: Sequence[bool]) -> float:
    return round(sum(found) / max(1, len(found)), 4)
