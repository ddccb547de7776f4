"""Long-term memory in the chat: the memory that a turn gets, its tools, and the work after the answer (design 6.8).

Nothing here fails a turn: without its database the context says that memory is away.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from langchain_core.tools import BaseTool

from errors import GieokError, SessionUnknown, format_error_trace
from graph.context.past import RECALL
from graph.context.prompt import Changing
from graph.context.report import PromptOmission
from graph.context.turns import CHUNK
from graph.tool import memory_tools, wish_tools
from graph.tool.reach import MemoryReach, RecalledTurns
from graph.turn.memory import past_turns
from graph.turn.process.engine import TurnEngine
from memory import MemoryView, ProfileLine, Rooms
from memory.line import END, render_dated_line, split_memory_lines, statements_of
from memory.reader import MemoryReading
from memory.row import apart
from memory.row.rows import MemoryRows
from memory.view.view import profile_text
from model.call.stream import Stopped
from model.embedding import built_in
from model.modelset import ModelSet
from model.profile import Profile
from prompt import render_prompt
from retrieval.past import SaidLine, find_fitting_lines, pack_line
from store import Session
from store.search.text_search import cut_head
from store.search.turn_index import TurnKey
from store.turn.wording import build_text_mark
from text.language import Language

log = logging.getLogger(__name__)

RECALLED_LINES, RECALLED_LINES_SMALL, LINE_CHARS = 8, 4, 160
"""Most lines of memory that the tool ``recall`` gives, to a small model, and characters of such a line there."""
FITTING_FACTS, COMPARED_FACTS = 3, 40
"""Most lines of the profile that a bare prompt gets, and that are compared with a question."""


# --- before the answer --------------------------------------------------------------------------


def keep_apart(engine: TurnEngine, session: Session) -> None:
    """Keeps a session apart where the engine's turns want that (``WorldEngine.apart``), and every story, before
    anything is read of the user's memory; a failure fails the turn rather than share what must not be shared. The
    session stays so, also where memory is off now and on later."""
    if engine.apart or session.world:
        apart.set_session_apart(MemoryRows(engine.store), engine.tenant, session.id, engine.user)


def load_memory_view(engine: TurnEngine, session: Session, models: ModelSet) -> MemoryView | None:
    """Returns the memory for the next answer; None where the settings turn memory off. Never raises."""
    reading = read_for_turn(engine, session, models)
    if reading is not None:
        return reading.view
    return None if engine.memory is None else MemoryView(away=True)


def read_for_turn(engine: TurnEngine, session: Session, models: ModelSet) -> MemoryReading | None:
    """Returns all that a turn reads of memory, as its finished turns have it, within the budgets of a prompt; None
    where the settings turn memory off, and where it could not be read. Never raises."""
    if engine.memory is None:
        return None
    limits = engine.prompting
    names = (("memory", "memory"), ("entities", "entities"), ("profile", "profile"))
    titles = max(models.count(render_prompt(name, session.language, **{of: ""})) for name, of in names)
    try:
        return engine.memory.reader.read_turn(
            engine.tenant,
            session.id,
            session.language,
            user=engine.user,
            count=lambda text: models.count(text) + titles,
            rooms=Rooms(limits.budget_memory, limits.budget_entities, limits.budget_profile),
        )
    except Exception as error:  # a turn does without its memory rather than fail
        log.error("memory could not be read: %s", format_error_trace(error))
        return None


def build_memory_parts(
    found: MemoryView | None,
    engine: TurnEngine,
    language: Language,
    number: int,
    profile: Profile,
    facts: Sequence[ProfileLine],
) -> tuple[Changing, ...]:
    """Returns profile, memory and entities as parts of the context of turn ``number``, each within its budget; none
    where memory gives none. ``facts``: the lines of the profile (``choose_facts``).

    They seldom change, so they stay with the question that they were first given with (``Changing.lasting``). A bare
    prompt also gets lines of turns that are summarised but not in the memory yet.
    """
    limits = engine.prompting
    if found is None or limits.memory_tool_only:
        return ()
    if found.away:
        return (Changing("memory", "", limits.budget_memory, left_out=(PromptOmission("", "memory_away"),)),)
    bare = profile.prompt == "bare"
    text = _of_session(found, number, language) if bare else found.text
    memory = render_prompt("memory_bare" if bare else "memory", language, memory=text) if text else ""
    entities = render_prompt("entities", language, entities=found.entity_text) if found.entities else ""
    about = render_prompt("profile", language, profile=profile_text(facts, language)) if facts else ""
    cut = (PromptOmission(str(len(found.cut)), "memory_cut"),) if found.cut else ()
    cut_entities = (PromptOmission(str(len(found.cut_entities)), "entities_cut"),) if found.cut_entities else ()
    cut_profile = (
        (PromptOmission(str(len(found.cut_profile)), "profile_cut"),) if found.cut_profile and not bare else ()
    )
    return (
        Changing("profile", about, limits.budget_profile, lasting=not bare, left_out=cut_profile),
        Changing("memory", memory, limits.budget_memory, lasting=True, left_out=cut),
        Changing("entities", entities, limits.budget_entities, lasting=True, left_out=cut_entities),
    )


def choose_facts(found: MemoryView | None, profile: Profile, question: str, now: datetime) -> Sequence[ProfileLine]:
    """Returns the lines of the user's profile for a prompt, in their order: all that have room; for a bare prompt those
    that fit the question, at most ``FITTING_FACTS``, because a small model takes every fact for a part of what it is
    asked."""
    if found is None:
        return ()
    if profile.prompt != "bare":
        return found.profile
    facts = (*found.profile, *found.cut_profile)
    if not facts or not question.strip():
        return ()
    fitting = find_fitting_lines(_choose_compared(found), question, now)
    return [facts[at] for at in sorted(fitting[:FITTING_FACTS])]


def _choose_compared(found: MemoryView) -> list[SaidLine]:
    return [SaidLine(line.row.label, line.row.at) for line in (*found.profile, *found.cut_profile)[:COMPARED_FACTS]]


def _of_session(found: MemoryView, number: int, language: Language) -> str:
    """Returns the memory's text for a bare prompt: statements from turns that the prompt no longer holds raw.

    The text changes only with the chunks, so that the prompt's prefix stays unbroken between two chunks.
    """
    summarised = (number - 1) // CHUNK * CHUNK
    statements = (statement for line in split_memory_lines(found.text) for statement in statements_of(line))
    texts = [render_dated_line(statement, language) for statement in statements if 0 <= statement.last <= summarised]
    waiting = (line for turn, line in found.waiting_lines if turn <= summarised)
    return "\n".join(line.rstrip(END) for line in [*texts, *waiting])


def save_given_parts(engine: TurnEngine, session_id: str, given: Sequence[Changing], since: float) -> None:
    """Stores the texts that a prompt gets of the memory that was read at ``since`` (Unix seconds), so that
    ``graph.context.exact_prompt`` can show the prompt."""
    texts = {build_text_mark(part.text): part.text for part in given if part.text}
    if engine.memory is None or not texts:
        return
    try:
        engine.memory.writer.save_given(engine.tenant, session_id, texts, since)
    except GieokError as error:  # the prompt is sent nevertheless
        log.warning("what the prompt is given of the memory was not kept: %s", error.code)


def make_turn_memory_tools(
    engine: TurnEngine,
    session: Session,
    number: int,
    profile: Profile,
    shown: Callable[[], Collection[TurnKey]] = tuple,
    cites: bool = True,
    quoted: RecalledTurns | None = None,
) -> list[BaseTool]:
    """Returns ``recall``, ``remember`` and ``forget`` for turn ``number``; no tools without memory. ``shown``: returns
    the past turns that the prompt shows; ``cites``: whether the answer cites past turns by marks; ``quoted``: the
    answer that quotes past turns, for a small model.

    A small model gets no ``recall`` where turns were found and none can be quoted: it searches for the same words, so
    it brings only what fits less, and a small model takes that for the answer.
    """
    if engine.memory is None:
        return []
    native = profile.tools == "native"

    def past(query: str, day: str = "", conversation: str = "") -> RecalledTurns:
        """Returns the lines of memory about the query, then the turns; lines have no day, so a day leaves them out."""
        known = "" if day or conversation else _recalled_lines(engine, session, query, native)
        room, frame = min(past_turns.ROOM, profile.past_tokens), past_turns.frame_of(profile, cites)
        asked = past_turns.PastQuery(query, number, day, conversation, shown())
        found = past_turns.recall_past(engine, session, asked, room, frame)
        if known and not found.items:
            return RecalledTurns(known)
        return replace(found, text="\n".join(text for text in (known, found.text) if text))

    reach = MemoryReach(engine.memory, engine.tenant, session.id, number, session.language, engine.user, past)
    if native:
        return memory_tools(reach)
    tools = wish_tools(replace(reach, quoted=quoted), measure_text_similarity)
    return [tool for tool in tools if tool.name != RECALL or quoted or not shown()]


def _recalled_lines(engine: TurnEngine, session: Session, query: str, native: bool) -> str:
    """Returns what the lines of memory say about a query; a small model gets few and short ones, compared by
    meaning."""
    assert engine.memory is not None
    most, compared = (RECALLED_LINES, None) if native else (RECALLED_LINES_SMALL, measure_text_similarity)
    found = engine.memory.reader.find_lines(
        engine.tenant, session.id, query, user=engine.user, limit=most, near=compared
    )
    lines = [line if native or len(line) <= LINE_CHARS else f"{cut_head(line, LINE_CHARS)}…" for line in found]
    return (
        render_prompt("memory_recalled", session.language, lines="\n".join(f"- {line}" for line in lines))
        if lines
        else ""
    )


def measure_text_similarity(text: str, others: Sequence[str]) -> list[float]:
    """Returns how near each of the other texts is to a text: cosines of the built-in embedding."""
    model = built_in()
    return [float(cosine) for cosine in model.passages(list(others)) @ model.query(text)]


# --- after the answer ---------------------------------------------------------------------------


def plan_memory_fold(engine: TurnEngine, session_id: str, reading: MemoryReading | None = None) -> None:
    """Notes whose session this is, unless that was so when the turn read it, and plans the fold that is due."""
    if engine.memory is None:
        return
    try:
        if reading is None or not reading.is_noted:
            engine.memory.writer.open_session(engine.tenant, session_id, user=engine.user)
        if engine.models().side.folds == "extracted":  # takes milliseconds
            _fold_session_memory(engine, session_id, threading.Event())
        engine.aside(build_fold_key(session_id), partial(_fold_and_prepare, engine, session_id), session_id)
    except Exception as error:  # the user has the answer, and the next turn makes up for this
        log.error("a fold was not planned: %s", format_error_trace(error))


def build_fold_key(session_id: str) -> tuple[str, str]:
    """Returns the name of one session's folds among the side work."""
    return ("memory", session_id)


