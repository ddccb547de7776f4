"""Builds the model's messages and their report in one pure function (design 4.1).

The order of the parts keeps the model's prefix cache valid: system prompt · the client's system text · chunk summaries,
oldest first · raw turns · changing parts, in one block just before the question · the current turn. The table of
specification 4.1 holds for every turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from errors import ContextTooLong, SystemTextTooLong
from graph.context.past import RECALL, UNCITED, FoundPast, choose_entries, list_left_out, render_entries
from graph.context.report import ContextReport, LeftOut, Part, PartName
from graph.context.turns import CHUNK, TurnMessages, covered, image_count, is_answer, split, split_raw, unanswered
from graph.state import SummaryRecord
from memory.line import Told, letters_of, lines, says, statements_of, undated
from prompt import render
from retrieval.answer.tool import NAME as SEARCH
from store.wording import mark
from text import fact, sentence
from text.cited_turn import strip_marks
from text.cut import cut_text

KEPT_SUMMARIES, MOST_SUMMARIES = 20, 24
"""The newest summaries that always stand in the prompt, and how many stand there before the oldest leave."""

FROZEN_TOKENS = 64
"""A block of changing parts that is no longer than this stays with its turn while the turn is raw, so that the prompt's
prefix stays unbroken; a longer block is given only with the current question."""

VERSION_MARK = 4
"""Letters that tell one version of a summary from another."""

Layout = Literal["messages", "inline", "bare"]
"""How tools and memory stand in the prompt. ``messages``: tool calls and results are messages of their own. ``inline``:
results stand before the question they were asked for, because a model that does not call tools would take a call for an
answer and imitate it. ``bare``: the user's messages hold only the user's words."""

RECALLING = frozenset({"recall", "recall_memory", "recall_turns", "remember", "forget", SEARCH})
"""Tools whose results are not new: text out of memory or documents never goes into memory or summaries again. Two of
them stand only in turns of older versions."""
_SPEAKER = re.compile(r"(?<!\S)(사용자|도구|User|Tool|AI): ")
_USER = ("사용자", "User")
_MESSAGE_TOKENS = 4
"""Tokens that a chat template adds around a message."""
IMAGE_TOKENS = 765
"""Tokens that an image counts as: those of a square of 1,024 pixels at OpenAI, 85 + 170 for each of its four tiles
(OpenAI, «Images and vision», calculating costs of GPT-4o). No server tells the tokens of an image beforehand."""
UNSAID_CHARS = 300
"""Characters of an earlier tool's result that a bare prompt keeps because the answer lacks them."""
_CUT_TOKENS = 24
"""Tokens that are cut beyond the excess, for the words that tell of the cut, and for rounding."""


