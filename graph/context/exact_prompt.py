"""Rebuilds the exact prompt of an earlier answer from the record (design 4.6).

The record holds questions, answers, tool results and every version of every summary. Texts that stand nowhere else are
kept under marks that the report names: system prompts (``store.turn.wording``), and the memory texts of a prompt
(``Memory.give``), which are erased with the memory. A part whose text is gone is reported as missing; nothing is made
up for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from errors import TurnUnknown
from graph.context.past import UNCITED
from graph.context.prompt import (
    VERSION_MARK,
    Changing,
    Layout,
    Limits,
    PromptMaterial,
    add_note,
    build_turn_prompt,
    drop_redundant_summaries,
    hash_prompt_messages,
    is_search,
    mark_question_images,
    reduce_messages_to_speech,
    reduce_past_message,
    render_chunk_summaries,
    version_mark,
)
from graph.context.report import PartName
from graph.context.turns import is_answer, mark_pinned
from graph.node.casual import casual_prompt
from graph.state import SummaryRecord
from graph.turn.memory import past_turns
from graph.turn.process.engine import TurnEngine
from graph.turn.session.rebuild import messages_of
from model.call.message_form import make_strict
from model.profile import SMALL, STRONG
from store import TurnRow
from text.language import Language

_RAW: tuple[PartName, ...] = ("pinned", "short", "recent")
"""Parts that hold raw turns, in prompt order."""
LASTING = frozenset({"profile", "memory", "entities"})
"""Parts that stay with the question that they were first given with; a bare prompt chooses lines of the profile by
the question."""
_APART: tuple[PartName, ...] = (
    *_RAW,
    "instructions",
    "system",
    "client_system",
    "summaries",
    "question",
    "images",
    "current",
    "form",
    "unfit",
    "form_again",
)
"""Parts that are no changing parts."""
Missing = Literal["old", "gone", "images"]
"""Why a part cannot be shown: the answer is older than the keeping of such texts, the text is not there any more, or
it is images, which are no text."""
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
    words. ``sent``: the messages as a strict server got them, where that is another form of the same words."""

    parts: tuple[PartText, ...]
    proven: bool
    sent: tuple[PromptPiece, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every text is there."""
        return not any(part.missing and part.missing != "images" for part in self.parts)


def rebuild_exact_prompt(engine: TurnEngine, session_id: str, number: int) -> Exact:
    """Returns the prompt of turn ``number``: that of its last model call.

    Raises ``TurnUnknown`` when there is no such turn, or nothing of its prompt is known.
    """
    turn, session = engine.store.turn(session_id, number), engine.store.session(session_id)
    if turn is None or not turn.report:
        raise TurnUnknown(session=session_id, turn=number)
    record = _PromptRecord(engine, turn, session.language)
    parts = tuple(record.part(part) for part in shown_parts(turn.report))
    messages = record.messages() if Exact(parts, False).whole else []
    sent = _as_strict_server_got(messages) if turn.report.get("strict") else ()
    return Exact(parts, bool(messages) and hash_prompt_messages(messages) == turn.report.get("digest"), sent)


def shown_parts(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the parts of a report that have a text; a form that went out as a field of the request takes no tokens
    of ours."""
    return [part for part in report["parts"] if part["tokens"] > 0 or part["name"] == "form"]


def _as_strict_server_got(messages: Sequence[AnyMessage]) -> tuple[PromptPiece, ...]:
    """Returns the messages of a prompt in the form of strict servers; none where that is the form they have."""
    roles = {"human": "user", "ai": "assistant"}
    plain = [{"role": roles.get(message.type, message.type), "content": str(message.text)} for message in messages]
    for row, message in zip(plain, messages, strict=True):
        if isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and message.tool_calls):
            row["call"] = "never merged"
    if (strict := make_strict(plain)) == plain:
        return ()
    speakers: dict[str, Speaker] = {"user": "user", "assistant": "assistant", "tool": "tool"}
    return tuple(PromptPiece(row["content"], speakers.get(row["role"], "")) for row in strict)


def rebuild_changing_parts(engine: TurnEngine, turn: TurnRow, language: Language) -> tuple[Changing, ...]:
    """Returns the parts before the question of a recorded turn (memory, entities, passages, time), as far as known."""
    return _PromptRecord(engine, turn, language).changing() if turn.report else ()


