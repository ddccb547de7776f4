"""What a file of conversations would bring, before anything of it is stored."""

from __future__ import annotations

from dataclasses import dataclass

from errors import BadConversation
from store.export.form import ConversationForm, TurnForm
from store.export.program import FileConversations
from store.path import branch_at


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """What an import would bring. ``chats``, ``stories``: conversations, and how many of them become stories;
    ``turns``: of the open paths; ``first``, ``last``: when the oldest and the newest of them were, in seconds since
    1970, None without turns; ``summaries``: how many are still to be made, of turns with ``tokens`` in all, and
    ``written``: the tokens that they get; ``empty``, ``faults``: as in ``ImportedSessions``."""

    chats: int
    stories: int
    turns: int
    first: float | None
    last: float | None
    summaries: int
    tokens: int
    written: int
    empty: tuple[str, ...] = ()
    faults: tuple[BadConversation, ...] = ()


def preview_conversations(found: FileConversations, chunk: int) -> ImportPreview:
    """Returns what the conversations of a file would bring; ``chunk``: the turns of a summary."""
    paths = [(each, list_path_turns(each)) for each in found.conversations]
    moments = [
        moment for _, turns in paths for turn in turns for moment in (turn.started, turn.finished or turn.started)
    ]
    summaries, tokens, written = 0, 0, 0.0
    for each, turns in paths:
        there = {summary.turns[0] for summary in each.summaries}
        missing = 0 if each.world else max(0, len(turns) // chunk - len(there))
        length = sum(turn.tokens for turn in turns) * chunk * missing // max(1, len(turns))
        summaries, tokens = summaries + missing, tokens + length
        written += length * each.session.compression_rate
    return ImportPreview(
        len(paths),
        sum(each.world is not None for each, _ in paths),
        sum(len(turns) for _, turns in paths),
        min(moments, default=None),
        max(moments, default=None),
        summaries,
        tokens,
        int(written),
        tuple(found.empty),
        tuple(found.faults),
    )


def list_path_turns(conversation: ConversationForm) -> list[TurnForm]:
    """Returns the turns of the path that was open last."""
    path = [(branch, first) for branch, first in conversation.session.path]
    turns = [turn for turn in conversation.turns if turn.number >= path[0][1]]
    return [turn for turn in turns if branch_at(path, turn.number) == turn.branch]
