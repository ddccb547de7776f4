"""The exact prompt of an answer that was given, put together again from the record (design §4).

Questions, answers, tool results and every version of every summary are in the record. What stands nowhere else is kept
under marks that the report names: system prompts (``store.wording``) and what was given of memory (``Memory.give``),
which goes with the memory. A part that is not there any more is said to be missing; nothing is made up for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from errors import TurnUnknown
from graph.context import VERSION_MARK, Changing, Layout, Limits, build, digest, is_search, past, summed, version_mark
from graph.engine import Engine
from graph.node.casual import casual_prompt
from graph.rebuild import messages_of
from graph.report import PartName
from graph.state import SummaryRecord
from graph.turns import is_answer
from store import Turn
from text.language import Language

_RAW: tuple[PartName, ...] = ("short", "recent")
"""Parts that hold turns as they were, in prompt order."""
Missing = Literal["old", "gone"]
"""Why a part cannot be shown: the answer is from before such texts were kept, or its text is not there any more."""
Speaker = Literal["", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A text of a part: who says it (nobody for instructions), in which turn (0: none)."""

    text: str
    speaker: Speaker = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class PartText:
    """A part as the model read it; ``missing`` says why there are no ``pieces``."""

    name: PartName
    pieces: tuple[Piece, ...] = ()
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class Exact:
    """The parts in prompt order; ``proven``: together they are word for word what was sent."""

    parts: tuple[PartText, ...]
    proven: bool


def exact(engine: Engine, session_id: str, number: int) -> Exact:
    """The prompt that the answer of turn ``number`` was made from: of its last model call.

    Raises ``TurnUnknown`` when there is no such turn, or none of its prompt is known.
    """
    turn, session = engine.store.turn(session_id, number), engine.store.session(session_id)
    if turn is None or not turn.report:
        raise TurnUnknown(session=session_id, turn=number)
    found = _Record(engine, turn, session.language)
    parts = tuple(found.part(each) for each in turn.report["parts"] if each["tokens"] > 0)
    whole = not any(each.missing for each in parts)
    return Exact(parts, whole and digest(found.messages()) == turn.report.get("digest"))


def changing(engine: Engine, turn: Turn, language: Language) -> tuple[Changing, ...]:
    """What stood before the question of a recorded turn (memory, entities, passages, time), as far as it is known."""
    return _Record(engine, turn, language).changing() if turn.report else ()


class _Record:
    """What the record has of one turn's prompt."""

    def __init__(self, engine: Engine, turn: Turn, language: Language) -> None:
        self._engine, self._turn, self._language = engine, turn, language
        self._parts: dict[PartName, dict[str, Any]] = {each["name"]: each for each in (turn.report or {})["parts"]}
        self._layout = _layout(turn.report or {})
        self._own = _before_the_answer(turn)
        self._given: Mapping[str, str] | None = None

    def part(self, part: Mapping[str, Any]) -> PartText:
        """One part, as the report names it."""
        name: PartName = part["name"]
        if name in ("short", "recent"):
            said = ((each, row.number) for row in self._rows(name) for each in self._sent(self._past(row)))
            return PartText(name, tuple(_piece(*each) for each in said))
        if name == "question":
            return PartText(name, (Piece(str(self._own[0].text), "user", self._turn.number),))
        if name == "current" or (name == "retrieval" and self._passages() is None):
            found = [each for each in self._sent(self._own[1:]) if is_search(each) == (name == "retrieval")]
            return PartText(name, tuple(_piece(each, 0) for each in found))
        text = self._text(name)
        if text is not None:
            return PartText(name, (Piece(text),))
        return PartText(name, missing="gone" if part.get("mark") or name == "retrieval" else "old")

    def messages(self) -> list[AnyMessage]:
        """The whole prompt, by the function that made it then; of parts that are all there."""
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
        ).messages

    def changing(self) -> tuple[Changing, ...]:
        """The parts that change, whose texts are there."""
        return tuple(
            Changing(name, self._text(name) or "", int(each["budget"]), lasting=name in ("memory", "entities"))
            for name, each in self._parts.items()
            if name not in ("system", "summaries", *_RAW, "question", "current")
            and not (name == "retrieval" and self._passages() is None)
        )

    def _text(self, name: PartName) -> str | None:
        part = self._parts.get(name, {})
        if name == "system":
            return self._engine.store.wordings.text(part["mark"]) if part.get("mark") else None
        if name == "summaries":
            records = self._records()
            return None if records is None else summed(records, self._language)
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
        """What a search before the answer found; None when there was none."""
        steps = (each for each in self._turn.steps if each.get("call") == "search-first")
        return next((str(each["result"]) for each in steps), None)

    def _rows(self, name: PartName) -> list[Turn]:
        """The turns that a part holds as they were."""
        numbers = [int(each) for each in self._parts.get(name, {}).get("items", ())]
        rows = self._engine.store.turns_between(self._turn.session_id, numbers[0], numbers[-1]) if numbers else []
        return [row for row in rows if row.number in numbers]

    def _past(self, row: Turn) -> list[AnyMessage]:
        """An earlier turn as it was sent; a bare prompt has what tools gave for its own question only."""
        bare = self._layout == "bare"
        return [past(each) for each in messages_of(row) if not (bare and isinstance(each, ToolMessage))]

    def _sent(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Those of these messages that went to the model: calls only where it makes them itself."""
        calls = self._layout == "messages"
        return [each for each in messages if calls or not (isinstance(each, AIMessage) and each.tool_calls)]

    def _records(self) -> list[SummaryRecord] | None:
        """The summaries in the versions that were sent; None when one of them cannot be told."""
        part = self._parts.get("summaries", {})
        items, marks = part.get("items", ()), str(part.get("mark", ""))
        found = [
            self._version(int(str(item).split("-")[0]), marks[place * VERSION_MARK : (place + 1) * VERSION_MARK])
            for place, item in enumerate(items)
        ]
        return None if None in found else cast("list[SummaryRecord]", found)

    def _version(self, first: int, mark: str) -> SummaryRecord | None:
        versions = self._engine.store.ledger.versions(self._turn.session_id, first)
        records = [cast(SummaryRecord, each.record) for each in versions if each.record]
        if not mark:  # an older answer: certain where there was never another version
            return records[0] if len(records) == 1 else None
        return next((each for each in records if version_mark(each) == mark), None)


def _layout(report: Mapping[str, Any]) -> Layout:
    """How tools stood in the prompt; reports of older versions have ``inline`` instead."""
    return cast(Layout, report.get("layout") or ("inline" if report.get("inline") else "messages"))


def _before_the_answer(turn: Turn) -> list[AnyMessage]:
    """The question of a turn and what its tools said."""
    messages = messages_of(turn)
    return messages[:-1] if is_answer(messages[-1]) else messages


def _piece(message: AnyMessage, number: int) -> Piece:
    """A message as a reader takes it; of a question with the block that stays with it, as it is sent."""
    if isinstance(message, HumanMessage):
        frozen = str(message.additional_kwargs.get("block", ""))
        return Piece("\n\n".join(each for each in (frozen, str(message.text)) if each), "user", number)
    if isinstance(message, AIMessage):
        calls = "\n".join(f"{call['name']}({call['args']})" for call in message.tool_calls)
        return Piece("\n".join(each for each in (str(message.text), calls) if each) or "…", "assistant", number)
    return Piece(str(message.text), "tool", number)
