"""The door to long-term memory: one value with plain arguments, shared by all sessions of a process (design §6).

Calls of a user's path (``context``, ``note_turn``, ``remember``, ``lines``, ``drop``, ``follow``, ``recall``) wait
250 ms for Redis at most, all calls of a turn together where they are given one ``Patience``, and never fail because it
is away: reading degrades to a view with ``away``, writing waits in the database and reaches Redis when it is back.
``fold`` and ``rewrite`` belong in the background. Calls of the panel raise ``MemoryAway``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

from redis.exceptions import ResponseError

from errors import CallerError, MemoryAway, NothingToUndo
from memory import carry, folding, path, portable, recollect, write
from memory.address import Client
from memory.archive import Archive, Queued
from memory.drop import rid
from memory.key import Scope
from memory.known import Known
from memory.line import bare, same
from memory.link import Link, Patience
from memory.listed import Line, listed
from memory.state import (
    KEY_CHARS,
    PIN_CHARS,
    TEXT_CHARS,
    State,
    Turn,
    Version,
    checked,
    entity,
    filled,
    fitted,
    same_key,
    undone,
)
from memory.store import RedisStore
from memory.upkeep import Upkeep
from memory.view import Count, MemoryView, adopted, view
from model.modelset import ModelSet
from model.token import estimate
from settings import Settings
from store import Store
from text import sentence
from text.language import Language

USER = "me"
"""The user of doors that know only one."""
ABSENT_SECONDS = 30.0
"""How long «there is none in the archive» is believed: what others write meanwhile is found in Redis."""
NEAR_TURNS = 20
"""Turns at the end of a path that are looked at first: where they are as the memory has them, so are the others."""
REST_SECONDS = 600.0
"""A session that was left for so long is folded to its last turn once another one goes on; at once while that one is
new and has no memory of its own, and with the next start."""
MOST_LEFT = 3
"""Sessions whose waiting turns a new one is given."""


@dataclass(frozen=True, slots=True)
class Due:
    """A fold to run. ``rest``: also turns that are fewer than a full batch, of a session that another one followed."""

    tenant: str
    session: str
    rest: bool = False


@dataclass(frozen=True, slots=True)
class FoldReport:
    """How a fold went. ``versions``: numbers of the new versions; ``reason``: why it was rejected or could not run."""

    status: Literal["folded", "nothing", "rejected", "busy", "away"]
    versions: tuple[int, ...] = ()
    reason: str = ""


class Memory:
    """Long-term memory of all sessions. Thread-safe; any number of processes may share a Redis and a database."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._archive = Archive(store)
        self._absent: dict[Scope, float] = {}
        self._known = Known()
        self._given: dict[Scope, frozenset[str]] = {}
        self._call: Callable[[], None] = lambda: None
        self._redis = RedisStore(int(settings.memory_ttl * 3_600_000))
        self._upkeep = Upkeep(self._archive, self._redis, settings.tenant, self._apply)
        self._link = Link(settings.redis_url, settings.data_dir / "memory", self._back)
        self._upkeep.start(self._link)

    @classmethod
    def open(cls, settings: Settings, store: Store) -> Memory:
        """Open the memory; Redis is reached in the background. Raises ``BadSetting`` for a bad ``REDIS_URL``."""
        return cls(settings, store)

    def close(self) -> None:
        """Save what changed and let go of Redis; the embedded server stops with its last user."""
        self._upkeep.close()
        self._link.close()

    @property
    def away(self) -> str | None:
        """Why Redis cannot be used now, or None."""
        return self._link.away

    @property
    def starting(self) -> bool:
        """Whether Redis has not been tried yet since this was opened: a matter of a moment."""
        return self._link.starting

    def wait(self, seconds: float) -> bool:
        """Wait until Redis can be used: for background work, command line and tests."""
        return self._link.wait(seconds)

    def when_back(self, call: Callable[[], None]) -> None:
        """Have ``call`` called each time Redis has been reached, from another thread; at once when it is there now."""
        self._call = call
        if self.away is None:
            call()

    def settle(self, seconds: float) -> bool:
        """Wait until the archive has everything."""
        return self._upkeep.idle(seconds)

    # --- a user's path --------------------------------------------------------------------------

    def context(
        self,
        tenant: str,
        session: str,
        language: str = "ko",
        *,
        user: str = USER,
        count: Count = estimate,
        rooms: tuple[int, int] | None = None,
        patience: Patience | None = None,
    ) -> MemoryView:
        """What the context gets: memory and entities within ``rooms``, in tokens by ``count``; None: as the settings.

        A session that has no memory yet gets what the user's other sessions left, also what waits there. Never raises.
        """
        scope = Scope(tenant, session)
        try:
            state, base = self._link.quick(lambda client: self._with_base(client, scope, user), patience)
        except MemoryAway as error:
            return MemoryView(away=True, why=error.values)
        within = rooms or (self._settings.budget_memory, self._settings.budget_entities)
        spoken: Language = "ko" if language == "ko" else "en"
        return view(state, base, count, *within, self._settings.memory_ttl * 3600, spoken)

    def give(self, tenant: str, session: str, texts: Mapping[str, str], since: float) -> None:
        """Keep what a prompt is given of this memory, by its marks, so that the prompt can be shown later.

        ``since``: when it was read (Unix seconds). What is erased or forgotten goes with it.
        """
        scope = Scope(tenant, session)
        if set(texts) <= self._given.get(scope, frozenset()):
            return
        self._archive.give(scope, texts, since)
        self._given = {**(self._given if len(self._given) < 1000 else {}), scope: frozenset(texts)}

    def given(self, tenant: str, session: str) -> dict[str, str]:
        """What prompts were given of this memory, by mark."""
        return self._archive.given(Scope(tenant, session))

    def note_turn(
        self,
        tenant: str,
        session: str,
        number: int,
        question: str,
        answer: str,
        *,
        tools: str = "",
        user: str = USER,
        patience: Patience | None = None,
    ) -> bool:
        """Take in a finished turn, once, however often it is noted; False when it waits for Redis.

        ``tools``: what tools said; it is kept for ``recall`` and never extracted from. Recalled memory, system text
        and state blocks do not belong in any argument.
        """
        turn = fitted(Turn(number, question, answer, tools))
        return self._write(Scope(tenant, session), user, "turn", asdict(turn), patience)

    def remember(
        self,
        tenant: str,
        session: str,
        key: str,
        value: str,
        *,
        turn: int,
        user: str = USER,
        patience: Patience | None = None,
    ) -> bool:
        """Keep a value under a key; the same key is overwritten. False when it waits for Redis.

        Raises ``MemoryTooLarge``, ``MemoryBlank``.
        """
        return self._write(Scope(tenant, session), user, "remember", asdict(entity(key, value, turn)), patience)

    def lines(self, tenant: str, session: str, *, user: str = USER, patience: Patience | None = None) -> list[Line]:
        """All that memory holds of this session and its user, numbered, for ``drop``: pins, sentences, entities
        («key: value»), and statements of the turns that wait or are kept word for word."""
        scope = Scope(tenant, session)
        try:
            state, users = self._link.quick(lambda client: self._both(client, scope, user), patience)
        except MemoryAway:
            kept = self._archive.load(scope)
            state, users = (kept[0] if kept else State()), State()
        return listed(state, users)

    def drop(
        self,
        tenant: str,
        session: str,
        texts: Sequence[str],
        *,
        turn: int,
        user: str = USER,
        patience: Patience | None = None,
    ) -> list[str] | None:
        """Forget exactly these lines (``Line.text``); turns so far, and earlier versions, do not bring them back.

        They leave the user's memory, too, at once: no new session is told them. What other sessions were told and have
        not folded yet does not bring them back either; saying it again in a later turn does. Returns what was dropped,
        None when it waits for Redis. Raises ``MemoryTooLarge``.
        """
        wanted = [bare(checked("statement", text, TEXT_CHARS)) for text in texts]
        held = [line.text for line in self.lines(tenant, session, user=user, patience=patience)]
        dropped = [text for text in wanted if any(same(text, line) for line in held)]
        data = {"texts": wanted, "turn": turn, "at": time.time()}
        self._drop_given(Scope(tenant, session))
        if self._settings.user_memory:
            for other in self._archive.left(tenant, user, time.time()):
                if other not in ("", session):
                    self._archive.queue(Scope(tenant, other), user, "forget", {**data, "turn": 0, "here": True})
        return dropped if self._write(Scope(tenant, session), user, "forget", data, patience) else None

    def follow(
        self,
        tenant: str,
        session: str,
        turns: Callable[[int], Sequence[Turn]],
        last: int,
        *,
        user: str = USER,
        patience: Patience | None = None,
    ) -> bool:
        """Bring the memory in line with the path of a conversation that may have been edited, switched or imported.

        Turns that are not on the path leave, with everything that was made from them; those that were missed come in.
        ``turns(first)``: the finished turns of the path from that number on; ``last``: where the path ends. False when
        Redis is away: the next time does it.
        """
        scope = Scope(tenant, session)
        try:
            self._link.quick(lambda client: self._follow(client, scope, turns, last, user), patience)
        except MemoryAway:
            return False
        self._upkeep.changed(scope)
        return True

    def fork(self, tenant: str, session: str, made: str, *, user: str = USER) -> bool:
        """Give the new session ``made`` a memory of its own, as that of ``session`` is now; False when Redis is away.

        Where it has fewer turns, ``follow`` takes the rest out.
        """
        scope, copy = Scope(tenant, session), Scope(tenant, made)
        self._archive.copy_given(scope, copy)
        try:
            self._link.quick(lambda client: self._fork(client, scope, copy))
        except MemoryAway:
            return False
        self._absent = {}
        self._upkeep.changed(copy)
        return True

    def recall(
        self,
        tenant: str,
        session: str,
        query: str,
        *,
        user: str = USER,
        limit: int = 8,
        patience: Patience | None = None,
    ) -> list[str]:
        """What memory knows about something, best first: its own sentences, entities, earlier versions and turns."""
        scope = Scope(tenant, session)
        try:
            state, base = self._link.quick(lambda client: self._with_base(client, scope, user), patience)
        except MemoryAway:
            kept = self._archive.load(scope)
            state, base = (kept[0] if kept else State()), None
        return recollect.search(query, state, base, self._archive.versions(scope), limit)

    # --- the background -------------------------------------------------------------------------

    def due(self, tenant: str, session: str, *, user: str = USER) -> list[Due]:
        """The folds that should run after this session's turn; nothing while Redis is away."""
        state, own, carries = self._owed(Scope(tenant, session), user)
        rested = time.time() - (REST_SECONDS if state.version else 0.0)
        left = self._archive.left(tenant, user, rested) if carries else []
        others = [Due(tenant, each, rest=True) for each in left if each not in ("", session)]
        return ([Due(tenant, session)] if own else []) + others

    def due_all(self, tenant: str) -> list[Due]:
        """Everything of a tenant that should be folded or carried to its users, for a start of the app."""
        found = list[Due]()
        for scope, user, _, owed, _ in self._archive.scopes(tenant):
            if scope.session and owed:
                _, own, carries = self._owed(scope, user)
                found += [Due(tenant, scope.session, rest=carries)] if own or carries else []
        return found

    def fold(
        self,
        tenant: str,
        session: str,
        *,
        models: ModelSet,
        language: str = "ko",
        rest: bool = False,
        stop: threading.Event | None = None,
        step: Callable[[str], None] = lambda _: None,
    ) -> FoldReport:
        """Bring the memory up to date: level-triggered, idempotent, under the session's lock.

        Raises ``Stopped`` when ``stop`` was set, and the model's own errors; the turns then wait for the next time.
        """
        fold = folding.Folding(self._link, self._redis, self._archive, self._settings, models, language, stop, step)
        return self._reported(Scope(tenant, session), "", lambda scope, owner: fold.run(scope, rest, owner))

    def rewrite(
        self,
        tenant: str,
        session: str,
        *,
        models: ModelSet,
        language: str = "ko",
        user: str = USER,
        stop: threading.Event | None = None,
        step: Callable[[str], None] = lambda _: None,
    ) -> FoldReport:
        """Have the model write the memory of now anew, on request: a version of its own, undoable like any.

        Raises ``Stopped`` when ``stop`` was set, and the model's own errors; the memory is then as it was.
        """
        fold = folding.Folding(self._link, self._redis, self._archive, self._settings, models, language, stop, step)
        return self._reported(Scope(tenant, session), user, fold.rewrite)

    # --- the panel ------------------------------------------------------------------------------

    def versions(self, tenant: str, session: str) -> list[Version]:
        """All versions of this memory with their source turns, oldest first; from the archive while Redis is away."""
        scope = Scope(tenant, session)
        kept = {each.number: each for each in self._archive.versions(scope)}
        try:
            state, newest = self._link.quick(lambda client: self._redis.read_all(client, scope))
        except MemoryAway:
            return list(kept.values())
        if state.revision:
            kept = {number: each for number, each in kept.items() if number <= state.version}
        kept |= {each.number: each for each in newest}
        return [kept[number] for number in sorted(kept)]

    def diff(self, tenant: str, session: str, older: int, newer: int) -> list[recollect.Difference]:
        """What changed between two versions, sentence by sentence; 0 is the empty memory before the first.

        Raises ``NothingToUndo`` when there is no such version.
        """
        texts = {0: "", **{each.number: each.text for each in self.versions(tenant, session)}}
        if older not in texts or newer not in texts:
            raise NothingToUndo(session=session)
        return recollect.difference(texts[older], texts[newer])

    def edit(self, tenant: str, session: str, text: str, *, user: str = USER) -> MemoryView:
        """Replace the memory's text by hand. Raises ``MemoryTooLarge``, ``MemoryAway``.

        As with every change here, a session that still shows what earlier ones left takes that over first.
        """
        lines = sentence.split(text)
        checked("memory", text, TEXT_CHARS)
        self._change(Scope(tenant, session), user, lambda state: replace(state, text="\n".join(lines)))
        return self.context(tenant, session, user=user)

    def undo(self, tenant: str, session: str, *, user: str = USER) -> MemoryView:
        """Go back one version: its source turns wait again. Raises ``NothingToUndo``, ``MemoryAway``."""
        scope, versions = Scope(tenant, session), self.versions(tenant, session)
        if not versions:
            raise NothingToUndo(session=session)
        last, text = versions[-1], versions[-2].text if len(versions) > 1 else ""

        def before(state: State) -> State:
            if state.version != last.number:
                raise NothingToUndo(session=session)
            back = replace(undone(state, last, text), version=versions[-2].number if len(versions) > 1 else 0)
            forgotten = [] if last.origin == "forget" else [what for what, _ in state.forgotten]
            return rid(back, forgotten, state)

        self._link.quick(lambda client: carry.take_back(client, self._redis, scope, before))
        self._upkeep.changed(scope)
        return self.context(tenant, session, user=user)

    def pin(self, tenant: str, session: str, statement: str, *, user: str = USER) -> MemoryView:
        """A statement that every later memory must hold, also of new sessions, word for word.

        Raises ``MemoryTooLarge``, ``MemoryBlank``, ``PinsFull``, ``MemoryAway``.
        """
        pinned = bare(filled("statement", statement, PIN_CHARS))
        pin = partial(write.pinned, statement=pinned)
        self._change(Scope(tenant, session), user, pin, everywhere=True)
        return self.context(tenant, session, user=user)

    def unpin(self, tenant: str, session: str, statement: str, *, user: str = USER) -> MemoryView:
        """The statement may be forgotten again, here and by new sessions."""
        self._change(Scope(tenant, session), user, partial(write.unpinned, statement=statement), everywhere=True)
        return self.context(tenant, session, user=user)

    def remove_entity(self, tenant: str, session: str, key: str, *, user: str = USER) -> MemoryView:
        """Drop one entity; it may come back when it is said again."""
        wanted = same_key(checked("key", key, KEY_CHARS))
        self._drop_given(Scope(tenant, session))
        self._change(Scope(tenant, session), user, partial(write.without_entity, key=wanted))
        return self.context(tenant, session, user=user)

    def carries(self, tenant: str, user: str = USER) -> bool:
        """Whether the user's sessions start from what earlier ones left, and leave something themselves.

        Raises ``MemoryAway``.
        """
        if not self._settings.user_memory:
            return False
        return not self._link.quick(lambda client: self._state(client, Scope(tenant, "", user))).apart

    def set_carries(self, tenant: str, on: bool, user: str = USER) -> None:
        """Turn that on or off for this user; what the user's memory holds stays. Raises ``MemoryAway``."""
        owner = Scope(tenant, "", user)
        self._link.quick(
            lambda client: self._redis.change(
                client, owner, lambda state: replace(state, apart=not on), read=self._state
            )
        )
        self._upkeep.changed(owner)

    def expires(self, tenant: str, session: str) -> float | None:
        """Seconds until this memory leaves Redis if it is not used; None when it stays or is not there."""
        return self._link.quick(lambda client: self._redis.ttl(client, Scope(tenant, session)))

    # --- everything of somebody -----------------------------------------------------------------

    def erase(self, tenant: str, session: str, *, last: int = 0, user: str = USER) -> None:
        """Erase a session's memory everywhere, and what it left in the user's memory and in sessions that followed.

        Those lose their earlier versions when they held something of it. ``last``, for a conversation that goes on:
        its turns up to that one do not come in again.
        """
        portable.erase(self._link, self._redis, self._archive, Scope(tenant, session))
        self._upkeep.erased()
        self._absent, self._given = {}, {}
        if last:
            self._write(Scope(tenant, session), user, "skip", {"last": last})

    def erase_user(self, tenant: str, user: str = USER) -> int:
        """Erase all memory of a user, everywhere; returns how many memories.

        Turns that were remembered do not come in again when their conversations go on, and a switch that is off
        stays off: their numbers and the switch are all that is left.
        """
        self._sync(tenant, user)
        kept = [
            (scope, found[0])
            for scope, *_ in self._archive.scopes(tenant, user)
            if (found := portable.told(self._archive, scope))
        ]
        portable.erase_user(self._link, self._redis, self._archive, tenant, user)
        self._upkeep.erased()
        self._absent, self._known, self._given = {}, Known(), {}
        for scope, state in kept:
            if scope.session and state.newest:
                self._write(scope, user, "skip", {"last": state.newest})
            elif state.apart:
                with suppress(MemoryAway):
                    self.set_carries(tenant, False, user)
        return sum(not state.empty for _, state in kept)

    def export(self, tenant: str, user: str = USER) -> dict[str, Any]:
        """All memory of a user as plain JSON data."""
        self._sync(tenant, user)
        return portable.export(self._archive, tenant, user)

    def import_(self, tenant: str, data: dict[str, Any], user: str = USER) -> int:
        """Take in an export as this tenant's and user's; memories that exist are kept. Returns how many came in.

        Raises ``BadImport``; nothing is changed then.
        """
        self._sync(tenant, user)
        self._absent = {}
        return portable.import_(self._link, self._redis, self._archive, tenant, user, data)

    def cleanup(self, tenant: str, known: Callable[[str], bool]) -> dict[str, int]:
        """Erase a tenant's memories of sessions that do not exist any more (``known(session)``), and leftovers."""
        counts = portable.cleanup(self._link, self._redis, self._archive, tenant, known)
        self._upkeep.erased()
        return counts

    # --- inside ---------------------------------------------------------------------------------

    def _back(self, client: Client) -> None:
        self._absent = {}
        self._known = Known()
        self._upkeep.back(client)
        self._call()

    def _drop_given(self, scope: Scope) -> None:
        self._given = {}
        self._archive.drop_given(scope)

    def _follow(
        self, client: Client, scope: Scope, turns: Callable[[int], Sequence[Turn]], last: int, user: str
    ) -> None:
        self._known.take(scope)
        self._state(client, scope)
        state, versions = self._look(client, scope)
        near = max(1, last - NEAR_TURNS)
        found = [fitted(turn) for turn in turns(near)]
        first = path.strays(state, versions, found, last)
        if first is not None and near > 1 and first <= near:  # the paths may have parted earlier
            first = path.strays(state, versions, [fitted(turn) for turn in turns(1)], last)
        if first is not None:
            state = path.rewind(client, self._redis, scope, first, (state, versions), lambda: self._look(client, scope))
        missed = found if state.newest >= near - 1 else [fitted(turn) for turn in turns(state.newest + 1)]

        def new(state: State) -> State:
            return replace(path.joined(state, missed), user=state.user or user)

        self._redis.change(client, scope, new, known=state, read=self._state)

    def _fork(self, client: Client, scope: Scope, copy: Scope) -> None:
        self._state(client, scope)
        state, versions = self._look(client, scope)
        if not state.revision:
            return
        own = replace(state, session=copy.session, created=time.time(), taken=state.version, rejection=None)
        self._redis.restore(client, copy, own, versions)

    def _look(self, client: Client, scope: Scope) -> tuple[State, list[Version]]:
        return carry.chain(client, self._redis, self._archive, scope)

    def _state(self, client: Client, scope: Scope) -> State:
        """The state; from the archive when Redis has let it go."""
        state = self._redis.read(client, scope)
        if state.revision or self._absent.get(scope, 0.0) > time.monotonic():
            return state
        kept = self._archive.load(scope)
        if kept is None:
            self._believe_absent(scope)
            return state
        self._redis.restore(client, scope, *kept)
        return self._redis.read(client, scope)

    def _believe_absent(self, scope: Scope) -> None:
        lasts = min(ABSENT_SECONDS, self._settings.memory_ttl * 1800 or ABSENT_SECONDS)
        known = self._absent if len(self._absent) < 1000 else {}
        self._absent = {**known, scope: time.monotonic() + lasts}

    def _with_base(self, client: Client, scope: Scope, user: str) -> tuple[State, State | None]:
        """The session's state, and the user's where the session has no memory of its own."""
        owner = Scope(scope.tenant, "", user)
        state, base = self._redis.read_two(client, scope, owner)
        state = state if state.revision else self._state(client, scope)
        self._known.put(scope, state)
        if state.version or not self._settings.user_memory:
            return state, None
        if state.user not in ("", user):
            owner, base = Scope(scope.tenant, "", state.user), State()
        base = base if base.revision else self._state(client, owner)
        return state, None if base.apart else self._with_waiting(client, base, scope, owner.user)

    def _both(self, client: Client, scope: Scope, user: str) -> tuple[State, State]:
        """The session's state, and the user's with what waits for it."""
        state = self._state(client, scope)
        owner = Scope(scope.tenant, "", state.user or user)
        if not self._settings.user_memory:
            return state, State()
        return state, self._with_waiting(client, self._state(client, owner), scope, owner.user)

    def _with_waiting(self, client: Client, base: State, scope: Scope, user: str) -> State:
        """The user's memory with what waits in other sessions; by code, so that nobody waits for it."""
        kept = {each.session: each for each in self._archive.waiting(scope.tenant, user, MOST_LEFT + 1)}
        unsaved = [each.session for each in self._upkeep.unsaved if each.tenant == scope.tenant]
        left = [each for each in dict.fromkeys([*kept, *unsaved]) if each not in ("", scope.session)]
        for other in (Scope(scope.tenant, each) for each in left[-MOST_LEFT:]):
            with suppress(ResponseError, ValueError, TypeError, LookupError):  # one that is broken says so itself
                state, versions = self._redis.look(client, other)
                state = state if state.revision else kept.get(other.session, state)
                if state.user == user:
                    state = portable.caught_up(self._archive, other, state)
                    base = carry.with_waiting(base, state, versions, other.tag, self._settings.budget_memory)
        return base

    def _write(
        self, scope: Scope, user: str, kind: str, data: dict[str, Any], patience: Patience | None = None
    ) -> bool:
        """To Redis, or to the queue when it is away."""
        each = Queued(0, scope, user, kind, data)
        try:
            self._link.quick(lambda client: self._apply(client, each), patience)
        except MemoryAway:
            self._archive.queue(scope, user, kind, data)
            return False
        self._upkeep.changed(scope)
        return True

    def _apply(self, client: Client, each: Queued) -> None:
        """Write a turn, a value to keep or something to forget; doing it twice changes nothing."""
        if each.kind == "withdraw":
            portable.withdraw(client, self._redis, self._archive, each.scope, each.user, each.data)
            return
        before, after = "", ""
        if each.kind == "forget" and not each.data.get("here"):
            forget = partial(write.forgotten, texts=write.texts(each.data))
            before, after = self._of_user(client, each.scope, each.user, forget)
        known = self._known.take(each.scope)

        def new(state: State) -> State:
            return carry.moved(write.written(state, each.kind, each.user, each.data), before, after)

        revised = partial(write.version, "forget") if each.kind == "forget" else lambda before, after: None
        state = self._redis.change(client, each.scope, new, revised, known=known, read=self._state)
        self._known.put(each.scope, state)

    def _change(self, scope: Scope, user: str, new: Callable[[State], State], everywhere: bool = False) -> None:
        """A change by hand, over what the session shows; of text and entities, it is a version of its own.

        ``everywhere``: it is made to the user's memory, too.
        """

        def work(client: Client) -> None:
            if everywhere and self._settings.user_memory:
                new(adopted(*self._with_base(client, scope, user)))  # what cannot be done here is done nowhere
                self._of_user(client, scope, user, lambda state: state if state.apart else new(state))
            _, base = self._with_base(client, scope, user)

            def changed(state: State) -> State:
                now = new(adopted(state, base))
                return now if now == state else replace(now, user=now.user or user)

            revised = partial(write.version, "edit", base=base)
            self._redis.change(client, scope, changed, revised, read=self._state)

        self._link.quick(work)
        self._upkeep.changed(scope)

    def _of_user(self, client: Client, scope: Scope, user: str, new: Callable[[State], State]) -> tuple[str, str]:
        """Change the memory of the session's user; what it held before and after (``State.mark``)."""
        owner = Scope(scope.tenant, "", self._state(client, scope).user or user)
        before = self._state(client, owner)
        after = self._redis.change(client, owner, new, known=before, read=self._state)
        self._upkeep.changed(owner)
        return before.mark, after.mark

    def _reported(self, scope: Scope, user: str, run: Callable[[Scope, str], tuple[list[int], str]]) -> FoldReport:
        """How a fold of this session goes; ``user``: of a session that has none yet."""
        try:
            self._drain(scope)
            versions, reason = run(scope, self._link.run(lambda client: self._state(client, scope)).user or user)
        except folding.Held:
            return FoldReport("busy")
        except MemoryAway as error:
            return FoldReport("away", reason=str(error.values.get("reason", "")))
        finally:
            self._upkeep.changed(scope)
        if reason:
            return FoldReport("rejected", tuple(versions), reason)
        return FoldReport("folded" if versions else "nothing", tuple(versions))

    def _owed(self, scope: Scope, user: str) -> tuple[State, bool, bool]:
        """The session's state, whether it is to be folded, and whether the user's memory takes over what sessions say;
        no while Redis is away."""

        def work(client: Client) -> tuple[State, bool, bool]:
            state = self._state(client, scope)
            owner = Scope(scope.tenant, "", state.user or user)
            carries = self._settings.user_memory and not self._redis.read(client, owner).apart
            due = state.due or bool(self._archive.queued(scope, limit=1))
            return state, due or (carries and state.version != state.taken), carries

        try:
            return self._link.run(work)
        except MemoryAway:
            return State(), False, False

    def _drain(self, scope: Scope) -> None:
        for each in self._archive.queued(scope):
            self._link.run(lambda client, each=each: self._upkeep.write(client, each))  # type: ignore[misc]

    def _sync(self, tenant: str, user: str) -> None:
        """The archive as Redis has it, as far as it can be reached."""
        try:
            self._link.quick(lambda client: client.ping())  # one that hangs is found out while somebody waits
            for scope in self._link.run(lambda client: self._redis.scopes(client, tenant)):
                self._link.run(lambda client, scope=scope: self._upkeep.save(client, scope))  # type: ignore[misc]
        except MemoryAway:
            return


__all__ = ["USER", "CallerError", "Due", "FoldReport", "Memory"]
