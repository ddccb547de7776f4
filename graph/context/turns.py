"""The turns within a list of messages, and the chunks of turns that are due for a summary.

A turn is the user's message, the tool calls and results, and the final answer (specification 2.1). Turn numbers are
read from the messages and the records, never counted (specification 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

from errors import Interrupted
from graph.state import ChatState, SummaryRecord
from host.host import INTERRUPTED

CHUNK = 3
ALWAYS_RAW = 2 * CHUNK - 1
"""Turns without a summary that stand raw however long they are: those of the chunk that a model is summarising, and
those after it."""
REPEATS = 4
"""The same call with the same result so many times in a turn: more of them would bring nothing new."""


@dataclass(frozen=True, slots=True)
class TurnMessages:
    """The messages of one turn; ``complete`` when it ends with an answer that calls no tool."""

    number: int
    messages: tuple[AnyMessage, ...]

    @property
    def complete(self) -> bool:
        return is_answer(self.messages[-1])

    @property
    def is_pinned(self) -> bool:
        """Whether every prompt holds the turn word for word, also once a summary covers it."""
        return bool(self.messages[0].additional_kwargs.get("pinned"))

    @property
    def text(self) -> str:
        return "".join(str(message.text) for message in self.messages)


def find_next_chunk(turn_count: int, last: int) -> tuple[list[int], int]:
    """Returns the turns of the next summary, and the turn from which on it is used. ``last``: the last turn that a
    summary in the context covers."""
    chunk = list(range(last + 1, last + CHUNK + 1))
    return chunk, max(chunk[-1], turn_count) + 1


def make_question_message(text: str, number: int, session_id: str, images: int = 0) -> HumanMessage:
    """Returns the user's message of a turn; its id is stable, so that a question accepted twice is stored once.
    ``images``: how many images came with it; the state keeps only their number."""
    extra = {"turn": number, **({"images": images} if images else {})}
    return HumanMessage(text, id=f"{session_id}-{number}", additional_kwargs=extra)


def image_count(message: AnyMessage) -> int:
    """Returns how many images came with a question of the state or the record."""
    return int(message.additional_kwargs.get("images", 0))


def mark_pinned(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Returns the messages of a turn that every prompt holds word for word, marked so in their question."""
    kept = {"pinned": True}
    return [
        message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **kept}})
        if isinstance(message, HumanMessage)
        else message
        for message in messages
    ]


def is_answer(message: AnyMessage) -> bool:
    """Returns whether the message ends a turn."""
    return isinstance(message, AIMessage) and not message.tool_calls


def split_into_turns(messages: Sequence[AnyMessage], last_turn: int) -> list[TurnMessages]:
    """Returns the turns in ``messages``, oldest first; ``last_turn`` numbers the last turn when the messages carry no
    numbers."""
    starts = [index for index, message in enumerate(messages) if isinstance(message, HumanMessage)]
    groups = [tuple(messages[start:end]) for start, end in pairwise([*starts, len(messages)])]
    offset = last_turn - len(groups) + 1
    return [
        TurnMessages(int(group[0].additional_kwargs.get("turn", offset + index)), group)
        for index, group in enumerate(groups)
    ]


def turn_number(state: ChatState) -> int:
    """Returns the number of the current turn; counts the user's messages when the state has no count (LangGraph's own
    tools)."""
    counted = state.get("turn_count")
    if counted:
        return counted
    return sum(isinstance(message, HumanMessage) for message in state["messages"])


def find_last_covered_turn(records: Sequence[SummaryRecord]) -> int:
    """Returns the last turn that a summary covers, 0 when there is none; ``records``: oldest first."""
    return records[-1]["turns"][-1] if records else 0


def due_chunks(turn_count: int, records: Sequence[SummaryRecord]) -> Iterator[list[int]]:
    """Yields chunks of three finished turns that no record covers yet, oldest first; none except after 4, 7, 10 …"""
    first = find_last_covered_turn(records) + 1
    while first + CHUNK - 1 < turn_count:
        yield list(range(first, first + CHUNK))
        first += CHUNK


