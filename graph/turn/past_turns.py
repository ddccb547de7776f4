"""Search in past turns, for the tool ``recall_turns``: earlier turns of this conversation and of the user's others.

``look_up`` returns what a model gets; an evaluation needs nothing else. The vectors are made as side work after the
answer. What is missing when somebody searches, after a crash or an import, is made then: a few turns at once, the rest
as side work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby

from graph.tool.reach import Recalled
from graph.turn.engine import Engine
from memory import Patience
from memory.state import SHORT_TURNS
from model.call.stream import Stopped
from model.call.token import estimate
from model.embedding import built_in
from prompt import render
from retrieval.index.word import installed, words
from retrieval.turns import packed, ranked, rules
from store import Session
from store.search import head
from store.turn_index import PastTurn
from text import sentence
from text.fence import fenced

ROOM = 1500
"""Tokens of a result, by ``model.call.token.estimate``."""
LEAST = 10
"""Tokens below which no turn fits."""
LOOKED_AT = 60
"""The most turns that are considered for a result."""
SIDE_TOKENS = 150
"""Tokens of a question or an answer in a result; of a longer one only the sentences with most words of the query."""
AT_ONCE = 8
"""The most turns that are taken in before a search, in about a second; the others as side work."""
BATCH = 50
"""Turns that the side work reads at a time."""
COMPUTED = "vectors"
"""The lane of the side work: the processor computes vectors one after another, whoever's turns they are."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A turn as a result shows it: its session and day, the heading of that day, and its text."""

    turn: PastTurn
    day: str
    heading: str
    text: str


# --- before the answer --------------------------------------------------------------------------


def look_up(
    engine: Engine, session: Session, query: str, before: int, *, room: int = ROOM, patience: Patience | None = None
) -> Recalled:
    """Returns what was said before turn ``before`` about the query, as text for a model of at most ``room`` tokens; a
    sentence that nothing was found otherwise. The engine must have a memory.

    Raises ``EmbeddingFailed``.
    """
    frame = partial(render, "turns_recalled", session.language)
    found, wanted = search(engine, session.id, query, before, patience=patience), frozenset(words(query, installed()))
    shown = (_shown(engine, session, turn, wanted) for turn in found)
    fitting = _fitting(shown, room - estimate(frame(turns="")))
    if not fitting:
        return Recalled(render("turns_recalled_none", session.language, query=query))
    days = [list(of_day) for _, of_day in groupby(sorted(fitting, key=_place), key=lambda shown: _place(shown)[:2])]
    text = frame(turns="\n".join(line for day in days for line in (day[0].heading, *(each.text for each in day))))
    return Recalled(text, any(each.turn.foreign for each in fitting))


def search(
    engine: Engine, session_id: str, query: str, before: int, *, patience: Patience | None = None
) -> Iterator[PastTurn]:
    """Yields the turns before turn ``before`` that fit the query best, at most ``LOOKED_AT``, the best first: turns of
    the session's path and of the user's other conversations, without those that the user had forgotten.

    Raises ``EmbeddingFailed``.
    """
    assert engine.memory is not None
    past = engine.memory.past(engine.tenant, session_id, user=engine.user, patience=patience)
    sessions, index, embedder = [session_id, *past.others], engine.store.turn_index, built_in()
    if _take_in(engine, sessions, AT_ONCE) == AT_ONCE:
        _submit(engine, "", sessions)
    for key in ranked(index.rows(sessions, rules(embedder), session_id, before), embedder, query, LOOKED_AT):
        turn = index.text(key)
        if turn is not None and not past.hides(key.session_id, key.number, (turn.question, turn.answer)):
            yield turn


def _shown(engine: Engine, session: Session, turn: PastTurn, wanted: frozenset[str]) -> _Shown:
    question, answer = (_data(_excerpt(text, wanted)) for text in (turn.question, turn.answer))
    number, language = turn.key.number, session.language
    text = render("turns_turn", language, number=number, question=question, answer=answer)
    day = datetime.fromtimestamp(turn.at, engine.now().tzinfo).date().isoformat()
    elsewhere = turn.key.session_id != session.id
    return _Shown(turn, day, render("turns_elsewhere", language, day=day) if elsewhere else day, text)


def _fitting(shown: Iterable[_Shown], room: int) -> list[_Shown]:
    """Returns the best turns that have room together, with the headings of their days."""
    fitting, days = list[_Shown](), set[tuple[str, str]]()
    for each in shown:
        if room < LEAST:
            break
        day = (each.turn.key.session_id, each.day)
        tokens = estimate(each.text) + (0 if day in days else estimate(each.heading)) + 1
        if tokens <= room:
            room -= tokens
            days.add(day)
            fitting.append(each)
    return fitting


def _place(shown: _Shown) -> tuple[str, str, int]:
    return shown.day, shown.turn.key.session_id, shown.turn.key.number


def _excerpt(text: str, wanted: frozenset[str]) -> str:
    """Returns a short text whole, and of a long one the sentences that have most of the wanted words, in order."""
    if estimate(text) <= SIDE_TOKENS:
        return text
    parts = sentence.split(text)
    scores = [len(wanted & set(words(part, installed()))) for part in parts]
    room, chosen = SIDE_TOKENS, list[int]()
    for at in sorted(range(len(parts)), key=lambda at: -scores[at]):
        if (tokens := estimate(parts[at])) <= room:
            room -= tokens
            chosen.append(at)
    return " … ".join(parts[at] for at in sorted(chosen)) or f"{head(text, SIDE_TOKENS)}…"


def _data(text: str) -> str:
    """Returns a text in one line, so that it can neither end the frame nor begin another turn."""
    return " ".join(fenced(text, "turns").split())


# --- after the answer ---------------------------------------------------------------------------


def plan(engine: Engine, session_id: str, number: int) -> None:
    """Puts the vectors of this session's turns on the list of side work, except those of the newest turns, which the
    next prompts hold word for word anyway. Does nothing where no model calls ``recall_turns``."""
    if engine.memory is not None and engine.models().profile.tools == "native" and number > SHORT_TURNS:
        _submit(engine, session_id, [session_id], number - SHORT_TURNS)


def _submit(engine: Engine, name: str, sessions: Sequence[str], last: int | None = None) -> None:
    engine.aside(("turns", name, engine.user), partial(_make, engine, sessions, last), COMPUTED)


def _make(engine: Engine, sessions: Sequence[str], last: int | None, stop: threading.Event) -> None:
    """Takes in all turns that are missing. Raises ``Stopped``; the work then goes on after the answer."""
    while _take_in(engine, sessions, BATCH, last, stop) == BATCH:
        pass


def _take_in(
    engine: Engine, sessions: Sequence[str], limit: int, last: int | None = None, stop: threading.Event | None = None
) -> int:
    """Takes in at most ``limit`` missing turns, the newest first, each by itself; returns how many."""
    index, embedder, taken = engine.store.turn_index, built_in(), 0
    for turn in index.missing(sessions, rules(embedder), limit, last):
        if stop is not None and stop.is_set():
            raise Stopped
        taken += index.put(turn, rules(embedder), *packed(embedder, turn))
    return taken
