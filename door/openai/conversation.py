"""Which conversation a client's request belongs to, and which turn it asks for.

Most clients name no conversation: they send the whole of it with every message. ``plan`` holds this history against
the conversations of the user, by the marks of their turns (``store.history``). It only reads, and its cost grows with
the history and not with the number of conversations. ``prepare`` then opens the session that the plan names.

Nothing is held between the plan and the turn, so requests at the same moment may plan alike. Two without a known
conversation begin one each: nothing is merged. Two for the same conversation wait for each other at its lock
(``SessionBusy``); whoever waited must plan anew, because the first one's turn is there by then. The plan of a history
names the number of its turn: after a turn that came between, the message begins another branch beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from door.openai.told import Message, Told, told
from door.phrase import chosen
from errors import Empty
from graph.turn.agent import Agent
from graph.turn.request import Kind, Request
from store import GivenTurn, Session
from store.history import MOST_MARKS, Asked, Run, mark_of
from store.path import Path, branch_at
from text.language import detect

__all__ = ["Fit", "Message", "Plan", "plan", "prepare"]

Fit = Literal["new", "goes_on", "again", "edited", "given", "ambiguous"]
NOT_ENDED = ("running", "failed")
SURE = 3
"""Turns in a row that show whose history this is, when it begins with something that is not known."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a client's request comes to. ``created``: the session is yet to be created (``prepare``), with the name
    ``alias``; the request's session is empty until then. ``switch``: the version (number and branch) of a turn that the
    session is put on before the turn, because the history lies on another branch than the session.

    ``fit``: how the history fits what is known. ``new``: there is none. ``goes_on``: the message follows the last turn.
    ``again``: another answer to a turn. ``edited``: a turn with another question, or later turns that the client has no
    more. ``given``: turns that were not known. ``ambiguous``: several conversations fit alike, so a new one begins.
    """

    request: Request
    created: bool
    fit: Fit
    alias: str = ""
    switch: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a history lies in a session: its turns from ``start`` on follow turn ``last`` of ``path``, which is the
    last one that is known. ``start`` is the history's length when all of it is known. ``agreeing``: how many of its
    turns the session says, too. ``skipped``: how many at its beginning are left out, though they are not known.
    """

    session: Session
    path: Path
    last: int
    start: int
    agreeing: int = 0
    skipped: int = 0


def plan(agent: Agent, messages: Sequence[Message], name: str | None) -> Plan:
    """Returns the session and the turn that a client asks for. ``agent``: the user's; ``name``: the id or the name that
    the client gave the session, if any; a name that is not known becomes that of a new session.

    A history that is sent with a name is held against that session alone; without a history the message follows its
    last turn. Raises ``NoUserMessage``, and ``Empty`` for a last message without text and images.
    """
    request = told(messages, chosen("auto", agent.settings.language))
    if not request.text.strip() and not request.images:
        raise Empty(what="message")
    marks = [mark_of(turn.question, turn.answer) for turn in request.turns]
    if name:
        session = agent.store.named(name)
        return _new(request, name) if session is None else _named(agent, request, marks, session)
    if not request.began:  # a greeting alone is that of every conversation with the same character
        return _new(request)
    runs = agent.store.histories.runs(marks)
    return _among(agent, request, marks, runs) if runs else _new(request)


def prepare(agent: Agent, planned: Plan) -> Request:
    """Opens the session of a plan and returns the request to run: creates a new session, or goes to another branch.

    Raises ``SessionBusy`` while the session answers: wait for it, then plan anew.
    """
    request = planned.request
    if planned.created:
        language = detect(request.text, chosen("auto", agent.settings.language))
        session = agent.store.create_session(language, agent.settings.compression_rate, alias=planned.alias)
        return replace(request, session=session.id)
    if planned.switch is not None:
        agent.switch(request.session, *planned.switch)
    return request


# --- no session yet -----------------------------------------------------------------------------


def _new(request: Told, alias: str = "", fit: Fit = "given") -> Plan:
    """Returns the plan for a new session that begins with all told turns."""
    turn = _turn(request, "", "new", 1 if request.turns else 0, request.turns)
    return Plan(turn, True, fit if request.began else "new", alias)


def _turn(request: Told, session: str, kind: Kind, number: int, given: Sequence[GivenTurn] = ()) -> Request:
    return Request(session, kind, request.text, number, tuple(given), request.system, images=request.images, asks=False)


# --- by its name --------------------------------------------------------------------------------


def _named(agent: Agent, request: Told, marks: Sequence[str], session: Session) -> Plan:
    """Returns the plan for a session that the client named."""
    if marks:
        runs = agent.store.histories.runs(marks, session.id)
        return _at(agent, request, _place(agent, request, marks, session, runs))
    number = session.turn_count
    last = agent.store.histories.asked(session.id, session.path, number) if number else None
    if last is not None and last.status in NOT_ENDED and _same(last.question, request.text):
        number -= 1  # the client sends the message of a turn that failed once more
    planned = _at(agent, request, Place(session, session.path, number, 0))
    # such a client sends its message alone: it follows the last turn there is by then, and a stored system text stays
    turn = replace(planned.request, system=request.system or None)
    return replace(planned, request=replace(turn, number=0) if turn.kind == "new" else turn)


# --- by its history -----------------------------------------------------------------------------


def _among(agent: Agent, request: Told, marks: Sequence[str], runs: Sequence[Run]) -> Plan:
    """Returns the plan for the session that the longest run lies in, or for a new one if several fit alike."""
    best = _best(agent, request, len(marks), [run for run in runs if run.length == runs[0].length])
    if len({run.session_id for run in best}) > 1:
        return _new(request, fit="ambiguous" if 2 * best[0].length >= len(marks) else "given")
    session = agent.store.session(best[0].session_id)
    place = _place(agent, request, marks, session, [run for run in runs if run.session_id == session.id])
    if _chance(agent, place, len(marks)) or _examples(agent, request, place):
        return _new(request)
    return _at(agent, request, place)


