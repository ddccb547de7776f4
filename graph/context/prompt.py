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
from graph.context.past import QUOTED, RECALL, UNCITED, FoundPast, choose_entries, list_left_out, render_entries
from graph.context.report import ContextReport, PartName, PromptOmission, ReportPart
from graph.context.turns import (
    CHUNK,
    TurnMessages,
    find_last_covered_turn,
    image_count,
    is_answer,
    is_unanswered,
    split_into_turns,
    split_raw,
)
from graph.state import SummaryRecord
from memory.line import (
    DatedStatement,
    has_line_content,
    letters_of,
    parse_dated_line,
    split_memory_lines,
    statements_of,
)
from prompt import render_prompt
from retrieval.answer.tool import NAME as SEARCH
from store.turn.wording import build_text_mark
from text import sentence
from text.answer.cited_turn import strip_marks
from text.cut import cut_text
from text.fact import fact

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
    left_out: tuple[PromptOmission, ...] = ()
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
class BuiltPrompt:
    """The messages for the model and their report; ``build_model_message``: marks of the lasting parts of the current
    question."""

    messages: list[AnyMessage]
    report: ContextReport
    given: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PromptMaterial:
    """What a prompt is made from beside the turns and summaries of the conversation.

    ``language``: of the product's own texts. ``count``: tokens of a text, and whether it counts exactly (``exact``).
    ``layout``: see ``Layout``.
    ``system``: the product's system prompt. ``instructions``: the conversation's own one, which stands before it.
    ``client_system``: the client's system text, which stands behind it.
    ``changing``: the parts before the question. ``beside``: tokens that go to the model beside the messages, for the
    forms of its tools; they count as the system's part.
    ``images``: the content parts of this turn's images, which go with its question; earlier images stand as short
    marks. ``earlier_images``: those of earlier turns that go along once more, oldest first; the newest that have room
    stand before the question.
    """

    language: str
    count: Callable[[str], int]
    exact: bool
    layout: Layout = "messages"
    system: str
    instructions: str = ""
    client_system: str = ""
    changing: Sequence[Changing] = ()
    beside: int = 0
    images: Sequence[dict[str, Any]] = ()
    earlier_images: Sequence[dict[str, Any]] = ()


def build_turn_prompt(
    messages: Sequence[AnyMessage],
    records: Sequence[SummaryRecord],
    turn: int,
    material: PromptMaterial,
    limits: Limits,
    *,
    history_tokens: int = 0,
    past_turns: FoundPast | None = None,
) -> BuiltPrompt:
    """Builds the prompt of turn ``turn`` from the state's messages and summary records.

    ``history_tokens``: raw tokens of all finished turns, for the comparison with full history. ``past_turns``: what a
    search found for the question; turns that stand raw here are left out of it. Raises ``ContextTooLong`` when the
    current turn alone does not fit; ``SystemTextTooLong`` when it would fit without the client's system text.
    """
    language, count, layout = material.language, material.count, material.layout
    # of a turn with images only the question itself carries them
    shown = [
        message if material.images and _is_asked(message, turn) else mark_question_images(message, language)
        for message in messages
    ]
    # a turn that no summary covers stands raw; of those that one covers, the pinned ones do
    everything, last = split_into_turns(shown, turn), find_last_covered_turn(records)
    pinned = [group for group in everything if group.is_pinned and group.number <= last]
    turns = [group for group in everything if not (group.is_pinned and group.number <= last)]
    *recent, current = (group for group in turns if group.number > last)
    short = list[TurnMessages]()
    if layout != "messages":
        pinned, recent, current = (
            [*map(_without_calls, pinned)],
            [*map(_without_calls, recent)],
            _without_calls(current),
        )
    if layout == "bare":
        pinned, recent = [*map(_reduce_turn_to_speech, pinned)], [*map(_reduce_turn_to_speech, recent)]
        first = short_term(turns, last, limits.recent, count)
        short = [_reduce_turn_to_speech(_without_calls(group)) for group in turns if first <= group.number <= last]
    early, recent = _bound_raw(recent, limits.unsummarised, count)
    raw = {group.number for group in (*pinned, *short, *recent)}
    found = _build_past_part(past_turns, raw, language, count)
    # what does not fit is left out, part by part
    whole = _PromptDraft(
        **vars(replace(material, changing=[*found, *material.changing])),
        records=records,
        recent=recent,
        current=current,
        short=short,
        pinned=pinned,
    )
    draft, cut = _fit_prompt_draft(whole.without_known_statements(), limits.prompt)
    report = _build_context_report(draft, turn, limits, history_tokens, [*early, *cut])
    given = draft.lasting(draft.current.number) if layout != "bare" else []
    return BuiltPrompt(draft.messages, report, {part.name: build_text_mark(part.text) for part in given})