class _PromptRecord:
    """The texts of one turn's prompt, out of the record."""

    def __init__(self, engine: TurnEngine, turn: TurnRow, language: Language) -> None:
        self._engine, self._turn, self._language = engine, turn, language
        self._parts: dict[PartName, dict[str, Any]] = {part["name"]: part for part in (turn.report or {})["parts"]}
        self._layout = _read_report_layout(turn.report or {})
        self._own = _before_the_answer(turn)
        self._given: Mapping[str, str] | None = None

    def part(self, part: Mapping[str, Any]) -> PartText:
        """Returns the texts of one part that the report names."""
        name: PartName = part["name"]
        if name in _RAW:
            numbered = (
                (entry, row.number)
                for row in self._rows(name)
                for entry in self._select_model_messages(self._past(row))
            )
            with_block = self._layout != "bare"  # a bare prompt leaves out the blocks of earlier questions
            return PartText(name, tuple(_make_prompt_piece(*entry, with_block) for entry in numbered))
        if name == "question":
            question = self._own[0] if "images" in self._parts else mark_question_images(self._own[0], self._language)
            return PartText(name, (PromptPiece(str(question.text), "user", self._turn.number),))
        if name == "images":
            return PartText(name, missing="images")
        if name == "current" or (name == "retrieval" and self._passages() is None):
            messages = [
                entry
                for entry in self._select_model_messages(self._own[1:])
                if is_search(entry) == (name == "retrieval")
            ]
            return PartText(name, tuple(_make_prompt_piece(entry, 0) for entry in messages))
        text = self._text(name)
        if text is not None:
            speakers: dict[PartName, Speaker] = {"unfit": "assistant", "form_again": "user"}
            return PartText(name, (PromptPiece(text, speakers.get(name, "")),))
        return PartText(name, missing="gone" if part.get("mark") or name in ("retrieval", "turns") else "old")

    def messages(self) -> list[AnyMessage]:
        """Returns the whole prompt, built by the function that built it then; valid only when no part is missing."""
        system, question = self._text("system") or "", str(self._own[0].text)
        if "recent" not in self._parts:
            return casual_prompt(system, question)
        pinned = [message for row in self._rows("pinned") for message in mark_pinned(messages_of(row))]
        others = [message for name in ("short", "recent") for row in self._rows(name) for message in messages_of(row)]
        *before, last = build_turn_prompt(
            [*pinned, *others, *self._own],
            self._records() or [],
            self._turn.number,
            PromptMaterial(
                language=self._language,
                system=system,
                count=len,
                exact=False,
                changing=self.changing(),
                layout=self._layout,
                instructions=self._text("instructions") or "",
                client_system=self._text("client_system") or "",
                images=({"type": "image_url"},) if "images" in self._parts else (),
            ),
            Limits(prompt=2**60),
        ).messages
        return [*before, *self._add_form(last)]

    def _add_form(self, last: AnyMessage) -> list[AnyMessage]:
        """Returns the last message of a prompt with what asked for the answer's form after it."""
        note, unfit = (self._parts.get(name, {}) for name in ("form", "unfit"))
        messages = add_note(last, str(note["text"])) if note.get("tokens") else [last]
        if not unfit:
            return messages
        again = str(self._parts["form_again"]["text"])
        return [*messages, AIMessage(str(unfit["text"])), HumanMessage(again)]

    def changing(self) -> tuple[Changing, ...]:
        """Returns the changing parts whose texts are there."""
        lasting = LASTING - {"profile"} if self._layout == "bare" else LASTING
        return tuple(
            Changing(name, self._text(name) or "", int(part["budget"]), lasting=name in lasting)
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
            raw = {row.number for name in ("pinned", "short") for row in self._rows(name)}
            return (
                None
                if records is None
                else render_chunk_summaries(drop_redundant_summaries(records, raw), self._language, self._layout)
            )
        if name == "retrieval":
            return self._passages()
        if name == "turns":
            return self._found_turns(part)
        if part.get("text"):
            return str(part["text"])
        return self._memory().get(part.get("mark", ""))

    def _found_turns(self, part: Mapping[str, Any]) -> str | None:
        """Returns the past turns that stood in the prompt, word for word; None when one of them is gone."""
        session, bare = self._engine.store.session(self._turn.session_id), self._layout == "bare"
        profile = SMALL if bare else STRONG
        cites = part.get("mark") != UNCITED
        return past_turns.render_found(self._engine, session, part["items"], self._turn.question, profile, cites)

    def _memory(self) -> Mapping[str, str]:
        if self._given is None:
            memory = self._engine.memory
            self._given = memory.reader.read_given(self._engine.tenant, self._turn.session_id) if memory else {}
        return self._given

    def _passages(self) -> str | None:
        """Returns the result of the search before the answer; None when there was none."""
        steps = (step for step in self._turn.steps if step.get("call") == "search-first")
        return next((str(step["result"]) for step in steps), None)

    def _rows(self, name: PartName) -> list[TurnRow]:
        """Returns the turns that a part holds raw."""
        numbers = [int(item) for item in self._parts.get(name, {}).get("items", ())]
        return self._engine.store.turns_at(self._turn.session_id, numbers) if numbers else []

    def _past(self, row: TurnRow) -> list[AnyMessage]:
        """Returns an earlier turn as it was sent."""
        messages = [mark_question_images(reduce_past_message(message), self._language) for message in messages_of(row)]
        return reduce_messages_to_speech(messages) if self._layout == "bare" else messages

    def _select_model_messages(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
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


def _read_report_layout(report: Mapping[str, Any]) -> Layout:
    """Returns how tools stood in the prompt; reports of older versions have ``inline`` instead."""
    return cast(Layout, report.get("layout") or ("inline" if report.get("inline") else "messages"))


def _before_the_answer(turn: TurnRow) -> list[AnyMessage]:
    """Returns the question of a turn, its tool calls and their results."""
    messages = messages_of(turn)
    return messages[:-1] if is_answer(messages[-1]) else messages


def _make_prompt_piece(message: AnyMessage, number: int, with_block: bool = True) -> PromptPiece:
    """Returns a message as a reader sees it; a question includes the block that stays with it, as it was sent."""
    if isinstance(message, HumanMessage):
        frozen = str(message.additional_kwargs.get("block", "")) if with_block else ""
        return PromptPiece("\n\n".join(text for text in (frozen, str(message.text)) if text), "user", number)
    if isinstance(message, AIMessage):
        calls = "\n".join(f"{call['name']}({call['args']})" for call in message.tool_calls)
        return PromptPiece("\n".join(text for text in (str(message.text), calls) if text) or "…", "assistant", number)
    return PromptPiece(str(message.text), "tool", number)
