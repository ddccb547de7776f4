"""Search in past turns: this conversation's and the user's others, before every answer and for the tool ``recall``.

``find_past`` runs before every answer: what fits the question goes into the prompt, and nothing where nothing fits.
``recall_past`` serves the tool: another query, a day, a conversation, and no floor, because the model asked for it.

A turn's words and its vector are indexed behind the answer. Words that are missing when somebody searches, after a
crash or an import, are made at once, and the vectors as side work; until then words alone find a turn.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from errors import format_error_trace
from graph.choice.router import load_router
from graph.context.past import (
    BARE,
    CITED,
    NEAR_MISSES,
    UNCITED,
    FoundPast,
    Frame,
    PastEntry,
    choose_entries,
    read_item,
    render_entries,
    write_item,
)
from graph.context.report import ContextReport, ReportPart
from graph.tool.reach import RecalledTurns
from graph.turn.process.engine import TurnEngine
from memory.view.past import Past
from model.call.stream import Stopped
from model.call.token import estimate_tokens
from model.embedding import built_in
from model.profile import Profile
from prompt import render_prompt
from retrieval.index.word import cut_text_words, find_installed_cut
from retrieval.past import (
    SearchedPast,
    adds_answer,
    build_rules_name,
    excerpt_turn,
    find_turns,
    keep_fitting,
    pack_turn,
    read_floor,
)
from store import Session
from store.search.turn_index import AT_ONCE, NewRow, PastTurn, TurnKey
from text.answer.cited_turn import strip_marks
from text.answer.refusal import is_refusal
from text.clean import collapse_spaces
from text.fence import fence_text
from text.fold import fold_text

log = logging.getLogger(__name__)

ROOM = 1500
"""Tokens of a result of the tool, by ``model.call.token.estimate_tokens``."""
LOOKED_AT = 60
"""The most turns that are considered for a result."""
ASKED_SHARE = 0.25
"""The share of the floor that is enough for a question about what the user said (decision 5)."""
SIDE_TOKENS = 150
"""Tokens of a question or an answer in a result, or a quarter of all the room where that is less."""
BATCH = 50
"""Turns that the side work reads at a time."""
COMPUTED = "vectors"
"""The lane of the side work: the processor computes vectors one after another, whoever's turns they are."""


@dataclass(frozen=True, slots=True)
class PastTurnHit:
    """A turn that a search found, with its score from 0 to 1."""

    turn: PastTurn
    score: float


# --- before the answer --------------------------------------------------------------------------


def find_past(
    engine: TurnEngine,
    session: Session,
    question: str,
    number: int,
    profile: Profile,
    cites: bool = True,
    past: Past | None = None,
) -> FoundPast | None:
    """Returns what earlier turns say about the question of turn ``number``; None where the settings want none, and
    after a failure, because a turn does without its past rather than fail. ``cites``: whether a reader is shown what
    the answer cites; ``past``: what may be searched, if it was read already."""
    settings = engine.prompting
    room = 0 if settings.memory_tool_only else min(settings.budget_past, profile.past_tokens)
    if not room or not question.strip():
        return None
    try:
        hits = [*search_past_turns(engine, session.id, question, number, past)]
    except Exception as error:
        log.error("past turns could not be searched: %s", format_error_trace(error))
        return None
    floor = choose_floor(question)
    judged = [*zip(hits, keep_fitting([hit.score for hit in hits], floor), strict=True)]
    above, below = ([hit for hit, fits in judged if fits is wanted] for wanted in (True, False))
    entries = _make_entries(engine, session, above, question, _side_tokens(profile), _is_brief(profile))
    missed = (write_item(hit.turn.key, hit.turn.key.session_id == session.id, hit.score) for hit in below[:NEAR_MISSES])
    return FoundPast(tuple(entries), tuple(missed), room, frame_of(profile, cites), floor)


def choose_floor(question: str) -> float:
    """Returns the least score of the best turn with which any is shown. Where the router leans to a question about what
    the user said, a part of the usual floor is enough: that one is for messages that ask for nothing."""
    share = ASKED_SHARE if load_router().route(question).leans_to_recall else 1.0
    return share * read_floor(question)