def _build_past_part(
    found: FoundPast | None, raw: Collection[int], language: str, count: Callable[[str], int]
) -> list[Changing]:
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


def render_changing_block(changing: Sequence[Changing], language: str) -> str:
    """Returns the block of the parts that change with every turn, or an empty text."""
    text = "\n".join(part.text for part in changing if part.text and not part.lasting)
    return render_prompt("volatile", language, block=text) if text else ""


@dataclass(frozen=True, kw_only=True)
class _PromptDraft(PromptMaterial):
    """A prompt while parts are cut until it fits."""

    records: Sequence[SummaryRecord]
    recent: Sequence[TurnMessages]
    current: TurnMessages
    short: Sequence[TurnMessages] = ()
    pinned: Sequence[TurnMessages] = ()

    @cached_property
    def instruction_tokens(self) -> int:
        """Returns the tokens of the conversation's own system prompt."""
        alone = 0 if self.system else _MESSAGE_TOKENS
        return self.count(self.instructions) + alone if self.instructions else 0

    @property
    def image_count(self) -> int:
        """Returns how many images go along."""
        return len(self.images) + len(self.earlier_images)

    @cached_property
    def client_tokens(self) -> int:
        """Returns the tokens of the client's system text."""
        alone = 0 if self.system or self.instructions else _MESSAGE_TOKENS
        return self.count(self.client_system) + alone if self.client_system else 0

    @cached_property
    def shown_records(self) -> Sequence[SummaryRecord]:
        """Returns the summaries that stand in the prompt: those of chunks whose turns are not all raw in it."""
        return drop_redundant_summaries(self.records, {turn.number for turn in (*self.pinned, *self.short)})

    @cached_property
    def summaries(self) -> str:
        return render_chunk_summaries(self.shown_records, self.language, self.layout)

    def without_known_statements(self) -> _PromptDraft:
        """Returns the draft without statements of memory that the prompt tells already."""
        if self.layout != "bare":
            return self
        last = find_last_covered_turn(self.shown_records)
        parts = (_drop_known_statements(part, self.shown_records, last) for part in self.changing)
        return replace(self, changing=[part for part in parts if part.text or part.left_out])

    @cached_property
    def beginning_tokens(self) -> tuple[int, int]:
        """Returns the tokens of the system prompt, with the tokens beside the messages, and of the summaries, which
        join the system prompt."""
        system = (self.count(self.system) + _MESSAGE_TOKENS if self.system else 0) + self.beside
        return system, self.count(self.summaries) if self.summaries else 0

    @cached_property
    def messages(self) -> list[AnyMessage]:
        if self.layout == "bare":
            return self._build_bare_messages()
        first = _join_prompt_parts((self.instructions, self.system, self.client_system, self.summaries))
        raw = [
            message
            for turn in (*self.pinned, *self.recent)
            for message in self._build_turn_messages(turn, [reduce_past_message(stored) for stored in turn.messages])
        ]
        changes = render_changing_block(self.changing, self.language)
        return [SystemMessage(first), *raw, *self._build_turn_messages(self.current, self.current.messages, changes)]

    def _build_bare_messages(self) -> list[AnyMessage]:
        """Returns the messages of a bare prompt; the user's messages hold only the user's words.

        The system message holds the chunks, the newest last: a chunk's summary and the statements that memory has of
        its turns. Raw turns follow, first short-term memory (summarised turns as they were said, in place of their
        summaries). The results of this turn's tools stand in a message of their own before the question.
        """
        lasting, statements = self._lasting()
        chunks = (_render_summary_chunk(record, statements, self.language) for record in self.shown_records)
        first = SystemMessage(
            _join_prompt_parts((self.instructions, self.system, self.client_system, *lasting, *chunks))
        )
        summarised = sorted((*self.pinned, *self.short), key=lambda turn: turn.number)
        raw = [build_model_message(message) for turn in (*summarised, *self.recent) for message in turn.messages]
        question, *rest = self.current.messages
        tools = [str(message.text) for message in _drop_empty_searches(rest) if isinstance(message, ToolMessage)]
        beside = _join_prompt_parts([*tools, render_changing_block(self.changing, self.language)])
        extra = [SystemMessage(beside)] if beside else []
        return [first, *raw, *extra, _build_user_message(str(question.text), self.images, self.earlier_images)]

    def _lasting(self) -> tuple[list[str], list[DatedStatement]]:
        """Returns the lasting parts of a bare prompt: the texts outside summarised chunks, and the statements inside
        them."""
        parts, in_chunks = list[str](), list[DatedStatement]()
        for part in self.changing:
            if part.lasting and part.name == "memory" and part.text:
                title, *rest = part.text.splitlines()
                statements = [statement for line in rest for statement in statements_of(line)]
                in_chunks = [
                    statement
                    for statement in statements
                    if any(_is_statement_in_chunk(record, statement) for record in self.shown_records)
                ]
                loose = [statement.text for statement in statements if statement not in in_chunks]
                parts += ["\n".join([title, *loose])] if loose else []
            elif part.lasting:
                parts.append(part.text)
        return parts, in_chunks

    def _build_turn_messages(
        self, turn: TurnMessages, messages: Sequence[AnyMessage], changes: str | None = None
    ) -> list[AnyMessage]:
        """Returns a turn as the model gets it. Before its question stand the lasting parts, tool results (only
        ``inline``), and the changing block: ``changes``, or by default the block that was frozen with the turn."""
        question, *rest = messages
        results = [message for message in rest if self.layout == "inline" and isinstance(message, ToolMessage)]
        result_texts = (_render_titled_result(message, self.language) for message in results)
        frozen = str(question.additional_kwargs.get("block", "")) if changes is None else changes
        lasting = (part.text for part in self.lasting(turn.number))
        text = _join_prompt_parts([*lasting, *result_texts, frozen, str(question.text)])
        images, earlier = (self.images, self.earlier_images) if turn is self.current else ((), ())
        return [
            _build_user_message(text, images, earlier),
            *(build_model_message(message) for message in rest if message not in results),
        ]

    def lasting(self, number: int) -> list[Changing]:
        """Returns the lasting parts that stand with the question of turn ``number``."""
        return [part for part in self.changing if part.lasting and part.text and self._place(part) == number]

    def _place(self, part: Changing) -> int:
        """Returns the newest raw turn that was given the part in its present text; falls back to the current turn."""
        text_mark = build_text_mark(part.text)
        places = (
            turn.number
            for turn in self.recent
            if turn.messages[0].additional_kwargs.get("given", {}).get(part.name) == text_mark
        )
        return max(places, default=self.current.number)

    def size(self, turns: Sequence[TurnMessages]) -> int:
        return sum(
            message_tokens(reduce_past_message(message), self.count) for turn in turns for message in turn.messages
        )

    def tokens(self) -> int:
        if self.layout == "bare":
            return sum(message_tokens(message, self.count) for message in self.messages) + self.beside
        first = self.instruction_tokens + self.client_tokens + sum(self.beginning_tokens)
        return first + sum(message_tokens(message, self.count) for message in self.messages[1:])