@dataclass(frozen=True)
class Changing:
    """A part that differs from turn to turn: its text, its budget in tokens, its items, and what had no room.

    ``lasting``: the part seldom differs. It is given once and stays with that question while the turn is raw and the
    text the same, so that the prompt's prefix stays unbroken and the model reads nothing twice. ``whole``: the mark of
    the full text, when ``text`` is only a part of that text.
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
    """Token budgets by part; ``prompt``: the tokens that the whole prompt may have; ``unsummarised``: those of older
    turns that stand raw because they have no summary, None for any number."""

    prompt: int
    system: int = 1500
    summaries: int = 12_000
    recent: int = 1500
    question: int = 100
    retrieval: int = 1500
    unsummarised: int | None = None


@dataclass(frozen=True)
class Prompt:
    """The messages for the model and their report; ``given``: marks of the lasting parts of the current question."""

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
    instructions: str = "",
    client_system: str = "",
    images: Sequence[dict[str, Any]] = (),
    earlier_images: Sequence[dict[str, Any]] = (),
    past_turns: FoundPast | None = None,
) -> Prompt:
    """Builds the prompt of turn ``turn`` from the state's messages and summary records.

    ``history_tokens``: raw tokens of all finished turns, for the comparison with full history. ``beside``: tokens that
    go to the model beside the messages, for the forms of its tools; they count as the system's part. ``layout``: see
    ``Layout``. ``instructions``: the conversation's own system prompt, which stands before ``system``.
    ``client_system``: the client's system text, which stands behind ``system``. ``images``: the content parts of this
    turn's images, which go with its question; earlier images stand as short marks. ``earlier_images``: those of earlier
    turns that the client sends once more, oldest first; the newest that have room stand before the question.
    ``past_turns``: what a search found for the question; turns that stand raw here are left out of it. Raises
    ``ContextTooLong`` when the current turn alone does not fit; ``SystemTextTooLong`` when it would fit without the
    client's system text.
    """
    last = covered(records)
    everything = split(
        [message if images and _is_asked(message, turn) else marked(message, language) for message in messages], turn
    )
    pinned = [group for group in everything if group.is_pinned and group.number <= last]
    turns = [group for group in everything if not (group.is_pinned and group.number <= last)]
    groups = (group for group in turns if group.number > last)
    *recent, current = groups if layout == "messages" else map(_without_calls, groups)
    short = list[TurnMessages]()
    if layout != "messages":
        pinned = list(map(_without_calls, pinned))
    if layout == "bare":
        pinned = list(map(_spoken, pinned))
        first = short_term(turns, last, limits.recent, count)
        short = [_spoken(_without_calls(group)) for group in turns if first <= group.number <= last]
        recent = [_spoken(group) for group in recent]
    early, recent = _bound_raw(recent, limits.unsummarised, count)
    raw = {group.number for group in (*pinned, *short, *recent)}
    changing = [*_past(past_turns, raw, language, count), *changing]
    parts = (records, recent, current, language, system, count, changing, beside, layout, short, pinned)
    draft = _Draft(*parts, instructions, client_system, images, earlier_images)
    draft, cut = _fit(draft.apart(), limits.prompt)
    marks: dict[str, str] = (
        {} if layout == "bare" else {part.name: mark(part.text) for part in draft.lasting(draft.current.number)}
    )
    return Prompt(draft.messages, _report(draft, turn, limits, exact, history_tokens, [*early, *cut]), marks)


def _past(found: FoundPast | None, raw: Collection[int], language: str, count: Callable[[str], int]) -> list[Changing]:
    """Returns the part with past turns; nothing where no search was made."""
    if found is None:
        return []
    entries = choose_entries(found, raw, language, count)
    items, dropped = tuple(entry.item for entry in entries), list_left_out(found, entries, raw)
    text = render_entries(entries, language, found.frame)
    return [
        Changing(
            "turns", text, found.room, items=items, left_out=dropped, whole=UNCITED if found.frame == UNCITED else ""
        )
    ]


def block(changing: Sequence[Changing], language: str) -> str:
    """Returns the block of the parts that change with every turn, or an empty text."""
    text = "\n".join(part.text for part in changing if part.text and not part.lasting)
    return render("volatile", language, block=text) if text else ""


@dataclass(frozen=True)
class _Draft:
    """A prompt while parts are cut until it fits."""

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
    pinned: Sequence[TurnMessages] = ()
    instructions: str = ""
    client_system: str = ""
    images: Sequence[dict[str, Any]] = ()
    earlier_images: Sequence[dict[str, Any]] = ()

    @cached_property
    def own(self) -> int:
        """Returns the tokens of the conversation's own system prompt."""
        alone = 0 if self.system else _MESSAGE_TOKENS
        return self.count(self.instructions) + alone if self.instructions else 0

    @property
    def image_count(self) -> int:
        """Returns how many images go along."""
        return len(self.images) + len(self.earlier_images)

    @cached_property
    def client(self) -> int:
        """Returns the tokens of the client's system text."""
        alone = 0 if self.system or self.instructions else _MESSAGE_TOKENS
        return self.count(self.client_system) + alone if self.client_system else 0

    @cached_property
    def told(self) -> Sequence[SummaryRecord]:
        """Returns the summaries that stand in the prompt: those of chunks whose turns are not all raw in it."""
        return untold(self.records, {turn.number for turn in (*self.pinned, *self.short)})

    @cached_property
    def summaries(self) -> str:
        return summed(self.told, self.language, self.layout)

    def apart(self) -> _Draft:
        """Returns the draft without statements of memory that the prompt tells already."""
        if self.layout != "bare":
            return self
        last = covered(self.told)
        parts = (_beside(part, self.told, last) for part in self.changing)
        return replace(self, changing=[part for part in parts if part.text or part.left_out])

    @cached_property
    def first(self) -> tuple[int, int]:
        """Returns the tokens of the system prompt, with the tokens beside the messages, and of the summaries, which
        join the system prompt."""
        system = (self.count(self.system) + _MESSAGE_TOKENS if self.system else 0) + self.beside
        return system, self.count(self.summaries) if self.summaries else 0

    @cached_property
    def messages(self) -> list[AnyMessage]:
        if self.layout == "bare":
            return self._bare()
        first = _joined((self.instructions, self.system, self.client_system, self.summaries))
        raw = [
            message
            for turn in (*self.pinned, *self.recent)
            for message in self._turn(turn, [past(stored) for stored in turn.messages])
        ]
        changes = block(self.changing, self.language)
        return [SystemMessage(first), *raw, *self._turn(self.current, self.current.messages, changes)]

    def _bare(self) -> list[AnyMessage]:
        """Returns the messages of a bare prompt; the user's messages hold only the user's words.

        The system message holds the chunks, the newest last: a chunk's summary and the statements that memory has of
        its turns. Raw turns follow, first short-term memory (summarised turns as they were said, in place of their
        summaries). The results of this turn's tools stand in a message of their own before the question.
        """
        lasting, statements = self._lasting()
        chunks = (_chunk(record, statements, self.language) for record in self.told)
        first = SystemMessage(_joined((self.instructions, self.system, self.client_system, *lasting, *chunks)))
        summarised = sorted((*self.pinned, *self.short), key=lambda turn: turn.number)
        raw = [given(message) for turn in (*summarised, *self.recent) for message in turn.messages]
        question, *rest = self.current.messages
        tools = [str(message.text) for message in _found(rest) if isinstance(message, ToolMessage)]
        beside = _joined([*tools, block(self.changing, self.language)])
        extra = [SystemMessage(beside)] if beside else []
        return [first, *raw, *extra, _asked(str(question.text), self.images, self.earlier_images)]

    def _lasting(self) -> tuple[list[str], list[Told]]:
        """Returns the lasting parts of a bare prompt: the texts outside summarised chunks, and the statements inside
        them."""
        parts, in_chunks = list[str](), list[Told]()
        for part in self.changing:
            if part.lasting and part.name == "memory" and part.text:
                title, *rest = part.text.splitlines()
                statements = [statement for line in rest for statement in statements_of(line)]
                in_chunks = [
                    statement for statement in statements if any(_of(record, statement) for record in self.told)
                ]
                loose = [statement.text for statement in statements if statement not in in_chunks]
                parts += ["\n".join([title, *loose])] if loose else []
            elif part.lasting:
                parts.append(part.text)
        return parts, in_chunks

    def _turn(self, turn: TurnMessages, messages: Sequence[AnyMessage], changes: str | None = None) -> list[AnyMessage]:
        """Returns a turn as the model gets it. Before its question stand the lasting parts, tool results (only
        ``inline``), and the changing block: ``changes``, or by default the block that was frozen with the turn."""
        question, *rest = messages
        results = [message for message in rest if self.layout == "inline" and isinstance(message, ToolMessage)]
        result_texts = (_told(message, self.language) for message in results)
        frozen = str(question.additional_kwargs.get("block", "")) if changes is None else changes
        lasting = (part.text for part in self.lasting(turn.number))
        text = _joined([*lasting, *result_texts, frozen, str(question.text)])
        images, earlier = (self.images, self.earlier_images) if turn is self.current else ((), ())
        return [_asked(text, images, earlier), *(given(message) for message in rest if message not in results)]

    def lasting(self, number: int) -> list[Changing]:
        """Returns the lasting parts that stand with the question of turn ``number``."""
        return [part for part in self.changing if part.lasting and part.text and self._place(part) == number]

    def _place(self, part: Changing) -> int:
        """Returns the newest raw turn that was given the part in its present text; falls back to the current turn."""
        text_mark = mark(part.text)
        places = (
            turn.number
            for turn in self.recent
            if turn.messages[0].additional_kwargs.get("given", {}).get(part.name) == text_mark
        )
        return max(places, default=self.current.number)

    def size(self, turns: Sequence[TurnMessages]) -> int:
        return sum(message_tokens(past(message), self.count) for turn in turns for message in turn.messages)

    def tokens(self) -> int:
        if self.layout == "bare":
            return sum(message_tokens(message, self.count) for message in self.messages) + self.beside
        first = self.own + self.client + sum(self.first)
        return first + sum(message_tokens(message, self.count) for message in self.messages[1:])


