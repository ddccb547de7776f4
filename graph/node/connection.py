"""The connection to the model's server, made when a prompt for the model is about to be counted."""

from __future__ import annotations

from contextlib import suppress

from errors import GieokError
from graph.turn.runtime import TurnContext
from model.call.interrupt import run_interruptible, stopped_by


def connect_turn_models(turn: TurnContext) -> None:
    """Has the models' server run where it was released, so that the tokens of a prompt are counted, not estimated.

    Call it before a prompt for the model is built, and not earlier: the server may take long to load, and code may
    answer without it. A failure is left to the call of the model, which meets it again and says so. Raises ``Stopped``.
    """
    if turn.models.connect is not None:
        with suppress(GieokError), stopped_by(turn.channel.stop):
            run_interruptible(turn.models.connect)
