"""Which conversation a client's request belongs to, and which turn it asks for.

Most clients name no conversation: they send the whole of it with every message, in a shape of their own.
``plan_client_turn`` finds the conversations of the user that speak of the same (``store.session.history``) and lays the
history over their turns (``history.align``). It only reads, and its cost grows with the history and not with the number
of conversations.
``prepare_turn_request`` then opens the session that the plan names.

Nothing is held between the plan and the turn, so requests at the same moment may plan alike. Two without a known
conversation begin one each: nothing is merged. Two for the same conversation wait for each other at its lock; whoever
waited, or finds under the lock that the conversation is no more what the plan was made from (``PlanBasis``), must plan
anew (``SessionBusy``), because the first one's turn is there by then: it may be the one that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from errors import Empty
from graph.turn.agent import Agent
from graph.turn.request import Kind, PlanBasis, Request
from history.align import Alignment, Exchange, Pair, align_told_turns, find_changed
from history.likeness import LEAST_WORDS, compare_messages
from history.script import read_script
from server.phrase import resolve_language
from server.request.client_call import own_calls
from server.request.message import ClientMessage
from server.request.moved_turn import restore_turns
from server.request.told_request import ToldRequest, read_told_request
from store import GivenTurn, Session
from store.path import TRUNK, Path, branch_at
from store.session.history import Lead, PathTurn
from text.fence import find_words
from text.language import detect_language

__all__ = [
    "NOT_ENDED",
    "ClientMessage",
    "Fit",
    "TurnPlan",
    "is_same_text",
    "is_unheard",
    "make_request",
    "plan_client_turn",
    "prepare_turn_request",
]

Fit = Literal["new", "goes_on", "again", "edited", "given", "ambiguous"]
NOT_ENDED = ("running", "failed")
CUT_SHORT = (*NOT_ENDED, "stopped")
"""How a turn ends whose client has no whole answer: it had left, or its user stopped it."""
MOST_LAID = 6
"""The most conversations that a history is laid over."""
LIKE = ("same", "part", "reworded")
"""How the message to answer is like a stored question that it asks again."""
BEGINNING = PlanBasis(0, TRUNK)
"""What a request for a new conversation is planned from."""
SURE = 3
"""Turns in a row that show whose history this is, when it begins with something that is not known."""


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """What a client's request comes to. ``created``: the session is yet to be created (``prepare_turn_request``), with
    the name ``alias``; the request's session is empty until then.

    ``fit``: how the history fits what is known. ``new``: there is none. ``goes_on``: the message follows the last turn.
    ``again``: another answer to a turn. ``edited``: a turn with another question, or later turns that the client has no
    more. ``given``: turns that were not known. ``ambiguous``: several conversations fit alike, and the last used one
    goes on. ``learned``: turns of a path of the session in words of the client that mean the same.
    """

    request: Request
    created: bool
    fit: Fit
    alias: str = ""
    learned: tuple[Learned, ...] = ()


@dataclass(frozen=True, slots=True)
class Learned:
    """A turn of a path, as the client tells it."""

    path: Path
    number: int
    turn: GivenTurn


@dataclass(frozen=True, slots=True)
class HistoryPlace:
    """Where a history lies in a session: its turns from ``start`` on follow turn ``last`` of ``path``, which is the
    last one that is known. ``start`` is the history's length when all of it is known. ``agreeing``: how many of its
    turns the session says, too. ``skipped``: how many at its beginning are left out, though they are not known.
    ``turns``: the told turns, those that the session has in other words as it has them. ``following``: turns of the
    path that were read already, by their numbers; None where the path has no such turn.
    """

    session: Session
    path: Path
    last: int
    start: int
    agreeing: int = 0
    skipped: int = 0
    turns: tuple[GivenTurn, ...] = ()
    learned: tuple[Learned, ...] = ()
    following: Mapping[int, PathTurn | None] = field(default_factory=dict)

    def read_next(self, agent: Agent, path: Path) -> PathTurn | None:
        """Returns the turn of a path that follows the last known one."""
        number = self.last + 1
        if path == self.path and number in self.following:
            return self.following[number]
        return agent.store.histories.find_path_turn(self.session.id, path, number)


@dataclass(frozen=True, slots=True)
class LaidHistory:
    """A history laid over a path of a session. ``texts``: the turns of the path that were compared by their texts;
    ``following``: the turn behind the last known one, if it was read (``_find_proved``)."""

    lead: Lead
    alignment: Alignment
    texts: Mapping[int, PathTurn]
    following: PathTurn | None = None

    @property
    def last(self) -> Pair:
        return self.alignment.pairs[-1]


def plan_client_turn(
    agent: Agent, messages: Sequence[ClientMessage], name: str | None, whole: bool = False
) -> TurnPlan:
    """Returns the session and the turn that a client asks for. ``agent``: the user's; ``name``: the id or the name that
    the client gave the session, if any; a name that is not known becomes that of a new session.

    A history that is sent with a name is held against that session alone; without a history the message follows its
    last turn, or is its first one where the client always sends the ``whole`` of it. Raises ``NoUserMessage``, and
    ``Empty`` for a last message without text and images.
    """
    request = read_told_request(messages, resolve_language("auto", agent.settings.language), own_calls(agent, messages))
    if not request.text.strip() and not request.images:
        raise Empty(what="message")
    if name:
        session = agent.store.find_session(name)
        return (
            _plan_new_session(request, name) if session is None else _plan_named_session(agent, request, session, whole)
        )
    if not request.turns and (found := _read_script(agent, request)):
        return found
    if not request.began:  # a greeting alone is that of every conversation with the same character
        return _follow_lone_answer(agent, request) or _plan_new_session(request)
    leads = agent.store.histories.find(_pair_turns(request.turns))
    return _plan_among_leads(agent, request, leads) if leads else _plan_new_session(request)


def prepare_turn_request(agent: Agent, planned: TurnPlan) -> Request:
    """Opens the session of a plan, creating a new one, and returns the request to run.

    Running it raises ``SessionBusy`` while the session answers, or when the plan is outdated: then plan anew.
    """
    request = planned.request
    if planned.created:
        language = detect_language(find_words(request.text), resolve_language("auto", agent.settings.language))
        session = agent.store.create_session(language, agent.settings.compression_rate, alias=planned.alias)
        return replace(request, session=session.id)
    for one in planned.learned:
        agent.store.histories.learn(request.session, one.path, one.number, one.turn.question, one.turn.answer)
    return request


# --- no session yet -----------------------------------------------------------------------------


def _plan_new_session(request: ToldRequest, alias: str = "", fit: Fit = "given") -> TurnPlan:
    """Returns the plan for a new session that begins with all told turns."""
    turn = make_request(request, "", "new", 1 if request.turns else 0, request.turns)
    return TurnPlan(turn, True, fit if request.began else "new", alias)


def make_request(
    request: ToldRequest,
    session: str,
    kind: Kind,
    number: int,
    given: Sequence[GivenTurn] = (),
    basis: PlanBasis = BEGINNING,
) -> Request:
    """Returns the request for a turn with what a client told. Every request of this door is made here: it has no way
    to ask the user. ``basis``: the conversation from which it was planned; a new one if none is named."""
    told_turns, images, earlier = tuple(given), request.images, request.earlier_images
    turn = Request(session, kind, request.text, number, told_turns, request.system, basis=basis)
    return replace(turn, images=images, earlier_images=earlier)


# --- by its name --------------------------------------------------------------------------------


def _plan_named_session(agent: Agent, request: ToldRequest, session: Session, whole: bool) -> TurnPlan:
    """Returns the plan for a session that the client named."""
    if request.turns or whole:
        leads = agent.store.histories.find(_pair_turns(request.turns), session.id)
        lead = leads[0] if leads else Lead(session.id, session.path, {}, 0.0)
        request, laid = _restore_history(agent, request, _lay_history(agent, request, lead))
        return _plan_turn_at_place(agent, request, _find_history_place(request, session, laid))
    number = session.turn_count
    last = agent.store.histories.find_path_turn(session.id, session.path, number) if number else None
    if last is not None and _is_same_question(last, request) and is_unheard(agent, session, last):
        number -= 1  # the client sends the message once more
    planned = _plan_turn_at_place(agent, request, HistoryPlace(session, session.path, number, 0))
    # such a client sends its message alone: it follows the last turn there is by then, and a stored system text stays
    turn = replace(planned.request, system=request.system or None)
    return replace(planned, request=replace(turn, number=0) if turn.kind == "new" else turn)


# --- by its history -----------------------------------------------------------------------------


def _plan_among_leads(agent: Agent, request: ToldRequest, leads: Sequence[Lead]) -> TurnPlan:
    """Returns the plan for the session that has most of the history and proves something, or for a new one if there is
    none. Of several that fit alike the one goes on that was used last."""
    all_laid = [_lay_history(agent, request, lead) for lead in leads[:MOST_LAID]]
    proved = _find_proved(agent, request, all_laid)
    if not proved:
        return _follow_changed(agent, request, all_laid) or _plan_new_session(request)
    best = _choose_best(request, proved)
    is_alike = len(best) > 1
    if is_alike and 2 * best[0].alignment.known_count < len(request.turns):
        return _plan_new_session(request)
    chosen = max(best, key=lambda one: _session_of(agent, one.lead).updated)
    request, laid = _restore_history(agent, request, chosen)
    place = _find_history_place(request, _session_of(agent, laid.lead), laid)
    if laid is chosen:
        place = replace(place, following={laid.last.number + 1: laid.following})
    if _is_chance_match(agent, place, len(request.turns)) or _is_one_of_many(request, laid):
        return _plan_new_session(request)
    planned = _plan_turn_at_place(agent, request, place)
    return replace(planned, fit="ambiguous") if is_alike else planned


def _session_of(agent: Agent, lead: Lead) -> Session:
    return lead.session or agent.store.session(lead.home)


def _follow_changed(agent: Agent, request: ToldRequest, laid: Sequence[LaidHistory]) -> TurnPlan | None:
    """Returns the plan for the session whose answered turn the last told one was made from, where no turn is known:
    all of the history is told there on a branch. None for no such session."""
    last = Exchange(find_words(request.turns[-1].question), request.turns[-1].answer)
    for one in laid:
        number = find_changed(last, {at: asked.exchange for at, asked in one.texts.items() if asked.answer})
        if number is not None and agent.store.histories.is_answered(one.lead.home, one.lead.path, [number]):
            session = _session_of(agent, one.lead)
            return _plan_turn_at_place(agent, request, HistoryPlace(session, one.lead.path, 0, 0))
    return None


def _follow_lone_answer(agent: Agent, request: ToldRequest) -> TurnPlan | None:
    """Returns the plan for the one conversation in which a model of ours gave the only answer that is told: a client
    with very little room sends no more. None for a greeting, which our models never gave, and for few words."""
    if len(request.turns) != 1 or len(request.turns[0].answer.split()) < LEAST_WORDS:
        return None
    leads = agent.store.histories.find(_pair_turns(request.turns))
    proved = _find_proved(agent, request, [_lay_history(agent, request, lead) for lead in leads[:MOST_LAID]])
    if len(proved) != 1:
        return None
    place = _find_history_place(request, _session_of(agent, proved[0].lead), proved[0])
    return _plan_turn_at_place(agent, request, place)


def _read_script(agent: Agent, request: ToldRequest) -> TurnPlan | None:
    """Returns the plan for a message that is a whole history with names, if a conversation has it; else None."""
    script = read_script(request.text)
    if script is None:
        return None
    turns = tuple(GivenTurn(question, answer, tokens=0) for question, answer in script.turns)
    told_so = replace(request, turns=turns, began=True, text=script.question)
    leads = agent.store.histories.find(script.turns)
    planned = _plan_among_leads(agent, told_so, leads) if leads else None
    return planned if planned is not None and not planned.created else None


def _pair_turns(turns: Sequence[GivenTurn]) -> list[tuple[str, str]]:
    return [(turn.question, turn.answer) for turn in turns]


def _lay_history(agent: Agent, request: ToldRequest, lead: Lead) -> LaidHistory:
    """Lays the history over a path."""
    texts: dict[int, PathTurn] = {}

    def read(numbers: Sequence[int]) -> dict[int, Exchange]:
        texts.update(agent.store.histories.read(lead.home, lead.path, numbers))
        return {number: asked.exchange for number, asked in texts.items() if asked.answer}

    turns = [Exchange(find_words(turn.question), turn.answer) for turn in request.turns]
    return LaidHistory(lead, align_told_turns(turns, lead.weights, read), texts)


def _restore_history(agent: Agent, request: ToldRequest, laid: LaidHistory) -> tuple[ToldRequest, LaidHistory]:
    """Returns the request with the turns that its client has taken apart put together (``moved_turn``), laid over the
    same path; the same ones where there are none."""
    home, path = laid.lead.home, laid.lead.path
    turns = restore_turns(
        request, laid.alignment.pairs, lambda numbers: agent.store.histories.read(home, path, numbers)
    )
    if turns == request.turns:
        return request, laid
    restored = replace(request, turns=turns)
    leads = agent.store.histories.find(_pair_turns(turns), home)
    lead = next((one for one in leads if one.path == path), laid.lead)
    return restored, _lay_history(agent, restored, lead)


def _find_proved(agent: Agent, request: ToldRequest, laid: Sequence[LaidHistory]) -> list[LaidHistory]:
    """Returns those with the most known turns, all as many, that show whose history this is."""
    proved = list[LaidHistory]()
    for one in sorted(laid, key=lambda one: -one.alignment.known_count):
        if not one.alignment.known_count or (proved and one.alignment.known_count < proved[0].alignment.known_count):
            break
        numbers = [pair.number for pair in one.alignment.pairs if pair.kind != "edited"]
        follow = agent.store.histories.follow
        is_answered, following = follow(one.lead.home, one.lead.path, numbers, one.last.number + 1)
        one = replace(one, following=following)
        if is_answered or _is_proved_by_following(request, one):
            proved.append(one)
    return proved


def _is_proved_by_following(request: ToldRequest, laid: LaidHistory) -> bool:
    """Returns whether the history goes on after turns that were only told as a session does that answered what follows:
    the client wants that answer, another one, or changed it.

    Told turns alone prove nothing: chats that have nothing to do with each other begin with the same greeting, scripts
    send the same examples with each of their questions. A few of them prove it with the same question only while its
    answer has not reached the client.
    """
    asked = laid.following
    if asked is None or asked.given or (laid.alignment.known_count < SURE and asked.status not in NOT_ENDED):
        return False
    return _asks_alike(_find_next(request, laid), asked.question)


def _find_next(request: ToldRequest, laid: LaidHistory) -> str:
    """Returns the message that a client tells behind the last known turn."""
    after = laid.last.sent + 1
    return request.turns[after].question if after < len(request.turns) else request.text


def _is_one_of_many(request: ToldRequest, laid: LaidHistory) -> bool:
    """Returns whether so many conversations say this history that not all were looked at, and the best of those goes on
    with another message: it is probably not the one that is meant."""
    asked = laid.following if laid.lead.is_cut else None
    return asked is not None and not _asks_alike(_find_next(request, laid), asked.question)


def _choose_best(request: ToldRequest, laid: Sequence[LaidHistory]) -> Sequence[LaidHistory]:
    """Returns those with equally many known turns of several sessions that fit best: that end with the history; that no
    turn follows; whose next turn asks the same; that leave out no turn of the session.
    """
    if len(laid) == 1:
        return laid
    ranks = [
        (
            one.alignment.ends,
            one.following is None,
            _is_same_question(one.following, request),
            one.alignment.pairs[0].number == one.alignment.pairs[0].sent + 1,
        )
        for one in laid
    ]
    return [one for one, rank in zip(laid, ranks, strict=True) if rank == max(ranks)]


def _is_chance_match(agent: Agent, place: HistoryPlace, count: int) -> bool:
    """Returns whether a session says only by chance what a part of a history of ``count`` turns says: then this is a
    conversation that we never had.
    """
    if place.skipped:
        return place.skipped > 1 or place.agreeing < SURE
    if place.start == count or 2 * place.agreeing >= count:
        return False
    return place.read_next(agent, place.path) is not None


# --- the place in the session -------------------------------------------------------------------


def _find_history_place(request: ToldRequest, session: Session, laid: LaidHistory) -> HistoryPlace:
    """Returns where the history lies in a session: what follows the first difference is not known any more, turns that
    the client edited, deleted in the middle or put there. Turns in other words of the same meaning are no difference.

    A client that drops its oldest turns, because its context is full, may keep the greeting, and may put something in
    their place, such as a summary; turns that it tells before the session's first one are a difference.
    """
    path, pairs, known = laid.lead.path, laid.alignment.pairs, laid.alignment.known_count
    turns, learned = _word_as_stored(request.turns, laid)
    if not pairs or (pairs[0].sent and pairs[0].number <= pairs[0].sent + 1):
        return HistoryPlace(session, path, 0, 0, known, turns=turns)
    first_known = next(pair for pair in pairs if pair.kind != "edited")
    skipped = first_known.sent if pairs[0].kind == "edited" and pairs[0].number > 1 else pairs[0].sent
    keeps_greeting = pairs[0].number == 1 and not request.turns[0].question and len(pairs) > 1
    if keeps_greeting and pairs[1].sent == 1 and pairs[1].number > 2:
        pairs = pairs[1:]
    last, start = pairs[0].number - 1, pairs[0].sent
    for pair in pairs:
        if (pair.number, pair.sent) != (last + 1, start) or pair.kind == "edited" or pair.answer == "more":
            break
        last, start = pair.number, pair.sent + 1
    return HistoryPlace(session, path, last, start, known, skipped, turns, learned)


def _word_as_stored(
    told_turns: tuple[GivenTurn, ...], laid: LaidHistory
) -> tuple[tuple[GivenTurn, ...], tuple[Learned, ...]]:
    """Returns the told turns, those in the session's words that it has in others; and these others."""
    turns, learned = list(told_turns), list[Learned]()
    for pair in laid.alignment.pairs:
        stored = laid.texts.get(pair.number)
        if stored is not None and pair.kind == "reworded" and pair.answer != "more":
            learned.append(Learned(laid.lead.path, pair.number, turns[pair.sent]))
            turns[pair.sent] = GivenTurn(stored.question, stored.answer, tokens=0)
    return tuple(turns), tuple(learned)