def untold(records: Sequence[SummaryRecord], raw: Collection[int]) -> list[SummaryRecord]:
    """Returns the summaries without those whose turns all stand raw in the prompt: an extracted summary holds sentences
    of its turns, so the prompt has all of them. ``raw``: the numbers of the raw turns."""
    return [
        record
        for record in records
        if not all(turn in raw for turn in range(record["turns"][0], record["turns"][-1] + 1))
    ]


def short_term(turns: Sequence[TurnMessages], last: int, budget: int, count: Callable[[str], int]) -> int:
    """Returns the number of the first turn that stands raw in a bare prompt.

    ``turns``: the turns that are there now, with the question of this one; ``last``: the last turn that a summary
    covers; ``budget``: tokens of all raw turns. When the turns outgrow the budget, they leave in whole chunks, down to
    half the budget, so that the prompt's prefix seldom breaks. The last summarised turn always stays: a question may
    refer to it.
    """
    sizes = {
        turn.number: sum(message_tokens(past(message), count) for message in _spoken(turn).messages) for turn in turns
    }
    first = min(sizes, default=1)
    if sum(sizes.values()) <= budget:
        return first
    while first < last and sum(size for number, size in sizes.items() if number >= first) > budget // 2:
        first = min(last, first + CHUNK - (first - 1) % CHUNK)
    return first


