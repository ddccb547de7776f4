"""The turns that calls of ``chat`` run: a new message, and the answers to the questions of a turn that waits."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace

from graph.turn.agent import Agent
from graph.turn.event import Done, Ended, TurnQuestions
from graph.turn.request import Request
from server.request.client_call import build_waiting_end
from server.request.conversation import ClientMessage, plan_client_turn, prepare_turn_request
from server.request.resend import build_delivery, find_known_end, mark_first_message, take_up
from server.request.running import BegunRequest, Emit, Work
from store.turn.question import UserAnswer


def build_message_work(agent: Agent, text: str, session: str) -> Work:
    """Returns the work that answers a message. ``session``: an id or a name; a session of a new name is created, and
    without a name one without."""

    def run(stop: threading.Event, emit: Emit) -> Ended:
        planned = plan_client_turn(agent, [ClientMessage("user", text)], session or None)
        mark = mark_first_message(planned)
        planned = take_up(agent, planned, mark)
        known = _find_resent_end(agent, planned.request) if planned.request.kind == "again" else None
        if known is not None:
            deliver = build_delivery(agent, planned.request.session)
            emit(BegunRequest(planned.request.session, known.turn, planned.fit, deliver=deliver))
            return known
        request = replace(prepare_turn_request(agent, planned), asks=True, waits=mark)
        number = request.number or agent.store.session(request.session).turn_count + 1
        deliver = build_delivery(agent, request.session)
        emit(BegunRequest(request.session, number, planned.fit, deliver=deliver))
        return agent.turn(request, stop, emit)

    return run


def _find_resent_end(agent: Agent, request: Request) -> Done | TurnQuestions | None:
    """Returns what the client of a message that is sent again gets without another run: the answer that it missed, or
    the questions with which the turn waits for its user."""
    if (known := find_known_end(agent, request)) is not None:
        return known
    turn = agent.store.turn(request.session, request.number)
    return build_waiting_end(turn) if turn is not None else None


def build_resume_work(agent: Agent, session: str, answers: Mapping[str, UserAnswer]) -> Work:
    """Returns the work that goes on with the turn of a session that waits for these answers."""

    def run(stop: threading.Event, emit: Emit) -> Ended:
        deliver = build_delivery(agent, session)
        emit(BegunRequest(session, agent.store.session(session).turn_count, "again", deliver=deliver))
        return agent.turn(Request(session, "resume", answers=dict(answers), asks=True), stop, emit)

    return run