def _plan_turn_at_place(agent: Agent, request: ToldRequest, place: HistoryPlace) -> TurnPlan:
    """Returns the plan for the turn that follows the known turns of a session, after those that are told."""
    session, number, given = place.session, place.last + 1, (place.turns or request.turns)[place.start :]
    switch = None
    if place.last and (branch := branch_at(place.path, place.last)) != branch_at(session.path, place.last):
        switch = (place.last, branch)
    if given:
        fit: Fit = "given" if request.began or session.turn_count else "new"
        turn = make_request(request, session.id, "new", number, given, PlanBasis.of(session))
        return TurnPlan(replace(turn, switch=switch), False, fit, learned=place.learned)
    asked = place.read_next(agent, place.path if switch else session.path)
    kind: Kind
    if asked is None:
        kind, fit = "new", "goes_on" if session.turn_count else "new"
    elif not _is_same_question(asked, request):
        kind, fit = "edited", "edited"
    else:
        ended = asked.status not in NOT_ENDED or number < session.turn_count
        kind, fit = "again" if ended else "retry", "again"
        if not is_same_text(asked.question, request.text):  # the client sends something else along with the same words
            kind = "edited"
    if switch:
        kind = (
            "new"  # which turn follows is known after the switch; at this number a new one begins a branch if need be
        )
    status = asked.status if asked is not None and number == session.turn_count and not switch else None
    turn = make_request(request, session.id, kind, number, basis=PlanBasis.of(session, status))
    return TurnPlan(replace(turn, switch=switch), False, fit, learned=place.learned)


def _is_same_question(asked: PathTurn | None, request: ToldRequest) -> bool:
    """Returns whether a known turn asks what the request asks, in the user's words."""
    return asked is not None and _asks_alike(request.text, asked.question)


def _asks_alike(sent: str, question: str) -> bool:
    """Returns whether a message is a stored question, as far as it is the user's."""
    return compare_messages(find_words(sent), find_words(question), "question") in LIKE


def is_unheard(agent: Agent, session: Session, last: PathTurn) -> bool:
    """Returns whether a session's last turn has no answer that its client has got."""
    return last.status in (*CUT_SHORT, "waiting") or agent.store.undelivered.is_noted(session.id, session.turn_count)


def is_same_text(one: str, other: str) -> bool:
    """Returns whether two texts say the same: clients trim and wrap texts."""
    return one.split() == other.split()