def _bound_raw(
    recent: Sequence[TurnMessages], budget: int | None, count: Callable[[str], int]
) -> tuple[list[LeftOut], list[TurnMessages]]:
    """Returns what the report says of the raw turns that have no room, and the other raw turns."""
    if budget is None:
        return [], list(recent)

    def size(turn: TurnMessages) -> int:
        return sum(message_tokens(past(message), count) for message in turn.messages)

    early, kept = split_raw(recent, budget, size)
    if not early:
        return [], kept
    return [LeftOut(_range([early[0].number, early[-1].number]), "unsummarised", sum(map(size, early)))], kept


def summed(records: Sequence[SummaryRecord], language: str, layout: Layout = "messages") -> str:
    """Returns the text of the part with the chunk summaries, or an empty text."""
    if not records:
        return ""
    if layout == "bare":
        return _joined(_chunk(record, (), language) for record in records)
    summaries = "\n".join(f"[{label(record['turns'], language)}] {record['summary']}" for record in records)
    return render("summaries", language, summaries=summaries)


def _chunk(record: SummaryRecord, said: Sequence[Told], language: str) -> str:
    """Returns the text of a chunk in a bare prompt."""
    text = "\n".join(
        [*lines(essence(record["summary"])), *(statement.text for statement in said if _of(record, statement))]
    )
    return render("chunk", language, turns=label(record["turns"], language), text=text)


def essence(summary: str) -> str:
    """Returns the text that a bare prompt has of an extracted summary: the user's sentences, and those sentences of
    other speakers that hold a fact. Leaves out the names of speakers: a small model goes on with them. A summary in a
    model's own words stays whole."""
    first, *parts = _SPEAKER.split(summary)
    pieces = [first.strip()]
    for speaker, text in zip(parts[::2], parts[1::2], strict=True):
        if speaker in _USER:
            pieces.append(text.strip())
        else:
            pieces += [piece.strip() for piece in sentence.split(text) if fact.facts(piece)]
    return " ".join(piece for piece in pieces if piece)


