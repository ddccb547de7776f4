"""What a file of another program holds: a lorebook, and perhaps the character that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from store.world.record import LoreEntry
from text.language import Language
from world.book.field import Problem

_HEADINGS: dict[Language, dict[str, str]] = {
    "en": {"description": "", "personality": "Personality", "scenario": "Scenario", "mes_example": "How they talk"},
    "ko": {"description": "", "personality": "성격", "scenario": "상황", "mes_example": "말투"},
}


@dataclass(frozen=True, slots=True)
class Card:
    """A character card. ``fields``: the card's ``data`` as it was, for the export; the texts in it may hold the macros
    ``{{char}}`` and ``{{user}}``. ``picture``: the PNG that the card came in, empty for none."""

    name: str
    fields: dict[str, Any]
    picture: bytes = b""

    @property
    def greeting(self) -> str:
        """Returns the message with which the character begins a story."""
        return str(self.fields.get("first_mes") or "")

    def greetings(self, player: str) -> list[str]:
        """Returns every message with which the character may begin, with the names in place of the macros."""
        others = [text for text in self.fields.get("alternate_greetings") or () if isinstance(text, str)]
        return [named(text, self.name, player) for text in (self.greeting, *others) if text.strip()]

    def prefix(self, player: str, language: Language) -> str:
        """Returns the text for ``stable_prefix.md``: who the character is, as the card says it."""
        parts = [f"# {self.name}"]
        for name, heading in _HEADINGS[language].items():
            if text := str(self.fields.get(name) or "").strip():
                parts.append(f"## {heading}\n\n{text}" if heading else text)
        parts += [text for name in ("system_prompt",) if (text := str(self.fields.get(name) or "").strip())]
        return named("\n\n".join(parts), self.name, player)


@dataclass(frozen=True, slots=True)
class Book:
    """The content of one file. ``entries``: the sound ones, with id 0; ``problems``: what was wrong with others, or
    could not be used."""

    name: str
    entries: tuple[LoreEntry, ...]
    card: Card | None = None
    problems: tuple[Problem, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


def named(text: str, character: str, player: str) -> str:
    """Returns the text with the names in place of the macros ``{{char}}`` and ``{{user}}``, as other programs do."""
    for macro, name in (("{{char}}", character), ("<BOT>", character), ("{{user}}", player), ("<USER>", player)):
        for form in {macro, macro.upper(), macro.lower()} if name else ():
            text = text.replace(form, name)
    return text