def submit_due_folds(engine: TurnEngine) -> None:
    """Submits the folds of the turns that a crash left behind, in all sessions, as side work."""
    if engine.memory is not None:
        engine.background.submit("memory", partial(_fold_all, engine))


def _fold_all(engine: TurnEngine, stop: threading.Event) -> None:
    assert engine.memory is not None
    for session_id in engine.memory.folds.list_due(engine.tenant):
        engine.aside(build_fold_key(session_id), partial(_fold_session_memory, engine, session_id), session_id)
    _prepare_profile(engine, "", stop)


def _fold_session_memory(engine: TurnEngine, session_id: str, stop: threading.Event) -> None:
    """Runs the fold of a session if it is due, and fills its copy for the next turn. Raises ``Stopped``; the side work
    then runs again after the answer."""
    assert engine.memory is not None
    if stop.is_set():
        raise Stopped
    try:
        if engine.memory.reader.fill_copy(engine.tenant, session_id).due:
            language = _load_fold_language(engine, session_id)
            engine.memory.folds.run(engine.tenant, session_id, models=engine.models(), language=language, stop=stop)
            engine.memory.reader.fill_copy(engine.tenant, session_id)
    except GieokError as error:  # the turns wait for the next time
        log.info("a memory was not folded: %s", error.code)


def _fold_and_prepare(engine: TurnEngine, session_id: str, stop: threading.Event) -> None:
    _fold_session_memory(engine, session_id, stop)
    if engine.models().profile.prompt == "bare":
        _prepare_profile(engine, session_id, stop)


def _prepare_profile(engine: TurnEngine, session_id: str, stop: threading.Event) -> None:
    """Computes the vectors of the profile's lines, about 25 ms each, so that no question waits for them. Raises
    ``Stopped``."""
    assert engine.memory is not None
    found = engine.memory.reader.read_view(engine.tenant, session_id, user=engine.user)
    for line in _choose_compared(found):
        if stop.is_set():
            raise Stopped
        pack_line(line)


def _load_fold_language(engine: TurnEngine, session_id: str) -> Language:
    try:  # the folds that are left behind are those of all users
        return engine.store.everyone.session(session_id).language
    except SessionUnknown:
        return "ko"