def _of(record: SummaryRecord, told: Told) -> bool:
    return record["turns"][0] <= told.first <= record["turns"][-1]


def label(turns: Sequence[int], language: str) -> str:
    """Returns how a summary names its turns to the model (specification 4.3); one that was asked for may be of a single
    turn."""
    if turns[0] == turns[-1]:
        return f"{turns[0]}턴" if language == "ko" else f"turn {turns[0]}"
    return f"{turns[0]}-{turns[-1]}턴" if language == "ko" else f"turns {turns[0]}-{turns[-1]}"


def version_mark(record: SummaryRecord) -> str:
    """Returns the mark that tells the versions of one chunk's summary apart."""
    return mark(record["summary"])[:VERSION_MARK]


def digest(messages: Sequence[AnyMessage]) -> str:
    """Returns the mark of a whole prompt: of its roles, texts and tool calls."""
    rows = (
        (message.type, str(message.text), str(message.tool_calls) if isinstance(message, AIMessage) else "")
        for message in messages
    )
    return mark(repr(list(rows)))


def add_note(last: AnyMessage, note: str) -> list[AnyMessage]:
    """Returns a prompt's last message with a note to the model, which stands in the question where that is last."""
    if isinstance(last, HumanMessage) and isinstance(last.content, str):
        return [last.model_copy(update={"content": f"{last.content}\n\n{note}"})]
    return [last, HumanMessage(note)]


def given(message: AnyMessage) -> AnyMessage:
    """Returns a stored message after the question as the model gets it: «…» stands for a missing answer."""
    if isinstance(message, AIMessage):
        text = str(message.text) or ("" if message.tool_calls else "…")
        return AIMessage(text, tool_calls=message.tool_calls)
    return message


