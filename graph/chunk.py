"""One chunk of three turns: its messages, its language, and what the ledger notes of its summary."""

from __future__ import annotations

from langchain_core.messages import AnyMessage, HumanMessage

from graph.summary import Made
from graph.turns import split
from text.language import Language, detect


def chunk_messages(messages: list[AnyMessage], last_turn: int, chunk: list[int]) -> list[AnyMessage]:
    """The raw messages of these turns."""
    turns = [each for each in split(messages, last_turn) if each.number in chunk]
    return [message for each in turns for message in each.messages]


def conversation_language(messages: list[AnyMessage], default: Language) -> Language:
    """The language that the user speaks in these messages."""
    return detect("\n".join(str(message.text) for message in messages if isinstance(message, HumanMessage)), default)


def ledger_fields(made: Made) -> dict[str, object]:
    """What the ledger notes beside turns, rate and status (design §3)."""
    return {
        "record": made.record,
        "model": made.model,
        "prompt_tokens": made.prompt_tokens,
        "answer_tokens": made.answer_tokens,
        "seconds": made.seconds,
        "kept": list(made.kept),
        "lost": list(made.lost),
    }
