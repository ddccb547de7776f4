"""A session's title: the first words of its question, or a model's title from a short side call (design 3.9).

Shows ``plan_session_title`` to ``graph.turn``.
May import ``graph.turn.process``, ``world.prompt.side_call``, ``store``, ``model``, ``prompt`` and ``text``.

The user's own title always wins. A model writes a title after the first answered turn, and once more after turn 4, when
the subject of the conversation is clearer. Without a good title from the model, the first words stay.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from langchain_core.messages import AIMessage

from errors import GieokError, SessionUnknown
from graph.title import by_model
from graph.title.by_model import LAST_TURN
from graph.turn.process.engine import TurnEngine
from store import Session
from world.prompt.side_call import sum_side_calls

log = logging.getLogger(__name__)


def plan_session_title(engine: TurnEngine, session_id: str, number: int) -> None:
    """Puts a model's title on the list of side work, when one is due after turn ``number``.

    The first words are the title already: the store takes them from the first question (``Store.begin_turn``).
    """
    setting = engine.settings.titles
    enabled = engine.models().side.titles == "model" if setting is None else setting
    if enabled and number <= LAST_TURN and _is_title_due(engine.store.session(session_id), number):
        engine.aside(("title", session_id), _build_title_work(engine, session_id, number), session_id)


def _is_title_due(session: Session, number: int) -> bool:
    """Returns whether to replace the title: the first words early, a model's own title only once, after turn
    ``LAST_TURN``."""
    return session.titled != "user" and (number == LAST_TURN or (session.titled == "auto" and number < LAST_TURN))


def _build_title_work(engine: TurnEngine, session_id: str, number: int) -> Callable[[threading.Event], None]:
    def work(stop: threading.Event) -> None:
        try:
            session = engine.store.session(session_id)
            turns = [turn for turn in engine.store.turns_between(session_id, 1, number) if turn.answer]
            if not turns or not _is_title_due(session, number):
                return
            models = engine.models()

            def note(reply: AIMessage) -> None:
                if used := sum_side_calls("title", [reply], models.side_name, models):
                    engine.store.usages.note(session_id, used)

            title = by_model.make_model_title(turns, models, session.language, stop, note)
            if title:
                engine.store.set_model_title(session_id, title)
        except SessionUnknown:  # deleted meanwhile
            return
        except GieokError as error:
            log.info("no title for a session: %s", error.code)

    return work