def _best(agent: Agent, request: Told, count: int, runs: Sequence[Run]) -> Sequence[Run]:
    """Returns those of equally long runs of several sessions that fit best: that end with the history; that no turn
    follows; whose next turn asks the same; that leave out no turn of the session.
    """
    if len({run.session_id for run in runs}) == 1:
        return runs
    following = [agent.store.histories.asked(run.session_id, run.path, run.last + 1) for run in runs]
    ranks = [
        (_ends(run, count), asked is None, _asks(asked, request), run.first == run.start + 1)
        for run, asked in zip(runs, following, strict=True)
    ]
    return [run for run, rank in zip(runs, ranks, strict=True) if rank == max(ranks)]


def _chance(agent: Agent, place: Place, count: int) -> bool:
    """Returns whether a session says only by chance what a part of a history of ``count`` turns says: then this is a
    conversation that we never had.
    """
    if place.skipped:
        return place.skipped > 1 or place.agreeing < SURE
    if place.start == count or 2 * place.agreeing >= count:
        return False
    return agent.store.histories.asked(place.session.id, place.path, place.last + 1) is not None


def _examples(agent: Agent, request: Told, place: Place) -> bool:
    """Returns whether the known turns are examples that a script sends with each of its questions, several of them at a
    time: the turns were told, and another question that follows them is being answered.
    """
    if place.start < len(request.turns) or place.last == 0:
        return False
    asked = agent.store.histories.asked(place.session.id, place.path, place.last + 1)
    if asked is None or asked.status != "running" or _asks(asked, request):
        return False
    last = agent.store.histories.asked(place.session.id, place.path, place.last)
    return last is not None and last.given


# --- the place in the session -------------------------------------------------------------------


def _place(agent: Agent, request: Told, marks: Sequence[str], session: Session, runs: Sequence[Run]) -> Place:
    """Returns where the history lies in a session. ``runs``: those of the session.

    A run decides alone that begins with the history and ends with it: a client that drops its oldest turns, because its
    context is full, tells none of them anew. Else the history is laid over the turns so that the longest run fits, and
    what follows the first difference is not known: turns that the client edited, or deleted in the middle.
    """
    count = len(marks)
    for run in runs:
        if _ends(run, count) and run.start == max(0, count - MOST_MARKS):
            return Place(session, run.path, run.last, count, count)
    if not runs:
        return Place(session, session.path, 0, 0)
    run = max(runs, key=lambda run: (run.length, _ends(run, count)))
    first = run.first - run.start  # the turn that the history's first one lies on
    agreeing = _agreeing(agent, request, marks, run, 1)
    beginning = _leading(agreeing)
    greeting = 0 if request.turns[0].question else 1  # some clients keep it when they drop their oldest turns
    if first <= 1 or beginning > greeting:
        return Place(session, run.path, beginning, beginning, max(sum(agreeing), run.length))
    agreeing = _agreeing(agent, request, marks, run, first)
    # a client that drops its oldest turns may put something in their place, such as a summary
    skipped = agreeing.index(True)
    start = skipped + _leading(agreeing[skipped:])
    return Place(session, run.path, first + start - 1, start, sum(agreeing), skipped)


def _agreeing(agent: Agent, request: Told, marks: Sequence[str], run: Run, first: int) -> list[bool]:
    """Returns for each turn of the history whether the session says the same, when the history begins at turn
    ``first``. A client that drops its oldest messages may keep the answer of a turn whose question it dropped.
    """
    agreeing = agent.store.histories.agreeing(run.session_id, run.path, marks, first)
    told_first = request.turns[0]
    if not agreeing[0] and not told_first.question:
        asked = agent.store.histories.asked(run.session_id, run.path, first)
        agreeing[0] = asked is not None and _same(asked.answer, told_first.answer)
    return agreeing


def _at(agent: Agent, request: Told, place: Place) -> Plan:
    """Returns the plan for the turn that follows the known turns of a session, after those that are told."""
    session, number, given = place.session, place.last + 1, request.turns[place.start :]
    switch = None
    if place.last and (branch := branch_at(place.path, place.last)) != branch_at(session.path, place.last):
        switch = (place.last, branch)
    if given:
        fit: Fit = "given" if request.began or session.turn_count else "new"
        return Plan(_turn(request, session.id, "new", number, given), False, fit, switch=switch)
    asked = agent.store.histories.asked(session.id, place.path if switch else session.path, number)
    kind: Kind
    if asked is None:
        kind, fit = "new", "goes_on" if session.turn_count else "new"
    elif not _asks(asked, request):
        kind, fit = "edited", "edited"
    else:
        ended = asked.status not in NOT_ENDED or number < session.turn_count
        kind, fit = "again" if ended else "retry", "again"
    if switch:
        kind = (
            "new"  # which turn follows is known after the switch; at this number a new one begins a branch if need be
        )
    return Plan(_turn(request, session.id, kind, number), False, fit, switch=switch)


def _ends(run: Run, count: int) -> bool:
    """Returns whether a run ends right before the message of a history of ``count`` turns."""
    return run.start + run.length == count


def _leading(agreeing: Sequence[bool]) -> int:
    """Returns how many turns agree before the first that does not."""
    return agreeing.index(False) if False in agreeing else len(agreeing)


def _asks(asked: Asked | None, request: Told) -> bool:
    """Returns whether a known turn asks what the request asks."""
    return asked is not None and _same(asked.question, request.text)


def _same(one: str, other: str) -> bool:
    """Returns whether two texts say the same: clients trim and wrap texts."""
    return one.split() == other.split()
