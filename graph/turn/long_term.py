"""Long-term memory in the chat: the memory that a turn gets, its tools, and the work after the answer (design 6.8).

Nothing here fails a turn: without Redis the context says that memory is away, and a later turn makes up for what was
missed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from functools import partial

from langchain_core.tools import BaseTool

from errors import GieokError, SessionUnknown, trace
from graph.context.prompt import RECALLING, Changing
from graph.context.report import LeftOut
from graph.context.turns import CHUNK
from graph.tool import memory_tools, wish_tools
from graph.tool.reach import Reach
from graph.turn import past_turns
from graph.turn.engine import Engine
from memory import Due, MemoryTurn, MemoryView, Patience
from memory.line import BEFORE, END, dated, lines, statements_of
from memory.state import fitted
from model.call.stream import Stopped
from model.embedding import built_in
from model.modelset import ModelSet
from model.profile import Profile
from prompt import render
from store import Session
from store import Turn as Row
from store.wording import mark
from text.fence import unframed
from text.language import Language

log = logging.getLogger(__name__)

SETTLE_SECONDS = 2.0


# --- before the answer --------------------------------------------------------------------------


def before(
    engine: Engine, session: Session, models: ModelSet, number: int, patience: Patience | None = None
) -> MemoryView | None:
    """Returns the memory before turn ``number``; None where the settings turn memory off. Never raises.

    ``patience``: how long this turn waits for Redis, over all its requests.
    """
    if engine.memory is None:
        return None
    try:
        return view(engine, session, models, number, patience or Patience())
    except Exception as error:  # a turn does without its memory rather than fail
        log.error("memory could not be read: %s", trace(error))
        return MemoryView(away=True)


def view(engine: Engine, session: Session, models: ModelSet, number: int, patience: Patience) -> MemoryView:
    """Returns the session's memory before turn ``number``. Brings it in line with the conversation's path first; if
    that fails, the memory counts as away."""
    assert engine.memory is not None
    limits = engine.prompting
    titles = max(models.count(render(name, session.language, **{name: ""})) for name in ("memory", "entities"))

    def seen() -> MemoryView:
        assert engine.memory is not None
        return engine.memory.context(
            engine.tenant,
            session.id,
            session.language,
            user=engine.user,
            count=lambda text: models.count(text) + titles,
            rooms=(limits.budget_memory, limits.budget_entities),
            patience=patience,
        )

    memory = seen()
    if memory.away or _in_line(engine, session.id, memory, number - 1):
        return memory
    return seen() if follow(engine, session.id, number - 1, patience) else MemoryView(away=True)


def parts(
    found: MemoryView | None, engine: Engine, language: Language, number: int, profile: Profile
) -> tuple[Changing, ...]:
    """Returns memory and entities as parts of the context of turn ``number``, each within its budget; none where memory
    gives none.

    Both seldom change, so they stay with the question that they were first given with (``Changing.lasting``). A bare
    prompt also gets lines of turns that are summarised but not in the memory yet.
    """
    limits = engine.prompting
    if found is None or limits.memory_tool_only:
        return ()
    if found.away:
        return (Changing("memory", "", limits.budget_memory, left_out=(LeftOut("", "memory_away"),)),)
    bare = profile.prompt == "bare"
    text = _of_session(found, number, language) if bare else found.text
    memory = render("memory_bare" if bare else "memory", language, memory=text) if text else ""
    entities = render("entities", language, entities=found.entity_text) if found.entities else ""
    cut = (LeftOut(str(len(found.cut)), "memory_cut"),) if found.cut else ()
    cut_entities = (LeftOut(str(len(found.cut_entities)), "entities_cut"),) if found.cut_entities else ()
    return (
        Changing("memory", memory, limits.budget_memory, lasting=True, left_out=cut),
        Changing("entities", entities, limits.budget_entities, lasting=True, left_out=cut_entities),
    )


def _of_session(found: MemoryView, number: int, language: Language) -> str:
    """Returns the memory's text for a bare prompt: statements from turns that the prompt no longer holds raw, and
    pinned statements.

    The text changes only with the chunks, so that the prompt's prefix stays unbroken between two chunks. It leaves out
    statements from earlier sessions, because a small model takes them for what was just said; they are looked up when
    the user asks about them.
    """
    summarised = (number - 1) // CHUNK * CHUNK
    statements = (statement for line in lines(found.text) for statement in statements_of(line))
    texts = [dated(statement, language) for statement in statements if BEFORE < statement.last <= summarised]
    waiting = (line for turn, line in found.waiting_lines if turn <= summarised)
    return "\n".join(line.rstrip(END) for line in [*texts, *waiting])


def keep(engine: Engine, session_id: str, given: Sequence[Changing], since: float) -> None:
    """Stores the texts that a prompt gets of the memory that was read at ``since`` (Unix seconds), so that
    ``graph.context.exact_prompt`` can show the prompt."""
    texts = {mark(part.text): part.text for part in given if part.text}
    if engine.memory is None or not texts:
        return
    try:
        engine.memory.give(engine.tenant, session_id, texts, since)
    except GieokError as error:  # the prompt is sent nevertheless
        log.warning("what the prompt is given of the memory was not kept: %s", error.code)


def unfolded(found: MemoryView | None) -> int | None:
    """Returns the first turn that memory has not taken in yet, whose summary must not leave the context; None when no
    turn waits.

    While memory is away, nobody knows which turns it holds, and the prompt does not get it: then no summary may leave.
    """
    if found is None:
        return None
    return 1 if found.away else min(found.waiting, default=None)


def tools(
    engine: Engine, session: Session, number: int, profile: Profile, patience: Patience | None = None
) -> list[BaseTool]:
    """Returns ``recall_memory``, ``recall_turns``, ``remember`` and ``forget`` for turn ``number``; no tools without
    memory."""
    if engine.memory is None:
        return []
    past = partial(past_turns.look_up, engine, session, before=number, patience=patience)
    reach = Reach(engine.memory, engine.tenant, session.id, number, session.language, engine.user, patience, past)
    return memory_tools(reach) if profile.tools == "native" else wish_tools(reach, near)


def near(text: str, others: Sequence[str]) -> list[float]:
    """Returns how near each of the other texts is to a text: cosines of the built-in embedding."""
    model = built_in()
    return [float(cosine) for cosine in model.passages(list(others)) @ model.query(text)]


def follow(engine: Engine, session_id: str, last: int, patience: Patience | None = None) -> bool:
    """Brings the memory in line with the path up to turn ``last``, which was edited, switched, forked, imported or cut
    off.

    Returns False while Redis is away.
    """
    if engine.memory is None:
        return False

    def turns(first: int) -> list[MemoryTurn]:
        rows = engine.store.turns_between(session_id, first, last)
        return [noted(row) for row in rows if row.status not in ("running", "waiting")]

    return engine.memory.follow(engine.tenant, session_id, turns, last, user=engine.user, patience=patience)


def _in_line(engine: Engine, session_id: str, found: MemoryView, last: int) -> bool:
    """Returns whether the newest turn that the memory has seen is the last turn of the path."""
    newest = found.short[-1] if found.short else None
    if newest is None or newest.number != last:
        return newest is None and last == 0
    row = engine.store.turn(session_id, last)
    return row is not None and (newest.question, newest.answer) == _spoken(noted(row))


# --- after the answer ---------------------------------------------------------------------------


def after(engine: Engine, session_id: str, number: int, patience: Patience | None = None) -> None:
    """Notes the finished turn and plans the folds that are due; waits for Redis no longer than the turn may, because
    the user waits, too."""
    if engine.memory is None:
        return
    try:
        row = engine.store.turn(session_id, number)
        if row is not None:
            turn = noted(row)
            engine.memory.note_turn(
                engine.tenant,
                session_id,
                number,
                turn.question,
                turn.answer,
                tools=turn.tools,
                user=engine.user,
                patience=patience,
            )
        if engine.models().side.folds == "extracted":  # takes milliseconds
            due = engine.memory.due(engine.tenant, session_id, user=engine.user)
            _fold(engine, [fold for fold in due if fold.session == session_id], threading.Event())
        engine.aside(key(session_id), partial(_fold_session, engine, session_id), session_id)
        past_turns.plan(engine, session_id, number)
    except Exception as error:  # the user has the answer, and the next turn makes up for this
        log.error("turn %d was not noted in memory: %s", number, trace(error))


def key(session_id: str) -> tuple[str, str]:
    """Returns the name of one session's folds among the side work."""
    return ("memory", session_id)


