"""What a request does in its thread: a turn of a conversation, or an answer without one to a program's own question."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage

from door.openai.body import Body
from door.openai.conversation import Plan, plan, prepare
from door.openai.refusal import Refusal, bad
from door.openai.running import Begun, Emit, Work
from door.openai.told import SYSTEM, Message, told
from door.phrase import chosen
from errors import EmptyAnswer, SessionUnknown
from graph.node.llm import SENT_STOPS
from graph.turn.agent import Agent
from graph.turn.event import Done, Event, Token, ToolStarted, Usage, reason
from graph.turn.request import Request
from graph.turn.runtime import asked
from model.call.stream import cut_off, stream, summed, usage
from store.options import Options
from store.path import branch_at

# --- a turn -------------------------------------------------------------------------------------


def turn(agent: Agent, body: Body, name: str | None) -> Work:
    """Returns the work that plans a turn and runs it. ``name``: the conversation's, as the client gave it, or None."""

    def run(stop: threading.Event, emit: Emit) -> Event:
        return _Turn(agent, body, emit).run(_plan(agent, body, name), stop)

    return run


class _Turn:
    """A turn that runs; hears its events."""

    def __init__(self, agent: Agent, body: Body, emit: Emit) -> None:
        self._agent, self._body, self._emit = agent, body, emit
        self._begun: Begun | None = None
        self._shown = ""

    def run(self, planned: Plan, stop: threading.Event) -> Event:
        """Runs the turn and returns its end."""
        request = replace(prepare(self._agent, planned), limits=self._body.limits)
        number = request.number + len(request.given) if request.number else self._next(request.session)

        def hear(event: Event) -> None:
            self._begin(request.session, number, planned.fit)
            if isinstance(event, Token):
                self._shown += event.text
            self._emit(event)
            if isinstance(event, ToolStarted) and self._shown and not self._shown.endswith("\n\n"):
                hear(Token("\n\n"))  # what was said before a tool call stands apart from the answer

        end = self._agent.turn(request, stop, hear)
        self._begin(request.session, end.turn, planned.fit)
        if isinstance(end, Done):
            self._complete(request.session, end)
        return end

    def _next(self, session: str) -> int:
        return self._agent.store.session(session).turn_count + 1

    def _begin(self, session: str, number: int, fit: str) -> None:
        if self._begun is None:
            response = response_id(self._agent, session, number) if self._body.responds else ""
            self._begun = Begun(session, number, fit, response)
            self._emit(self._begun)

    def _complete(self, session: str, end: Done) -> None:
        """Sees to it that a stream has shown the whole answer, and that the conversation is found again by what the
        client was shown, which also holds what the model said before a tool call."""
        if not self._body.stream:
            return
        if end.answer.startswith(self._shown) and end.answer != self._shown:
            self._emit(Token(end.answer[len(self._shown) :]))
        elif end.answer != self._shown:
            self._agent.store.histories.shown(session, end.turn, self._shown)


def _plan(agent: Agent, body: Body, name: str | None) -> Plan:
    return _after(agent, body) if body.previous is not None else plan(agent, body.messages, name)


def response_id(agent: Agent, session: str, turn: int) -> str:
    """Returns the id of a response: it names the session, the branch and the turn that the next message follows."""
    return f"resp_{session}_{branch_at(agent.store.session(session).path, turn)}_{turn}"


def _after(agent: Agent, body: Body) -> Plan:
    """Returns the plan for a message that follows a response. Raises ``Refusal`` for a response that is unknown."""
    unknown = bad("previous_response_id", "There is no such response.", "previous_response_not_found")
    session_id, branch, number = _parsed(body.previous or "", unknown)
    try:
        session = agent.store.session(session_id)
    except SessionUnknown:
        raise unknown from None
    if number > session.turn_count and branch == branch_at(session.path, number):
        raise unknown
    request = told(body.messages, chosen("auto", agent.settings.language))
    turn = Request(
        session_id, "new", request.text, number + 1, request.turns, request.system or None, images=request.images
    )
    switch = (number, branch) if branch_at(session.path, number) != branch else None
    later = switch is not None or number < session.turn_count
    return Plan(turn, False, "edited" if later else "goes_on", switch=switch)


def _parsed(response: str, unknown: Refusal) -> tuple[str, int, int]:
    parts = response.removeprefix("resp_").rsplit("_", 2)
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts[1:]):
        raise unknown
    return parts[0], int(parts[1]), int(parts[2])


# --- an answer without a conversation -----------------------------------------------------------


def side(agent: Agent, body: Body) -> Work:
    """Returns the work that answers a call which a chat program makes for itself: by the model alone, without a
    trace."""

    def run(stop: threading.Event, emit: Emit) -> Event:
        began, first = time.monotonic(), 0.0
        emit(Begun())
        chunks: list[AIMessageChunk] = []
        messages, stops = list(map(_plain, body.messages)), list(body.limits.stop[:SENT_STOPS])
        limits = asked(Options(), body.limits) | ({"stop": stops} if stops else {})
        for chunk in stream(agent.models().utility, messages, stop=stop, **limits):
            chunks.append(chunk)
            if text := str(chunk.text):
                first = first or time.monotonic()
                emit(Token(text))
        whole = summed(chunks)
        if whole is None and not stop.is_set():
            raise EmptyAnswer
        prompt, cached, answer, exact = usage(whole) if whole is not None else (0, 0, 0, False)
        cut_at = (answer or 1) if whole is not None and cut_off(whole) else 0
        counts = Usage(prompt, cached, answer, 1, exact, cut_at=cut_at)
        text, seconds = str(whole.text) if whole is not None else "", time.monotonic() - began
        first_seconds = first - began if first else None
        return Done(0, text, stop.is_set(), counts, seconds, first_seconds, reason(cut_at, stop.is_set()))

    return run


def _plain(message: Message) -> BaseMessage:
    content: Any = [{"type": "text", "text": message.text}, *message.images] if message.images else message.text
    if message.role in SYSTEM:
        return SystemMessage(content)
    return AIMessage(content) if message.role == "assistant" else HumanMessage(content)
