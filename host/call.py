"""Calls of a server's tools: from the first request to the result, through the questions that the server asks.

A server of the handshake generation asks while its call runs: the call waits in the loop, on its connection, until the
user has answered. A server of the stateless generation gives its questions as a result, with a state of its own:
nothing waits, and the call is sent again with the answers, also after a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import mcp_types as types

from errors import ServerUnreachable
from host.connection import Connection, ServerQuestion
from host.pool import Pool
from store.turn.question import UserAnswer, UserQuestion

MOST_ROUNDS = 10
"""The most times that one call may ask."""

Result = types.CallToolResult
Answers = Mapping[str, UserAnswer]


class CallLost(Exception):
    """The question of a call that waited is gone: the program or the server was started anew meanwhile."""


@dataclass(frozen=True, slots=True)
class ForeignCall:
    """One call of a tool. ``key``: unique within the turn; ``tool``: the server's own name, ``name``: the model's."""

    server: str
    tool: str
    name: str
    key: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The result of a call, and what the server asked our utility model meanwhile."""

    result: Result
    sampled: Sequence[dict[str, str]] = ()


@dataclass(eq=False)
class WaitingCall:
    """A call that runs and waits for the user. ``round``: how often it has asked."""

    connection: Connection
    task: asyncio.Task[Any]
    asked: ServerQuestion
    round: int


