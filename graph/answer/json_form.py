"""An answer that must be JSON: any object, or what a client's schema says (OpenAI's ``response_format``).

The model's server is asked for the form, and code checks what came: not every server keeps a form that it takes. The
schema is foreign. What could cost hours to check, or lead to other machines, is left to the server: patterns, and
references beyond the schema itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import attrs
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from errors import FormUnmet
from model.call.json_reply import find_json_objects
from text.clean import refuse_json_constant

MOST_REFERENCES = 20_000
"""References that one check follows: a schema of a few lines can refer to itself without end."""
REASON_CHARS = 300
"""Characters of a check's reason that the model and the client are told."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JsonForm:
    """The form of an answer. ``schema``: None for any object. ``name``, ``description``, ``strict``: as the client
    gave them."""

    schema: Mapping[str, Any] | None = None
    name: str = "answer"
    description: str = ""
    strict: bool = False

    @property
    def response_format(self) -> Json:
        """Returns the form as a model's server takes it."""
        if self.schema is None:
            return {"type": "json_object"}
        about = {"description": self.description} if self.description else {}
        form = {"name": self.name, **about, "schema": dict(self.schema), "strict": self.strict}
        return {"type": "json_schema", "json_schema": form}

    @property
    def text(self) -> str:
        """Returns the schema as a model reads it."""
        return json.dumps(self.schema or {"type": "object"}, ensure_ascii=False)

    def read(self, reply: str) -> str:
        """Returns the JSON of a model's reply, which may stand in a fence or among other words. Raises
        ``FormUnmet``."""
        try:
            value = json.loads(reply, parse_constant=refuse_json_constant)
        except (ValueError, RecursionError):
            return self._read_inside(reply)
        self._check(value)
        return reply.strip()

    def _read_inside(self, reply: str) -> str:
        unmet = FormUnmet(reason="it is no JSON")
        for value in find_json_objects(reply):
            try:
                self._check(value)
            except FormUnmet as error:
                unmet = error
            else:
                return json.dumps(value, ensure_ascii=False)
        raise unmet

    def _check(self, value: Any) -> None:
        if self.schema is None:
            if not isinstance(value, dict):
                raise FormUnmet(reason="it is no JSON object")
            return
        try:
            _build_schema_validator(self.schema).validate(value)
        except ValidationError as error:
            raise FormUnmet(reason=f"{error.json_path}: {error.message}"[:REASON_CHARS]) from error
        except (Unresolvable, RecursionError, _TooManyReferences) as error:
            raise FormUnmet(reason="its schema cannot be followed") from error
        except OverflowError as error:
            raise FormUnmet(reason="a number is too large to be checked") from error


def find_schema_fault(schema: Mapping[str, Any]) -> str:
    """Returns what is wrong with a client's schema; empty where it is one."""
    if not isinstance(schema.get("$schema", ""), str):
        return "$.$schema: it is no text"
    try:
        validator_for(schema, Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        return f"{error.json_path}: {error.message}"[:REASON_CHARS]
    except (RecursionError, Unresolvable):
        return "it is nested too deep"
    except OverflowError:
        return "a pattern repeats something too often"
    return ""


class _TooManyReferences(Exception):
    """The error of a check that follows references without end."""


def _build_schema_validator(schema: Mapping[str, Any]) -> Validator:
    """Returns the check of one value against a schema, without what could take hours or lead elsewhere."""
    kind = validator_for(schema, Draft202012Validator)
    rules, left = kind.VALIDATORS, [MOST_REFERENCES]

    def follow(name: str) -> Any:
        def count(validator: Any, reference: Any, instance: Any, within: Any) -> Iterator[ValidationError]:
            left[0] -= 1
            if left[0] < 0:
                raise _TooManyReferences
            yield from rules[name](validator, reference, instance, within) or ()

        return count

    def check_additional(validator: Any, more: Any, instance: Any, within: Any) -> Iterator[ValidationError]:
        if "patternProperties" not in within:  # which names these match is not looked for
            yield from rules["additionalProperties"](validator, more, instance, within) or ()

    references = {name: follow(name) for name in ("$ref", "$dynamicRef", "$recursiveRef") if name in rules}
    unchecked = dict.fromkeys(
        ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems"), _accept_any_instance
    )
    own: Any = extend(kind, {**references, **unchecked, "additionalProperties": check_additional})
    own.evolve = _evolve_validator
    checker: Validator = own(schema, registry=Registry())
    return checker


def _evolve_validator(validator: Validator, **changes: Any) -> Validator:
    """Returns the same check for a part of the schema: jsonschema takes its own, with all rules, for a part that names
    its draft («$schema»)."""
    return attrs.evolve(validator, **changes)


def _accept_any_instance(*_: Any) -> Iterator[ValidationError]:
    return iter(())
