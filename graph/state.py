"""The state that LangGraph keeps for a session: only what the next turn needs (design §3).

Source: context-managing.md «ChatState 필드» and «summary_history 각 항목 스키마».
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

from text.language import Language


class SummaryRecord(TypedDict):
    """One chunk summary, with exactly the specified keys."""

    thread_id: str
    turns: list[int]
    turn_length: int
    original_chars: int
    summary_chars: int
    compression_rate: float
    summary: str


class ChatState(TypedDict):
    """``messages``: the turns that no summary in the context covers, and the current one; plain LangChain messages.

    ``revision``: that of the record when this state was made (``store.record.Session``).
    """

    messages: Annotated[list[AnyMessage], add_messages]
    session_id: str
    summary_history: list[SummaryRecord]
    turn_count: int
    compression_rate: float
    language: NotRequired[Language]
    revision: NotRequired[int]
