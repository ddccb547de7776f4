"""Calls of a client's tools: their ids, and the request that brings their results.

The id of a call names the turn that waits for it, so the request that brings the result goes on with that turn,
whatever history it sends. It may come twice, or after a crash: the turn goes on from where it stands.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage

from errors import SessionUnknown
from graph.context.turns import find_current_messages
from graph.tool.client_tool import is_client_call
from graph.turn.agent import Agent
from graph.turn.event import Done, TurnQuestions, TurnUsage
from server.request.message import ClientMessage
from server.request.told_request import RESULTS
from store import TurnRow
from store.turn.question import UserAnswer, parse_user_question

PREFIX = "call_"


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A call of a client's tool, as the client gets it. ``arguments``: JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Called(Done):
    """The end of a reply that calls tools of the client. The turn waits for their results, except where a model that
    calls no tools was told to fill one in (``fill_call``)."""

    calls: tuple[ClientCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """Results of a client's tools for the last turn of a session. ``answers``: by the keys of their calls; ``status``:
    of the turn."""

    session: str
    turn: TurnRow
    answers: Mapping[str, UserAnswer]


def end_with_calls(session: str, asked: TurnQuestions) -> Called:
    """Returns the end of a reply whose turn waits for its client."""
    calls = tuple(
        ClientCall(call_id(session, asked.turn, each.id), each.tool, json.dumps(each.arguments, ensure_ascii=False))
        for each in asked.questions
    )
    return Called(asked.turn, asked.said, usage=asked.usage, seconds=asked.seconds, calls=calls)


def fill_call(done: Done, name: str) -> Called:
    """Returns the end of a reply whose answer is the arguments of a tool: the turn is done, and waits for nothing."""
    call = ClientCall(f"{PREFIX}{uuid4().hex}", name, done.answer)
    return Called(done.turn, "", usage=done.usage, seconds=done.seconds, calls=(call,))


def find_open_calls(session: str, turn: TurnRow) -> Called | None:
    """Returns the calls of a turn that waits for its client already; None for another turn. A client that never got
    them sends its message once more."""
    questions = tuple(parse_user_question(plain) for plain in turn.questions or ())
    if turn.status != "waiting" or not is_client_call(questions):
        return None
    return end_with_calls(session, TurnQuestions(turn.number, questions, turn.answer or "", usage_of(turn)))


def usage_of(turn: TurnRow) -> TurnUsage:
    """Returns the tokens of a turn so far."""
    known = {name: value for name, value in (turn.usage or {}).items() if name in TurnUsage.__slots__}
    return TurnUsage(**known)


def call_id(session: str, turn: int, key: str) -> str:
    """Returns the id of a call. ``key``: unique within the turn."""
    return f"{PREFIX}{session}_{turn}_{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def parse_call_id(id_: str) -> tuple[str, int] | None:
    """Returns the session and the turn that an id of ours names; None for an id of somebody else."""
    session, _, rest = id_.removeprefix(PREFIX).rpartition("_")[0].rpartition("_")
    if not id_.startswith(PREFIX) or not session or not (rest.isascii() and rest.isdecimal() and len(rest) < 10):
        return None
    return session, int(rest)


def own_calls(agent: Agent, messages: Sequence[ClientMessage]) -> dict[str, str]:
    """Returns the ids of those calls of a history that turns of this user have made: their results are in the record.
    With each the answer of its turn where the user spoke before the client told one, as after a call that ends what an
    agent does; empty for all others."""
    found = {id_: place for message in messages for id_ in _list_ids(message) if (place := parse_call_id(id_))}
    known = {session for session in {session for session, _ in found.values()} if _has_session(agent, session)}
    left = {id_ for ids in _list_left_calls(messages) for id_ in ids}
    rows = {found[id_]: None for id_ in left if id_ in found and found[id_][0] in known}
    answers = {place: agent.store.turn(*place) for place in rows}
    ended = {place: turn.answer or "" for place, turn in answers.items() if turn is not None and turn.status == "done"}
    return {id_: ended.get(place, "") if id_ in left else "" for id_, place in found.items() if place[0] in known}


def find_left_turn(agent: Agent, messages: Sequence[ClientMessage]) -> Results | None:
    """Returns the results for the calls with which the last turn of a session waits, where the user speaks already: a
    call that brings an agent's result in a form is answered so, and so is one whose work its user stopped. Results
    that are missing count as none. None where no such turn waits."""
    for ids in reversed(list(_list_left_calls(messages))):
        place = next((place for id_ in ids if (place := parse_call_id(id_))), None)
        if place is None or not _has_session(agent, place[0]):
            continue
        turn = agent.store.turn(*place) if place[1] == agent.store.session(place[0]).turn_count else None
        if turn is None or find_open_calls(place[0], turn) is None:
            return None
        given = {message.call: message.text for message in messages if message.role in RESULTS}
        keys = {call_id(place[0], turn.number, key): key for key in _last_keys(agent, place[0])}
        answers = {keys[id_]: UserAnswer("answer", text) for id_, text in given.items() if id_ in keys}
        return Results(place[0], turn, answers)
    return None


def describe_calls(called: Called) -> str:
    """Returns the calls of a reply as the answer that they are where no other follows."""
    return "\n".join(call.arguments for call in called.calls)


def _list_left_calls(messages: Sequence[ClientMessage]) -> Iterator[tuple[str, ...]]:
    """Yields the ids of calls and results after which the user speaks, without an answer in between."""
    ids: tuple[str, ...] = ()
    for message in messages:
        if message.role == "user" and ids:
            yield ids
        if message.role == "user" or (message.role == "assistant" and not message.calls and message.text.strip()):
            ids = ()
        ids = (*ids, *_list_ids(message))


def _list_ids(message: ClientMessage) -> tuple[str, ...]:
    """Returns the ids of the calls that a message makes or brings the result of."""
    return (*message.calls, *([message.call] if message.role in RESULTS and message.call else []))


def find_results(agent: Agent, messages: Sequence[ClientMessage]) -> Results | None:
    """Returns the results with which a request ends, when they belong to the last round of a session's last turn; None
    for any other request."""
    given = dict(_list_trailing_results(messages))
    place = next((place for id_ in given if (place := parse_call_id(id_))), None)
    if place is None or not _has_session(agent, place[0]):
        return None
    session = agent.store.session(place[0])
    turn = agent.store.turn(session.id, place[1]) if place[1] == session.turn_count else None
    if turn is None:
        return None
    keys = {call_id(session.id, turn.number, key): key for key in _last_keys(agent, session.id)}
    answers = {keys[id_]: UserAnswer("answer", text) for id_, text in given.items() if id_ in keys}
    return Results(session.id, turn, answers) if answers else None


def _list_trailing_results(messages: Sequence[ClientMessage]) -> Iterator[tuple[str, str]]:
    for message in reversed(messages):
        if message.role not in RESULTS:
            return
        yield message.call, message.text


def _last_keys(agent: Agent, session: str) -> list[str]:
    """Returns the keys of the calls of the last round of a session's turn, as ``graph.node.tool`` makes them."""
    messages: list[Any] = find_current_messages(agent.state(session).get("messages", ()))
    rounds = [message for message in messages if isinstance(message, AIMessage) and message.tool_calls]
    return [f"{len(rounds)}.{call['id']}" for call in rounds[-1].tool_calls] if rounds else []


def _has_session(agent: Agent, session: str) -> bool:
    try:
        return agent.store.session(session).deleted is None
    except SessionUnknown:
        return False
