"""World Info of SillyTavern: ``{"entries": {"0": {…}}}``. Source: the table of fields in its ``world-info.js``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from world.book.field import (
    Field,
    WrongField,
    make_choice_reader,
    no_flag,
    read_count_field,
    read_flag_field,
    read_number_field,
    read_text_field,
    read_texts_field,
    value_at,
)
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


def _build_either_field(camel: str, snake: str, take: Any = read_flag_field, give: Any = None) -> Field:
    return Field((camel, snake), take) if give is None else Field((camel, snake), take, give)


FIELDS: dict[str, Field] = {
    "keys": Field(("key", "keys"), read_texts_field, always=True),
    "secondary": Field(("keysecondary", "secondary_keys"), read_texts_field, always=True),
    "comment": Field(("comment",), read_text_field, always=True),
    "content": Field(("content",), read_text_field, always=True),
    "constant": Field(("constant",), read_flag_field, always=True),
    "vectorized": Field(("vectorized",), read_flag_field),
    "selective": Field(("selective",), read_flag_field, always=True),
    "logic": Field(("selectiveLogic",), make_choice_reader(LOGICS), LOGICS.index),
    "order": Field(("order", "insertion_order"), read_number_field, always=True),
    "position": Field(("position",), make_choice_reader(POSITIONS), POSITIONS.index, always=True),
    "enabled": Field(("disable",), no_flag, lambda value: not value, always=True),
    "budget_free": _build_either_field("ignoreBudget", "ignore_budget"),
    "recursion_excluded": _build_either_field("excludeRecursion", "exclude_recursion"),
    "recursion_prevented": _build_either_field("preventRecursion", "prevent_recursion"),
    "recursion_delay": _build_either_field("delayUntilRecursion", "delay_until_recursion", read_count_field),
    "chance": Field(("probability",), read_number_field),
    "chance_used": _build_either_field("useProbability", "use_probability"),
    "depth": Field(("depth",), read_count_field),
    "outlet": _build_either_field("outletName", "outlet_name", read_text_field),
    "groups": Field(("group",), read_texts_field, ", ".join),
    "group_first": _build_either_field("groupOverride", "group_override"),
    "group_weight": _build_either_field("groupWeight", "group_weight", read_number_field),
    "group_scored": _build_either_field("useGroupScoring", "use_group_scoring"),
    "scan_depth": _build_either_field("scanDepth", "scan_depth", read_count_field),
    "case_sensitive": _build_either_field("caseSensitive", "case_sensitive"),
    "whole_words": _build_either_field("matchWholeWords", "match_whole_words"),
    "role": Field(("role",), make_choice_reader(ROLES), ROLES.index),
    "sticky": Field(("sticky",), read_count_field),
    "cooldown": Field(("cooldown",), read_count_field),
    "delay": Field(("delay",), read_count_field),
    "characters": Field(("characterFilter.names", "characterFilterNames"), read_texts_field),
    "tags": Field(("characterFilter.tags", "characterFilterTags"), read_texts_field),
    "outsiders": Field(("characterFilter.isExclude", "characterFilterExclude"), read_flag_field),
    "triggers": Field(("triggers",), read_texts_field),
    **{name: Field((f"match{theirs}",), read_flag_field) for name, theirs in _MATCHED.items()},
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
        told["scan_depth"] = read_count_field("scanDepth", depth)
    if recursive is not None:
        told["recursive"] = read_flag_field("recursiveScanning", recursive)
    return Rule(**told)
