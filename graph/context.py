"""What the model is given: one pure function builds the message list and its report (design §4).

Parts in cache-stable order: system prompt · chunk summaries, oldest first · raw turns · what changes, in one block just
before the question · the current turn. The table of context-managing.md «Turn별 Context 구성» holds for every turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from errors import ContextTooLong
from graph.report import ContextReport, LeftOut, Part, PartName
from graph.state import SummaryRecord
from graph.turns import TurnMessages, covered, split, unanswered
from memory.line import letters_of, thinned
from prompt import render

FROZEN_TOKENS = 64
"""A block of what changes that is no longer than this stays with its turn while the turn is raw, so that the prompt's
prefix stays unbroken; a longer one is given only with the current question."""

VERSION_MARK = 4
"""Letters that tell one version of a summary from another."""

Layout = Literal["messages", "inline", "bare"]
"""How tools and memory stand in the prompt: tool calls and results as messages of their own; results before the
question they were asked for, because a model that does not call tools would take a call for an answer to imitate; or
bare, with nothing of ours inside the user's messages."""

_MESSAGE_TOKENS = 4
"""What a chat template adds around each message, in tokens."""
_CUT_TOKENS = 24
"""Taken off more than what is too much: the words that say so, and rounding."""


@dataclass(frozen=True)
class Changing:
    """A part that differs from turn to turn: its text and its budget in tokens, what it holds, what had no room.

    ``lasting``: it differs seldom. It is given once and stays with that question while both stand, so that the prompt's
    prefix stays unbroken and nothing is read twice. ``whole``: the mark of the text that this one is a part of.
    """

    name: PartName
    text: str
    budget: int = 0
    lasting: bool = False
    items: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    whole: str = ""


@dataclass(frozen=True)
class Limits:
    """Token budgets by part, and the tokens that a prompt may have at all (``prompt``)."""

    prompt: int
    system: int = 1500
    summaries: int = 12_000
    recent: int = 1500
    question: int = 100
    retrieval: int = 1500


@dataclass(frozen=True)
class Prompt:
    """The messages for the model and what they are made of; ``given``: marks of lasting parts that are new in it."""

    messages: list[AnyMessage]
    report: ContextReport
    given: dict[str, str] = field(default_factory=dict)


def build(
    messages: Sequence[AnyMessage],
    records: Sequence[SummaryRecord],
    turn: int,
    *,
    language: str,
    system: str,
    count: Callable[[str], int],
    exact: bool,
    limits: Limits,
    changing: Sequence[Changing] = (),
    history_tokens: int = 0,
    beside: int = 0,
    layout: Layout = "messages",
) -> Prompt:
    """The prompt of turn ``turn`` from the state's messages and summary records.

    ``history_tokens``: raw tokens of all finished turns, for the comparison with full history. ``beside``: tokens that
    go to the model beside the messages, the forms of its tools; they count as the system's part. ``layout``: see
    ``Layout``.
    Raises ``ContextTooLong`` when the current turn alone does not fit.
    """
    last = covered(records)
    known = split(messages, turn)
    groups = (group for group in known if group.number > last)
    *recent, current = groups if layout == "messages" else map(_without_calls, groups)
    short = list[TurnMessages]()
    if layout == "bare":
        short = [_spoken(_without_calls(group)) for group in known if group.number == last]
        recent = [_spoken(turn) for turn in recent]
        changing = [part for part in (_beside(part, records) for part in changing) if part.text or part.left_out]
    draft = _Draft(records, recent, current, language, system, count, changing, beside, layout, short)
    draft, cut = _fit(draft, limits.prompt)
    given: dict[str, str] = (
        {} if layout == "bare" else {part.name: mark(part.text) for part in draft.lasting(draft.current.number)}
    )
    return Prompt(draft.messages, _report(draft, turn, limits, exact, history_tokens, cut), given)


def block(changing: Sequence[Changing], language: str) -> str:
    """The one block of what changes with every turn, or an empty text."""
    text = "\n".join(part.text for part in changing if part.text and not part.lasting)
    return render("volatile", language, block=text) if text else ""


