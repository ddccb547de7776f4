"""Running folds: what is stored decides what is to do, so a fold that was killed anywhere is completed by the next.

Every step is written atomically and may be repeated: the new memory, its version and the turns it took over go into
Redis in one step; the user's memory says itself which version of which session it has taken over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from errors import FoldRejected
from memory import fold
from memory.address import Client
from memory.archive import Archive
from memory.fold import Folded
from memory.key import Scope
from memory.link import Link
from memory.lock import Held, hold
from memory.source import Source
from memory.state import Entity, Rejection, State, Turn, Version, added, put, same_key, trimmed
from memory.store import RedisStore, Stale
from memory.view import adopted
from model.modelset import ModelSet
from model.stream import Stopped
from settings import Settings

MOST_CARRIED = 200
__all__ = ["Folding", "Held", "carried", "take_back"]


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
        self._language = language

    def run(self, scope: Scope, rest: bool, user: str) -> tuple[list[int], str]:
        """Fold until nothing is due; ``rest``: until nothing waits. Numbers of new versions, why the last was rejected.

        Raises ``Held``, ``MemoryAway``, ``Stopped`` and the model's errors.
        """
        made: list[int] = []
        try:
            with hold(self._link, scope) as token:
                self._step("locked")
                while (state := self._read(scope)).due or (rest and state.open):
                    self._check()
                    if not self._once(scope, state, user, token):
                        return made, self._read(scope).rejection.reason  # type: ignore[union-attr]
                    made.append(state.version + 1)
                if self._settings.user_memory and user:
                    self._carry(scope, Scope(scope.tenant, "", user))
        except Stale:
            raise Held from None
        return made, ""

    def _once(self, scope: Scope, state: State, user: str, token: int) -> bool:
        """One batch of turns; False when it was rejected."""
        base = self._base(state, scope, user)
        try:
            made = self._make(base, state, state.batch)
        except FoldRejected as error:
            self._reject(scope, error, token)
            return False
        self._step("made")
        version = self._version(state, base, state.batch, made)

        def new(now: State) -> State:
            if now.version != state.version or now.text != state.text or not set(state.batch) <= set(now.waiting):
                return now  # edited, erased or taken back meanwhile: what was made is not its next version
            return _taken(now, base, state.batch, made)

        self._link.run(lambda client: self._redis.swap(client, scope, version, new, token))
        self._step("swapped")
        return True

    def _make(self, base: State, state: State, batch: tuple[Turn, ...]) -> Folded:
        language = "ko" if self._language == "ko" else "en"
        pins = tuple(dict.fromkeys([*base.pins, *state.pins]))
        forgotten = (*base.forgotten, *state.forgotten) if base is not state else state.forgotten
        source = Source(base.text, base.entities, batch, pins, forgotten, language)  # type: ignore[arg-type]
        return fold.make(source, self._models, self._settings.budget_memory, self._stop, self._step)

    def _base(self, state: State, scope: Scope, user: str) -> State:
        """What the fold starts from: the session's memory, or the user's where it has none yet."""
        if state.version or not (self._settings.user_memory and user):
            return state
        left = self._read(Scope(scope.tenant, "", user))
        return state if left.apart else replace(adopted(state, left), start=left.version)

    def _version(self, state: State, base: State, batch: tuple[Turn, ...], made: Folded) -> Version:
        return Version(
            number=state.version + 1,
            text=made.text,
            origin="fold",
            created=time.time(),
            turns=batch,
            before=base.entities,
            after=made.entities,
            kept=made.kept,
            lost=made.lost,
            cost=fold.cost(made),
        )

    def _reject(self, scope: Scope, error: FoldRejected, token: int) -> None:
        """The memory stays, the turns wait, the panel learns why."""
        said = error.values

        def new(now: State) -> State:
            times = now.rejection.times + 1 if now.rejection else 1
            why = Rejection(str(said["reason"]), said["first"], said["last"], times, now.newest, time.time())
            return replace(now, rejection=why)

        self._link.run(lambda client: self._redis.change(client, scope, new, token=token))
        self._step("rejected")

    def _carry(self, scope: Scope, owner: Scope) -> None:
        """Bring the user's memory up to the session's version (the paper's setting: sessions S1, S2 … make M1, M2 …).

        Where no other session wrote in between it is a copy, else a fold of the session's new turns.
        """
        session = self._read(scope)
        if not session.version:
            return
        with hold(self._link, owner) as token:
            user = self._read(owner)
            taken = dict(user.carried).get(scope.tag, 0)
            if user.apart:
                return
            if taken != session.version:
                self._step("carrying")
                linear = user.version == session.start or not user.version
                made = None if linear else self._merge(scope, user, session, taken)
                text, entities = (made.text, made.entities) if made else (session.text, session.entities)
                version = Version(user.version + 1, text, "merge" if made else "fold", time.time(), after=entities)
                new = _carried(scope, session, text, entities)
                user = self._link.run(lambda client: self._redis.swap(client, owner, version, new, token))
                session = replace(session, start=user.version if linear else -1)
                self._step("carried")
            self._link.run(lambda client: self._redis.change(client, scope, _started(session.start)))
            self._link.run(lambda client: self._keep(client, owner))

    def _merge(self, scope: Scope, user: State, session: State, taken: int) -> Folded | None:
        """The session's turns since it was taken over last, folded into the user's memory."""
        _, versions = self._link.run(lambda client: self._redis.read_all(client, scope))
        turns = tuple(turn for each in versions if each.number > taken for turn in each.turns)
        if not turns:
            return None
        try:
            return self._make(user, user, turns)
        except FoldRejected:  # the user's memory stays, and holds the session's values
            entities = user.entities
            for each in session.entities:
                entities = put(entities, each)
            return Folded(user.text, entities, (), (), 0.0, 0, 0, 0, "")

    def _keep(self, client: Client, owner: Scope) -> None:
        state, versions = self._redis.look(client, owner)
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


def _taken(now: State, base: State, batch: tuple[Turn, ...], made: Folded) -> State:
    """The state with the fold's text and entities; what was remembered or forgotten meanwhile stands."""
    before = {same_key(each.key): each for each in base.entities}
    meanwhile = {same_key(each.key) for each in now.entities if before.get(same_key(each.key)) != each}
    entities: tuple[Entity, ...] = tuple(each for each in made.entities if same_key(each.key) not in meanwhile)
    gone = set(before) - {same_key(each.key) for each in now.entities} if base.version else set()
    entities = tuple(each for each in entities if same_key(each.key) not in gone)
    for each in now.entities:
        if same_key(each.key) in meanwhile:
            entities = put(entities, each)
    folded = added(now.folded, (turn.number for turn in batch))
    taken = replace(now, text=made.text, entities=entities, folded=folded, rejection=None, start=base.start)
    return trimmed(taken)


def carried(owner: State, tag: str, version: int) -> State:
    """A user's memory that has taken over this version of a session."""
    others = [each for each in owner.carried if each[0] != tag]
    return replace(owner, carried=(*others, (tag, version))[-MOST_CARRIED:])


def _carried(scope: Scope, session: State, text: str, entities: tuple[Entity, ...]) -> Callable[[State], State]:
    def new(now: State) -> State:
        pins = tuple(dict.fromkeys([*now.pins, *session.pins]))
        return replace(carried(now, scope.tag, session.version), text=text, entities=entities, pins=pins)

    return new


def _started(start: int) -> Callable[[State], State]:
    return lambda now: replace(now, start=start)


def take_back(client: Client, redis: RedisStore, scope: Scope, back: Callable[[State], State]) -> None:
    """Undo a session's newest version, and the copy of it that the user's memory took over last."""
    state = redis.change(client, scope, back, undo=True)
    owner = Scope(scope.tenant, "", state.user)
    if not state.user:
        return
    user, versions = redis.read_all(client, owner)
    if dict(user.carried).get(scope.tag, 0) <= state.version:
        return  # not taken over yet
    if user.version != state.start:  # another session wrote there since: what is said from here on is still taken over
        redis.change(client, owner, partial(carried, tag=scope.tag, version=state.version))
        return
    before = versions[-2] if len(versions) > 1 else None

    def new(now: State) -> State:
        text, number = (before.text, before.number) if before else ("", 0)
        entities = before.after if before else ()
        return replace(carried(now, scope.tag, state.version), text=text, version=number, entities=entities)

    redis.change(client, owner, new, undo=True)
    redis.change(client, scope, _started(before.number if before else 0))
