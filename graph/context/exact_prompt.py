"""Rebuilds the exact prompt of an earlier answer from the record (design 4.6).

The record holds questions, answers, tool results and every version of every summary. Texts that stand nowhere else are
kept under marks that the report names: system prompts (``store.wording``), and the memory texts of a prompt
(``Memory.give``), which are erased with the memory. A part whose text is gone is reported as missing; nothing is made
up for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from errors import TurnUnknown
from graph.context.prompt import (
    VERSION_MARK,
    Changing,
    Layout,
    Limits,
    build,
    digest,
    is_search,
    marked,
    past,
    spoken,
    summed,
    untold,
    version_mark,
)
from graph.context.report import PartName
from graph.context.turns import is_answer
from graph.node.casual import casual_prompt
from graph.state import SummaryRecord
from graph.turn.engine import Engine
from graph.turn.rebuild import messages_of
from store import Turn
from text.language import Language

_RAW: tuple[PartName, ...] = ("short", "recent")
"""Parts that hold raw turns, in prompt order."""
_APART: tuple[PartName, ...] = (
    *_RAW,
    "instructions",
    "system",
    "client_system",
    "summaries",
    "question",
    "images",
    "current",
)
"""Parts that are no changing parts."""
Missing = Literal["old", "gone", "images"]
"""Why a part cannot be shown: the answer is older than the keeping of such texts, the text is not there any more, or
it is images, which are not kept."""
Speaker = Literal["", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class PromptPiece:
    """A text of a part, its speaker ('' for instructions) and its turn (0: none)."""

    text: str
    speaker: Speaker = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class PartText:
    """A part as the model read it; ``missing`` says why there are no ``pieces``."""

    name: PartName
    pieces: tuple[PromptPiece, ...] = ()
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class Exact:
    """The parts in prompt order; ``proven``: together they are word for word the prompt that was sent. Images are no
    words."""

    parts: tuple[PartText, ...]
    proven: bool

    @property
    def whole(self) -> bool:
        """Whether every text is there."""
        return not any(part.missing and part.missing != "images" for part in self.parts)


def exact(engine: Engine, session_id: str, number: int) -> Exact:
    """Returns the prompt of turn ``number``: that of its last model call.

    Raises ``TurnUnknown`` when there is no such turn, or nothing of its prompt is known.
    """
    turn, session = engine.store.turn(session_id, number), engine.store.session(session_id)
    if turn is None or not turn.report:
        raise TurnUnknown(session=session_id, turn=number)
    record = _Record(engine, turn, session.language)
    parts = tuple(record.part(part) for part in turn.report["parts"] if part["tokens"] > 0)
    whole = Exact(parts, False).whole
    return Exact(parts, whole and digest(record.messages()) == turn.report.get("digest"))


def changing(engine: Engine, turn: Turn, language: Language) -> tuple[Changing, ...]:
    """Returns the parts before the question of a recorded turn (memory, entities, passages, time), as far as known."""
    return _Record(engine, turn, language).changing() if turn.report else ()


class _Record:
    """The texts of one turn's prompt, out of the record."""

    def __init__(self, engine: Engine, turn: Turn, language: Language) -> None:
        self._engine, self._turn, self._language = engine, turn, language
        self._parts: dict[PartName, dict[str, Any]] = {part["name"]: part for part in (turn.report or {})["parts"]}
        self._layout = _layout(turn.report or {})
        self._own = _before_the_answer(turn)
        self._given: Mapping[str, str] | None = None

    def part(self, part: Mapping[str, Any]) -> PartText:
        """Returns the texts of one part that the report names."""
        name: PartName = part["name"]
        if name in ("short", "recent"):
            numbered = ((entry, row.number) for row in self._rows(name) for entry in self._sent(self._past(row)))
            return PartText(name, tuple(_piece(*entry) for entry in numbered))
        if name == "question":
            question = self._own[0] if "images" in self._parts else marked(self._own[0], self._language)
            return PartText(name, (PromptPiece(str(question.text), "user", self._turn.number),))
        if name == "images":
            return PartText(name, missing="images")
        if name == "current" or (name == "retrieval" and self._passages() is None):
            messages = [entry for entry in self._sent(self._own[1:]) if is_search(entry) == (name == "retrieval")]
            return PartText(name, tuple(_piece(entry, 0) for entry in messages))
        text = self._text(name)
        if text is not None:
            return PartText(name, (PromptPiece(text),))
        return PartText(name, missing="gone" if part.get("mark") or name == "retrieval" else "old")

    def messages(self) -> list[AnyMessage]:
        """Returns the whole prompt, built by the function that built it then; valid only when no part is missing."""
        system, question = self._text("system") or "", str(self._own[0].text)
        if "recent" not in self._parts:
            return casual_prompt(system, question)
        raw = [message for name in _RAW for row in self._rows(name) for message in messages_of(row)]
        return build(
            [*raw, *self._own],
            self._records() or [],
            self._turn.number,
            language=self._language,
            system=system,
            count=len,
            exact=False,
            limits=Limits(prompt=2**60),
            changing=self.changing(),
            layout=self._layout,
            instructions=self._text("instructions") or "",
            client_system=self._text("client_system") or "",
            images=({"type": "image_url"},) if "images" in self._parts else (),
        ).messages

    def changing(self) -> tuple[Changing, ...]:
        """Returns the changing parts whose texts are there."""
        return tuple(
            Changing(name, self._text(name) or "", int(part["budget"]), lasting=name in ("memory", "entities"))
            for name, part in self._parts.items()
            if name not in _APART and not (name == "retrieval" and self._passages() is None)
        )

    def _text(self, name: PartName) -> str | None:
        part = self._parts.get(name, {})
        if name in ("instructions", "client_system"):
            return self._engine.store.options.prompt(self._turn.session_id, part["mark"]) if part else None
        if name == "system":
            return self._engine.store.wordings.text(part["mark"]) if part.get("mark") else None
        if name == "summaries":
            records = self._records()
            raw = {row.number for row in self._rows("short")}
            return None if records is None else summed(untold(records, raw), self._language, self._layout)
        if name == "retrieval":
            return self._passages()
        if part.get("text"):
            return str(part["text"])
        return self._memory().get(part.get("mark", ""))

    def _memory(self) -> Mapping[str, str]:
        if self._given is None:
            memory = self._engine.memory
            self._given = memory.given(self._engine.tenant, self._turn.session_id) if memory else {}
        return self._given

    def _passages(self) -> str | None:
        """Returns the result of the search before the answer; None when there was none."""
        steps = (step for step in self._turn.steps if step.get("call") == "search-first")
        return next((str(step["result"]) for step in steps), None)

    def _rows(self, name: PartName) -> list[Turn]:
        """Returns the turns that a part holds raw."""
        numbers = [int(item) for item in self._parts.get(name, {}).get("items", ())]
        rows = self._engine.store.turns_between(self._turn.session_id, numbers[0], numbers[-1]) if numbers else []
        return [row for row in rows if row.number in numbers]

    def _past(self, row: Turn) -> list[AnyMessage]:
        """Returns an earlier turn as it was sent."""
        messages = [marked(past(message), self._language) for message in messages_of(row)]
        return spoken(messages) if self._layout == "bare" else messages

    def _sent(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Returns the messages that went to the model; tool calls only when the model makes them itself."""
        calls = self._layout == "messages"
        return [message for message in messages if calls or not (isinstance(message, AIMessage) and message.tool_calls)]

    def _records(self) -> list[SummaryRecord] | None:
        """Returns the summaries in the versions that were sent; None when one version is not certain."""
        part = self._parts.get("summaries", {})
        items, marks = part.get("items", ()), str(part.get("mark", ""))
        records = [
            self._version(int(str(item).split("-")[0]), marks[place * VERSION_MARK : (place + 1) * VERSION_MARK])
            for place, item in enumerate(items)
        ]
        return None if None in records else cast("list[SummaryRecord]", records)

    def _version(self, first: int, mark: str) -> SummaryRecord | None:
        versions = self._engine.store.ledger.versions(self._turn.session_id, first)
        records = [cast(SummaryRecord, version.record) for version in versions if version.record]
        if not mark:  # an older answer has no marks: only a single version is certain
            return records[0] if len(records) == 1 else None
        return next((version for version in records if version_mark(version) == mark), None)


def _layout(report: Mapping[str, Any]) -> Layout:
    """Returns how tools stood in the prompt; reports of older versions have ``inline`` instead."""
    return cast(Layout, report.get("layout") or ("inline" if report.get("inline") else "messages"))


def _before_the_answer(turn: Turn) -> list[AnyMessage]:
    """Returns the question of a turn, its tool calls and their results."""
    messages = messages_of(turn)
    return messages[:-1] if is_answer(messages[-1]) else messages


def _piece(message: AnyMessage, number: int) -> PromptPiece:
    """Returns a message as a reader sees it; a question includes the block that stays with it, as it was sent."""
    if isinstance(message, HumanMessage):
        frozen = str(message.additional_kwargs.get("block", ""))
        return PromptPiece("\n\n".join(text for text in (frozen, str(message.text)) if text), "user", number)
    if isinstance(message, AIMessage):
        calls = "\n".join(f"{call['name']}({call['args']})" for call in message.tool_calls)
        return PromptPiece("\n".join(text for text in (str(message.text), calls) if text) or "…", "assistant", number)
    return PromptPiece(str(message.text), "tool", number)
