"""Turns that a client tells and that we never had: they become part of the conversation without a model call.

What follows from them comes as after an import: the next prompt finds the state out of line and makes it anew
(``graph.turn.session.rebuild``), memory follows the path before it is read (``graph.turn.memory.long_term.view``), and
the chunk summaries of the told turns are made as those of an imported conversation (``graph.node.summary``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from langchain_core.messages import AIMessage, HumanMessage

from graph.context.prompt import raw_tokens
from graph.turn.process.engine import TurnEngine
from model.call import token
from store import GivenTurn, Session
from text.clean import clean_text

COUNTED = 200
"""The most told turns that the model's own tokenizer counts, one request to its server for each text; the tokens of
more are estimated, so that a long history does not hold up the turn."""


def write_given_turns(engine: TurnEngine, session: Session, number: int, turns: Sequence[GivenTurn]) -> Session:
    """Writes the told turns from turn ``number`` on and returns the session that ends with them. The caller holds the
    session. Raises ``TurnUnknown`` for a number that leaves a gap."""
    count = engine.models().count if len(turns) <= COUNTED else token.estimate_tokens
    counted = [turn if turn.tokens else replace(turn, tokens=_count_given_tokens(turn, count)) for turn in turns]
    engine.store.tree.give(session.id, number, counted, engine.now().timestamp())
    return engine.store.session(session.id)


def _count_given_tokens(turn: GivenTurn, count: Callable[[str], int]) -> int:
    return raw_tokens([HumanMessage(clean_text(turn.question)), AIMessage(clean_text(turn.answer))], count)