def split_raw(
    turns: Sequence[TurnMessages], budget: int, size: Callable[[TurnMessages], int]
) -> tuple[list[TurnMessages], list[TurnMessages]]:
    """Returns the finished turns without a summary in two parts: the older ones that have no room, and the newer ones
    that stand raw in the prompt.

    Whole chunks leave, so that the prompt's prefix breaks at most every third turn. ``size`` and ``budget`` in tokens.
    """
    sizes = [size(turn) for turn in turns]
    first, total = 0, sum(sizes)
    while total > budget and len(turns) - first > ALWAYS_RAW:
        total -= sizes[first]
        first += 1
        while turns[first].number % CHUNK != 1 and len(turns) - first > ALWAYS_RAW:
            total -= sizes[first]
            first += 1
    return list(turns[:first]), list(turns[first:])


def find_current_messages(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Returns the messages of the turn in progress: from the last user message on."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], HumanMessage):
            return list(messages[index:])
    return list(messages)


def tool_rounds(messages: Sequence[AnyMessage]) -> int:
    """Returns how often the current turn has called tools already."""
    return sum(
        1 for message in find_current_messages(messages) if isinstance(message, AIMessage) and message.tool_calls
    )


def build_call_key(call: ToolCall, messages: Sequence[AnyMessage]) -> str:
    """Returns the key of an open call, unique within the turn, which the model's ids are not."""
    return f"{tool_rounds(messages)}.{call['id']}"


def is_circling(messages: Sequence[AnyMessage]) -> bool:
    """Returns whether the last call of the current turn was made ``REPEATS`` times, always with the same result."""
    turn = find_current_messages(messages)
    results = {message.tool_call_id: str(message.text) for message in turn if isinstance(message, ToolMessage)}
    calls = [call for message in turn if isinstance(message, AIMessage) for call in message.tool_calls]
    made = [(call["name"], call["args"], results.get(str(call["id"]))) for call in calls]
    return bool(made) and made.count(made[-1]) >= REPEATS


def make_closing_messages(messages: Sequence[AnyMessage], number: int, begun: Container[str] = ()) -> list[AnyMessage]:
    """Returns the messages that must follow the last turn so that a new message does not merge into it (design 3.5).

    An open tool call gets a result; a turn without an answer gets a marked empty answer. ``begun``: the keys of foreign
    calls that had begun before the turn was cut off, and may have run.
    """
    if not messages or is_answer(messages[-1]):
        return []
    results = list[AnyMessage]()
    for call in open_calls(find_current_messages(messages)):
        is_begun = build_call_key(call, messages) in begun
        text = INTERRUPTED.format(name=call["name"]) if is_begun else "interrupted"
        results.append(ToolMessage(text, tool_call_id=str(call["id"]), status="error"))
    return [*results, no_answer(number)]


def no_answer(number: int, code: str = Interrupted.code) -> AIMessage:
    """Returns the mark of a turn that got no answer; the message is empty, so nothing is put into the model's mouth."""
    return AIMessage("", response_metadata={"unanswered": code, "turn": number})


def is_unanswered(message: AnyMessage) -> bool:
    return bool(message.response_metadata.get("unanswered"))


def open_calls(messages: Sequence[AnyMessage]) -> list[ToolCall]:
    """Returns the calls of the last message with tool calls that have no result yet, in order.

    Only results after that message count: a model may give a call of an earlier round the same id.
    """
    results: set[str] = set()
    for message in reversed(find_current_messages(messages)):
        if isinstance(message, ToolMessage):
            results.add(message.tool_call_id)
        elif isinstance(message, AIMessage) and message.tool_calls:
            return [call for call in message.tool_calls if str(call["id"]) not in results]
    return []