def frame_of(profile: Profile, cites: bool) -> Frame:
    """Returns the frame of past turns for a model; ``cites``: as in ``find_past``."""
    if profile.prompt == "bare":
        return BARE
    return CITED if cites else UNCITED


def render_found(
    engine: TurnEngine, session: Session, items: Sequence[str], question: str, profile: Profile, cites: bool
) -> str | None:
    """Returns the text that a prompt had of these past turns (``PastEntry.item``); None when one of them is gone or was
    forgotten since."""
    past = _read_searchable_past(engine, session.id)
    scores = dict(read_item(each, session.id) for each in items)
    turns = engine.store.turn_index.find_texts(scores)
    found = ((turns.get(key), score) for key, score in scores.items())
    hits = [PastTurnHit(turn, score) for turn, score in found if turn is not None and not _is_forgotten(turn, past)]
    if len(hits) < len(items):
        return None
    entries = _make_entries(engine, session, hits, question, _side_tokens(profile), _is_brief(profile))
    return render_entries([*entries], session.language, frame_of(profile, cites))


def search_past_turns(
    engine: TurnEngine, session_id: str, query: str, before: int, past: Past | None = None
) -> Iterator[PastTurnHit]:
    """Yields the turns before turn ``before`` that fit the query best, at most ``LOOKED_AT``, the best first: turns of
    the session's path and of the user's other conversations, without those that the user had forgotten or wants to be
    used no more. ``past``: as in ``find_past``. Raises ``EmbeddingFailed``."""
    past, index = past or _read_searchable_past(engine, session_id), engine.store.turn_index
    others = past.others if past else ()
    # a first turn looks at the others; later ones leave these to the side work after an answer
    unread, last = ([session_id, *others], None) if before == 1 else ([session_id], before - 1)
    if _index_words(engine, unread, last=last) == AT_ONCE:
        plan_index(engine, session_id)
    searched = SearchedPast(session_id, before, [session_id, *others])
    found = find_turns(index, built_in(), query, searched, engine.now(), LOOKED_AT)
    turns = index.texts([each.key for each in found])
    for each in found:
        turn = turns.get(each.key)
        if turn is not None and not _is_hidden(turn, past):
            yield PastTurnHit(turn, each.score)


@dataclass(frozen=True, slots=True)
class PastQuery:
    """What the model asks of the past. ``before``: the turn in which it asks; only earlier ones are found. ``day``: the
    beginning of an ISO date («2026-03»). ``conversation``: a part of the title of another conversation. ``shown``:
    turns that the prompt shows already; they come no second time, and the marks count on from them."""

    text: str
    before: int
    day: str = ""
    conversation: str = ""
    shown: Collection[TurnKey] = ()


def recall_past(
    engine: TurnEngine, session: Session, query: PastQuery, room: int = ROOM, frame: Frame = CITED
) -> RecalledTurns:
    """Returns what earlier turns say about the query, as text for a model of at most ``room`` tokens; a sentence that
    nothing was found otherwise. ``frame``: as ``frame_of`` says. Raises ``EmbeddingFailed``."""
    found = search_past_turns(engine, session.id, query.text, query.before)
    hits = [hit for hit in found if hit.turn.key not in query.shown]
    entries = [
        entry
        for entry in _make_entries(engine, session, hits, query.text, SIDE_TOKENS)
        if entry.day.startswith(query.day) and fold_text(query.conversation) in fold_text(entry.title)
    ]
    chosen = choose_entries(FoundPast(tuple(entries), room=room, frame=frame), (), session.language, estimate_tokens)
    if not chosen:
        return RecalledTurns(render_prompt("recall_none", session.language, query=query.text))
    text = render_entries(chosen, session.language, frame, first=len(query.shown) + 1)
    return RecalledTurns(text, any(entry.foreign for entry in chosen), tuple(entry.item for entry in chosen))


def shown_turns(report: ContextReport | None, session_id: str) -> list[TurnKey]:
    """Returns the past turns that a prompt of a session shows, in the order of their marks."""
    part: ReportPart | None = report.part("turns") if report is not None else None
    return [read_item(item, session_id)[0] for item in part.items] if part is not None else []


