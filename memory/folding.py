"""Running folds: what is stored decides what is to do, so a fold that was killed anywhere is completed by the next.

Every step is written atomically and may be repeated: the new memory, its version and the turns it took over go into
Redis in one step; the user's memory says itself which version of which session it has taken over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from errors import FoldRejected
from memory import carry, fold
from memory.address import Client
from memory.archive import Archive
from memory.fold import Folded
from memory.key import Scope
from memory.line import from_before
from memory.link import Link
from memory.lock import Held, hold
from memory.source import Source
from memory.state import MOST_PINS, Entity, Origin, Rejection, State, Turn, Version, added, put, same_key, trimmed
from memory.store import KEPT_VERSIONS, RedisStore, Stale
from memory.view import adopted
from model.modelset import ModelSet
from model.stream import Stopped
from settings import Settings
from text.language import Language

__all__ = ["Folding", "Held"]

MOST_REWRITTEN = 40
"""Turns that wait of which a memory is written anew; a later fold takes the others."""


class Folding:
    """One run of folds over one session. ``step`` is told how far it is."""

    def __init__(
        self,
        link: Link,
        redis: RedisStore,
        archive: Archive,
        settings: Settings,
        models: ModelSet,
        language: str,
        stop: threading.Event | None,
        step: Callable[[str], None],
    ) -> None:
        self._link, self._redis, self._archive, self._settings = link, redis, archive, settings
        self._models, self._stop, self._step = models, stop, step
        self._language: Language = "ko" if language == "ko" else "en"

    def run(self, scope: Scope, rest: bool, user: str) -> tuple[list[int], str]:
        """Fold until nothing is due; ``rest``: until nothing waits. Numbers of new versions, why the last was rejected.

        Raises ``Held``, ``MemoryAway``, ``Stopped`` and the model's errors.
        """
        made: list[int] = []
        try:
            with hold(self._link, scope) as token:
                self._step("locked")
                while (state := self._read(scope)).due or (rest and state.waiting):
                    self._check()
                    if self._once(scope, state, user, token):
                        made.append(state.version + 1)
                    if len(made) % (KEPT_VERSIONS // 2) == 0:  # a long conversation was imported: Redis keeps few
                        self._link.run(lambda client: self._keep(client, scope))
                self._carry(scope, Scope(scope.tenant, "", user))
        except Stale:
            raise Held from None
        except FoldRejected as error:
            return made, str(error.values["reason"])
        return made, ""

    def rewrite(self, scope: Scope, user: str) -> tuple[list[int], str]:
        """Have the model write the memory of now anew, with what waits; whatever the profile says. As ``run``.

        What it writes is a version of its own. A rejection changes nothing, and nobody need try again.
        """
        try:
            with hold(self._link, scope) as token:
                self._step("locked")
                state = self._read(scope)
                base, turns = self._base(state, scope, user), state.waiting[:MOST_REWRITTEN]
                if not (base.text or turns):
                    return [], ""
                made = fold.by_model.make(
                    self._source(state, base, turns), self._models, self._room, self._stop, self._step
                )
                written = self._take(scope, state, base, turns, made, token, "rewritten")
                self._carry(scope, Scope(scope.tenant, "", user))
        except Stale:
            raise Held from None
        except FoldRejected as error:
            return [], str(error.values["reason"])
        return [state.version + 1] if written else [], ""

    def _once(self, scope: Scope, state: State, user: str, token: int) -> bool:
        """One batch of turns; False when the memory was changed meanwhile. Raises ``FoldRejected``, which is noted."""
        base = self._base(state, scope, user)
        try:
            made = self._make(self._source(state, base, state.batch), state.stuck)
        except FoldRejected as error:
            self._reject(scope, error, token)
            raise
        return self._take(scope, state, base, state.batch, made, token, "fold")

    def _take(
        self, scope: Scope, state: State, base: State, turns: Sequence[Turn], made: Folded, token: int, origin: Origin
    ) -> bool:
        """Put what was made of ``base`` and these turns in the memory's place, unless that was changed meanwhile."""
        self._step("made")
        version = _version(state, base, turns, made, origin)

        def new(now: State) -> State:
            same = (now.version, now.text, now.forgotten) == (state.version, state.text, state.forgotten)
            if not same or not set(turns) <= set(now.waiting):
                return now  # edited, erased, forgotten or taken back meanwhile: what was made is not its next version
            return _taken(now, state, base, turns, made)

        after = self._link.run(lambda client: self._redis.swap(client, scope, version, new, token))
        self._step("swapped")
        return after.version == version.number

    def _source(self, state: State, base: State, turns: Sequence[Turn]) -> Source:
        return Source(base.text, base.entities, tuple(turns), base.pins, state.forgotten, self._language)

    def _make(self, source: Source, word_for_word: bool) -> Folded:
        """A fold; ``word_for_word``: one that is rejected gives way to one that the code makes. Raises FoldRejected."""
        try:
            return fold.make(source, self._models, self._room, self._stop, self._step)
        except FoldRejected as error:
            if not word_for_word:
                raise
            return fold.word_for_word(source, self._models.count, self._room, error.values["cost"])

    @property
    def _room(self) -> int:
        return self._settings.budget_memory

    def _base(self, state: State, scope: Scope, user: str) -> State:
        """What the fold starts from: the session's memory, or the user's where it has none yet."""
        if state.version or not (self._settings.user_memory and user):
            return state
        left = self._read(Scope(scope.tenant, "", user))
        return state if left.apart else replace(adopted(state, left), start=left.mark)

    def _reject(self, scope: Scope, error: FoldRejected, token: int) -> None:
        """The memory stays, the turns wait, the panel learns why."""
        said = error.values

        def new(now: State) -> State:
            times = now.rejection.times + 1 if now.rejection else 1
            cost = fold.together([now.rejection.cost if now.rejection else {}, said["cost"]])
            why = {name: value for name, value in said.items() if name not in ("first", "last", "cost", "reason")}
            noted = (str(said["reason"]), said["first"], said["last"], times, now.newest, time.time(), cost, why)
            return replace(now, rejection=Rejection(*noted))

        self._link.run(lambda client: self._redis.change(client, scope, new, token=token))
        self._step("rejected")

    def _carry(self, scope: Scope, owner: Scope) -> None:
        """Bring the user's memory up to the session's version.

        It is a copy where the session was made from just what the user's memory holds, else the session's new turns are
        folded in. What changes there meanwhile wins: the next run does it then; once something is erased (``fence``),
        nothing of what was made is written. Where the user keeps sessions apart, nothing goes there but the version, so
        that it does not come later either.
        """
        session = self._read(scope)
        if not session.version:
            return
        if not (self._settings.user_memory and owner.user):
            self._settle(scope, session, State())
            return
        with hold(self._link, owner) as token:
            session, user = self._read(scope), self._read(owner)  # anew: what is erased from here on raises the token
            if not session.version:
                return
            if carry.taken(user, session, scope.tag) != session.version:
                self._step("carrying")
                made, version = (user, None) if user.apart else self._carried(scope, session, user)
                tag, seen = scope.tag, user

                def new(now: State) -> State:
                    if (now.mark, now.apart, now.forgotten) != (seen.mark, seen.apart, seen.forgotten):
                        return now
                    return replace(carry.carried(now, tag, session.version), text=made.text, entities=made.entities)

                def revised(before: State, after: State) -> Version | None:
                    return version

                user = self._link.run(lambda client: self._redis.change(client, owner, new, revised, token=token))
                if dict(user.carried).get(tag) != session.version:
                    return
                self._step("carried")
            self._settle(scope, session, user)
            self._link.run(lambda client: self._keep(client, owner))

    def _settle(self, scope: Scope, session: State, owner: State) -> None:
        """The session knows that nothing of it is left to be carried; also where the user keeps sessions apart."""

        def new(now: State) -> State:
            return carry.settled(now, session, owner) if now.created == session.created else now  # else it was erased

        self._link.run(lambda client: self._redis.change(client, scope, new))

    def _carried(self, scope: Scope, session: State, user: State) -> tuple[State, Version]:
        """The user's memory with the session's, and its version."""
        number = user.version + 1
        if carry.linear(user, session):
            return session, Version(number, session.text, "fold", time.time(), after=session.entities)
        made, cost = self._merge(scope, session, user)
        self._step("merged")
        return made, Version(number, made.text, "merge", time.time(), after=made.entities, cost=cost)

    def _merge(self, scope: Scope, session: State, user: State) -> tuple[State, dict[str, Any]]:
        """What the session was told and changed since it was taken over last, in the user's memory; and the cost."""
        seen = carry.taken(user, session, scope.tag)
        _, chain = self._link.run(lambda client: carry.chain(client, self._redis, self._archive, scope))
        versions = [each for each in chain if seen < each.number <= session.version]
        made, costs = user, list[dict[str, Any]]()
        for told, some in groupby(versions, key=lambda each: bool(each.turns)):
            if not told:
                made = carry.by_hand(made, some)
                continue
            turns = tuple(turn for each in some for turn in each.turns)
            folded = self._fold_in(made, session, turns)
            costs.append(fold.cost(folded))
            entities = carry.with_values(folded.entities, session, turns)
            made = replace(made, text=from_before(folded.text), entities=entities)
        return made, fold.together(costs)

    def _fold_in(self, user: State, session: State, turns: Sequence[Turn]) -> Folded:
        """A session's turns in the user's memory: never rejected, since nobody would see it, nor would they come again.

        What the user has forgotten in the session does not come in. The numbers of turns are each session's own: none
        stays in the user's memory.
        """
        text = from_before(user.text)
        source = Source(text, user.entities, tuple(turns), user.pins, session.forgotten, self._language)
        return self._make(source, True)

    def _keep(self, client: Client, owner: Scope) -> None:
        state, versions = self._redis.look(client, owner)
        if state.revision:
            self._archive.save(owner, state, versions, state.user)

    def _read(self, scope: Scope) -> State:
        def work(client: Client) -> State:
            state = self._redis.read(client, scope)
            if not state.revision and (kept := self._archive.load(scope)):
                self._redis.restore(client, scope, *kept)
                state = self._redis.read(client, scope)
            return state

        return self._link.run(work)

    def _check(self) -> None:
        if self._stop is not None and self._stop.is_set():
            raise Stopped


