"""The report of one model call: the prompt's parts, what was left out, and the cost of full history (design 4.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

PartName = Literal[
    "instructions",
    "system",
    "client_system",
    "summaries",
    "pinned",
    "short",
    "recent",
    "profile",
    "memory",
    "entities",
    "turns",
    "retrieval",
    "world",
    "time",
    "hint",  # only in reports of older versions
    "current",
    "question",
    "images",
    "form",
    "unfit",
    "form_again",
]
Reason = Literal[
    "summarised",
    "over_budget",
    "unsummarised",
    "context_full",
    "casual",
    "profile_cut",
    "memory_cut",
    "entities_cut",
    "memory_away",
    "documents_budget",
    "turns_cut",
    "below_floor",
]


@dataclass(frozen=True, slots=True)
class ReportPart:
    """One part of the prompt, in prompt order.

    ``tokens`` against ``budget`` (0: none is set). ``items``: what the part holds, such as turn ranges («1-3»,
    «4»), the places of passages, or past turns with their scores (``graph.context.past.PastEntry.item``). Two
    fields are for ``graph.context.exact_prompt``. ``mark`` names the text where it is kept apart: the
    conversation's own system prompt (``instructions``), the system prompt, the client's system text, profile, memory,
    entities; for summaries, the marks of their versions in a row. ``text``: a text that is kept nowhere else (the
    time). ``form``: the form that a client wants its answer in, as a field of the request (no tokens) or as a note in
    the question; ``unfit``, ``form_again``: an answer that did not fit it, and what asked for another one.
    """

    name: PartName
    tokens: int
    budget: int
    items: tuple[str, ...] = ()
    mark: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class PromptOmission:
    """Something that is not in the prompt, and why; ``tokens``: 0 when they are not known.

    ``what``: of turns that are not raw in the prompt, their range («1-6»); of the long-term memory, how many sentences
    or values had no room («3»); of past turns, how many had no room or did not fit well enough; of the documents, the
    place of a passage that had no room; of a tool of the current turn, its name. ``items``: these past turns, the
    best first, as in ``ReportPart``.
    """

    what: str
    reason: Reason
    tokens: int = 0
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextReport:
    """Tokens of one prompt by part. ``exact``: counted by the model's own tokenizer, not estimated.

    ``total_tokens``: of this prompt. ``full_tokens``: of the same prompt with the whole history raw and no summaries.
    ``digest``: of all messages, to tell whether a rebuilt prompt is the same. ``layout``: as in
    ``graph.context.prompt.build_turn_prompt``. ``tools``: the mark of the tools' forms, which stand before everything
    else: where it differs from that of the turn before, the prefix that a server has read is broken there. Empty
    without forms.
    ``strict``: the messages went out in the form of strict servers (``model.call.message_form``).
    """

    turn: int
    parts: tuple[ReportPart, ...]
    left_out: tuple[PromptOmission, ...]
    total_tokens: int
    full_tokens: int
    exact: bool
    digest: str = ""
    layout: str = "messages"
    tools: str = ""
    strict: bool = False

    @property
    def saved_tokens(self) -> int:
        """Returns the tokens saved against full history; negative when the summaries cost more than they replace."""
        return self.full_tokens - self.total_tokens

    def part(self, name: PartName) -> ReportPart | None:
        return next((part for part in self.parts if part.name == name), None)

    def plain(self) -> dict[str, Any]:
        """Returns the report as plain data for storage and doors."""
        parts, left_out = map(_read_slot_values, self.parts), map(_read_slot_values, self.left_out)
        bare = ({name: part[name] for name in part if part[name] or name not in ("mark", "text")} for part in parts)
        out = ({name: each[name] for name in each if each[name] or name != "items"} for each in left_out)
        whole = {**_read_slot_values(self), "parts": tuple(bare), "left_out": tuple(out)}
        return {name: value for name, value in whole.items() if value or name not in ("tools", "strict")}


def _read_slot_values(row: ReportPart | PromptOmission | ContextReport) -> dict[str, Any]:
    """Returns the fields as they are: ``dataclasses.asdict`` would copy all their contents."""
    return {name: getattr(row, name) for name in row.__slots__}


def read_turn_range(item: str, last: int) -> range:
    """Returns the turns of an item of a report, «4» or «1-6», up to ``last``; none for what an import made of it."""
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", item)
    return range(int(found[1]), min(int(found[2] or found[1]), last) + 1) if found else range(0)


def list_shown_summaries(report: Mapping[str, Any]) -> list[str]:
    """Returns the ranges of the summaries that stand in a prompt, of its plain report: a summary whose turns all stand
    there as they were said is left out (``graph.context.prompt``)."""
    parts = {
        str(part.get("name")): [str(item) for item in part.get("items") or ()] for part in report.get("parts") or ()
    }
    last = int(report.get("turn") or 0)
    said = {
        number for name in ("pinned", "short") for item in parts.get(name, ()) for number in read_turn_range(item, last)
    }
    return [item for item in parts.get("summaries", ()) if not said.issuperset(read_turn_range(item, last))]
