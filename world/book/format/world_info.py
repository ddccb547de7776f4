"""World Info of SillyTavern: ``{"entries": {"0": {…}}}``. Source: the table of fields in its ``world-info.js``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from world.book.field import Field, WrongField, choice, flag, no_flag, read_count, read_number, text, texts, value_at
from world.book.form import EntryForm, Values
from world.book.opened import OpenedFile, read_title
from world.lore.rule import LOGICS, POSITIONS, ROLES, SOURCES, Rule

_MATCHED = dict(
    zip(
        (f"source_{name}" for name in SOURCES),
        ("PersonaDescription", "CharacterDescription", "CharacterPersonality", "CharacterDepthPrompt", "Scenario",
         "CreatorNotes"),
        strict=True,
    )
)  # fmt: skip


def _either(camel: str, snake: str, take: Any = flag, give: Any = None) -> Field:
    return Field((camel, snake), take) if give is None else Field((camel, snake), take, give)


FIELDS: dict[str, Field] = {
    "keys": Field(("key", "keys"), texts, always=True),
    "secondary": Field(("keysecondary", "secondary_keys"), texts, always=True),
    "comment": Field(("comment",), text, always=True),
    "content": Field(("content",), text, always=True),
    "constant": Field(("constant",), flag, always=True),
    "vectorized": Field(("vectorized",), flag),
    "selective": Field(("selective",), flag, always=True),
    "logic": Field(("selectiveLogic",), choice(LOGICS), LOGICS.index),
    "order": Field(("order", "insertion_order"), read_number, always=True),
    "position": Field(("position",), choice(POSITIONS), POSITIONS.index, always=True),
    "enabled": Field(("disable",), no_flag, lambda value: not value, always=True),
    "budget_free": _either("ignoreBudget", "ignore_budget"),
    "recursion_excluded": _either("excludeRecursion", "exclude_recursion"),
    "recursion_prevented": _either("preventRecursion", "prevent_recursion"),
    "recursion_delay": _either("delayUntilRecursion", "delay_until_recursion", read_count),
    "chance": Field(("probability",), read_number),
    "chance_used": _either("useProbability", "use_probability"),
    "depth": Field(("depth",), read_count),
    "outlet": _either("outletName", "outlet_name", text),
    "groups": Field(("group",), texts, ", ".join),
    "group_first": _either("groupOverride", "group_override"),
    "group_weight": _either("groupWeight", "group_weight", read_number),
    "group_scored": _either("useGroupScoring", "use_group_scoring"),
    "scan_depth": _either("scanDepth", "scan_depth", read_count),
    "case_sensitive": _either("caseSensitive", "case_sensitive"),
    "whole_words": _either("matchWholeWords", "match_whole_words"),
    "role": Field(("role",), choice(ROLES), ROLES.index),
    "sticky": Field(("sticky",), read_count),
    "cooldown": Field(("cooldown",), read_count),
    "delay": Field(("delay",), read_count),
    "characters": Field(("characterFilter.names", "characterFilterNames"), texts),
    "tags": Field(("characterFilter.tags", "characterFilterTags"), texts),
    "outsiders": Field(("characterFilter.isExclude", "characterFilterExclude"), flag),
    "triggers": Field(("triggers",), texts),
    **{name: Field((f"match{theirs}",), flag) for name, theirs in _MATCHED.items()},
}


def _finish_info(values: Values, raw: Mapping[str, Any]) -> Values:
    if not values.pop("chance_used", True):
        values["chance"] = 100
    sources = [name for name in SOURCES if values.pop(f"source_{name}", False)]
    return {**values, "sources": tuple(sources)} if sources else values


def _new_info(at: int) -> dict[str, Any]:
    return {"uid": at, "key": [], "keysecondary": [], "comment": "", "content": "", "addMemo": True, "displayIndex": at}


FORM = EntryForm("world_info", FIELDS, _new_info, _finish_info)


def open_info(value: Any) -> OpenedFile | None:
    """Opens World Info, alone or as a plain list of its entries."""
    if isinstance(value, list):
        known = any(isinstance(one, Mapping) and "content" in one and "key" in one for one in value)
        return OpenedFile("list", FORM, "", value, ()) if known else None
    if not isinstance(value, Mapping) or "entries" not in value:
        return None
    entries = value["entries"]
    if entries is not None and not isinstance(entries, list | Mapping):
        raise WrongField("not_entries", field="entries")
    return OpenedFile("world_info", FORM, read_title(value), entries, ("entries",), _usual_of_info(value))


def _usual_of_info(value: Mapping[str, Any]) -> Rule:
    """Returns what the file says for all its entries, which some programs write at the root."""
    told: dict[str, Any] = {}
    depth = value.get("scanDepth", value.get("scan_depth"))
    recursive = value.get("recursiveScanning", value_at(value, "recursive_scanning"))
    if depth is not None:
        told["scan_depth"] = read_count("scanDepth", depth)
    if recursive is not None:
        told["recursive"] = flag("recursiveScanning", recursive)
    return Rule(**told)