@dataclass(frozen=True)
class _Draft:
    """A prompt while it is made to fit."""

    records: Sequence[SummaryRecord]
    recent: Sequence[TurnMessages]
    current: TurnMessages
    language: str
    system: str
    count: Callable[[str], int]
    changing: Sequence[Changing]
    beside: int = 0
    layout: Layout = "messages"
    short: Sequence[TurnMessages] = ()

    @cached_property
    def summaries(self) -> str:
        return summed(self.records, self.language)

    @cached_property
    def first(self) -> tuple[int, int]:
        """Tokens of the system prompt with what is beside the messages, and of the summaries, which it is joined to."""
        system = self.count(self.system) + _MESSAGE_TOKENS + self.beside
        return system, self.count(self.summaries) if self.summaries else 0

    @cached_property
    def messages(self) -> list[AnyMessage]:
        if self.layout == "bare":
            return self._bare()
        first = _joined((self.system, self.summaries))
        raw = [message for turn in self.recent for message in self._turn(turn, [past(each) for each in turn.messages])]
        changes = block(self.changing, self.language)
        return [SystemMessage(first), *raw, *self._turn(self.current, self.current.messages, changes)]

    def _bare(self) -> list[AnyMessage]:
        """Nothing of ours in the user's messages: memory stands behind the summaries, then short-term memory (the
        last summarised turn as it was said), and what tools gave for this turn in a message
        of its own before the question."""
        lasting = [part.text for part in self.changing if part.lasting]
        raw = [given(message) for turn in (*self.short, *self.recent) for message in turn.messages]
        question, *rest = self.current.messages
        tools = [str(message.text) for message in rest if isinstance(message, ToolMessage)]
        beside = _joined([*tools, block(self.changing, self.language)])
        own = [SystemMessage(beside)] if beside else []
        first = SystemMessage(_joined((self.system, self.summaries, *lasting)))
        return [first, *raw, *own, HumanMessage(str(question.text))]

    def _turn(self, turn: TurnMessages, messages: Sequence[AnyMessage], changes: str | None = None) -> list[AnyMessage]:
        """A turn as the model gets it: before its question the lasting parts, inline what tools said, and what changes
        (the block that was frozen with it, unless another one is given)."""
        question, *rest = messages
        said = [each for each in rest if self.layout == "inline" and isinstance(each, ToolMessage)]
        told = (_told(each, self.language) for each in said)
        frozen = str(question.additional_kwargs.get("block", "")) if changes is None else changes
        lasting = (part.text for part in self.lasting(turn.number))
        text = _joined([*lasting, *told, frozen, str(question.text)])
        return [HumanMessage(text), *(given(each) for each in rest if each not in said)]

    def lasting(self, number: int) -> list[Changing]:
        """The lasting parts that stand with the question of this turn."""
        return [part for part in self.changing if part.lasting and part.text and self._place(part) == number]

    def _place(self, part: Changing) -> int:
        """The raw turn that the part was given with as it is now, else the current one."""
        wanted = mark(part.text)
        places = (
            turn.number
            for turn in self.recent
            if turn.messages[0].additional_kwargs.get("given", {}).get(part.name) == wanted
        )
        return max(places, default=self.current.number)

    def size(self, turns: Sequence[TurnMessages]) -> int:
        return sum(message_tokens(past(message), self.count) for turn in turns for message in turn.messages)

    def tokens(self) -> int:
        return sum(self.first) + sum(message_tokens(message, self.count) for message in self.messages[1:])


def summed(records: Sequence[SummaryRecord], language: str) -> str:
    """The part with the chunk summaries, or an empty text."""
    if not records:
        return ""
    lines = "\n".join(f"[{label(record['turns'], language)}] {record['summary']}" for record in records)
    return render("summaries", language, summaries=lines)


def label(turns: Sequence[int], language: str) -> str:
    """How a summary names its turns to the model (context-managing.md «Context 예시»)."""
    return f"{turns[0]}-{turns[-1]}턴" if language == "ko" else f"turns {turns[0]}-{turns[-1]}"


def mark(text: str) -> str:
    """What a question keeps of a lasting part that stands before it: never its text, which may be erased elsewhere."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def version_mark(record: SummaryRecord) -> str:
    """Tells the versions of one chunk's summary apart."""
    return mark(record["summary"])[:VERSION_MARK]


def digest(messages: Sequence[AnyMessage]) -> str:
    """Of a whole prompt: roles, texts, tool calls."""
    said = (
        (each.type, str(each.text), str(each.tool_calls) if isinstance(each, AIMessage) else "") for each in messages
    )
    return mark(repr(list(said)))


def given(message: AnyMessage) -> AnyMessage:
    """A stored message after the question as the model gets it: a word for a missing answer."""
    if isinstance(message, AIMessage):
        text = str(message.text) or ("" if message.tool_calls else "…")
        return AIMessage(text, tool_calls=message.tool_calls)
    return message


def _without_calls(turn: TurnMessages) -> TurnMessages:
    kept = (each for each in turn.messages if not (isinstance(each, AIMessage) and each.tool_calls))
    return TurnMessages(turn.number, tuple(kept))


