"""Long-term memory in the chat: what a turn is given of it, its tools, and what happens after the answer (design §6).

Nothing here fails a turn: without Redis the context says that memory is away, and what was missed is made up for.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from functools import partial

from langchain_core.tools import BaseTool

from errors import GieokError, SessionUnknown, trace
from graph.context import Changing, mark
from graph.engine import Engine
from graph.report import LeftOut
from graph.tool import memory_tools, wish_tools
from graph.tool.reach import Reach
from graph.turns import CHUNK
from memory import Due, MemoryView, Patience, Turn
from memory.line import lines, undated
from memory.state import fitted
from model.modelset import ModelSet
from model.profile import Profile
from model.stream import Stopped
from prompt import render
from retrieval.embed import built_in
from retrieval.tool import NAME as SEARCH
from store import Session
from store import Turn as Row
from text.language import Language

log = logging.getLogger(__name__)

RECALLING = frozenset({"recall_memory", "remember", "forget", SEARCH})
"""Tools whose results are no news: what comes out of memory or documents never goes in again."""
SETTLE_SECONDS = 2.0


# --- before the answer --------------------------------------------------------------------------


def before(
    engine: Engine, session: Session, models: ModelSet, number: int, patience: Patience | None = None
) -> MemoryView | None:
    """What memory holds before turn ``number``; None where the settings turn it off. Never raises.

    ``patience``: how long this turn waits for Redis, in all that it asks of it.
    """
    if engine.memory is None:
        return None
    try:
        return view(engine, session, models, number, patience or Patience())
    except Exception as error:  # a turn does without its memory rather than fail
        log.error("memory could not be read: %s", trace(error))
        return MemoryView(away=True)


def view(engine: Engine, session: Session, models: ModelSet, number: int, patience: Patience) -> MemoryView:
    """The session's memory before turn ``number``, in line with the path that its conversation is on; else away."""
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

    found = seen()
    if found.away or _in_line(engine, session.id, found, number - 1):
        return found
    return seen() if follow(engine, session.id, number - 1, patience) else MemoryView(away=True)


def parts(
    found: MemoryView | None, engine: Engine, language: Language, number: int, profile: Profile
) -> tuple[Changing, ...]:
    """Memory and entities as parts of the context of turn ``number``, each within its budget; none while there is none.

    They seldom change, so they stay with the question they were first given with (``Changing.lasting``). A bare prompt
    also has lines of the turns that are summarised and not in the memory yet.
    """
    limits = engine.prompting
    if found is None or limits.memory_tool_only:
        return ()
    if found.away:
        return (Changing("memory", "", limits.budget_memory, left_out=(LeftOut("", "memory_away"),)),)
    bare = profile.prompt == "bare"
    text = _of_session(found, number) if bare else found.text
    memory = render("memory_bare" if bare else "memory", language, memory=text) if text else ""
    entities = render("entities", language, entities=found.entity_text) if found.entities else ""
    cut = (LeftOut(str(len(found.cut)), "memory_cut"),) if found.cut else ()
    cut_entities = (LeftOut(str(len(found.cut_entities)), "entities_cut"),) if found.cut_entities else ()
    return (
        Changing("memory", memory, limits.budget_memory, lasting=True, left_out=cut),
        Changing("entities", entities, limits.budget_entities, lasting=True, left_out=cut_entities),
    )


def _of_session(found: MemoryView, number: int) -> str:
    """What a bare prompt has of the memory: statements of turns that are not raw in it, and what is pinned.

    It changes with the chunks only, so that the prompt's prefix stays unbroken between them. What earlier sessions left
    is looked up when it is asked for: a small model takes it for what was just said.
    """
    summarised = (number - 1) // CHUNK * CHUNK
    if found.from_user:
        known = list(found.pins)
    else:
        known = [line for line in lines(found.text) if undated(line).last <= summarised]
    waiting = (line for turn, line in found.waiting_lines if turn <= summarised)
    return "\n".join([*known, *waiting])


def keep(engine: Engine, session_id: str, given: Sequence[Changing], since: float) -> None:
    """Keeps what a prompt is given of the memory that was read at ``since`` (Unix seconds), for ``graph.exact``."""
    texts = {mark(each.text): each.text for each in given if each.text}
    if engine.memory is None or not texts:
        return
    try:
        engine.memory.give(engine.tenant, session_id, texts, since)
    except GieokError as error:  # the prompt is sent all the same
        log.warning("what the prompt is given of the memory was not kept: %s", error.code)


def unfolded(found: MemoryView | None) -> int | None:
    """The first turn that waits for the memory: its summary must not leave the context yet. None when no turn does.

    While memory is away nobody knows which turns it holds, nor is it given: none may leave.
    """
    if found is None:
        return None
    return 1 if found.away else min(found.waiting, default=None)


