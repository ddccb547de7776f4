"""The turn of a story that is being played: it runs apart from the page, which finds it again after a refresh."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import streamlit as st

from component.work import resource
from component.work.side_call import SideCall
from component.world.view import WorldView, show_world
from model.call.stream import Stopped
from store.world.record import Node


@dataclass(frozen=True, slots=True)
class Asked:
    """What is being answered: ``question`` after the turn ``parent``, 0 for the beginning of a story. ``typed``: the
    user wrote it for this turn, so that it goes back into the input when nothing comes of it."""

    question: str
    parent: int
    typed: bool
    started: float


def play(shown: WorldView, parent: Node | None, question: str, *, typed: bool) -> bool:
    """Begins to play a turn, and turns the page to the one before it. Returns False when another is being played."""
    calls, key = resource.side_calls(), ("world", shown.world.id)
    running = calls.of(key)
    if running is not None and not running.done:
        return False
    calls.start(key, partial(_answer, shown, parent, question))
    call, before = calls.of(key), parent.id if parent else 0
    if call is not None and call.at is None:
        call.at = Asked(question, before, typed, time.monotonic())
    show_world(shown.world.id, before)
    return True


def _answer(shown: WorldView, parent: Node | None, question: str, call: SideCall) -> Node:
    def emit(piece: str) -> None:
        call.text += piece

    if not shown.view.readiness.wait(call.stop):
        raise Stopped
    return shown.engine.play(shown.world.id, parent, question, call.stop, emit)


def asked(shown: WorldView) -> Asked | None:
    """Returns what is being answered, or could not be; None when nothing is."""
    at = shown.call.at if shown.call is not None else None
    return at if isinstance(at, Asked) else None


def running(shown: WorldView) -> bool:
    """Returns whether a turn is being played, or has failed and waits for the user's decision."""
    return shown.call is not None


def settle(shown: WorldView) -> bool:
    """Takes in a turn that has ended: the page goes on after it; a message that was stopped before its answer began
    goes back into the input. A failed one stays. Returns whether anything changed."""
    call, what = shown.call, asked(shown)
    if call is None or what is None:
        return False
    if not call.done or call.error is not None:
        return _come_along(shown, what)
    resource.side_calls().dismiss(("world", shown.world.id))
    if isinstance(call.result, Node):
        show_world(shown.world.id, call.result.id)
    elif what.typed:
        give_back(shown, what.question)
    return True


def _come_along(shown: WorldView, what: Asked) -> bool:
    """Turns a page that stands elsewhere in the story to the turn that is being answered."""
    if what.parent == (shown.node.id if shown.node else 0):
        return False
    show_world(shown.world.id, what.parent)
    return True


def dismiss(shown: WorldView) -> None:
    """Forgets a failed turn; a message that was typed for it goes back into the input."""
    what = asked(shown)
    resource.side_calls().dismiss(("world", shown.world.id))
    if what is not None and what.typed:
        give_back(shown, what.question)


def retry(shown: WorldView) -> None:
    """Plays a failed turn again."""
    what = asked(shown)
    if what is not None:
        parent = shown.engine.store.worlds.node(what.parent) if what.parent else None
        play(shown, parent, what.question, typed=what.typed)


def input_key(world_id: str) -> str:
    """Returns the key of the input of a world."""
    return f"world-ask-{world_id}"


def give_back(shown: WorldView, text: str) -> None:
    """Puts a message back into the input with the next page run."""
    st.session_state[f"returned-{input_key(shown.world.id)}"] = text
