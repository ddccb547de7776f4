"""The turns that calls of ``chat`` run: a new message, and the answers to the questions of a turn that waits."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace

from door.openai.conversation import Message, plan, prepare
from door.openai.running import Begun, Emit, Work
from graph.turn.agent import Agent
from graph.turn.event import Ended
from graph.turn.request import Request
from store.question import Answer


def message(agent: Agent, text: str, session: str) -> Work:
    """Returns the work that answers a message. ``session``: an id or a name; a session of a new name is created, and
    without a name one without."""

    def run(stop: threading.Event, emit: Emit) -> Ended:
        planned = plan(agent, [Message("user", text)], session or None)
        request = replace(prepare(agent, planned), asks=True)
        number = request.number or agent.store.session(request.session).turn_count + 1
        emit(Begun(request.session, number, planned.fit))
        return agent.turn(request, stop, emit)

    return run


def resumed(agent: Agent, session: str, answers: Mapping[str, Answer]) -> Work:
    """Returns the work that goes on with the turn of a session that waits for these answers."""

    def run(stop: threading.Event, emit: Emit) -> Ended:
        emit(Begun(session, agent.store.session(session).turn_count, "again"))
        return agent.turn(Request(session, "resume", answers=dict(answers), asks=True), stop, emit)

    return run
