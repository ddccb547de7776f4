"""The fields of a form that a foreign program wants filled in, and the reading of typed values (specification 14.1).

A form is a flat JSON schema of plain values, as MCP's elicitation has it. What a schema cannot say plainly becomes a
field of text, so every form can be shown. The schema is foreign: only those rules of it are followed that cost nothing
to check. A pattern can take hours on a short text, a reference leads to other machines; the server checks such rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

MOST_FIELDS, MOST_CHOICES = 100, 1_000
_RULES = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
)
_FORMATS = ("email", "uri", "date", "date-time")
_TYPES = ("string", "integer", "number", "boolean", "array")
FieldKind = Literal["text", "integer", "number", "boolean", "one", "many"]


@dataclass(frozen=True, slots=True)
class FormField:
    """One field. ``choices``: pairs of value and label, for ``one`` and ``many``. ``default``: None for none."""

    name: str
    kind: FieldKind
    title: str
    about: str = ""
    required: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    default: Any = None


def list_form_fields(schema: Mapping[str, Any]) -> tuple[FormField, ...]:
    """Returns the fields of a form in the order of its schema."""
    wanted = _list_required_fields(schema)
    return tuple(
        _build_form_field(name, form, name in wanted) for name, form in _read_schema_properties(schema).items()
    )


def read_typed_value(field: FormField, typed: str) -> Any:
    """Returns a typed line as the field's value; None for an empty line. Raises ``ValueError`` when it is none.

    A choice may be typed as its number, its value or its label; several choices are parted by commas.
    """
    text = typed.strip()
    if not text:
        return None
    match field.kind:
        case "integer":
            return int(text)
        case "number":
            return float(text)
        case "boolean":
            return _read_typed_boolean(text)
        case "one":
            return _find_typed_choice(field, text)
        case "many":
            return [_find_typed_choice(field, part.strip()) for part in text.split(",") if part.strip()]
    return text


def find_form_problems(schema: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, str]:
    """Returns what is wrong with a filled form, by the names of its fields; empty when it fits the schema.

    A schema that is none is no reason to refuse what the user filled in: the server checks it.
    """
    try:
        checker = Draft202012Validator(_build_checked_schema(schema), format_checker=FormatChecker())
        return {_find_invalid_field(error): error.message for error in checker.iter_errors(dict(value))}
    except Exception:  # the schema is foreign data; the validator raises many kinds of errors about a broken one
        return {}


def _read_schema_properties(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    properties = schema.get("properties")
    items = properties.items() if isinstance(properties, dict) else ()
    return dict([(str(name), form) for name, form in items if isinstance(form, dict)][:MOST_FIELDS])


def _list_required_fields(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _build_checked_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the rules of a schema that are checked here."""
    forms = {name: _select_field_rules(form) for name, form in _read_schema_properties(schema).items()}
    return {"type": "object", "properties": forms, "required": _list_required_fields(schema)}


def _select_field_rules(form: Mapping[str, Any]) -> dict[str, Any]:
    rules = {name: form[name] for name in _RULES if isinstance(form.get(name), int | float)}
    rules |= {"type": form["type"]} if form.get("type") in _TYPES else {}
    rules |= {"format": form["format"]} if form.get("format") in _FORMATS else {}
    items = form.get("items")
    if form.get("type") == "array":
        listed = isinstance(items, dict) and bool(_list_schema_choices(items))
        return (
            {**rules, "items": _select_field_rules(items)} if listed and isinstance(items, dict) else {}
        )  # else a field of text
    values = [value for value, _ in _list_schema_choices(form)]
    return rules | ({"enum": values} if values and form.get("type", "string") == "string" else {})


def _find_invalid_field(error: ValidationError) -> str:
    if error.validator == "required":
        return next((name for name in error.validator_value if name not in error.instance), "")
    return str(error.absolute_path[0]) if error.absolute_path else ""


def _build_form_field(name: str, form: Mapping[str, Any], required: bool) -> FormField:
    items = form.get("items")
    many = form.get("type") == "array" and isinstance(items, dict)
    plain: dict[object, FieldKind] = {"integer": "integer", "number": "number", "boolean": "boolean"}
    kind: FieldKind = plain.get(str(form.get("type")), "text")
    choices: tuple[tuple[str, str], ...] = ()
    if kind == "text" and (choices := _list_schema_choices(items if many and isinstance(items, dict) else form)):
        kind = "many" if many else "one"
    title, about = str(form.get("title") or name), str(form.get("description") or "")
    return FormField(name, kind, title, about, required, choices, form.get("default"))


def _list_schema_choices(form: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns the choices of the three ways in which schemas name them."""
    for key in ("oneOf", "anyOf"):
        options = form.get(key)
        options = options[:MOST_CHOICES] if isinstance(options, list) else []
        if options and all(isinstance(option, dict) and "const" in option for option in options):
            return tuple((str(option["const"]), str(option.get("title") or option["const"])) for option in options)
    values, names = form.get("enum"), form.get("enumNames")
    if not isinstance(values, list):
        return ()
    labels = names if isinstance(names, list) and len(names) == len(values) else values
    return tuple((str(value), str(label)) for value, label in zip(values, labels, strict=True))[:MOST_CHOICES]


def _find_typed_choice(field: FormField, text: str) -> str:
    for number, (value, label) in enumerate(field.choices, 1):
        if text in (value, label, str(number)):
            return value
    raise ValueError(text)


def _read_typed_boolean(text: str) -> bool:
    values = {"true": True, "yes": True, "y": True, "1": True, "네": True, "예": True}
    values |= {"false": False, "no": False, "n": False, "0": False, "아니요": False}
    if text.casefold() not in values:
        raise ValueError(text)
    return values[text.casefold()]
