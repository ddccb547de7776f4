"""Probes: which planted values a context holds, without a model (specification, memory evaluation).

A context is a sequence of lines, oldest first. Values are compared by ``text.fact.fact``, so that «120만» and
«1,200,000» are one value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evaluation.scenario import Expectations
from text import sentence
from text.fact import fact

Kind = Literal["present", "current", "under", "absent"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to a context and its answer.

    ``kind``: *present*: the value is there; *current*: the value is there, and no older one stands as the current one;
    *under*: the value stands with its own name and never with another one's alone; *absent*: the value must not be
    there. ``ok``: whether that holds. ``held``: whether the context holds the value at all. ``has_stale_value``: of
    *current*, whether an older value stands as the current one. ``about``: the older values, or the name.
    """

    kind: Kind
    value: str
    ok: bool
    held: bool
    stale: bool = False
    about: str = ""


def probe_context(expect: Expectations, lines: Sequence[str]) -> tuple[Probe, ...]:
    """Returns what a context holds of the values that a scenario expects."""
    whole = "\n".join(lines)
    present = [
        Probe("present", value, is_value_held(whole, value), is_value_held(whole, value)) for value in expect.present
    ]
    current = []
    for item in expect.current:
        held, old = is_value_held(whole, item.value), has_stale_value(lines, item.value, item.old)
        current.append(Probe("current", item.value, held and not old, held, old, ", ".join(item.old)))
    under = []
    for owned in expect.under:
        named = stands_under(lines, owned.value, owned.name, owned.others)
        under.append(Probe("under", owned.value, named, is_value_held(whole, owned.value), about=owned.name))
    absent = [
        Probe("absent", value, not is_value_held(whole, value), is_value_held(whole, value)) for value in expect.absent
    ]
    return (*present, *current, *under, *absent)


def compute_recall(probes: Sequence[Probe]) -> float | None:
    """Returns the share of the expected values that a context holds rightly; None where none is expected to be there.

    Values that must not be there do not count: a context that holds nothing would be praised for them.
    """
    asked = [item for item in probes if item.kind != "absent"]
    return sum(item.ok for item in asked) / len(asked) if asked else None


def stale_share(probes: Sequence[Probe]) -> float | None:
    """Returns the share of the replaced values that stand as the current ones; None where nothing was replaced."""
    asked = [item.stale for item in probes if item.kind == "current"]
    return sum(asked) / len(asked) if asked else None


def count_leaks(probes: Sequence[Probe]) -> int:
    """Returns how many values are there that must not be there."""
    return sum(not item.ok for item in probes if item.kind == "absent")


def is_value_held(text: str, value: str) -> bool:
    """Returns whether a text contains a value: its letters without spaces and commas, or the same fact in another form.

    A value that begins or ends with a digit is not found within a longer number."""
    plain = _normalize_value(value)
    before = r"(?<!\d)(?<!\d\.)" if plain[:1].isdigit() else ""
    after = r"(?!\d)(?!\.\d)" if plain[-1:].isdigit() else ""
    if re.search(before + re.escape(plain) + after, _normalize_value(text)):
        return True
    facts = fact.find_facts(value)
    return bool(facts) and all(fact.has_fact_value(text, part) for part in facts)


def has_stale_value(lines: Sequence[str], value: str, old: Sequence[str]) -> bool:
    """Returns whether an old value stands as the current one: the last line with either value holds only an old one."""
    telling = [line for line in lines if is_value_held(line, value) or any(is_value_held(line, item) for item in old)]
    return bool(telling) and not is_value_held(telling[-1], value)


def stands_under(lines: Sequence[str], value: str, name: str, others: Sequence[str]) -> bool:
    """Returns whether a sentence holds the value with its name, and no sentence holds it with only another name."""
    telling = [part for line in lines for part in sentence.split_sentences(line) if is_value_held(part, value)]
    named = [part for part in telling if _has_plain_name(part, name)]
    wrong = [
        part
        for part in telling
        if not _has_plain_name(part, name) and any(_has_plain_name(part, other) for other in others)
    ]
    return bool(named) and not wrong


def _has_plain_name(text: str, name: str) -> bool:
    return _normalize_value(name) in _normalize_value(text)


def _normalize_value(text: str) -> str:
    return re.sub(r"[\s,]", "", text.casefold())