def drop_redundant_summaries(records: Sequence[SummaryRecord], raw: Collection[int]) -> list[SummaryRecord]:
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
        turn.number: sum(
            message_tokens(reduce_past_message(message), count) for message in _reduce_turn_to_speech(turn).messages
        )
        for turn in turns
    }
    first = min(sizes, default=1)
    if sum(sizes.values()) <= budget:
        return first
    while first < last and sum(size for number, size in sizes.items() if number >= first) > budget // 2:
        first = min(last, first + CHUNK - (first - 1) % CHUNK)
    return first


def _bound_raw(
    recent: Sequence[TurnMessages], budget: int | None, count: Callable[[str], int]
) -> tuple[list[PromptOmission], list[TurnMessages]]:
    """Returns what the report says of the raw turns that have no room, and the other raw turns."""
    if budget is None:
        return [], list(recent)

    def size(turn: TurnMessages) -> int:
        return sum(message_tokens(reduce_past_message(message), count) for message in turn.messages)

    early, kept = split_raw(recent, budget, size)
    if not early:
        return [], kept
    return [
        PromptOmission(_format_turn_range([early[0].number, early[-1].number]), "unsummarised", sum(map(size, early)))
    ], kept


def render_chunk_summaries(records: Sequence[SummaryRecord], language: str, layout: Layout = "messages") -> str:
    """Returns the text of the part with the chunk summaries, or an empty text."""
    if not records:
        return ""
    if layout == "bare":
        return _join_prompt_parts(_render_summary_chunk(record, (), language) for record in records)
    summaries = "\n".join(
        f"[{render_turns_label(record['turns'], language)}] {record['summary']}" for record in records
    )
    return render_prompt("summaries", language, summaries=summaries)


