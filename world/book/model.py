"""What a file of another program holds: a lorebook, and perhaps the character that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from store.world.record import LoreEntry
from text.language import Language
from world.book.field import BookProblem

_HEADINGS: dict[Language, dict[str, str]] = {
    "en": {
        "description": "",
        "personality": "Personality",
        "scenario": "Scenario",
        "mes_example": "How they talk",
        "system_prompt": "",
        "post_history_instructions": "How to answer",
    },
    "ko": {
        "description": "",
        "personality": "성격",
        "scenario": "상황",
        "mes_example": "말투",
        "system_prompt": "",
        "post_history_instructions": "답하는 방법",
    },
}
TEXTS = tuple(_HEADINGS["en"])
"""The fields of a card that stand in ``stable_prefix.md``."""
NOTES: dict[Language, str] = {"en": "Note on the character", "ko": "인물에 대한 메모"}


@dataclass(frozen=True, slots=True)
class Card:
    """A character card. ``fields``: the card's ``data`` as it was, for the export; the texts in it may hold macros.
    ``picture``: the PNG that the card came in, empty for none."""

    name: str
    fields: dict[str, Any]
    picture: bytes = b""

    @property
    def short_name(self) -> str:
        """Returns the name that stands for ``{{char}}``."""
        nickname = self.fields.get("nickname")
        return nickname.strip() if isinstance(nickname, str) and nickname.strip() else self.name

    @property
    def greeting(self) -> str:
        """Returns the message with which the character begins a story."""
        return str(self.fields.get("first_mes") or "")

    @property
    def greetings(self) -> list[str]:
        """Returns every message with which the character may begin, as it is written, macros included."""
        others = [text for text in self.fields.get("alternate_greetings") or () if isinstance(text, str)]
        return [text for text in (self.greeting, *others) if text.strip()]

    def text(self, name: str) -> str:
        """Returns a text of the card as it is written; empty for none."""
        found = self.fields.get(name)
        return found.strip() if isinstance(found, str) else ""

    @property
    def note(self) -> str:
        """Returns the note that SillyTavern keeps in the extensions and writes into the chat."""
        extensions = self.fields.get("extensions")
        note = extensions.get("depth_prompt") if isinstance(extensions, dict) else None
        found = note.get("prompt") if isinstance(note, dict) else None
        return found.strip() if isinstance(found, str) else ""

    @property
    def tags(self) -> tuple[str, ...]:
        """Returns the card's tags."""
        found = self.fields.get("tags")
        return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()

    def prefix(self, language: Language) -> str:
        """Returns the text for ``stable_prefix.md``: who the character is, as the card says it, macros included."""
        headed = [(_HEADINGS[language][name], self.text(name)) for name in _HEADINGS[language]]
        parts = [(heading, text) for heading, text in (*headed, (NOTES[language], self.note)) if text]
        return "\n\n".join(
            (f"# {self.name}", *(f"## {heading}\n\n{text}" if heading else text for heading, text in parts))
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """What a file says beside its entries, so that it comes out as it came in. ``kind``: of the file; ``root``: its
    JSON with nothing at the place of the entries, ``path`` to there; ``keyed``: entries stood under keys of their own;
    ``others``: what stood between the entries without being one, by its place or key; ``container``: the picture or
    archive around the JSON."""

    kind: str
    root: Any
    path: tuple[str, ...]
    keyed: bool = False
    others: tuple[tuple[str, Any], ...] = ()
    container: bytes = b""


@dataclass(frozen=True, slots=True)
class Book:
    """The content of one file. ``entries``: the sound ones, with id 0; ``problems``: what was wrong with others, or
    does nothing here."""

    name: str
    entries: tuple[LoreEntry, ...]
    card: Card | None = None
    problems: tuple[BookProblem, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    origin: Origin | None = None
