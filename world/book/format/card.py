"""Character cards: v1 (flat, also Pygmalion's), v2, v3, and ``lorebook_v3``.

Sources: the specifications of character cards v2 and v3; what SillyTavern writes into ``extensions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from world.book.field import (
    BookProblem,
    Field,
    WrongField,
    make_choice_reader,
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

VERSIONS = {"chara_card_v2": "card_v2", "chara_card_v3": "card_v3"}
_FLAT = {
    "name": ("name", "char_name"),
    "description": ("description", "char_persona"),
    "personality": ("personality",),
    "scenario": ("scenario", "world_scenario"),
    "first_mes": ("first_mes", "char_greeting"),
    "mes_example": ("mes_example", "example_dialogue"),
}
"""The fields of a flat card under their names of v2, with the names that they have in v1 and in Pygmalion's cards."""
_MATCHED = dict(
    zip(
        (f"source_{name}" for name in SOURCES),
        ("persona_description", "character_description", "character_personality", "character_depth_prompt", "scenario",
         "creator_notes"),
        strict=True,
    )
)  # fmt: skip
"""SillyTavern's names for the texts beside the chat, after ``match_``."""


def _read_position(name: str, value: Any) -> str:
    return make_choice_reader(POSITIONS, "before_char", "after_char")(name, value).removesuffix("_char")


def _build_extension_field(*names: str, take: Any = read_flag_field, give: Any = None) -> Field:
    paths = tuple(f"extensions.{name}" for name in names)
    return Field(paths, take) if give is None else Field(paths, take, give)


FIELDS: dict[str, Field] = {
    "keys": Field(("keys",), read_texts_field, always=True),
    "secondary": Field(("secondary_keys",), read_texts_field, always=True),
    "content": Field(("content",), read_text_field, always=True),
    "title": Field(("name",), read_text_field),
    "comment": Field(("comment",), read_text_field),
    "enabled": Field(("enabled",), read_flag_field, always=True),
    "constant": Field(("constant",), read_flag_field),
    "selective": Field(("selective",), read_flag_field, always=True),
    "order": Field(("insertion_order",), read_number_field, always=True),
    "case_sensitive": Field(
        ("case_sensitive", "extensions.case_sensitive", "extensions.risu_case_sensitive"), read_flag_field
    ),
    "raw_patterns": Field(("use_regex",), read_flag_field),
    "position": Field(("extensions.position", "position"), _read_position, POSITIONS.index, always=True),
    "recursion_excluded": _build_extension_field("exclude_recursion", "excludeRecursion"),
    "recursion_prevented": _build_extension_field("prevent_recursion", "preventRecursion"),
    "recursion_delay": _build_extension_field("delay_until_recursion", "delayUntilRecursion", take=read_count_field),
    "chance": _build_extension_field("probability", "risu_activationPercent", take=read_number_field),
    "chance_used": _build_extension_field("useProbability", "use_probability"),
    "depth": _build_extension_field("depth", take=read_count_field),
    "logic": _build_extension_field(
        "selectiveLogic", "selective_logic", take=make_choice_reader(LOGICS), give=LOGICS.index
    ),
    "outlet": _build_extension_field("outlet_name", "outletName", take=read_text_field),
    "groups": _build_extension_field("group", take=read_texts_field, give=", ".join),
    "group_first": _build_extension_field("group_override", "groupOverride"),
    "group_weight": _build_extension_field("group_weight", "groupWeight", take=read_number_field),
    "group_scored": _build_extension_field("use_group_scoring", "useGroupScoring"),
    "scan_depth": _build_extension_field("scan_depth", "scanDepth", take=read_count_field),
    "whole_words": _build_extension_field("match_whole_words", "matchWholeWords"),
    "role": _build_extension_field("role", take=make_choice_reader(ROLES), give=ROLES.index),
    "vectorized": _build_extension_field("vectorized"),
    "sticky": _build_extension_field("sticky", take=read_count_field),
    "cooldown": _build_extension_field("cooldown", take=read_count_field),
    "delay": _build_extension_field("delay", take=read_count_field),
    "triggers": _build_extension_field("triggers", take=read_texts_field),
    "budget_free": _build_extension_field("ignore_budget", "ignoreBudget"),
    **{name: _build_extension_field(f"match_{theirs}") for name, theirs in _MATCHED.items()},
}


def _finish_card(values: Values, raw: Mapping[str, Any]) -> Values:
    """Makes one value of several: the chance counts while it is used, the texts beside the chat are one list.

    SillyTavern writes ``use_regex: true`` into every entry of a card, because its keys in slashes are patterns; its
    other keys are words.
    """
    if not values.pop("chance_used", True):
        values["chance"] = 100
    sources = [name for name in SOURCES if values.pop(f"source_{name}", False)]
    if sources:
        values["sources"] = tuple(sources)
    if isinstance(value_at(raw, "extensions.selectiveLogic"), int) or value_at(raw, "extensions.position") is not None:
        values.pop("raw_patterns", None)
    values.setdefault("selective", False)
    return values