def _render_summary_chunk(record: SummaryRecord, said: Sequence[DatedStatement], language: str) -> str:
    """Returns the text of a chunk in a bare prompt."""
    text = "\n".join(
        [
            *split_memory_lines(extract_summary_essence(record["summary"])),
            *(statement.text for statement in said if _is_statement_in_chunk(record, statement)),
        ]
    )
    return render_prompt("chunk", language, turns=render_turns_label(record["turns"], language), text=text)


def extract_summary_essence(summary: str) -> str:
    """Returns the text that a bare prompt has of an extracted summary: the user's sentences, and those sentences of
    other speakers that hold a fact. Leaves out the names of speakers: a small model goes on with them. A summary in a
    model's own words stays whole."""
    first, *parts = _SPEAKER.split(summary)
    pieces = [first.strip()]
    for speaker, text in zip(parts[::2], parts[1::2], strict=True):
        if speaker in _USER:
            pieces.append(text.strip())
        else:
            pieces += [piece.strip() for piece in sentence.split_sentences(text) if fact.find_facts(piece)]
    return " ".join(piece for piece in pieces if piece)


def _is_statement_in_chunk(record: SummaryRecord, told: DatedStatement) -> bool:
    return record["turns"][0] <= told.first <= record["turns"][-1]


def render_turns_label(turns: Sequence[int], language: str) -> str:
    """Returns how a summary names its turns to the model (specification 4.3); one that was asked for may be of a single
    turn."""
    if turns[0] == turns[-1]:
        return f"{turns[0]}턴" if language == "ko" else f"turn {turns[0]}"
    return f"{turns[0]}-{turns[-1]}턴" if language == "ko" else f"turns {turns[0]}-{turns[-1]}"


def version_mark(record: SummaryRecord) -> str:
    """Returns the mark that tells the versions of one chunk's summary apart."""
    return build_text_mark(record["summary"])[:VERSION_MARK]


def hash_prompt_messages(messages: Sequence[AnyMessage]) -> str:
    """Returns the mark of a whole prompt: of its roles, texts and tool calls."""
    rows = (
        (message.type, str(message.text), str(message.tool_calls) if isinstance(message, AIMessage) else "")
        for message in messages
    )
    return build_text_mark(repr(list(rows)))