def begin(engine: Engine) -> None:
    """Arranges that the due folds of all sessions are submitted as side work whenever Redis is reached."""
    if engine.memory is not None:
        engine.memory.when_back(lambda: engine.background.submit("memory", partial(_fold_all, engine)))


def noted(row: Row) -> MemoryTurn:
    """Returns a turn of the record as memory takes it in: without text that came out of memory, documents or foreign
    tools, or that a client sent along."""
    own = (step for step in row.steps if step.get("ok") and not step.get("foreign"))
    steps = [step for step in own if step.get("name") not in RECALLING]
    results = "\n".join(f"{step['name']}: {step['result']}" for step in steps)
    answer = row.answer if row.status in ("done", "stopped") else ""  # half an answer is shown, not remembered
    return MemoryTurn(row.number, unframed(row.question), answer or "", results)


def _spoken(turn: MemoryTurn) -> tuple[str, str]:
    shortened = fitted(turn)
    return shortened.question, shortened.answer


def _fold_session(engine: Engine, session_id: str, stop: threading.Event) -> None:
    assert engine.memory is not None
    _fold(engine, engine.memory.due(engine.tenant, session_id, user=engine.user), stop)


def _fold_all(engine: Engine, stop: threading.Event) -> None:
    """Submits the folds of the turns that a crash or an absence of Redis left behind, in all sessions."""
    assert engine.memory is not None
    if engine.memory.wait(SETTLE_SECONDS):
        engine.memory.settle(SETTLE_SECONDS)  # ``due_all`` reads the archive
        for due in engine.memory.due_all(engine.tenant):
            engine.aside(key(due.session), partial(_fold, engine, [due]), due.session)


def _fold(engine: Engine, due: Sequence[Due], stop: threading.Event) -> None:
    """Runs the folds one after the other. Raises ``Stopped``; the side work then runs again after the answer."""
    assert engine.memory is not None
    for fold in due:
        if stop.is_set():
            raise Stopped
        try:
            models, language = engine.models(), _language(engine, fold.session)
            engine.memory.fold(fold.tenant, fold.session, models=models, language=language, rest=fold.rest, stop=stop)
        except GieokError as error:  # the turns wait for the next time
            log.info("a memory was not folded: %s", error.code)


def _language(engine: Engine, session_id: str) -> Language:
    try:  # the folds that are left behind are those of all users
        return engine.store.everyone.session(session_id).language
    except SessionUnknown:
        return "ko"
