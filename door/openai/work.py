"""What a request does in its thread: a turn of a conversation, or an answer without one to a program's own question."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage

from door.openai.body import Body
from errors import EmptyAnswer, NothingToAnswer, SessionUnknown
from graph.node.llm import SENT_STOPS
from graph.tool.client_tool import is_client_call
from graph.turn.agent import Agent, PrivateAgent, private_agent
from graph.turn.event import Done, Ended, Event, Token, ToolStarted, TurnQuestions, TurnUsage, find_finish_reason
from graph.turn.request import Kind, PlanBasis, Request
from graph.turn.runtime import build_call_arguments
from model.call.message_form import SYSTEM
from model.call.stream import cut_off, read_token_usage, stream_answer, sum_chunks
from server.phrase import resolve_language
from server.refusal import Refusal, build_field_refusal, build_unbegun_refusal
from server.request.client_call import (
    Called,
    Results,
    describe_left_calls,
    end_with_calls,
    fill_call,
    find_left_turn,
    find_results,
    own_calls,
    usage_of,
)
from server.request.conversation import (
    NOT_ENDED,
    TurnPlan,
    is_same_text,
    is_unheard,
    make_request,
    plan_client_turn,
    prepare_turn_request,
)
from server.request.message import ClientMessage
from server.request.resend import build_delivery, build_known_end, find_known_end, mark_first_message, take_up
from server.request.running import BegunRequest, Emit, Work
from server.request.told_request import ToldRequest, read_told_request
from store import Session
from store.path import branch_at
from store.record import TurnStatus
from store.session.options import AnswerOptions

_RESPONSE_ID = re.compile(r"resp_(?P<session>.+)_(?P<branch>[0-9]{1,9})_(?P<turn>[0-9]{1,9})(?:_r[0-9a-f]{8})?")
"""Earlier versions gave all responses of a turn one id."""

# --- a turn -------------------------------------------------------------------------------------


def build_turn_work(agent: Agent, body: Body, name: str | None, whole: bool = False) -> Work:
    """Returns the work that plans a turn and runs it. ``name``, ``whole``: as for ``conversation.plan_client_turn``."""

    def run(stop: threading.Event, emit: Emit) -> Ended:
        found = find_results(agent, body.messages)
        if found is not None:
            return _EndpointTurn(agent, body, emit).go_on(found, stop)
        _end_left_turn(agent, body, stop)
        planned = _plan_body_turn(agent, body, name, whole)
        mark = mark_first_message(planned)
        return _EndpointTurn(agent, body, emit, mark).run(take_up(agent, planned, mark), stop)

    return run


def build_private_work(agent: Agent, body: Body) -> Work:
    """Returns the work of a turn that leaves nothing behind: its record ends with it, and no memory hears of it. The
    client sends the whole conversation with each message, so the next one has all that it needs."""

    def run(stop: threading.Event, emit: Emit) -> Ended:
        private = private_agent(agent)
        try:
            return build_turn_work(private, body, None)(stop, emit)
        finally:
            private.close()

    return run


class _EndpointTurn:
    """A turn that runs; hears its events. ``mark``: of the first message of a conversation
    (``server.request.resend``)."""

    def __init__(self, agent: Agent, body: Body, emit: Emit, mark: str = "") -> None:
        self._agent, self._body, self._emit, self._mark = agent, body, emit, mark
        self._is_noted = not isinstance(agent, PrivateAgent)  # whose store ends with the turn
        self._begun: BegunRequest | None = None
        self._shown = ""

    def run(self, planned: TurnPlan, stop: threading.Event) -> Ended:
        """Runs the turn and returns its end."""
        if planned.request.kind == "again" and (known := find_known_end(self._agent, planned.request)):
            return self._tell(planned, known)
        prepared = prepare_turn_request(self._agent, planned)
        waits = self._mark if self._is_noted else None
        request = replace(prepared, limits=self._body.limits, tools=self._body.tools, waits=waits)
        number = request.number + len(request.given) if request.number else self._next(request.session)
        if stop.is_set() and not planned.created:
            raise build_unbegun_refusal()

        def hear(event: Event) -> None:
            self._begin(request.session, number, planned.fit)
            if isinstance(event, Token):
                if self._body.fills:  # the arguments of a call, which goes out whole
                    return
                self._shown += event.text
            self._emit(event)
            if isinstance(event, ToolStarted) and self._shown and not self._shown.endswith("\n\n"):
                hear(Token("\n\n"))  # what was said before a tool call stands apart from the answer

        end = self._drive(request, stop, hear)
        self._begin(request.session, end.turn, planned.fit)
        if isinstance(end, TurnQuestions) and is_client_call(end.questions):
            branch = branch_at(self._agent.store.session(request.session).path, end.turn)
            return end_with_calls(request.session, branch, replace(end, said=self._shown.rstrip()))
        if isinstance(end, Done) and self._body.fills and not (end.stopped or end.usage.cut_at):
            return fill_call(end, self._body.fills)
        if isinstance(end, Done):
            self._complete(request.session, end)
        return end

    def go_on(self, found: Results, stop: threading.Event) -> Ended:
        """Goes on with the turn that the results were called for; tells its answer once more where it has one."""
        turn = found.turn
        request = Request(found.session, "resume", number=turn.number, answers=found.answers, basis=found.basis)
        planned = TurnPlan(request, False, "goes_on")
        if turn.status in ("done", "stopped"):
            return self._tell(planned, build_known_end(turn))
        end = self.run(planned, stop)
        if isinstance(end, Done) and turn.status == "waiting":  # the reply with the calls has told the rest
            end = replace(end, usage=end.usage.minus(usage_of(turn)), seconds=end.seconds - (turn.seconds or 0.0))
        return end

    def _drive(self, request: Request, stop: threading.Event, hear: Callable[[Event], None]) -> Ended:
        """Runs the request; one that brings results to a turn that has them already runs what is left of it."""
        try:
            return self._agent.turn(request, stop, hear)
        except NothingToAnswer:
            return self._agent.turn(replace(request, kind="retry"), stop, hear)

    def _tell(self, planned: TurnPlan, end: Done) -> Done:
        """Tells what the record has; nothing runs."""
        self._begin(planned.request.session, end.turn, planned.fit)
        if self._body.fills and not (isinstance(end, Called) or end.stopped):
            return fill_call(end, self._body.fills)
        if self._body.stream and end.answer:
            self._emit(Token(end.answer))
        return end

    def _next(self, session: str) -> int:
        return self._agent.store.session(session).turn_count + 1

    def _begin(self, session: str, number: int, fit: str) -> None:
        if self._begun is None:
            response = response_id(self._agent, session, number) if self._body.responds else ""
            deliver = build_delivery(self._agent, session) if self._is_noted else None
            self._begun = BegunRequest(session, number, fit, response, deliver)
            self._emit(self._begun)

    def _complete(self, session: str, end: Done) -> None:
        """Sees to it that a stream has shown the whole answer, and that the conversation is found again by what the
        client was shown, which also holds what the model said before a tool call."""
        if not self._body.stream:
            return
        if end.answer.startswith(self._shown) and end.answer != self._shown:
            self._emit(Token(end.answer[len(self._shown) :]))
        elif end.answer != self._shown:
            path = self._agent.store.session(session).path
            self._agent.store.histories.learn(session, path, end.turn, "", self._shown)


def _end_left_turn(agent: Agent, body: Body, stop: threading.Event) -> None:
    """Ends the turn that waits for results which come with the user's next message: no model answers them any more.
    Raises ``SessionBusy`` while the session answers."""
    left = find_left_turn(agent, body.messages)
    if left is None:
        return
    said = f"{left.turn.answer}\n\n" if left.turn.answer else ""
    ending = f"{said}{describe_left_calls(left)}"
    request = Request(left.session, "resume", number=left.turn.number, answers=left.answers, ending=ending)
    agent.turn(replace(request, basis=left.basis), stop, lambda _event: None)


def _plan_body_turn(agent: Agent, body: Body, name: str | None, whole: bool) -> TurnPlan:
    return (
        _plan_after_response(agent, body)
        if body.previous is not None
        else plan_client_turn(agent, body.messages, name, whole)
    )


def response_id(agent: Agent, session: str, turn: int) -> str:
    """Returns the id of a response: it names the session, the branch and the turn that the next message follows. No two
    are alike, also of one turn that calls tools of the client: clients keep an answer once for an id."""
    return f"resp_{session}_{branch_at(agent.store.session(session).path, turn)}_{turn}_r{uuid4().hex[:8]}"


def _plan_after_response(agent: Agent, body: Body) -> TurnPlan:
    """Returns the plan for a message that follows a response. Raises ``Refusal`` for a response that is unknown."""
    unknown = build_field_refusal("previous_response_id", "There is no such response.", "previous_response_not_found")
    session_id, branch, number = _parse_response_id(body.previous or "", unknown)
    try:
        session = agent.store.session(session_id)
    except SessionUnknown:
        raise unknown from None
    if number > session.turn_count and branch == branch_at(session.path, number):
        raise unknown
    request = read_told_request(
        body.messages, resolve_language("auto", agent.settings.language), own_calls(agent, body.messages)
    )
    system = request.system or None  # without one, the stored system text stays
    switch = (number, branch) if branch_at(session.path, number) != branch else None
    if switch is None and (status := _find_resent_status(agent, session, request, number)) is not None:
        kind: Kind = "retry" if status in NOT_ENDED else "again"
        turn = make_request(request, session_id, kind, session.turn_count, basis=PlanBasis.of(session, status))
        return TurnPlan(replace(turn, system=system), False, "again")
    turn = make_request(request, session_id, "new", number + 1, request.turns, PlanBasis.of(session))
    later = switch is not None or number < session.turn_count
    return TurnPlan(replace(turn, system=system, switch=switch), False, "edited" if later else "goes_on")


def _find_resent_status(agent: Agent, session: Session, request: ToldRequest, number: int) -> TurnStatus | None:
    """Returns the status of the last turn of a session where it follows turn ``number`` with all that the request
    tells and asks, and its answer never arrived; None for a request that is no other one sent again."""
    last = number + len(request.turns) + 1
    if last != session.turn_count:
        return None
    told = [*((turn.question, turn.answer) for turn in request.turns), (request.text, "")]
    known = agent.store.histories.read(session.id, session.path, range(number + 1, last + 1))
    for at, (question, answer) in enumerate(told, number + 1):
        turn = known.get(at)
        if turn is None or not is_same_text(turn.question, question):
            return None
        if at < last and not is_same_text(turn.answer, answer):
            return None
    if not is_unheard(agent, session, known[last]):
        return None
    return known[last].status


def _parse_response_id(response: str, unknown: Refusal) -> tuple[str, int, int]:
    found = _RESPONSE_ID.fullmatch(response)
    if found is None:
        raise unknown
    return found["session"], int(found["branch"]), int(found["turn"])


# --- an answer without a conversation -----------------------------------------------------------


def build_side_work(agent: Agent, body: Body) -> Work:
    """Returns the work that answers a call which a chat program makes for itself: by the model alone, without a
    trace."""

    def run(stop: threading.Event, emit: Emit) -> Ended:
        began, first = time.monotonic(), 0.0
        emit(BegunRequest())
        chunks: list[AIMessageChunk] = []
        messages, stops = list(map(_build_chat_message, body.messages)), list(body.limits.stop[:SENT_STOPS])
        limits = build_call_arguments(AnswerOptions(), body.limits) | ({"stop": stops} if stops else {})
        limits |= {"response_format": form.response_format} if (form := body.limits.form) else {}
        for chunk in stream_answer(agent.models().utility, messages, stop=stop, **limits):
            chunks.append(chunk)
            if text := str(chunk.text):
                first = first or time.monotonic()
                emit(Token(text))
        whole = sum_chunks(chunks)
        if whole is None and not stop.is_set():
            raise EmptyAnswer
        prompt, cached, answer, exact = read_token_usage(whole) if whole is not None else (0, 0, 0, False)
        cut_at = (answer or 1) if whole is not None and cut_off(whole) else 0
        counts = TurnUsage(prompt, cached, answer, 1, exact, cut_at=cut_at)
        text, seconds = str(whole.text) if whole is not None else "", time.monotonic() - began
        first_seconds = first - began if first else None
        return Done(0, text, stop.is_set(), counts, seconds, first_seconds, find_finish_reason(cut_at, stop.is_set()))

    return run


def _build_chat_message(message: ClientMessage) -> BaseMessage:
    content: Any = [{"type": "text", "text": message.text}, *message.images] if message.images else message.text
    if message.role in SYSTEM:
        return SystemMessage(content)
    return AIMessage(content) if message.role == "assistant" else HumanMessage(content)