def _new_card(at: int) -> dict[str, Any]:
    return {"keys": [], "content": "", "extensions": {}, "enabled": True, "insertion_order": 100, "id": at}


FORM = EntryForm("card", FIELDS, _new_card, _finish_card, Rule(position="after"))


def open_card(value: Any) -> OpenedFile | None:
    """Opens a card or a lorebook in the form of cards."""
    if not isinstance(value, Mapping):
        return _bare_list(value)
    spec, data = value.get("spec"), value.get("data")
    if spec == "lorebook_v3":
        return _open_book("lorebook_v3", data, ("data", "entries"))
    if spec in VERSIONS or (isinstance(data, Mapping) and ("name" in data or spec is not None)):
        return _open_versioned(spec, data)
    if any(isinstance(value.get(name), str) for name in ("char_persona", "char_greeting", "first_mes", "mes_example")):
        return _open_flat(value)
    entries = value.get("entries")
    if isinstance(entries, list | Mapping) and _has_keys(entries):
        return OpenedFile("book", FORM, read_title(value), entries, ("entries",), _usual_of_card(value, ""))
    return None


def _bare_list(value: Any) -> OpenedFile | None:
    return OpenedFile("list", FORM, "", value, ()) if isinstance(value, list) and value and _has_keys(value) else None


def _open_versioned(spec: Any, data: Any) -> OpenedFile:
    if spec not in VERSIONS:
        raise WrongField("not_known", field="spec", known=", ".join((*VERSIONS, "lorebook_v3")))
    if not isinstance(data, Mapping):
        raise WrongField("not_object", field="data")
    name = data.get("name")
    if not isinstance(name, str) or not name.strip():
        raise WrongField("empty", field="data.name")
    book, path = data.get("character_book"), ("data", "character_book", "entries")
    if book is None:
        return OpenedFile(VERSIONS[spec], FORM, name.strip(), None, path, card=dict(data))
    if not isinstance(book, Mapping):
        problem = BookProblem("data", "not_object", {"field": "character_book"})
        return OpenedFile(VERSIONS[spec], FORM, name.strip(), None, path, card=dict(data), problems=(problem,))
    usual = _usual_of_card(book, str(data.get("nickname") or name).strip())
    if isinstance(value_at(data, "extensions.risuai"), Mapping):
        usual = replace(usual, spaceless=True)  # as RisuAI looks for the keys of its own cards
    return OpenedFile(
        VERSIONS[spec], FORM, read_title(book) or name.strip(), book.get("entries"), path, usual, dict(data)
    )


def _open_flat(value: Mapping[str, Any]) -> OpenedFile:
    fields = {
        name: read_text_field(name, found)
        for name, names in _FLAT.items()
        if (found := next((value[one] for one in names if one in value), None)) is not None
    }
    name = fields.get("name", "").strip()
    if not name:
        raise WrongField("empty", field="name")
    book = value.get("character_book")
    entries = book.get("entries") if isinstance(book, Mapping) else None
    return OpenedFile("card_v1", FORM, name, entries, ("character_book", "entries"), _usual_of_card(book, name), fields)


def _open_book(kind: str, book: Any, path: tuple[str, ...]) -> OpenedFile:
    if not isinstance(book, Mapping):
        raise WrongField("not_object", field=path[0])
    return OpenedFile(kind, FORM, read_title(book), book.get("entries"), path, _usual_of_card(book, ""))


def _usual_of_card(book: Any, character: str) -> Rule:
    """Returns what a book says for all its entries."""
    told: dict[str, Any] = {"character": character, "position": "after"}
    if isinstance(book, Mapping):
        if book.get("scan_depth") is not None:
            told["scan_depth"] = read_count_field("scan_depth", book["scan_depth"])
        if book.get("recursive_scanning") is not None:
            told["recursive"] = read_flag_field("recursive_scanning", book["recursive_scanning"])
        if value_at(book, "extensions.risu_fullWordMatching") is not None:
            told["whole_words"] = read_flag_field(
                "risu_fullWordMatching", value_at(book, "extensions.risu_fullWordMatching")
            )
    return Rule(**told)


def _has_keys(entries: Any) -> bool:
    """Returns whether the entries of a book without a card use the names of cards."""
    some = entries.values() if isinstance(entries, Mapping) else entries
    return any(isinstance(entry, Mapping) and "keys" in entry and "text" not in entry for entry in some)