def _beside(part: Changing, records: Sequence[SummaryRecord]) -> Changing:
    """The memory without statements that a summary in the prompt has word for word."""
    if part.name != "memory" or not records:
        return part
    summarised = letters_of("".join(record["summary"] for record in records))
    title, *lines = part.text.splitlines()
    text = thinned("\n".join(lines), lambda statement: letters_of(statement) in summarised)
    return replace(part, text=f"{title}\n{text}" if text else "", whole=mark(part.text))


def _spoken(turn: TurnMessages) -> TurnMessages:
    """The turn without what tools gave."""
    return TurnMessages(turn.number, tuple(each for each in turn.messages if not isinstance(each, ToolMessage)))


def _told(message: ToolMessage, language: str) -> str:
    """What a tool said, under its name; what a search found says itself what it is."""
    said = str(message.text)
    return said if is_search(message) else render("tool_told", language, tool=message.name or "", said=said)


def past(message: AnyMessage) -> AnyMessage:
    """A message of a turn that is over: of passages only their places stay. Retrieved text belongs to the question that
    it was retrieved for, and within the budget of one retrieval (design §4)."""
    if not (found := _traces([message])):
        return message
    places = cited(found[0])
    language = str(found[0].get("language", "ko"))
    text = render("documents_past", language, places=places) if places else str(message.text)
    return message.model_copy(update={"content": text})


def cited(trace: dict[str, Any]) -> str:
    """What a search in documents gave, on one line: «[1] file › section, [2] …»."""
    return ", ".join(f"[{each['number']}] {each['label']}" for each in trace.get("passages", ()))