def add_note(last: AnyMessage, note: str) -> list[AnyMessage]:
    """Returns a prompt's last message with a note to the model, which stands in the question where that is last."""
    if isinstance(last, HumanMessage) and isinstance(last.content, str):
        return [last.model_copy(update={"content": f"{last.content}\n\n{note}"})]
    return [last, HumanMessage(note)]


def build_model_message(message: AnyMessage) -> AnyMessage:
    """Returns a stored message after the question as the model gets it: «…» stands for a missing answer."""
    if isinstance(message, AIMessage):
        text = str(message.text) or ("" if message.tool_calls else "…")
        return AIMessage(text, tool_calls=message.tool_calls)
    return message


def _drop_empty_searches(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Returns the messages without the searches that found nothing."""
    return [
        message for message in messages if not is_search(message) or _list_search_traces([message])[0].get("passages")
    ]


def _without_calls(turn: TurnMessages) -> TurnMessages:
    messages = (message for message in turn.messages if not (isinstance(message, AIMessage) and message.tool_calls))
    return TurnMessages(turn.number, tuple(messages))


def _drop_known_statements(part: Changing, records: Sequence[SummaryRecord], last: int) -> Changing:
    """Returns the memory part without statements that a summary in the prompt has, and without those of turns after
    ``last``, which stand raw in the prompt. Returns other parts as they are."""
    if part.name != "memory" or not part.text:
        return part
    summaries = [extract_summary_essence(record["summary"]) for record in records]
    letters, sentences = (
        letters_of("".join(summaries)),
        [piece for text in summaries for piece in sentence.split_sentences(text)],
    )

    def news(line: str) -> bool:
        statement = parse_dated_line(line)
        is_known = letters_of(statement.text) in letters or any(
            has_line_content(piece, statement.text) for piece in sentences
        )
        return statement.first <= last and not is_known

    title, *rest = part.text.splitlines()
    new_lines = [line for line in rest if news(line)]
    return replace(part, text="\n".join([title, *new_lines]) if new_lines else "", whole=build_text_mark(part.text))


def _reduce_turn_to_speech(turn: TurnMessages) -> TurnMessages:
    return TurnMessages(turn.number, tuple(reduce_messages_to_speech(turn.messages)))


def reduce_messages_to_speech(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Returns an earlier turn as a bare prompt has it: what the two said, without tool results; of a tool's result only
    the facts that the answer lacks, in a line before the question. Nothing of a turn that code answered by quoting what
    the user said: it stands elsewhere, and a small model would answer everything in that form."""
    if any(isinstance(message, ToolMessage) and (message.artifact or {}).get(QUOTED) for message in messages):
        return []
    said: list[AnyMessage] = [message for message in messages if not isinstance(message, ToolMessage)]
    answer = said[-1]
    if not is_answer(answer) or answer.response_metadata.get("model") == "":  # code worded the results themselves
        return said
    results = (message for message in messages if isinstance(message, ToolMessage))
    return [
        *(SystemMessage(line) for message in results if (line := _extract_unsaid_facts(message, str(answer.text)))),
        *said,
    ]


def _extract_unsaid_facts(result: ToolMessage, answer: str) -> str:
    """Returns the sentences of a tool's result with facts that the answer lacks; "" when there are none.

    Failures tell nothing, and text out of memory or documents belongs to the question that it was looked up for.
    """
    if result.status == "error" or (result.name or "") in RECALLING:
        return ""
    sentences = [
        piece.strip() for piece in sentence.split_sentences(str(result.text)) if fact.list_lost_facts(piece, answer)
    ]
    return cut_text(f"[{result.name}] {' '.join(sentences)}", UNSAID_CHARS) if sentences else ""


def _is_asked(message: AnyMessage, turn: int) -> bool:
    """Returns whether a message is the question of turn ``turn``."""
    return isinstance(message, HumanMessage) and message.additional_kwargs.get("turn") == turn


def mark_question_images(message: AnyMessage, language: str) -> AnyMessage:
    """Returns a question whose images are not at hand with a short mark for each of them; other messages as they
    are."""
    if not (isinstance(message, HumanMessage) and (number := image_count(message))):
        return message
    marks = " ".join([render_prompt("image_past", language)] * number)
    text = "\n".join(part for part in (str(message.text), marks) if part)
    return message.model_copy(update={"content": text})


def _build_user_message(
    text: str, images: Sequence[dict[str, Any]], earlier: Sequence[dict[str, Any]] = ()
) -> HumanMessage:
    """Returns the user's message: a plain text, or content parts when images go with it. Those of earlier turns stand
    before the text, so that «this picture» is one behind it."""
    if not (images or earlier):
        return HumanMessage(text)
    return HumanMessage([*earlier, *([{"type": "text", "text": text}] if text else []), *images])


def _render_titled_result(message: ToolMessage, language: str) -> str:
    """Returns a tool's result under the tool's name; the result of a search already says what it is."""
    text = str(message.text)
    return text if is_search(message) else render_prompt("tool_told", language, tool=message.name or "", said=text)


def reduce_past_message(message: AnyMessage) -> AnyMessage:
    """Returns a message of an earlier turn; the result of a search keeps only the places of its passages. Retrieved
    text belongs to the question that it was retrieved for, and within the budget of one retrieval (design 4.4). An
    answer and what ``recall`` gave keep no mark of a past turn: the number means another turn by now."""
    can_cite = isinstance(message, AIMessage) or (isinstance(message, ToolMessage) and message.name == RECALL)
    if can_cite and (text := strip_marks(str(message.text))) != str(message.text):
        return message.model_copy(update={"content": text})
    if not (traces := _list_search_traces([message])):
        return message
    places = render_passage_places(traces[0])
    language = str(traces[0].get("language", "ko"))
    text = render_prompt("documents_past", language, places=places) if places else str(message.text)
    return message.model_copy(update={"content": text})


def render_passage_places(trace: dict[str, Any]) -> str:
    """Returns the passages of a search in documents on one line: «[1] file › section, [2] …»."""
    return ", ".join(f"[{passage['number']}] {passage['label']}" for passage in trace.get("passages", ()))


def shorten_search_trace(trace: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields that ``reduce_past_message`` needs of the trace of a search."""
    places = [{name: passage[name] for name in ("number", "label")} for passage in trace.get("passages", ())]
    return {"language": trace.get("language", "ko"), "trace": [], "passages": places}


def _join_prompt_parts(parts: Iterable[str]) -> str:
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
    return images + sum(message_tokens(message, count) for message in messages if not is_unanswered(message))


def _fit_prompt_draft(draft: _PromptDraft, limit: int) -> tuple[_PromptDraft, list[PromptOmission]]:
    """Cuts the draft to ``limit`` tokens; returns the draft and the parts that were left out. Leaves out the raw turns
    of a bare prompt that summaries cover, then past turns that a search found, then images of earlier turns, then the
    oldest raw turns, then the oldest summaries, then the oldest pinned turns. Then shortens the tool results of the
    current turn, from the first on. Raises ``ContextTooLong``; ``SystemTextTooLong`` when only the client's system text
    is too much."""
    cut: list[PromptOmission] = []
    tokens = draft.tokens()
    if tokens > limit and draft.short:
        draft = replace(draft, short=())
        tokens = draft.tokens()
    if tokens > limit and (turns := next((part for part in draft.changing if part.items), None)):
        cut.append(PromptOmission(str(len(turns.items)), "turns_cut"))
        draft = replace(draft, changing=[part for part in draft.changing if part is not turns])
        tokens = draft.tokens()
    while tokens > limit and draft.earlier_images:
        draft = replace(draft, earlier_images=draft.earlier_images[1:])
        tokens = draft.tokens()
    while tokens > limit and draft.recent:
        turn, *recent = draft.recent
        size = draft.size([turn])
        cut.append(PromptOmission(str(turn.number), "context_full", size))
        draft, tokens = replace(draft, recent=recent), tokens - size
    while tokens > limit and draft.records:
        record, *records = draft.records
        cut.append(PromptOmission(_format_turn_range(record["turns"]), "context_full"))
        draft = replace(draft, records=records)
        tokens = draft.tokens()
    while tokens > limit and draft.pinned:
        turn, *pinned = draft.pinned
        cut.append(PromptOmission(str(turn.number), "context_full", draft.size([turn])))
        draft = replace(draft, pinned=pinned)
        tokens = draft.tokens()
    number, messages = draft.current.number, draft.current.messages
    for at, message in enumerate(messages):
        if tokens > limit and isinstance(message, ToolMessage):
            shorter = _shorten_prompt_result(message, tokens - limit, draft.count, last=at == len(messages) - 1)
            now = draft.current.messages
            draft = replace(draft, current=TurnMessages(number, (*now[:at], shorter, *now[at + 1 :])))
            before, tokens = tokens, draft.tokens()
            cut += (
                [PromptOmission(message.name or "", "context_full", before - tokens)] if shorter is not message else []
            )
    if tokens > limit >= tokens - draft.client_tokens:
        raise SystemTextTooLong(tokens=draft.client_tokens, limit=limit)
    if tokens > limit:
        raise ContextTooLong(tokens=tokens, limit=limit)
    return draft, cut


def _shorten_prompt_result(message: ToolMessage, tokens: int, count: Callable[[str], int], *, last: bool) -> AnyMessage:
    """Returns a tool's result with ``tokens`` tokens less, or as it is when it has fewer. A search keeps only its
    places. A search that comes last stays whole: a cut would take the passages of the answer, and the frame around
    them."""
    text = str(message.text)
    if is_search(message):
        return message if last else reduce_past_message(message)
    chars = int(len(text) * (1 - (tokens + _CUT_TOKENS) / max(1, count(text))))
    return message.model_copy(update={"content": cut_text(text, chars)}) if chars > 0 else message


def _build_context_report(
    draft: _PromptDraft, turn: int, limits: Limits, history_tokens: int, cut: list[PromptOmission]
) -> ContextReport:
    count = draft.count
    question, *rest = draft.current.messages
    rest = _drop_empty_searches(rest) if draft.layout == "bare" else rest
    (system, summaries), short, recent = draft.beginning_tokens, draft.size(draft.short), draft.size(draft.recent)
    pinned = draft.size(draft.pinned)
    parts = [
        *(
            [ReportPart("instructions", draft.instruction_tokens, 0, mark=build_text_mark(draft.instructions))]
            if draft.instructions
            else []
        ),
        ReportPart("system", system, limits.system, mark=build_text_mark(draft.system)),
        *(
            [ReportPart("client_system", draft.client_tokens, 0, mark=build_text_mark(draft.client_system))]
            if draft.client_system
            else []
        ),
        ReportPart("summaries", summaries, limits.summaries, *_report_summary_items(draft.records)),
        *([ReportPart("pinned", pinned, 0, _list_turn_numbers(draft.pinned))] if draft.pinned else []),
        *([ReportPart("short", short, limits.recent, _list_turn_numbers(draft.short))] if draft.short else []),
        ReportPart("recent", recent, limits.recent, _list_turn_numbers(draft.recent)),
        *(_report_changing_part(entry, count) for entry in draft.changing if entry.text),
        ReportPart("question", message_tokens(question, count), limits.question, (str(turn),)),
        *([ReportPart("images", IMAGE_TOKENS * images, 0, (str(images),))] if (images := draft.image_count) else []),
        *_report_current_parts(rest, count, limits),
    ]
    total = sum(part.tokens for part in parts)
    raw = pinned + short + recent
    full = total - summaries - raw + max(history_tokens, raw)
    dropped = [entry for part in draft.changing for entry in part.left_out]
    left_out = (*_list_replaced_turns(draft), *cut, *dropped, *_cut_passages(rest))
    return ContextReport(
        turn, tuple(parts), left_out, total, full, draft.exact, hash_prompt_messages(draft.messages), draft.layout
    )


def _report_changing_part(part: Changing, count: Callable[[str], int]) -> ReportPart:
    """Returns the report's entry for a changing part. The record has the passages of a search, and keeps lasting texts
    by their marks; only other texts stand in the report."""
    size, in_record = count(part.text), part.lasting or part.name in ("retrieval", "turns")
    text_mark, text = (
        (part.whole or build_text_mark(part.text)) if part.lasting else part.whole,
        "" if in_record else part.text,
    )
    return ReportPart(part.name, size, part.budget, part.items, text_mark, text)


def _report_current_parts(rest: Sequence[AnyMessage], count: Callable[[str], int], limits: Limits) -> list[ReportPart]:
    """Returns the parts of the current turn's tool calls and results; passages of documents are a part of their own."""
    searches = [message for message in rest if is_search(message)]
    others = [message for message in rest if message not in searches]
    places = (str(passage["label"]) for trace in _list_search_traces(searches) for passage in trace.get("passages", ()))
    tokens = [sum(message_tokens(message, count) for message in group) for group in (searches, others)]
    budget = max((int(trace.get("budget", limits.retrieval)) for trace in _list_search_traces(searches)), default=0)
    parts = [ReportPart("retrieval", tokens[0], budget, tuple(dict.fromkeys(places)))] if searches else []
    return [*parts, ReportPart("current", tokens[1], 0)] if others else parts


def _cut_passages(rest: Sequence[AnyMessage]) -> list[PromptOmission]:
    return [
        PromptOmission(str(label), "documents_budget")
        for trace in _list_search_traces(rest)
        for label in trace.get("cut", ())
    ]


def is_search(message: AnyMessage) -> bool:
    """Returns whether the message is the result of a search in documents; it carries its trace
    (``retrieval.answer.lookup.LookUp.plain``)."""
    return isinstance(message, ToolMessage) and isinstance(message.artifact, dict) and "trace" in message.artifact


def _list_search_traces(messages: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """Returns the traces of the searches among these messages."""
    return [message.artifact for message in messages if isinstance(message, ToolMessage) and is_search(message)]


def _list_replaced_turns(draft: _PromptDraft) -> list[PromptOmission]:
    """Returns the earlier turns that the prompt holds only as summaries, or not at all because their summaries outgrew
    the budget."""
    if not draft.records:
        return []
    first, last = draft.records[0]["turns"][0], find_last_covered_turn(draft.shown_records)
    forgotten = [PromptOmission(_format_turn_range([1, first - 1]), "over_budget")] if first > 1 else []
    return [*forgotten, *([PromptOmission(_format_turn_range([first, last]), "summarised")] if last else [])]


def _list_turn_numbers(turns: Sequence[TurnMessages]) -> tuple[str, ...]:
    return tuple(str(turn.number) for turn in turns)


def _report_summary_items(records: Sequence[SummaryRecord]) -> tuple[tuple[str, ...], str]:
    """Returns the turn ranges of the summaries, and the marks of their versions, joined."""
    return tuple(_format_turn_range(record["turns"]) for record in records), "".join(map(version_mark, records))


def _format_turn_range(turns: Sequence[int]) -> str:
    return f"{turns[0]}-{turns[-1]}" if turns[0] != turns[-1] else str(turns[0])


def over_budget(records: Sequence[SummaryRecord], budget: int, count: Callable[[str], int]) -> list[SummaryRecord]:
    """Returns the oldest records that have left the context, as the summaries came one by one: more than
    ``MOST_SUMMARIES``, or more than ``budget`` tokens. Their turns are found by search
    (``graph.turn.memory.past_turns``).

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
