"""The state that LangGraph keeps for a session: only what the next turn needs (design 3.1).

Source: specification 5.1, specification 3.4.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

from text.language import Language


class SummaryRecord(TypedDict):
    """One chunk summary, with exactly the keys of specification 3.4."""

    thread_id: str
    turns: list[int]
    turn_length: int
    original_chars: int
    summary_chars: int
    compression_rate: float
    summary: str


class ChatState(TypedDict):
    """The state of one session. ``messages``: the turns that no summary in the context covers, and the current turn, as
    plain LangChain messages.

    ``revision``: the record's revision when this state was made (``store.record.Session``). ``asked``: what tools of
    this turn want to know from the user; ``answers``: the user's answers in this turn, by the ids of the questions
    (``store.turn.question``).
    """

    messages: Annotated[list[AnyMessage], add_messages]
    session_id: str
    summary_history: list[SummaryRecord]
    turn_count: int
    compression_rate: float
    language: NotRequired[Language]
    revision: NotRequired[int]
    asked: NotRequired[list[dict[str, Any]]]
    answers: NotRequired[dict[str, Any]]