@dataclass(eq=False)
class Calls:
    """The calls of all servers of one process; everything here runs in the loop of the host."""

    seconds: float
    _waiting: dict[str, WaitingCall] = field(default_factory=dict)

    async def start(self, pool: Pool, call: ForeignCall, utility: Any) -> CallOutcome | tuple[UserQuestion, ...]:
        """Calls the tool; returns the result, or what the user must answer first. Raises ``TimeoutError``,
        ``ServerUnreachable``, and the SDK's errors."""
        return await self._send_call(pool, call, utility, None, None, 1)

    async def go_on(
        self, pool: Pool, call: ForeignCall, utility: Any, answers: Answers
    ) -> CallOutcome | tuple[UserQuestion, ...]:
        """Goes on with a call that asked. ``answers``: the user's, with what the question kept. Raises ``CallLost``."""
        last = find_last_round(answers)
        given = [answer for answer in answers.values() if answer.state.get("round") == last]
        if last >= MOST_ROUNDS:
            raise CallLost("it asked too often")
        if "live" in given[0].state:
            return await self._resume_live_call(call, given[0])
        responses = dict(given[0].state["responses"])
        responses |= {str(answer.state["request"]): build_elicit_result(answer) for answer in given}
        return await self._send_call(pool, call, utility, responses, given[0].state.get("state"), last + 1)

    async def let_go(self, lives: Sequence[str]) -> None:
        """Ends calls that wait for a user who will not answer."""
        for live in lives:
            waiting = self._waiting.pop(live, None)
            if waiting is not None and waiting.connection.pool is not None:
                waiting.task.cancel()
                waiting.connection.pool.drop(waiting.connection)

    async def _send_call(
        self,
        pool: Pool,
        call: ForeignCall,
        utility: Any,
        responses: dict[str, Any] | None,
        state: str | None,
        round_: int,
    ) -> CallOutcome | tuple[UserQuestion, ...]:
        connection = await pool.take()
        connection.utility, connection.called = utility, True
        connection.sampled.clear()
        for _ in range(MOST_ROUNDS):
            task = asyncio.create_task(connection.call(call.tool, call.arguments, responses, state))
            outcome = await self._next(pool, call, connection, task, round_)
            if not isinstance(outcome, types.InputRequiredResult):
                return outcome
            try:
                responses, open_ = await _collect_server_responses(connection, outcome)
            except BaseException:
                pool.drop(connection)
                raise
            state = outcome.request_state
            if open_:
                pool.give(connection)
                kept = {"round": round_, "responses": _dump_responses(responses), "state": state}
                return tuple(
                    asked_of(call, f"{round_}.{key}", params, {**kept, "request": key}) for key, params in open_.items()
                )
        pool.give(connection)
        raise CallLost("it asked too often")

    async def _resume_live_call(self, call: ForeignCall, given: UserAnswer) -> CallOutcome | tuple[UserQuestion, ...]:
        waiting = self._waiting.pop(str(given.state["live"]), None)
        if waiting is None or waiting.asked.answer.done():
            raise CallLost("it waited too long, or the program was started anew")
        waiting.asked.answer.set_result(build_elicit_result(given))
        pool = waiting.connection.pool
        assert pool is not None
        outcome = await self._next(pool, call, waiting.connection, waiting.task, waiting.round + 1)
        if isinstance(outcome, types.InputRequiredResult):
            raise CallLost("it changed its protocol")
        return outcome

    async def _next(
        self, pool: Pool, call: ForeignCall, connection: Connection, task: asyncio.Task[Any], round_: int
    ) -> CallOutcome | types.InputRequiredResult | tuple[UserQuestion, ...]:
        """Waits until the call ends or asks; a call that does neither in time, or is stopped, loses its connection."""
        question = asyncio.create_task(connection.asked.get())
        try:
            await asyncio.wait({task, question}, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                result = task.result()
                if isinstance(result, types.InputRequiredResult):
                    return result
                pool.give(connection)
                return CallOutcome(result, tuple(connection.sampled))
            if question.done():
                live = uuid4().hex
                self._waiting[live] = WaitingCall(connection, task, question.result(), round_)
                task.add_done_callback(lambda _: self._over(pool, live))
                state = {"live": live, "round": round_}
                return (asked_of(call, str(round_), question.result().params, state),)
            raise TimeoutError
        except BaseException:
            task.cancel()
            pool.drop(connection)
            raise
        finally:
            question.cancel()

    def _over(self, pool: Pool, live: str) -> None:
        """Frees the connection of a call that ended while nobody waited for it."""
        waiting = self._waiting.pop(live, None)
        if waiting is not None:
            pool.give(waiting.connection)
            if not waiting.task.cancelled():
                waiting.task.exception()


def find_last_round(answers: Answers) -> int:
    """Returns how often a call has asked, by the user's answers to it."""
    return max(int(answer.state.get("round", 0)) for answer in answers.values())


def asked_of(call: ForeignCall, id_: str, params: Any, state: dict[str, Any]) -> UserQuestion:
    """Returns what the user sees of a server's question."""
    common = {"call": call.key, "tool": call.name, "text": params.message, "server": call.server, "state": state}
    if isinstance(params, types.ElicitRequestURLParams):
        return UserQuestion(id=f"{call.key}/{id_}", kind="login", url=params.url, **common)
    return UserQuestion(id=f"{call.key}/{id_}", kind="form", schema=dict(params.requested_schema), **common)


def build_elicit_result(answer: UserAnswer) -> types.ElicitResult:
    """Returns the user's answer in the words of the protocol."""
    if answer.action == "no":
        return types.ElicitResult(action="decline")
    return types.ElicitResult(action="accept", content=answer.value if isinstance(answer.value, dict) else None)


async def _collect_server_responses(
    connection: Connection, asked: types.InputRequiredResult
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the answers that need no user, and the parameters of the questions that do."""
    responses, open_ = dict[str, Any](), dict[str, Any]()
    for key, request in (asked.input_requests or {}).items():
        if isinstance(request, types.ElicitRequest):
            open_[key] = request.params
            continue
        response = await connection.respond(key, request)
        if isinstance(response, types.ErrorData):
            raise ServerUnreachable(reason=f"it asked for what is not allowed: {response.message}")
        responses[key] = response
    return responses, open_


def _dump_responses(responses: Mapping[str, Any]) -> dict[str, Any]:
    return {key: response.model_dump(by_alias=True, mode="json") for key, response in responses.items()}