def _version(state: State, base: State, turns: Sequence[Turn], made: Folded, origin: Origin) -> Version:
    """The version that a fold of ``state`` makes; its cost is that of all tries."""
    return Version(
        number=state.version + 1,
        text=made.text,
        origin=origin,
        created=time.time(),
        turns=tuple(turns),
        before=base.entities,
        after=made.entities,
        kept=made.kept,
        lost=made.lost,
        cost=fold.together([state.rejection.cost if state.rejection else {}, fold.cost(made)]),
        prior="" if turns else base.text,
    )


def _taken(now: State, state: State, base: State, turns: Sequence[Turn], made: Folded) -> State:
    """The state with the fold's text and entities; what was remembered or forgotten meanwhile stands.

    ``state``: as the fold began; ``base``: what it was made from, with the pins that a new session takes over.
    """
    before = {same_key(each.key): each for each in base.entities}
    meanwhile = {same_key(each.key) for each in now.entities if before.get(same_key(each.key)) != each}
    entities: tuple[Entity, ...] = tuple(each for each in made.entities if same_key(each.key) not in meanwhile)
    gone = set(before) - {same_key(each.key) for each in now.entities} if base.version else set()
    entities = tuple(each for each in entities if same_key(each.key) not in gone)
    for each in now.entities:
        if same_key(each.key) in meanwhile:
            entities = put(entities, each)
    folded = added(now.folded, (turn.number for turn in turns))
    pins = (*(pin for pin in base.pins if pin not in state.pins), *now.pins)[-MOST_PINS:]
    taken = replace(now, text=made.text, entities=entities, folded=folded, pins=pins, rejection=None, start=base.start)
    return trimmed(taken)