def _read_searchable_past(engine: TurnEngine, session_id: str) -> Past | None:
    """Returns what may be searched beside this conversation; None without long-term memory: then only its own turns
    may."""
    if engine.memory is None:
        return None
    return engine.memory.reader.read_past(engine.tenant, session_id, user=engine.user)


def _is_hidden(turn: PastTurn, past: Past | None) -> bool:
    return turn.unused or _is_forgotten(turn, past)


def _is_forgotten(turn: PastTurn, past: Past | None) -> bool:
    return past is not None and past.hides(turn.at, (turn.question, turn.answer))


def _make_entries(
    engine: TurnEngine, session: Session, hits: Sequence[PastTurnHit], query: str, tokens: int, brief: bool = False
) -> Iterator[PastEntry]:
    """Yields the found turns as a prompt shows them, each side with at most ``tokens`` tokens, without refusals;
    ``brief``: without answers that add nothing to what the query asks for."""
    wanted = frozenset(cut_text_words(query, find_installed_cut()))
    for hit in hits:
        turn = hit.turn
        here = turn.key.session_id == session.id
        question, answer = map(_flatten_turn_text, excerpt_turn(turn, wanted, tokens))
        if is_refusal(turn.answer, turn.question) or (brief and not adds_answer(turn, wanted)):
            answer = ""
        answer = strip_marks(answer)
        day = datetime.fromtimestamp(turn.at, engine.now().tzinfo).date().isoformat()
        title = session.title if here else _flatten_turn_text(turn.title)
        yield PastEntry(turn.key, here, day, turn.at, question, answer, hit.score, title, turn.foreign)


def _is_brief(profile: Profile) -> bool:
    """Returns whether there is so little room that answers stand there only where they are needed."""
    return profile.prompt == "bare"


def _side_tokens(profile: Profile) -> int:
    return min(SIDE_TOKENS, profile.past_tokens // 4)


def _flatten_turn_text(text: str) -> str:
    """Returns a text in one line, so that it can neither end the frame nor begin another turn."""
    return collapse_spaces(fence_text(text, "turns"))


# --- after the answer ---------------------------------------------------------------------------


def plan_index(engine: TurnEngine, session_id: str, past: Past | None = None) -> None:
    """Puts the indexing of all turns that a search from this session reads on the list of side work. ``past``: what may
    be searched, if it was read already."""
    work = partial(_index_all, engine, session_id, past=past)
    engine.aside(("turns", session_id, engine.user), work, COMPUTED, for_all=True)


def _index_all(engine: TurnEngine, session_id: str, stop: threading.Event, past: Past | None = None) -> None:
    """Indexes all turns that a search from this session reads: first all words, then the vectors, each of which takes
    a sixth of a second. Raises ``Stopped``; the work then goes on after the answer."""
    past = past or _read_searchable_past(engine, session_id)
    sessions = [session_id, *(past.others if past else ())]
    index, embedder = engine.store.turn_index, built_in()
    missing = index.missing(sessions, build_rules_name(embedder), BATCH)
    if len(missing) > 1:  # of the one turn that has just ended, both are written at once
        while _index_words(engine, sessions, stop) == AT_ONCE:
            pass
    while missing:
        for turn in missing:
            _stop_if_set(stop)
            index.put([NewRow(turn, *pack_turn(turn, embedder))], build_rules_name(embedder))
        missing = index.missing(sessions, build_rules_name(embedder), BATCH) if len(missing) == BATCH else []


def _index_words(
    engine: TurnEngine, sessions: Sequence[str], stop: threading.Event | None = None, last: int | None = None
) -> int:
    """Indexes the words of at most ``AT_ONCE`` turns that have no row yet, the newest first, in less than half a
    second; returns how many. The others follow as side work. ``last``: only turns up to this number."""
    index, made_by = engine.store.turn_index, build_rules_name(built_in())
    missing = index.missing(sessions, made_by, AT_ONCE, last, vectors=False)
    if not missing:
        return 0
    rows = list[NewRow]()
    for turn in missing:
        _stop_if_set(stop)
        rows.append(NewRow(turn, *pack_turn(turn)))
    index.put(rows, made_by)
    return len(missing)


def _stop_if_set(stop: threading.Event | None) -> None:
    if stop is not None and stop.is_set():
        raise Stopped