def _found(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Returns the messages without the searches that found nothing."""
    return [message for message in messages if not is_search(message) or _traces([message])[0].get("passages")]


def _without_calls(turn: TurnMessages) -> TurnMessages:
    messages = (message for message in turn.messages if not (isinstance(message, AIMessage) and message.tool_calls))
    return TurnMessages(turn.number, tuple(messages))


def _beside(part: Changing, records: Sequence[SummaryRecord], last: int) -> Changing:
    """Returns the memory part without statements that a summary in the prompt has, and without those of turns after
    ``last``, which stand raw in the prompt. Returns other parts as they are."""
    if part.name != "memory" or not part.text:
        return part
    summaries = [essence(record["summary"]) for record in records]
    letters, sentences = letters_of("".join(summaries)), [piece for text in summaries for piece in sentence.split(text)]

    def news(line: str) -> bool:
        statement = undated(line)
        is_known = letters_of(statement.text) in letters or any(says(piece, statement.text) for piece in sentences)
        return statement.first <= last and not is_known

    title, *rest = part.text.splitlines()
    new_lines = [line for line in rest if news(line)]
    return replace(part, text="\n".join([title, *new_lines]) if new_lines else "", whole=mark(part.text))


def _spoken(turn: TurnMessages) -> TurnMessages:
    return TurnMessages(turn.number, tuple(spoken(turn.messages)))


def spoken(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Returns an earlier turn as a bare prompt has it: what the two said, without tool results; of a tool's result only
    the facts that the answer lacks, in a line before the question."""
    said: list[AnyMessage] = [message for message in messages if not isinstance(message, ToolMessage)]
    answer = said[-1]
    if not is_answer(answer) or answer.response_metadata.get("model") == "":  # code worded the results themselves
        return said
    results = (message for message in messages if isinstance(message, ToolMessage))
    return [*(SystemMessage(line) for message in results if (line := _unsaid(message, str(answer.text)))), *said]


def _unsaid(result: ToolMessage, answer: str) -> str:
    """Returns the sentences of a tool's result with facts that the answer lacks; "" when there are none.

    Failures tell nothing, and text out of memory or documents belongs to the question that it was looked up for.
    """
    if result.status == "error" or (result.name or "") in RECALLING:
        return ""
    sentences = [piece.strip() for piece in sentence.split(str(result.text)) if fact.lost(piece, answer)]
    return cut_text(f"[{result.name}] {' '.join(sentences)}", UNSAID_CHARS) if sentences else ""


def _is_asked(message: AnyMessage, turn: int) -> bool:
    """Returns whether a message is the question of turn ``turn``."""
    return isinstance(message, HumanMessage) and message.additional_kwargs.get("turn") == turn


def marked(message: AnyMessage, language: str) -> AnyMessage:
    """Returns a question whose images are not at hand with a short mark for each of them; other messages as they
    are."""
    if not (isinstance(message, HumanMessage) and (number := image_count(message))):
        return message
    marks = " ".join([render("image_past", language)] * number)
    text = "\n".join(part for part in (str(message.text), marks) if part)
    return message.model_copy(update={"content": text})


def _asked(text: str, images: Sequence[dict[str, Any]], earlier: Sequence[dict[str, Any]] = ()) -> HumanMessage:
    """Returns the user's message: a plain text, or content parts when images go with it. Those of earlier turns stand
    before the text, so that «this picture» is one behind it."""
    if not (images or earlier):
        return HumanMessage(text)
    return HumanMessage([*earlier, *([{"type": "text", "text": text}] if text else []), *images])


def _told(message: ToolMessage, language: str) -> str:
    """Returns a tool's result under the tool's name; the result of a search already says what it is."""
    text = str(message.text)
    return text if is_search(message) else render("tool_told", language, tool=message.name or "", said=text)


def past(message: AnyMessage) -> AnyMessage:
    """Returns a message of an earlier turn; the result of a search keeps only the places of its passages. Retrieved
    text belongs to the question that it was retrieved for, and within the budget of one retrieval (design 4.4). An
    answer and what ``recall`` gave keep no mark of a past turn: the number means another turn by now."""
    can_cite = isinstance(message, AIMessage) or (isinstance(message, ToolMessage) and message.name == RECALL)
    if can_cite and (text := strip_marks(str(message.text))) != str(message.text):
        return message.model_copy(update={"content": text})
    if not (traces := _traces([message])):
        return message
    places = cited(traces[0])
    language = str(traces[0].get("language", "ko"))
    text = render("documents_past", language, places=places) if places else str(message.text)
    return message.model_copy(update={"content": text})


def cited(trace: dict[str, Any]) -> str:
    """Returns the passages of a search in documents on one line: «[1] file › section, [2] …»."""
    return ", ".join(f"[{passage['number']}] {passage['label']}" for passage in trace.get("passages", ()))


def brief(trace: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields that ``past`` needs of the trace of a search."""
    places = [{name: passage[name] for name in ("number", "label")} for passage in trace.get("passages", ())]
    return {"language": trace.get("language", "ko"), "trace": [], "passages": places}


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def message_tokens(message: AnyMessage, count: Callable[[str], int]) -> int:
    """Returns the tokens of a message with its role, tool calls and images."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    called = "".join(f"{call['name']} {call['args']}" for call in calls)
    parts = message.content if isinstance(message.content, list) else ()
    images = sum(1 for part in parts if isinstance(part, dict) and part.get("type") == "image_url")
    return count(str(message.text) + called) + _MESSAGE_TOKENS + IMAGE_TOKENS * images


def raw_tokens(messages: Sequence[AnyMessage], count: Callable[[str], int]) -> int:
    """Returns the tokens that a finished turn would take in full history, with its images."""
    images: int = IMAGE_TOKENS * sum(map(image_count, messages))
    return images + sum(message_tokens(message, count) for message in messages if not unanswered(message))


def _fit(draft: _Draft, limit: int) -> tuple[_Draft, list[LeftOut]]:
    """Cuts the draft to ``limit`` tokens; returns the draft and the parts that were left out. Leaves out the raw turns
    of a bare prompt that summaries cover, then past turns that a search found, then images of earlier turns, then the
    oldest raw turns, then the oldest summaries, then the oldest pinned turns. Then shortens the tool results of the
    current turn, from the first on. Raises ``ContextTooLong``; ``SystemTextTooLong`` when only the client's system text
    is too much."""
    cut: list[LeftOut] = []
    tokens = draft.tokens()
    if tokens > limit and draft.short:
        draft = replace(draft, short=())
        tokens = draft.tokens()
    if tokens > limit and (turns := next((part for part in draft.changing if part.items), None)):
        cut.append(LeftOut(str(len(turns.items)), "turns_cut"))
        draft = replace(draft, changing=[part for part in draft.changing if part is not turns])
        tokens = draft.tokens()
    while tokens > limit and draft.earlier_images:
        draft = replace(draft, earlier_images=draft.earlier_images[1:])
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
    while tokens > limit and draft.pinned:
        turn, *pinned = draft.pinned
        cut.append(LeftOut(str(turn.number), "context_full", draft.size([turn])))
        draft = replace(draft, pinned=pinned)
        tokens = draft.tokens()
    number, messages = draft.current.number, draft.current.messages
    for at, message in enumerate(messages):
        if tokens > limit and isinstance(message, ToolMessage):
            shorter = _shorter(message, tokens - limit, draft.count, last=at == len(messages) - 1)
            now = draft.current.messages
            draft = replace(draft, current=TurnMessages(number, (*now[:at], shorter, *now[at + 1 :])))
            before, tokens = tokens, draft.tokens()
            cut += [LeftOut(message.name or "", "context_full", before - tokens)] if shorter is not message else []
    if tokens > limit >= tokens - draft.client:
        raise SystemTextTooLong(tokens=draft.client, limit=limit)
    if tokens > limit:
        raise ContextTooLong(tokens=tokens, limit=limit)
    return draft, cut


def _shorter(message: ToolMessage, tokens: int, count: Callable[[str], int], *, last: bool) -> AnyMessage:
    """Returns a tool's result with ``tokens`` tokens less, or as it is when it has fewer. A search keeps only its
    places. A search that comes last stays whole: a cut would take the passages of the answer, and the frame around
    them."""
    text = str(message.text)
    if is_search(message):
        return message if last else past(message)
    chars = int(len(text) * (1 - (tokens + _CUT_TOKENS) / max(1, count(text))))
    return message.model_copy(update={"content": cut_text(text, chars)}) if chars > 0 else message


def _report(
    draft: _Draft, turn: int, limits: Limits, exact: bool, history_tokens: int, cut: list[LeftOut]
) -> ContextReport:
    count = draft.count
    question, *rest = draft.current.messages
    rest = _found(rest) if draft.layout == "bare" else rest
    (system, summaries), short, recent = draft.first, draft.size(draft.short), draft.size(draft.recent)
    pinned = draft.size(draft.pinned)
    parts = [
        *([Part("instructions", draft.own, 0, mark=mark(draft.instructions))] if draft.instructions else []),
        Part("system", system, limits.system, mark=mark(draft.system)),
        *([Part("client_system", draft.client, 0, mark=mark(draft.client_system))] if draft.client_system else []),
        Part("summaries", summaries, limits.summaries, *_summed(draft.records)),
        *([Part("pinned", pinned, 0, _numbers(draft.pinned))] if draft.pinned else []),
        *([Part("short", short, limits.recent, _numbers(draft.short))] if draft.short else []),
        Part("recent", recent, limits.recent, _numbers(draft.recent)),
        *(_changing(entry, count) for entry in draft.changing if entry.text),
        Part("question", message_tokens(question, count), limits.question, (str(turn),)),
        *([Part("images", IMAGE_TOKENS * images, 0, (str(images),))] if (images := draft.image_count) else []),
        *_current(rest, count, limits),
    ]
    total = sum(part.tokens for part in parts)
    raw = pinned + short + recent
    full = total - summaries - raw + max(history_tokens, raw)
    dropped = [entry for part in draft.changing for entry in part.left_out]
    left_out = (*_replaced(draft), *cut, *dropped, *_cut_passages(rest))
    return ContextReport(turn, tuple(parts), left_out, total, full, exact, digest(draft.messages), draft.layout)


def _changing(part: Changing, count: Callable[[str], int]) -> Part:
    """Returns the report's entry for a changing part. The record has the passages of a search, and keeps lasting texts
    by their marks; only other texts stand in the report."""
    size, in_record = count(part.text), part.lasting or part.name in ("retrieval", "turns")
    text_mark, text = (part.whole or mark(part.text)) if part.lasting else part.whole, "" if in_record else part.text
    return Part(part.name, size, part.budget, part.items, text_mark, text)


def _current(rest: Sequence[AnyMessage], count: Callable[[str], int], limits: Limits) -> list[Part]:
    """Returns the parts of the current turn's tool calls and results; passages of documents are a part of their own."""
    searches = [message for message in rest if is_search(message)]
    others = [message for message in rest if message not in searches]
    places = (str(passage["label"]) for trace in _traces(searches) for passage in trace.get("passages", ()))
    tokens = [sum(message_tokens(message, count) for message in group) for group in (searches, others)]
    budget = max((int(trace.get("budget", limits.retrieval)) for trace in _traces(searches)), default=0)
    parts = [Part("retrieval", tokens[0], budget, tuple(dict.fromkeys(places)))] if searches else []
    return [*parts, Part("current", tokens[1], 0)] if others else parts


def _cut_passages(rest: Sequence[AnyMessage]) -> list[LeftOut]:
    return [LeftOut(str(label), "documents_budget") for trace in _traces(rest) for label in trace.get("cut", ())]


def is_search(message: AnyMessage) -> bool:
    """Returns whether the message is the result of a search in documents; it carries its trace
    (``retrieval.answer.lookup.LookUp.plain``)."""
    return isinstance(message, ToolMessage) and isinstance(message.artifact, dict) and "trace" in message.artifact


def _traces(messages: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """Returns the traces of the searches among these messages."""
    return [message.artifact for message in messages if isinstance(message, ToolMessage) and is_search(message)]


def _replaced(draft: _Draft) -> list[LeftOut]:
    """Returns the earlier turns that the prompt holds only as summaries, or not at all because their summaries outgrew
    the budget."""
    if not draft.records:
        return []
    first, last = draft.records[0]["turns"][0], covered(draft.told)
    forgotten = [LeftOut(_range([1, first - 1]), "over_budget")] if first > 1 else []
    return [*forgotten, *([LeftOut(_range([first, last]), "summarised")] if last else [])]


def _numbers(turns: Sequence[TurnMessages]) -> tuple[str, ...]:
    return tuple(str(turn.number) for turn in turns)


def _summed(records: Sequence[SummaryRecord]) -> tuple[tuple[str, ...], str]:
    """Returns the turn ranges of the summaries, and the marks of their versions, joined."""
    return tuple(_range(record["turns"]) for record in records), "".join(map(version_mark, records))


def _range(turns: Sequence[int]) -> str:
    return f"{turns[0]}-{turns[-1]}" if turns[0] != turns[-1] else str(turns[0])


def over_budget(records: Sequence[SummaryRecord], budget: int, count: Callable[[str], int]) -> list[SummaryRecord]:
    """Returns the oldest records that have left the context, as the summaries came one by one: more than
    ``MOST_SUMMARIES``, or more than ``budget`` tokens. Their turns are found by search (``graph.turn.past_turns``).

    They leave several at once, down to ``KEPT_SUMMARIES`` or to half the budget: each departure breaks the cached
    prefix, so departures are rare.
    """
    sizes = [count(record["summary"]) + _MESSAGE_TOKENS for record in records]
    total = leaving = 0
    for newest, size in enumerate(sizes):
        total += size
        least = KEPT_SUMMARIES if newest + 1 - leaving > MOST_SUMMARIES else newest + 1 - leaving
        room = budget // 2 if total > budget else total
        while leaving < newest and (newest + 1 - leaving > least or total > room):
            total -= sizes[leaving]
            leaving += 1
    return list(records[:leaving])