def tools(
    engine: Engine, session: Session, number: int, profile: Profile, patience: Patience | None = None
) -> list[BaseTool]:
    """``recall_memory``, ``remember`` and ``forget`` for turn ``number``."""
    if engine.memory is None:
        return []
    reach = Reach(engine.memory, engine.tenant, session.id, number, session.language, engine.user, patience)
    return memory_tools(reach) if profile.tools == "native" else wish_tools(reach, near)


def near(text: str, others: Sequence[str]) -> list[float]:
    """How near each of the other texts comes to a text: cosines of the built-in embedding."""
    model = built_in()
    return [float(cosine) for cosine in model.passages(list(others)) @ model.query(text)]


def follow(engine: Engine, session_id: str, last: int, patience: Patience | None = None) -> bool:
    """Bring the memory in line with the path up to turn ``last``: it was edited, switched, forked, imported or cut off.

    False while Redis is away.
    """
    if engine.memory is None:
        return False

    def turns(first: int) -> list[Turn]:
        rows = engine.store.turns_between(session_id, first, last)
        return [noted(row) for row in rows if row.status != "running"]

    return engine.memory.follow(engine.tenant, session_id, turns, last, user=engine.user, patience=patience)


def _in_line(engine: Engine, session_id: str, found: MemoryView, last: int) -> bool:
    """Whether the newest turn that the memory has seen is the last one of the path."""
    newest = found.short[-1] if found.short else None
    if newest is None or newest.number != last:
        return newest is None and last == 0
    row = engine.store.turn(session_id, last)
    return row is not None and (newest.question, newest.answer) == _spoken(noted(row))


# --- after the answer ---------------------------------------------------------------------------


def after(engine: Engine, session_id: str, number: int, patience: Patience | None = None) -> None:
    """Notes the finished turn and plans what is due; in the user's path, so it waits no longer than the turn may."""
    if engine.memory is None:
        return
    try:
        row = engine.store.turn(session_id, number)
        if row is not None:
            said = noted(row)
            engine.memory.note_turn(
                engine.tenant,
                session_id,
                number,
                said.question,
                said.answer,
                tools=said.tools,
                user=engine.user,
                patience=patience,
            )
        engine.background.submit(key(session_id), partial(_fold_session, engine, session_id))
    except Exception as error:  # the answer is there: the next turn makes up for what was missed
        log.error("turn %d was not noted in memory: %s", number, trace(error))


def key(session_id: str) -> tuple[str, str]:
    """What names the folds of one session among the side work."""
    return ("memory", session_id)


def begin(engine: Engine) -> None:
    """From now on, whenever Redis is reached, what is due in any session is put on the list of side work."""
    if engine.memory is not None:
        engine.memory.when_back(lambda: engine.background.submit("memory", partial(_fold_all, engine)))


def noted(row: Row) -> Turn:
    """A turn of the record as memory takes it: without what came out of memory or documents."""
    told = [each for each in row.steps if each.get("ok") and each.get("name") not in RECALLING]
    results = "\n".join(f"{each['name']}: {each['result']}" for each in told)
    answer = row.answer if row.status in ("done", "stopped") else ""  # half an answer is shown, not remembered
    return Turn(row.number, row.question, answer or "", results)


def _spoken(turn: Turn) -> tuple[str, str]:
    kept = fitted(turn)
    return kept.question, kept.answer


def _fold_session(engine: Engine, session_id: str, stop: threading.Event) -> None:
    assert engine.memory is not None
    _fold(engine, engine.memory.due(engine.tenant, session_id, user=engine.user), stop)


def _fold_all(engine: Engine, stop: threading.Event) -> None:
    """What a crash or an absence of Redis has left behind."""
    assert engine.memory is not None
    if engine.memory.wait(SETTLE_SECONDS):
        engine.memory.settle(SETTLE_SECONDS)  # the archive lists what waits
        _fold(engine, engine.memory.due_all(engine.tenant), stop)


def _fold(engine: Engine, due: Sequence[Due], stop: threading.Event) -> None:
    """Folds one after the other; stopped ones are looked for again after the answer."""
    assert engine.memory is not None
    for each in due:
        if stop.is_set():
            raise Stopped
        try:
            models, language = engine.models(), _language(engine, each.session)
            engine.memory.fold(each.tenant, each.session, models=models, language=language, rest=each.rest, stop=stop)
        except GieokError as error:  # the turns wait for the next time
            log.info("a memory was not folded: %s", error.code)


def _language(engine: Engine, session_id: str) -> Language:
    try:
        return engine.store.session(session_id).language
    except SessionUnknown:
        return "ko"
