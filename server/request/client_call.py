"""Calls of a client's tools: their ids, and the request that brings their results.

The id of a call names the turn that waits for it, so the request that brings the result goes on with that turn,
whatever history it sends. It may come twice, or after a crash: the turn goes on from where it stands.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage

from errors import SessionUnknown
from graph.context.turns import find_current_messages
from graph.tool.client_tool import is_client_call
from graph.tool.question import guard
from graph.turn.agent import Agent
from graph.turn.event import Done, TurnQuestions, TurnUsage
from graph.turn.request import PlanBasis
from server.request.message import ClientMessage
from server.request.told_request import RESULTS
from store import Session, TurnRow
from store.path import branch_at
from store.session.history import MOST_TURNS
from store.turn.question import UserAnswer, UserQuestion, parse_user_question

PREFIX = "call_"
_CALL_ID = re.compile(
    rf"{PREFIX}(?P<session>.+)_(?P<turn>[1-9][0-9]{{0,8}})(?:-(?P<branch>[0-9]{{1,9}}))?_[0-9a-f]{{8}}", re.ASCII
)


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A call of a client's tool, as the client gets it. ``arguments``: JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CallPlace:
    """The turn that made a call. ``branch``: None in ids of earlier versions, which named a turn of the path in use."""

    session: str
    number: int
    branch: int | None


@dataclass(frozen=True, slots=True)
class Called(Done):
    """The end of a reply that calls tools of the client. The turn waits for their results, except where a model that
    calls no tools was told to fill one in (``fill_call``)."""

    calls: tuple[ClientCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """Results of a client's tools for the last turn of a session, which was found like ``basis``. ``answers``: by the
    keys of their calls."""

    session: str
    turn: TurnRow
    answers: Mapping[str, UserAnswer]
    basis: PlanBasis


def end_with_calls(session: str, branch: int, asked: TurnQuestions) -> Called:
    """Returns the end of a reply whose turn, on this branch, waits for its client."""
    calls = tuple(
        ClientCall(call_id(session, asked.turn, branch, each.id), each.tool, _write_arguments(each))
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
    asked = build_waiting_end(turn)
    if asked is None or not is_client_call(asked.questions):
        return None
    return end_with_calls(session, turn.branch, asked)


def build_waiting_end(turn: TurnRow) -> TurnQuestions | None:
    """Returns the end of a turn that waits already, with what it asks; None for another turn."""
    if turn.status != "waiting":
        return None
    questions = tuple(map(parse_user_question, turn.questions or ()))
    return TurnQuestions(turn.number, questions, turn.answer or "", usage_of(turn))


def usage_of(turn: TurnRow) -> TurnUsage:
    """Returns the tokens of a turn so far."""
    known = {name: value for name, value in (turn.usage or {}).items() if name in TurnUsage.__slots__}
    return TurnUsage(**known)


def call_id(session: str, turn: int, branch: int | None, key: str) -> str:
    """Returns the id of a call. ``key``: unique within the turn; ``branch``: None as earlier versions named a turn."""
    version = turn if branch is None else f"{turn}-{branch}"
    return f"{PREFIX}{session}_{version}_{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def parse_call_id(id_: str) -> CallPlace | None:
    """Returns the turn that an id of ours names; None for an id of somebody else."""
    found = _CALL_ID.fullmatch(id_)
    if found is None:
        return None
    return CallPlace(found["session"], int(found["turn"]), int(found["branch"]) if found["branch"] else None)


def own_calls(agent: Agent, messages: Sequence[ClientMessage]) -> dict[str, str]:
    """Returns the ids of those calls of a history that turns of this user have made: their results are in the record.
    With each the answer of its turn where the user spoke before the client told one, as after a call that ends what an
    agent does; empty for all others. The answers of a conversation are read at once, those of the last turns that a
    history is compared with."""
    found = {id_: place for message in messages for id_ in _list_ids(message) if (place := parse_call_id(id_))}
    sessions = {id_: _find_live_session(agent, id_) for id_ in dict.fromkeys(place.session for place in found.values())}
    own = {id_: "" for id_, place in found.items() if sessions[place.session] is not None}
    left = {id_: found[id_] for ids in _list_left_calls(messages) for id_ in ids if id_ in own}
    for session in filter(None, sessions.values()):
        here = {id_: place for id_, place in left.items() if place.session == session.id}
        numbers = sorted({place.number for place in here.values()})[-MOST_TURNS:]
        versions = agent.store.histories.read_versions(session.id, numbers) if numbers else {}
        for id_, place in here.items():
            branch = branch_at(session.path, place.number) if place.branch is None else place.branch
            turn = versions.get((place.number, branch))
            own[id_] = turn.answer if turn is not None and turn.status == "done" else ""
    return own


def find_left_turn(agent: Agent, messages: Sequence[ClientMessage]) -> Results | None:
    """Returns the results for the calls with which the last turn of a session waits, where the user speaks already: a
    call that brings an agent's result in a form is answered so, and so is one whose work its user stopped. Results
    that are missing count as none. None where no such turn waits."""
    for ids in reversed(list(_list_left_calls(messages))):
        place = next((place for id_ in ids if (place := parse_call_id(id_))), None)
        session = _find_live_session(agent, place.session) if place is not None else None
        if place is None or session is None:
            continue
        turn = _find_called_turn(agent, session, place)
        if turn is None or find_open_calls(session.id, turn) is None:
            return None
        given = {message.call: message.text for message in messages if message.role in RESULTS}
        return Results(session.id, turn, _sort_answers(agent, turn, given), PlanBasis.of(session, turn.status))
    return None


def describe_left_calls(left: Results) -> str:
    """Returns the answer of a turn that waits for its client, where no model answers the results any more.

    The arguments of a call are the answer where the client let the model do nothing but call a tool and brought the
    result of this one: no words could end such work, so the call did (an answer in a form). Any other call is told with
    its name, for its user may have stopped the work at it: its arguments alone would read as what the assistant said.
    So is one of a tool after whose result the work went on before: that tool ends none.
    """
    questions = [parse_user_question(plain) for plain in left.turn.questions]
    used = {step["name"] for step in left.turn.steps}
    is_demanded = len(questions) == 1 and questions[0].state.get(guard.DEMANDED) and questions[0].tool not in used
    if is_demanded and questions[0].id in left.answers:
        return _write_arguments(questions[0])
    return "\n".join(f"{each.tool}({_write_arguments(each)})" for each in questions)


def _write_arguments(question: UserQuestion) -> str:
    """Returns the arguments of a call as JSON."""
    return json.dumps(question.arguments, ensure_ascii=False)


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
    session = _find_live_session(agent, place.session) if place is not None else None
    if place is None or session is None or (turn := _find_called_turn(agent, session, place)) is None:
        return None
    answers = _sort_answers(agent, turn, given)
    return Results(session.id, turn, answers, PlanBasis.of(session, turn.status)) if answers else None


def _find_called_turn(agent: Agent, session: Session, place: CallPlace) -> TurnRow | None:
    """Returns the last turn of a session where it is the one that a call names; else None."""
    turn = agent.store.turn(session.id, place.number) if place.number == session.turn_count else None
    return turn if turn is not None and place.branch in (None, turn.branch) else None


def _sort_answers(agent: Agent, turn: TurnRow, given: Mapping[str, str]) -> dict[str, UserAnswer]:
    """Returns the results of the calls of a turn's last round, by the keys of the calls. ``given``: by their ids."""
    session, number = turn.session_id, turn.number
    keys = {
        call_id(session, number, branch, key): key
        for key in _last_keys(agent, session)
        for branch in (turn.branch, None)
    }
    return {keys[id_]: UserAnswer("answer", text) for id_, text in given.items() if id_ in keys}


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


def _find_live_session(agent: Agent, session: str) -> Session | None:
    """Returns a session of the user; None where there is none, or it is deleted."""
    try:
        known = agent.store.session(session)
    except SessionUnknown:
        return None
    return known if known.deleted is None else None
