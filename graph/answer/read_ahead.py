"""Lets the embedded model read the next prompt while the user reads the answer (design 9.5).

After a summary the embedded model has to read a part of the next prompt anew, which takes seconds on a slow processor.
All of that prompt but the question is known as soon as the answer is there, so the model reads it at once. The reading
generates no text. A question that comes meanwhile stops the reading and keeps the part that was read.
"""

from __future__ import annotations

import logging
import threading
from functools import partial

from errors import GieokError
from graph.context.preview import build_upcoming_prompt
from graph.turn.process.engine import TurnEngine

log = logging.getLogger(__name__)


def plan_read_ahead(engine: TurnEngine, session_id: str) -> None:
    """Puts the reading on the list of side work, behind the work that changes the prompt; only if the model can read
    ahead."""
    if engine.settings.ahead and engine.models().read is not None:
        engine.aside("read ahead", partial(_read_next_prompt, engine, session_id), session_id)


def _read_next_prompt(engine: TurnEngine, session_id: str, stop: threading.Event) -> None:
    read = engine.models().read
    try:
        if read is not None:
            read(build_upcoming_prompt(engine, session_id)[0].messages, stop)
    except GieokError as error:  # the next turn reads the missing rest
        log.info("the next prompt was not read ahead: %s", error.code)