def brief(trace: dict[str, Any]) -> dict[str, Any]:
    """Of the trace of a search what ``past`` needs."""
    places = [{name: each[name] for name in ("number", "label")} for each in trace.get("passages", ())]
    return {"language": trace.get("language", "ko"), "trace": [], "passages": places}


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def message_tokens(message: AnyMessage, count: Callable[[str], int]) -> int:
    """Tokens of a message with its role and tool calls."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    called = "".join(f"{call['name']} {call['args']}" for call in calls)
    return count(str(message.text) + called) + _MESSAGE_TOKENS


def raw_tokens(messages: Sequence[AnyMessage], count: Callable[[str], int]) -> int:
    """Tokens that a finished turn would take in full history."""
    return sum(message_tokens(message, count) for message in messages if not unanswered(message))


def _fit(draft: _Draft, limit: int) -> tuple[_Draft, list[LeftOut]]:
    """The draft without what does not fit the model, and that: the oldest raw turns, then the oldest summaries, then
    what the tools of the current turn said, the first of it first."""
    cut: list[LeftOut] = []
    tokens = draft.tokens()
    if tokens > limit and draft.short:
        draft = replace(draft, short=())
        tokens = draft.tokens()
    while tokens > limit and draft.recent:
        turn, *recent = draft.recent
        size = draft.size([turn])
        cut.append(LeftOut(str(turn.number), "context_full", size))
        draft, tokens = replace(draft, recent=recent), tokens - size
    while tokens > limit and draft.records:
        record, *records = draft.records
        cut.append(LeftOut(_range(record["turns"]), "context_full"))
        draft = replace(draft, records=records)
        tokens = draft.tokens()
    number, said = draft.current.number, draft.current.messages
    for at, message in enumerate(said):
        if tokens > limit and isinstance(message, ToolMessage):
            shorter = _shorter(message, tokens - limit, draft.count, last=at == len(said) - 1)
            now = draft.current.messages
            draft = replace(draft, current=TurnMessages(number, (*now[:at], shorter, *now[at + 1 :])))
            before, tokens = tokens, draft.tokens()
            cut += [LeftOut(message.name or "", "context_full", before - tokens)] if shorter is not message else []
    if tokens > limit:
        raise ContextTooLong(tokens=tokens, limit=limit)
    return draft, cut


def _shorter(message: ToolMessage, tokens: int, count: Callable[[str], int], *, last: bool) -> AnyMessage:
    """A tool's result with so many tokens less, if it has them. Of a search the places stay; of the last one all: what
    is cut would be the answer, and the frame around it."""
    text = str(message.text)
    if is_search(message):
        return message if last else past(message)
    kept = int(len(text) * (1 - (tokens + _CUT_TOKENS) / max(1, count(text))))
    return message.model_copy(update={"content": shortened(text, kept)}) if kept > 0 else message


def shortened(text: str, limit: int) -> str:
    """The first ``limit`` characters, and how many more there were."""
    return text if len(text) <= limit else f"{text[:limit]}\n… ({len(text) - limit:,} more characters were left out)"


def _report(
    draft: _Draft, turn: int, limits: Limits, exact: bool, history_tokens: int, cut: list[LeftOut]
) -> ContextReport:
    count = draft.count
    question, *rest = draft.current.messages
    (system, summaries), recent = draft.first, draft.size(draft.recent)
    parts = [
        Part("system", system, limits.system, mark=mark(draft.system)),
        Part("summaries", summaries, limits.summaries, *_summed(draft.records)),
        *(Part("short", draft.size([turn]), limits.recent, (str(turn.number),)) for turn in draft.short),
        Part("recent", recent, limits.recent, tuple(str(each.number) for each in draft.recent)),
        *(_changing(each, count) for each in draft.changing if each.text),
        Part("question", message_tokens(question, count), limits.question, (str(turn),)),
        *_current(rest, count, limits),
    ]
    total = sum(part.tokens for part in parts)
    full = total - summaries - recent + max(history_tokens, recent)
    dropped = [each for part in draft.changing for each in part.left_out]
    left_out = (*_replaced(draft), *cut, *dropped, *_cut_passages(rest))
    return ContextReport(turn, tuple(parts), left_out, total, full, exact, digest(draft.messages), draft.layout)


def _changing(part: Changing, count: Callable[[str], int]) -> Part:
    """A part that changes; the record has the passages of a search, and keeps lasting texts by their marks."""
    size, there = count(part.text), part.lasting or part.name == "retrieval"
    named, own = (part.whole or mark(part.text)) if part.lasting else "", "" if there else part.text
    return Part(part.name, size, part.budget, part.items, named, own)


def _current(rest: Sequence[AnyMessage], count: Callable[[str], int], limits: Limits) -> list[Part]:
    """The tool calls and results of the current turn; passages of documents apart."""
    found = [each for each in rest if is_search(each)]
    others = [each for each in rest if each not in found]
    places = (str(passage["label"]) for trace in _traces(found) for passage in trace.get("passages", ()))
    tokens = [sum(message_tokens(each, count) for each in some) for some in (found, others)]
    parts = [Part("retrieval", tokens[0], limits.retrieval, tuple(dict.fromkeys(places)))] if found else []
    return [*parts, Part("current", tokens[1], 0)] if others else parts


def _cut_passages(rest: Sequence[AnyMessage]) -> list[LeftOut]:
    return [LeftOut(str(label), "documents_budget") for trace in _traces(rest) for label in trace.get("cut", ())]


def is_search(message: AnyMessage) -> bool:
    """Whether this is what a search in documents gave; its trace (``retrieval.lookup.LookUp.plain``) comes with it."""
    return isinstance(message, ToolMessage) and isinstance(message.artifact, dict) and "trace" in message.artifact


def _traces(messages: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """The traces of the searches among these messages."""
    return [each.artifact for each in messages if isinstance(each, ToolMessage) and is_search(each)]


def _replaced(draft: _Draft) -> list[LeftOut]:
    """Earlier turns that the prompt holds only as summaries, or not at all since their summaries outgrew the budget."""
    if not draft.records:
        return []
    first, last = draft.records[0]["turns"][0], covered(draft.records)
    forgotten = [LeftOut(_range([1, first - 1]), "over_budget")] if first > 1 else []
    return [*forgotten, LeftOut(_range([first, last]), "summarised")]


def _summed(records: Sequence[SummaryRecord]) -> tuple[tuple[str, ...], str]:
    """The turn ranges of the summaries, and which versions they are."""
    return tuple(_range(record["turns"]) for record in records), "".join(map(version_mark, records))


def _range(turns: Sequence[int]) -> str:
    return f"{turns[0]}-{turns[-1]}" if turns[0] != turns[-1] else str(turns[0])


def over_budget(records: Sequence[SummaryRecord], budget: int, count: Callable[[str], int]) -> list[SummaryRecord]:
    """The oldest records that have left the context, as the summaries came one by one and outgrew ``budget`` tokens.

    Goes down to half the budget at once: each departure breaks the cached prefix, so departures are rare.
    """
    sizes = [count(record["summary"]) + _MESSAGE_TOKENS for record in records]
    total = leaving = 0
    for newest, size in enumerate(sizes):
        total += size
        over = total > budget
        while over and total > budget // 2 and leaving < newest:
            total -= sizes[leaving]
            leaving += 1
    return list(records[:leaving])
