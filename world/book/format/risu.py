"""RisuAI: its lorebook ``{"type": "risu", "data": […]}``, its modules, and plain lists of its entries.

Source: ``loadLoreBookV3Prompt`` in its code: keys are one text with commas, spaces do not count, a folder is an entry
without text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from world.book.field import Field, read_count_field, read_flag_field, read_number_field, read_text_field
from world.book.form import EntryForm, Values
from world.book.opened import OpenedFile, read_title
from world.lore.pattern import is_pattern
from world.lore.rule import Rule

FOLDER = "folder"


def _read_keys_text(name: str, value: Any) -> tuple[str, ...]:
    """Reads keys in one text with commas; a pattern in slashes may have commas of its own."""
    if isinstance(value, list):
        return tuple(key for one in value for key in _read_keys_text(name, one))
    whole = read_text_field(name, value).strip()
    if is_pattern(whole):
        return (whole,)
    return tuple(key for one in whole.split(",") if (key := one.strip()))


FIELDS: dict[str, Field] = {
    "keys": Field(("key",), _read_keys_text, always=True),
    "secondary": Field(("secondkey",), _read_keys_text, always=True),
    "order": Field(("insertorder",), read_number_field, always=True),
    "comment": Field(("comment",), read_text_field, always=True),
    "content": Field(("content",), read_text_field, always=True),
    "constant": Field(("alwaysActive",), read_flag_field, always=True),
    "selective": Field(("selective",), read_flag_field, always=True),
    "raw_patterns": Field(("useRegex",), read_flag_field),
    "chance": Field(("activationPercent",), read_number_field),
    "case_sensitive": Field(("extentions.risu_case_sensitive",), read_flag_field),
}


def _finish_risu(values: Values, raw: Mapping[str, Any]) -> Values:
    values.setdefault("selective", False)
    if raw.get("mode") == "constant":
        values["constant"] = True
    return values


def _new_risu(at: int) -> dict[str, Any]:
    return {"key": "", "secondkey": "", "insertorder": 100, "comment": "", "content": "", "mode": "normal"}


FORM = EntryForm("risu", FIELDS, _new_risu, _finish_risu, Rule(spaceless=True), joined=True)


def is_folder(raw: Any) -> bool:
    """Returns whether something in a lorebook is a folder."""
    return isinstance(raw, Mapping) and raw.get("mode") == FOLDER


def open_risu(value: Any) -> OpenedFile | None:
    """Opens a lorebook, a module, or a plain list of entries."""
    if isinstance(value, list):
        return OpenedFile("list", FORM, "", value, (), _usual_of_risu({})) if _is_list(value) else None
    if not isinstance(value, Mapping):
        return None
    data, module = value.get("data"), value.get("module", value)
    if value.get("type") == "risu" and isinstance(data, list):
        return OpenedFile("risu", FORM, read_title(value), data, ("data",), _usual_of_risu(value))
    if isinstance(module, Mapping) and isinstance(module.get("lorebook"), list):
        path = ("module", "lorebook") if "module" in value else ("lorebook",)
        return OpenedFile("risu_module", FORM, read_title(module), module["lorebook"], path, _usual_of_risu(module))
    return None


def _is_list(value: list[Any]) -> bool:
    known = ("secondkey", "insertorder", "alwaysActive")
    return any(isinstance(one, Mapping) and any(name in one for name in known) for one in value)


def _usual_of_risu(value: Mapping[str, Any]) -> Rule:
    told: dict[str, Any] = {"spaceless": True}
    settings = value.get("loreSettings")
    if isinstance(settings, Mapping):
        if settings.get("scanDepth") is not None:
            told["scan_depth"] = read_count_field("scanDepth", settings["scanDepth"])
        if settings.get("recursiveScanning") is not None:
            told["recursive"] = read_flag_field("recursiveScanning", settings["recursiveScanning"])
        told["whole_words"] = read_flag_field("fullWordMatching", settings.get("fullWordMatching"))
    return Rule(**told)
