"""A message that is sent again because its answer never arrived is the turn that it began.

A client that names no conversation and has no history yet (a script, most chat programs) sends the same request after a
time-out or a broken connection. While the answer to a first message has not gone out whole, the same one takes up its
conversation; afterwards it begins another, as it does while the first one is being answered: two tabs may say «hello».
A message that follows known turns names its turn by them. Where that turn has its answer, which has not gone out, it is
told, and nothing runs once more; an answer that did go out is answered anew. So is a half answer, cut off when its
client left, unless a foreign tool had begun that may not run twice: then the half answer is told, once.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from errors import GieokError, SessionBusy
from graph.turn.agent import Agent
from graph.turn.event import Done, find_finish_reason
from graph.turn.request import PlanBasis, Request
from server.request.client_call import Called, find_open_calls, usage_of
from server.request.conversation import TurnPlan
from store import Session, TurnRow
from text.fence import find_words

log = logging.getLogger("gieok.endpoint")


def mark_first_message(planned: TurnPlan) -> str:
    """Returns the mark of a request that begins a conversation which nothing but what it says tells from others: of its
    words, the turns that it tells, the client's system text and the images; empty for another request."""
    request = planned.request
    if not planned.created or planned.alias:
        return ""
    told = [[turn.question, turn.answer] for turn in request.given]
    said = [find_words(request.text).split(), told, request.system, request.images]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]


def take_up(agent: Agent, planned: TurnPlan, mark: str) -> TurnPlan:
    """Returns the plan for the conversation that the same request has begun and whose client has no answer; else the
    plan as it is. ``mark``: of the request (``mark_first_message``)."""
    for session_id in agent.store.undelivered.find(mark) if mark else ():
        with suppress(SessionBusy), agent.hold(session_id) as session:  # one that is held is being answered
            if session.turn_count <= len(planned.request.given) + 1:
                return replace(
                    planned, request=_make_again(agent, planned.request, session), created=False, fit="again"
                )
    return planned


def _make_again(agent: Agent, request: Request, session: Session) -> Request:
    """Returns the request for the turn that a session began with, which failed, was stopped when its client left, or
    ended without anybody who heard it; where it never began, the request for a new one."""
    number = len(request.given) + 1
    asked = (
        agent.store.histories.find_path_turn(session.id, session.path, number) if session.turn_count == number else None
    )
    basis = PlanBasis.of(session, asked.status if asked is not None else None)
    if asked is None:
        given = request.given[session.turn_count :]
        number = request.number if given else 0
        return replace(request, session=session.id, given=given, number=number, basis=basis)
    again = replace(request, session=session.id, given=(), number=number, basis=basis)
    if asked.question.split() != request.text.split():  # the same words, and something else sent along
        return replace(again, kind="edited")
    return replace(again, kind="retry" if asked.status in ("failed", "running") else "again")


def find_known_end(agent: Agent, request: Request) -> Done | Called | None:
    """Returns what the client of a request ``again`` has missed of its turn: the calls for which the turn waits, or the
    answer that has not gone out; None where there is nothing of the kind, so that the client wants another answer."""
    turn = agent.store.turn(request.session, request.number)
    if turn is None:
        return None
    if calls := find_open_calls(request.session, turn):
        return calls
    if turn.number != agent.store.session(request.session).turn_count:
        return None
    if not agent.store.undelivered.is_noted(request.session, turn.number):
        return None
    if turn.status == "stopped" and agent.store.begun_calls.has_begun(request.session, turn.number, turn.branch):
        return build_known_end(turn)
    return build_known_end(turn) if turn.status == "done" else None


def build_delivery(agent: Agent, session_id: str) -> Callable[[], None]:
    """Returns what notes that the client of a session's last turn has its answer (``BegunRequest.deliver``). That it
    could not be noted fails nothing: the answer is there."""

    def deliver() -> None:
        try:
            agent.store.undelivered.note(session_id, "")
        except GieokError as error:
            log.warning("that an answer went out was not noted: %s", error.code)

    return deliver


def build_known_end(turn: TurnRow) -> Done:
    """Returns the end of a turn that has its answer; what it used was counted when it ended."""
    cut_at, stopped = usage_of(turn).cut_at, turn.status == "stopped"
    return Done(turn.number, turn.answer or "", stopped, finish_reason=find_finish_reason(cut_at, stopped))
