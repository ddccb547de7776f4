"""The words of the interface: one flat catalogue per language, and how a sentence is taken from it.

``component/text/<language>.json`` maps a key to a sentence; ``{name}`` marks what is filled in. Every class of
``errors.py`` has ``error.<code>`` and ``error.<code>.hint``; a test holds that both languages have the same keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

Language = Literal["ko", "en"]
LANGUAGES: tuple[Language, ...] = ("ko", "en")
_FOLDER = Path(__file__).parent / "text"


@dataclass(frozen=True, slots=True)
class Words:
    """The catalogue of one language: ``words("chat.ask")``, ``words("summary.range", first=1, last=3)``."""

    language: Language

    def __call__(self, key: str, **values: object) -> str:
        """The sentence of ``key`` with its values; an unknown key raises ``KeyError``."""
        return _catalogue(self.language)[key].format(**values)

    def __contains__(self, key: str) -> bool:
        return key in _catalogue(self.language)

    def error(self, code: str, message: str, values: Mapping[str, Any]) -> tuple[str, str]:
        """What failed and what to do, in this language; ``message`` stands in when the code or a value is unknown.

        A ``reason`` or ``place`` whose code is among the values (``reason_code``: ``error.<code>.reason.<…>``, or
        ``error.reason.<…>`` for what pydantic says) is told in this language, too.
        """
        catalogue = _catalogue(self.language)
        try:
            told = {name: self.reason(code, values, name) for name in ("reason", "place") if name in values}
            values = {**values, **told}
            said = catalogue[f"error.{code}"].format(**values)
            return said, catalogue[f"error.{code}.hint"].format(**values)
        except (KeyError, ValueError, TypeError):
            return message, ""

    def reason(self, code: str, values: Mapping[str, Any], name: str = "reason") -> str:
        """The ``reason`` (or ``place``) among the values of an error, in this language where it has a code."""
        catalogue, of = _catalogue(self.language), f"{name}.{values.get(f'{name}_code')}"
        known = catalogue.get(f"error.{code}.{of}") or catalogue.get(f"error.{of}")
        return known.format(**values) if known else str(values.get(name, ""))

    def keys(self) -> list[str]:
        """Every key of this language, in the order of the file."""
        return list(_catalogue(self.language))

    def raw(self, key: str) -> str:
        """The sentence as it stands in the file, its values not filled in."""
        return _catalogue(self.language)[key]


def choose(asked: str | None, fixed: str, locale: str | None) -> Language:
    """The language to show: ``asked`` in the address, else ``fixed`` by the settings, else the browser's locale."""
    for wanted in (asked, fixed):
        if wanted in LANGUAGES:
            return "ko" if wanted == "ko" else "en"
    return "ko" if (locale or "").lower().startswith("ko") else "en"


@cache
def _catalogue(language: Language) -> dict[str, str]:
    loaded: dict[str, str] = json.loads((_FOLDER / f"{language}.json").read_text("utf-8"))
    return loaded
