"""Runs folds. The stored data decides what to do, so the next fold completes one that was killed at any point.

Every step is written atomically and may be repeated. In one step, Redis gets the new memory, its version, and the turns
of that version. The user's memory records which version of which session it has taken over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from errors import FoldRejected
from memory import fold
from memory.archive import Archive
from memory.change import user_memory
from memory.fold import Folded
from memory.fold.fold_input import FoldInput
from memory.fold.holder import Held, hold
from memory.key import Scope
from memory.line import from_before
from memory.redis.address import Client
from memory.redis.link import Link
from memory.redis.redis_store import KEPT_VERSIONS, RedisStore, Stale
from memory.state import MOST_PINS, Entity, MemoryTurn, Origin, Rejection, State, Version, added, put, same_key, trimmed
from memory.view import adopted
from model.call.stream import Stopped
from model.modelset import ModelSet
from settings import Settings
from text.language import Language

__all__ = ["Folding", "Held"]

MOST_REWRITTEN = 40
"""Most waiting turns that a rewrite takes in; a later fold takes the others."""


class Folding:
    """One run of folds over one session. ``step`` is called with the name of every finished step."""

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
        """Folds until no fold is due; with ``rest``, until no turn waits. Returns the numbers of the new versions, and
        the reason of the rejection that ended the run, or "".

        Raises ``Held``, ``MemoryAway``, ``Stopped`` and the model's errors.
        """
        numbers: list[int] = []
        try:
            with hold(self._link, scope) as token:
                self._step("locked")
                while (state := self._read(scope)).due or (rest and state.waiting):
                    self._check()
                    if self._once(scope, state, user, token):
                        numbers.append(state.version + 1)
                    if len(numbers) % (KEPT_VERSIONS // 2) == 0:  # Redis keeps few versions of a long import
                        self._link.run(lambda client: self._keep(client, scope))
                self._carry(scope, Scope(scope.tenant, "", user))
        except Stale:
            raise Held from None
        except FoldRejected as error:
            return numbers, str(error.values["reason"])
        return numbers, ""

    def rewrite(self, scope: Scope, user: str) -> tuple[list[int], str]:
        """Lets the model write the current memory anew, with the waiting turns, whatever its profile says.

        Returns and raises the same as ``run``. The new text is a version of its own. A rejection changes nothing and is
        not recorded.
        """
        try:
            with hold(self._link, scope) as token:
                self._step("locked")
                state = self._read(scope)
                base, turns = self._base(state, scope, user), state.waiting[:MOST_REWRITTEN]
                if not (base.text or turns):
                    return [], ""
                folded = fold.by_model.make(
                    self._source(state, base, turns), self._models, self._room, self._stop, self._step
                )
                written = self._take(scope, state, base, turns, folded, token, "rewritten")
                self._carry(scope, Scope(scope.tenant, "", user))
        except Stale:
            raise Held from None
        except FoldRejected as error:
            return [], str(error.values["reason"])
        return [state.version + 1] if written else [], ""

    def _once(self, scope: Scope, state: State, user: str, token: int) -> bool:
        """Folds one batch of turns; returns False when the memory was changed in the meantime.

        Raises ``FoldRejected`` after recording the rejection.
        """
        base = self._base(state, scope, user)
        try:
            folded = self._make(self._source(state, base, state.batch), state.stuck)
        except FoldRejected as error:
            self._reject(scope, error, token)
            raise
        return self._take(scope, state, base, state.batch, folded, token, "fold")

    def _take(
        self,
        scope: Scope,
        state: State,
        base: State,
        turns: Sequence[MemoryTurn],
        made: Folded,
        token: int,
        origin: Origin,
    ) -> bool:
        """Replaces the memory by the result of a fold; returns False when the memory was changed in the meantime.

        ``base`` and ``turns``: the memory and the turns that the fold was made from.
        """
        self._step("made")
        version = _version(state, base, turns, made, origin)

        def new(now: State) -> State:
            same = (now.version, now.text, now.forgotten) == (state.version, state.text, state.forgotten)
            if not same or not set(turns) <= set(now.waiting):
                return now  # edited, erased, forgotten or undone meanwhile: the result does not follow it
            return _taken(now, state, base, turns, made)

        after = self._link.run(lambda client: self._redis.swap(client, scope, version, new, token))
        self._step("swapped")
        return after.version == version.number

    def _source(self, state: State, base: State, turns: Sequence[MemoryTurn]) -> FoldInput:
        return FoldInput(base.text, base.entities, tuple(turns), base.pins, state.forgotten, self._language)

    def _make(self, source: FoldInput, word_for_word: bool) -> Folded:
        """Returns a fold; with ``word_for_word``, code replaces a rejected one. Raises ``FoldRejected``."""
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
        """Returns the memory that the fold starts from: the session's, or the user's when the session has none yet."""
        if state.version or state.apart or not (self._settings.user_memory and user):
            return state
        owner = self._read(Scope(scope.tenant, "", user))
        return state if owner.apart else replace(adopted(state, owner), start=owner.mark)

    def _reject(self, scope: Scope, error: FoldRejected, token: int) -> None:
        """Records a rejection: the memory stays, the turns wait, and the panel shows the reason."""
        data = error.values

        def new(now: State) -> State:
            times = now.rejection.times + 1 if now.rejection else 1
            cost = fold.together([now.rejection.cost if now.rejection else {}, data["cost"]])
            why = {name: value for name, value in data.items() if name not in ("first", "last", "cost", "reason")}
            fields = (
                str(data["reason"]),
                data["first"],
                data["last"],
                times,
                now.newest,
                time.time(),
                cost,
                why,
            )
            return replace(now, rejection=Rejection(*fields))

        self._link.run(lambda client: self._redis.change(client, scope, new, token=token))
        self._step("rejected")

    def _carry(self, scope: Scope, owner: Scope) -> None:
        """Brings the user's memory up to the session's version.

        The user's memory becomes a copy when the session started from exactly its content; otherwise the session's new
        turns are folded into it. A change of the user's memory in the meantime wins, and the next run carries the
        session over. After an erasure (``fence``) nothing of this run is written. Where the user keeps sessions apart,
        only the version number is recorded, so that the content does not come later either. A session that is kept
        apart is not carried at all.
        """
        session = self._read(scope)
        if not session.version or session.apart:
            return
        if not (self._settings.user_memory and owner.user):
            self._settle(scope, session, State())
            return
        with hold(self._link, owner) as token:
            session, user = self._read(scope), self._read(owner)  # read again: an erasure from here on raises the token
            if not session.version or session.apart:
                return
            if user_memory.taken(user, session, scope.tag) != session.version:
                self._step("carrying")
                merged, version = (user, None) if user.apart else self._carried(scope, session, user)
                tag, seen = scope.tag, user

                def new(now: State) -> State:
                    if (now.mark, now.apart, now.forgotten) != (seen.mark, seen.apart, seen.forgotten):
                        return now
                    return replace(
                        user_memory.carried(now, tag, session.version), text=merged.text, entities=merged.entities
                    )

                def revised(before: State, after: State) -> Version | None:
                    return version

                user = self._link.run(lambda client: self._redis.change(client, owner, new, revised, token=token))
                if dict(user.carried).get(tag) != session.version:
                    return
                self._step("carried")
            self._settle(scope, session, user)
            self._link.run(lambda client: self._keep(client, owner))

    def _settle(self, scope: Scope, session: State, owner: State) -> None:
        """Records in the session that nothing of it is left to carry; also where the user keeps sessions apart."""

        def new(now: State) -> State:
            # Another time of creation means that the session was erased.
            return user_memory.settled(now, session, owner) if now.created == session.created else now

        self._link.run(lambda client: self._redis.change(client, scope, new))

    def _carried(self, scope: Scope, session: State, user: State) -> tuple[State, Version]:
        """Returns the user's memory with the session's content, and its new version."""
        number = user.version + 1
        if user_memory.linear(user, session):
            copied = Version(number, session.text, "fold", time.time(), after=session.entities)
            return session, replace(copied, source=scope.tag)
        result, cost = self._merge(scope, session, user)
        self._step("merged")
        merged = Version(number, result.text, "merge", time.time(), after=result.entities, cost=cost)
        return result, replace(merged, source=scope.tag)

    def _merge(self, scope: Scope, session: State, user: State) -> tuple[State, dict[str, Any]]:
        """Merges the session's turns and changes since the last takeover into the user's memory; returns the cost,
        too."""
        seen = user_memory.taken(user, session, scope.tag)
        _, chain = self._link.run(lambda client: user_memory.chain(client, self._redis, self._archive, scope))
        versions = [version for version in chain if seen < version.number <= session.version]
        merged, costs = user, list[dict[str, Any]]()
        for has_turns, group in groupby(versions, key=lambda version: bool(version.turns)):
            if not has_turns:
                merged = user_memory.by_hand(merged, group)
                continue
            turns = tuple(turn for version in group for turn in version.turns)
            folded = self._fold_in(merged, session, turns)
            costs.append(fold.cost(folded))
            entities = user_memory.with_values(folded.entities, session, turns)
            merged = replace(merged, text=from_before(folded.text), entities=entities)
        return merged, fold.together(costs)

    def _fold_in(self, user: State, session: State, turns: Sequence[MemoryTurn]) -> Folded:
        """Folds a session's turns into the user's memory. Code folds when the model's fold is rejected, since nobody
        would see the rejection, and the turns would not come again.

        Leaves out texts that the user has forgotten in the session. Removes turn numbers, because each session has its
        own.
        """
        text = from_before(user.text)
        source = FoldInput(text, user.entities, tuple(turns), user.pins, session.forgotten, self._language)
        return self._make(source, True)

    def _keep(self, client: Client, owner: Scope) -> None:
        state, versions = self._redis.look(client, owner)
        if state.revision:
            self._archive.save(owner, state, versions, state.user)

    def _read(self, scope: Scope) -> State:
        def work(client: Client) -> State:
            state = self._redis.read(client, scope)
            if not state.revision and self._archive.restore(client, self._redis, scope):
                state = self._redis.read(client, scope)
            return state

        return self._link.run(work)

    def _check(self) -> None:
        if self._stop is not None and self._stop.is_set():
            raise Stopped


def _version(state: State, base: State, turns: Sequence[MemoryTurn], made: Folded, origin: Origin) -> Version:
    """Returns the version that a fold of ``state`` creates; its cost includes all rejected tries."""
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


def _taken(now: State, state: State, base: State, turns: Sequence[MemoryTurn], made: Folded) -> State:
    """Returns the state with the fold's text and entities; keeps values remembered or forgotten in the meantime.

    ``state``: the state when the fold began; ``base``: the memory that the fold was made from, with the pins that a new
    session takes over.
    """
    before = {same_key(entity.key): entity for entity in base.entities}
    meanwhile = {same_key(entity.key) for entity in now.entities if before.get(same_key(entity.key)) != entity}
    entities: tuple[Entity, ...] = tuple(entity for entity in made.entities if same_key(entity.key) not in meanwhile)
    gone = set(before) - {same_key(entity.key) for entity in now.entities} if base.version else set()
    entities = tuple(entity for entity in entities if same_key(entity.key) not in gone)
    for entity in now.entities:
        if same_key(entity.key) in meanwhile:
            entities = put(entities, entity)
    folded = added(now.folded, (turn.number for turn in turns))
    pins = (*(pin for pin in base.pins if pin not in state.pins), *now.pins)[-MOST_PINS:]
    taken = replace(now, text=made.text, entities=entities, folded=folded, pins=pins, rejection=None, start=base.start)
    return trimmed(taken)
