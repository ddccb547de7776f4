"""What of a file comes over: its entries, which of their rules are done, and what happens instead of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from store.world.record import LoreEntry
from world.book.container import has_module
from world.book.field import value_at
from world.book.model import Book
from world.lore.rule import FAR, Rule, is_keyed, rule_of

_DONE: dict[str, Callable[[Rule], object]] = {
    "patterns": lambda rule: rule.patterns,
    "secondary": lambda rule: rule.secondary and rule.selective,
    "required": lambda rule: rule.required or rule.excluded or rule.excluded_all,
    "words": lambda rule: rule.whole_words or rule.case_sensitive,
    "sources": lambda rule: rule.sources,
    "chance": lambda rule: rule.chance < 100,
    "timed": lambda rule: rule.asks_history or rule.delay,
    "answers": lambda rule: rule.after_answers or rule.every_answers,
    "groups": lambda rule: rule.groups,
    "recursion": lambda rule: rule.recursion_excluded or rule.recursion_prevented or rule.recursion_delay,
    "filter": lambda rule: rule.characters or rule.tags or rule.triggers or rule.greeting is not None,
    "forced": lambda rule: rule.forced,
    "last": lambda rule: rule.position == "depth" and rule.depth == 0,
    "budget_free": lambda rule: rule.budget_free,
    "vectorized": lambda rule: rule.vectorized,
}
"""Rules that are done, by the names of their sentences."""
_INSTEAD: dict[str, Callable[[Rule], object]] = {
    "side": lambda rule: rule.position in ("before", "after"),
    "depth": lambda rule: rule.position == "depth" and 1 < rule.depth < FAR,
    "reverse_depth": lambda rule: rule.position == "depth" and rule.depth >= FAR,
    "outlet": lambda rule: rule.position == "outlet",
    "note": lambda rule: rule.position in ("note_top", "note_bottom", "example_top", "example_bottom"),
}
"""What is done in another way than the author asked for, which its sentence says."""
_CARD = {"after_history": "post_history_instructions", "note_text": "extensions.depth_prompt.prompt"}
_NOT_RUN = {
    "scripts": ("extensions.regex_scripts", "extensions.risuai.customScripts", "extensions.risuai.triggerscript"),
    "assets": ("assets",),
    "group_greetings": ("group_only_greetings",),
}


@dataclass(frozen=True, slots=True)
class Overview:
    """``kind``: of the file. ``keyed``, ``constant``, ``off``: of the entries, how many are active by a rule, always,
    and not at all. ``done``, ``instead``, ``left``: names of rules with the number of entries that have them (0 for the
    card as a whole): done as their authors say, done in another way, and not done. ``greetings``: of the card."""

    kind: str
    entries: int
    keyed: int
    constant: int
    off: int
    done: tuple[tuple[str, int], ...]
    instead: tuple[tuple[str, int], ...]
    left: tuple[tuple[str, int], ...]
    greetings: int


def read_overview(book: Book) -> Overview:
    """Returns what of a book comes over."""
    rules = [rule_of(entry) for entry in book.entries if is_keyed(entry)]
    constant = sum(1 for rule in rules if rule.constant)
    fields = book.card.fields if book.card is not None else {}
    return Overview(
        book.origin.kind if book.origin is not None else "",
        len(book.entries),
        len(rules) - constant,
        constant,
        sum(1 for entry in book.entries if not entry.enabled),
        _count_rules(_DONE, rules),
        (*_count_rules(_INSTEAD, rules), *((name, 0) for name, path in _CARD.items() if value_at(fields, path))),
        tuple(_find_left(book, fields).items()),
        len(book.card.greetings) if book.card is not None else 0,
    )


def _count_rules(table: Mapping[str, Callable[[Rule], object]], rules: list[Rule]) -> tuple[tuple[str, int], ...]:
    counts = ((name, sum(1 for rule in rules if asks(rule))) for name, asks in table.items())
    return tuple((name, count) for name, count in counts if count)


def _find_left(book: Book, fields: Mapping[str, Any]) -> Counter[str]:
    """Returns what of the file does nothing here: it is kept for the export."""
    found = Counter({name: 0 for name, paths in _NOT_RUN.items() if any(value_at(fields, path) for path in paths)})
    root = book.origin.root if book.origin is not None else None
    has_risum = book.origin is not None and has_module(book.origin.container)
    if has_risum or value_at(root, "module.regex") or value_at(root, "module.trigger"):
        found["scripts"] = 0
    if value_at(fields, "character_book.token_budget") or value_at(root, "tokenBudget"):
        found["own_budget"] = 0
    if automated := sum(1 for entry in book.entries if _is_automated(entry)):
        found["automation"] = automated
    return found


def _is_automated(entry: LoreEntry) -> bool:
    raw = entry.extra.get("entry", {})
    return bool(value_at(raw, "automationId") or value_at(raw, "extensions.automation_id"))
