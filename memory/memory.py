"""The interface of long-term memory: one object with plain arguments, shared by all sessions of a process (design 6.7).

Calls on a user's path (``context``, ``note_turn``, ``remember``, ``lines``, ``drop``, ``follow``, ``recall``) wait at
most 250 ms for Redis, all calls of a turn together when they share one ``Patience``. They never fail because Redis is
away: a read returns a view with ``away``, a write waits in the database and reaches Redis when it is back. ``fold`` and
``rewrite`` belong in the background. Calls of the panel raise ``MemoryAway``.
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
from sqlalchemy import Connection

import private
from errors import CallerError, MemoryAway, NothingToUndo, SessionUnknown
from memory import portable, recollect
from memory.archive import Archive, Queued
from memory.change import path, user_memory, write
from memory.change.drop import rid
from memory.change.withdraw import Withdrawal
from memory.fold import folding
from memory.key import Scope
from memory.last_state import LastStates
from memory.line import bare, same
from memory.listed import Line, listed
from memory.past import MOST_OTHERS, Past
from memory.redis.address import Client
from memory.redis.link import Link, Patience
from memory.redis.redis_store import RedisStore
from memory.state import (
    KEY_CHARS,
    PIN_CHARS,
    TEXT_CHARS,
    MemoryTurn,
    State,
    Version,
    checked,
    entity,
    filled,
    fitted,
    same_key,
    undone,
)
from memory.upkeep import Upkeep
from memory.view import Count, MemoryView, adopted, view
from model.call.token import estimate
from model.modelset import ModelSet
from settings import Settings
from store import Store
from text import sentence
from text.clean import clean
from text.language import Language

USER = "me"
"""The user's name for doors that know only one user."""
ABSENT_SECONDS = 30.0
"""Seconds that «the archive has no such memory» is cached; writes of other processes meanwhile are found in Redis."""
NEAR_TURNS = 20
"""Turns at the end of a path that are compared first: when they match the memory, the older ones do, too."""
REST_SECONDS = 600.0
"""Seconds after its last change until a session is folded to its last turn because another session goes on. Does not
apply while the other session has no memory of its own, nor when the app starts."""
MOST_LEFT = 3
"""Most sessions whose waiting turns a new session is given."""


@dataclass(frozen=True, slots=True)
class Due:
    """A fold to run. ``rest``: also folds fewer turns than a full batch, of a session that another session followed."""

    tenant: str
    session: str
    rest: bool = False


@dataclass(frozen=True, slots=True)
class FoldReport:
    """The outcome of a fold. ``versions``: numbers of new versions; ``reason``: why it was rejected or did not run."""

    status: Literal["folded", "nothing", "rejected", "busy", "away"]
    versions: tuple[int, ...] = ()
    reason: str = ""


class Memory:
    """Long-term memory of all sessions. Thread-safe; any number of processes may share a Redis and a database."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store.everyone  # memories are those of all users
        self._archive = Archive(store)
        self._absent: dict[Scope, float] = {}
        self._known = LastStates()
        self._given: dict[Scope, frozenset[str]] = {}
        self._call: Callable[[], None] = lambda: None
        self._redis = RedisStore(int(settings.memory_ttl * 3_600_000))
        self._upkeep = Upkeep(self._archive, self._redis, settings.tenant, self._apply)
        self._link = Link(settings.redis_url, settings.data_dir / "memory", self._back, self._upkeep.catch_up)
        self._upkeep.start(self._link)

    @classmethod
    def open(cls, settings: Settings, store: Store) -> Memory:
        """Opens the memory; Redis is reached in the background. Raises ``BadSetting`` for a bad ``REDIS_URL``."""
        private.shut(settings.data_dir)
        return cls(settings, store)

    def close(self) -> None:
        """Saves changes and closes the connections; the embedded server stops with its last user."""
        self._upkeep.close()
        self._link.close()

    @property
    def away(self) -> str | None:
        """Returns why Redis cannot be used now, or None."""
        return self._link.away

    @property
    def starting(self) -> bool:
        """Tells whether Redis has not been tried yet since the memory was opened; this lasts a moment."""
        return self._link.starting

    def wait(self, seconds: float) -> bool:
        """Waits until Redis can be used; for background work, command line and tests. False after ``seconds``."""
        return self._link.wait(seconds)

    def when_back(self, call: Callable[[], None]) -> None:
        """Has another thread call ``call`` whenever Redis has been reached; calls it at once if Redis is there now."""
        self._call = call
        if self.away is None:
            call()

    def settle(self, seconds: float) -> bool:
        """Waits until the archive has every change. Returns False after ``seconds``."""
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
        """Returns the memory for a prompt: text and entities within ``rooms``, in tokens by ``count``.

        ``rooms`` None: the budgets of the settings. A session without a memory of its own gets what the user's other
        sessions left, and their waiting turns. Never raises.
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
        """Saves the texts that a prompt gets of this memory, by their marks, so that the prompt can be shown later.

        ``since``: when they were read (Unix seconds). Erasing or forgetting deletes them.
        """
        scope = Scope(tenant, session)
        if set(texts) <= self._given.get(scope, frozenset()):
            return
        self._archive.give(scope, texts, since)
        self._given = {**(self._given if len(self._given) < 1000 else {}), scope: frozenset(texts)}

    def given(self, tenant: str, session: str) -> dict[str, str]:
        """Returns the texts that prompts got of this memory, by mark."""
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
        """Adds a finished turn, once, even if called several times; returns False when the turn waits for Redis.

        ``tools``: results of tools; they are kept for ``recall`` and never extracted from. No argument may contain
        recalled memory, system text or state blocks.
        """
        turn = fitted(MemoryTurn(number, question, answer, tools))
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
        """Stores a value under a key, in place of an older value; returns False when it waits for Redis.

        Raises ``TooLong``, ``Empty``.
        """
        return self._write(Scope(tenant, session), user, "remember", asdict(entity(key, value, turn)), patience)

    def lines(self, tenant: str, session: str, *, user: str = USER, patience: Patience | None = None) -> list[Line]:
        """Returns all that memory holds of this session and its user, as numbered lines for ``drop``: pins, sentences,
        entities («key: value»), and statements of the turns that wait or are kept word for word."""
        return listed(*self._own_and_users(Scope(tenant, session), user, patience))

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
        """Forgets exactly these lines (``Line.text``); neither turns up to now nor earlier versions bring them back.

        The lines also leave the user's memory at once, so that no new session gets them, unless the session is kept
        apart. Turns that other sessions have not folded yet do not bring them back either; a later turn that says them
        again does. Returns the dropped lines, or None when the change waits for Redis. Raises ``TooLong``.
        """
        requested = [bare(checked("statement", text, TEXT_CHARS)) for text in texts]
        state, users = self._own_and_users(Scope(tenant, session), user, patience)
        remembered = [line.text for line in listed(state, users)]
        dropped = [text for text in requested if any(same(text, line) for line in remembered)]
        data = {"texts": requested, "turn": turn, "at": time.time()}
        self._drop_given(Scope(tenant, session))
        if self._settings.user_memory and not state.apart:
            for other in self._archive.left(tenant, user, time.time()):
                if other not in ("", session):
                    self._archive.queue(Scope(tenant, other), user, "forget", {**data, "turn": 0, "here": True})
        return dropped if self._write(Scope(tenant, session), user, "forget", data, patience) else None

    def follow(
        self,
        tenant: str,
        session: str,
        turns: Callable[[int], Sequence[MemoryTurn]],
        last: int,
        *,
        user: str = USER,
        patience: Patience | None = None,
    ) -> bool:
        """Brings the memory in line with the path of a conversation, which may have been edited, switched or imported.

        Turns that are not on the path leave, with everything made from them; missed turns come in. ``turns(first)``
        returns the finished turns of the path from number ``first`` on; ``last``: the last turn of the path. Returns
        False when Redis is away: the next call does it.
        """
        scope = Scope(tenant, session)
        try:
            self._link.quick(lambda client: self._follow(client, scope, turns, last, user), patience)
        except MemoryAway:
            return False
        self._upkeep.changed(scope)
        return True

    def fork(self, tenant: str, session: str, made: str, *, user: str = USER) -> bool:
        """Gives the new session ``made`` a copy of the memory of ``session``; returns False when Redis is away.

        When the new session has fewer turns, ``follow`` removes the others.
        """
        scope, copy = Scope(tenant, session), Scope(tenant, made)
        self._archive.copy_given(scope, copy)
        try:
            self._link.quick(lambda client: self._fork(client, scope, copy))
        except MemoryAway:
            if self.is_apart(tenant, session):
                self.keep_apart(tenant, made, user=user)
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
        answers: bool = True,
        near: recollect.Near | None = None,
        patience: Patience | None = None,
    ) -> list[str]:
        """Returns what memory knows about ``query``, best first: current statements, entities, earlier versions and
        turns.

        ``answers``: also searches what the assistant and its tools said in these turns. ``near``: see
        ``memory.recollect.search``.
        """
        scope = Scope(tenant, session)
        try:
            state, base = self._link.quick(lambda client: self._with_base(client, scope, user), patience)
        except MemoryAway:
            archived = self._archive.load(scope)
            state, base = (archived[0] if archived else State()), None
        return recollect.search(query, state, base, self._archive.versions(scope), limit, answers, near)

    def past(self, tenant: str, session: str, *, user: str = USER, patience: Patience | None = None) -> Past:
        """Returns which past turns a search may find for this session, also while Redis is away."""
        own = self._seen(Scope(tenant, session), patience)
        owner = own.user or user
        users = self._seen(Scope(tenant, "", owner), patience)
        carried = self._settings.user_memory and not own.apart and not users.apart
        scopes = [scope for scope, *_ in self._archive.scopes(tenant, owner)] if carried else []
        others = dict.fromkeys(scope.session for scope in reversed(scopes) if scope.session not in ("", session))
        newest = tuple(others)[:MOST_OTHERS]
        return Past(session, newest, owner, users, lambda other: self._seen(Scope(tenant, other), patience))

    # --- the background -------------------------------------------------------------------------

    def due(self, tenant: str, session: str, *, user: str = USER) -> list[Due]:
        """Returns the folds that should run after this session's turn; none while Redis is away."""
        state, needs_fold, carries = self._owed(Scope(tenant, session), user)
        rested = time.time() - (REST_SECONDS if state.version else 0.0)
        sessions = self._archive.left(tenant, user, rested) if carries else []
        others = [Due(tenant, other, rest=True) for other in sessions if other not in ("", session)]
        return ([Due(tenant, session)] if needs_fold else []) + others

    def due_all(self, tenant: str) -> list[Due]:
        """Returns all folds and carries to users' memories that a tenant's sessions need, for an app start."""
        folds = list[Due]()
        for scope, user, _, owed, _ in self._archive.scopes(tenant):
            if scope.session and owed:
                _, needs_fold, carries = self._owed(scope, user)
                folds += [Due(tenant, scope.session, rest=carries)] if needs_fold or carries else []
        return folds

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
        """Brings the memory up to date: level-triggered, idempotent, under the session's lock.

        Raises ``Stopped`` when ``stop`` is set, and the model's own errors; the turns then wait for the next fold.
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
        """Lets the model write the current memory anew, on request: as a version of its own, which can be undone.

        Raises ``Stopped`` when ``stop`` is set, and the model's own errors; the memory is unchanged then.
        """
        fold = folding.Folding(self._link, self._redis, self._archive, self._settings, models, language, stop, step)
        return self._reported(Scope(tenant, session), user, fold.rewrite)

    # --- the panel ------------------------------------------------------------------------------

    def versions(self, tenant: str, session: str) -> list[Version]:
        """Returns all versions with their source turns, oldest first; from the archive while Redis is away."""
        scope = Scope(tenant, session)
        numbered = {item.number: item for item in self._archive.versions(scope)}
        try:
            state, newest = self._link.quick(lambda client: self._redis.read_all(client, scope))
        except MemoryAway:
            return list(numbered.values())
        if state.revision:
            numbered = {number: item for number, item in numbered.items() if number <= state.version}
        numbered |= {item.number: item for item in newest}
        return [numbered[number] for number in sorted(numbered)]

    def diff(self, tenant: str, session: str, older: int, newer: int) -> list[recollect.Difference]:
        """Returns the difference between two versions, line by line; version 0 is the empty memory before the first.

        Raises ``NothingToUndo`` when there is no such version.
        """
        texts = {0: "", **{version.number: version.text for version in self.versions(tenant, session)}}
        if older not in texts or newer not in texts:
            raise NothingToUndo(session=session)
        return recollect.difference(texts[older], texts[newer])

    def edit(self, tenant: str, session: str, text: str, *, user: str = USER) -> MemoryView:
        """Replaces the memory's text by hand. Raises ``TooLong``, ``MemoryAway``.

        Like every change here, this first takes over the user's memory if the session has no memory of its own yet.
        """
        checked("memory", text, TEXT_CHARS)
        lines = sentence.split(clean(text))
        self._change(Scope(tenant, session), user, lambda state: replace(state, text="\n".join(lines)))
        return self.context(tenant, session, user=user)

    def undo(self, tenant: str, session: str, *, user: str = USER) -> MemoryView:
        """Goes back one version: its source turns wait again. Raises ``NothingToUndo``, ``MemoryAway``."""
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

        self._link.quick(lambda client: user_memory.take_back(client, self._redis, scope, before))
        self._upkeep.changed(scope)
        return self.context(tenant, session, user=user)

    def pin(self, tenant: str, session: str, statement: str, *, user: str = USER) -> MemoryView:
        """Pins a statement: every later memory must hold it word for word, also that of new sessions.

        Raises ``TooLong``, ``Empty``, ``PinsFull``, ``MemoryAway``.
        """
        pinned = bare(filled("statement", statement, PIN_CHARS))
        pin = partial(write.pinned, statement=pinned)
        self._change(Scope(tenant, session), user, pin, everywhere=True)
        return self.context(tenant, session, user=user)

    def unpin(self, tenant: str, session: str, statement: str, *, user: str = USER) -> MemoryView:
        """Unpins a statement, here and for new sessions; it may be forgotten again. Raises ``MemoryAway``."""
        self._change(Scope(tenant, session), user, partial(write.unpinned, statement=statement), everywhere=True)
        return self.context(tenant, session, user=user)

    def remove_entity(self, tenant: str, session: str, key: str, *, user: str = USER) -> MemoryView:
        """Removes one entity; a turn may bring it back. Raises ``TooLong``, ``MemoryAway``."""
        normal_key = same_key(checked("key", key, KEY_CHARS))
        self._drop_given(Scope(tenant, session))
        self._change(Scope(tenant, session), user, partial(write.without_entity, key=normal_key))
        return self.context(tenant, session, user=user)

    def carries(self, tenant: str, user: str = USER) -> bool:
        """Tells whether the user's sessions start from the user's memory and add to it.

        Raises ``MemoryAway``.
        """
        if not self._settings.user_memory:
            return False
        return not self._link.quick(lambda client: self._state(client, Scope(tenant, "", user))).apart

    def set_carries(self, tenant: str, on: bool, user: str = USER) -> None:
        """Switches this on or off for a user; the content of the user's memory stays. Raises ``MemoryAway``."""
        owner = Scope(tenant, "", user)
        self._link.quick(
            lambda client: self._redis.change(
                client, owner, lambda state: replace(state, apart=not on), read=self._state
            )
        )
        self._upkeep.changed(owner)

    def keep_apart(self, tenant: str, session: str, *, user: str = USER) -> None:
        """Keeps a session that has not begun apart: it neither starts from the user's memory nor adds to it.

        The choice is in the database before this returns, whether Redis is there or not.
        """
        scope = Scope(tenant, session)
        if self._write(scope, user, "apart", {}):
            self._absent = {}
            with suppress(MemoryAway):
                self._link.quick(lambda client: self._upkeep.save(client, scope))

    def is_apart(self, tenant: str, session: str) -> bool:
        """Tells whether a session is kept apart, also while Redis is away."""
        archived = portable.told(self._archive, Scope(tenant, session))
        return archived is not None and archived[0].apart

    # --- deleted conversations ------------------------------------------------------------------

    def deleting(
        self, tenant: str, session: str, forget: bool | None, *, user: str = USER
    ) -> Callable[[Connection], None]:
        """Returns the function that writes within the transaction of a deletion; ``settle_deleted`` does the rest.

        ``forget``: whether what only this session told leaves the memories of the user and of other sessions until the
        conversation is restored; None: it is being restored.
        """
        return lambda connection: self._archive.answer(connection, Scope(tenant, session), user, forget)

    def settle_deleted(self, tenant: str, session: str) -> bool:
        """Takes the content of a deleted conversation out, or puts it back; returns False when that waits for Redis."""
        scope = Scope(tenant, session)
        try:
            self._link.quick(lambda client: client.ping())  # a server that hangs fails here, within the user's patience
            self._drain(scope)
        except MemoryAway:
            self._link.catch_up()
            return False
        return True

    def forgets(self, tenant: str, session: str) -> bool | None:
        """Returns the answer to whether this deleted session is to be forgotten; None when nobody was asked."""
        return self._archive.forgets(Scope(tenant, session))

    def expires(self, tenant: str, session: str) -> float | None:
        """Returns the seconds until this memory leaves Redis unused; None when it never expires or does not exist."""
        return self._link.quick(lambda client: self._redis.ttl(client, Scope(tenant, session)))

    # --- all memories of a user -----------------------------------------------------------------

    def erase(self, tenant: str, session: str, *, last: int = 0, forget: bool = True, user: str = USER) -> None:
        """Erases a session's memory everywhere and, with ``forget``, what only this session told to the user's memory
        and to sessions that followed.

        ``last``, for a conversation that goes on: its turns up to that one do not come in again, and a session kept
        apart stays apart.
        """
        scope = Scope(tenant, session)
        apart = bool(last) and self.is_apart(tenant, session)
        self._empty_index(session, last)
        with suppress(MemoryAway):
            self._link.quick(self._save_all)
        portable.erase(self._link, self._redis, self._archive, scope, forget)
        self._upkeep.erased()
        self._absent, self._given = {}, {}
        if last:
            self._write(scope, user, "skip", {"last": last})
        if apart:
            self.keep_apart(tenant, session, user=user)

    def _empty_index(self, session: str, last: int) -> None:
        with suppress(SessionUnknown):  # the conversation is gone, with its rows
            self._store.turn_index.erase(session, last)

    def erase_user(self, tenant: str, user: str = USER) -> int:
        """Erases all memories of a user, everywhere; returns how many.

        Keeps only the turn numbers and the switch: turns that were remembered do not come in again when their
        conversations go on, and a switch that is off stays off.
        """
        self._sync(tenant, user)
        memories = [
            (scope, remembered[0])
            for scope, *_ in self._archive.scopes(tenant, user)
            if (remembered := portable.told(self._archive, scope))
        ]
        for scope, state in memories:
            self._empty_index(scope.session, state.newest)
        portable.erase_user(self._link, self._redis, self._archive, tenant, user)
        self._upkeep.erased()
        self._absent, self._known, self._given = {}, LastStates(), {}
        for scope, state in memories:
            if scope.session and state.newest:
                self._write(scope, user, "skip", {"last": state.newest})
            if scope.session and state.apart:
                self.keep_apart(tenant, scope.session, user=user)
            elif state.apart:
                with suppress(MemoryAway):
                    self.set_carries(tenant, False, user)
        return sum(not state.empty for _, state in memories)

    def export(self, tenant: str, user: str = USER) -> dict[str, Any]:
        """Returns all memories of a user as plain JSON data."""
        self._sync(tenant, user)
        return portable.export(self._archive, tenant, user)

    def import_(self, tenant: str, data: dict[str, Any], user: str = USER) -> int:
        """Imports an export for this tenant and user; keeps memories that exist. Returns how many were imported.

        Raises ``BadImport`` and changes nothing then.
        """
        self._sync(tenant, user)
        self._absent = {}
        return portable.import_(self._link, self._redis, self._archive, tenant, user, data)

    def cleanup(self, tenant: str, known: Callable[[str], bool]) -> dict[str, int]:
        """Erases a tenant's memories of sessions that no longer exist (``known(session)`` is False), and leftovers."""
        counts = portable.cleanup(self._link, self._redis, self._archive, tenant, known)
        self._upkeep.erased()
        return counts

    # --- internal -------------------------------------------------------------------------------

    def _back(self, client: Client) -> None:
        self._absent = {}
        self._known = LastStates()
        self._upkeep.back(client)
        self._call()

    def _drop_given(self, scope: Scope) -> None:
        self._given = {}
        self._archive.drop_given(scope)

    def _follow(
        self, client: Client, scope: Scope, turns: Callable[[int], Sequence[MemoryTurn]], last: int, user: str
    ) -> None:
        self._known.take(scope)
        self._state(client, scope)
        state, versions = self._look(client, scope)
        near = max(1, last - NEAR_TURNS)
        near_turns = [fitted(turn) for turn in turns(near)]
        first = path.strays(state, versions, near_turns, last)
        if first is not None and near > 1 and first <= near:  # older turns may differ, too
            first = path.strays(state, versions, [fitted(turn) for turn in turns(1)], last)
        if first is not None:
            state = path.rewind(client, self._redis, scope, first, (state, versions), lambda: self._look(client, scope))
        missed = near_turns if state.newest >= near - 1 else [fitted(turn) for turn in turns(state.newest + 1)]

        def new(state: State) -> State:
            return replace(path.joined(state, missed), user=state.user or user)

        self._redis.change(client, scope, new, known=state, read=self._state)

    def _fork(self, client: Client, scope: Scope, copy: Scope) -> None:
        self._state(client, scope)
        state, versions = self._look(client, scope)
        if not state.revision:
            return
        copied = replace(state, session=copy.session, created=time.time(), taken=state.version, rejection=None)
        self._redis.restore(client, copy, copied, versions)

    def _look(self, client: Client, scope: Scope) -> tuple[State, list[Version]]:
        return user_memory.chain(client, self._redis, self._archive, scope)

    def _state(self, client: Client, scope: Scope) -> State:
        """Returns the state; restores it from the archive when its keys in Redis have expired."""
        state = self._redis.read(client, scope)
        if state.revision or self._absent.get(scope, 0.0) > time.monotonic():
            return state
        if not self._archive.restore(client, self._redis, scope):
            self._believe_absent(scope)
            return state
        return self._redis.read(client, scope)

    def _believe_absent(self, scope: Scope) -> None:
        seconds = min(ABSENT_SECONDS, self._settings.memory_ttl * 1800 or ABSENT_SECONDS)
        known = self._absent if len(self._absent) < 1000 else {}
        self._absent = {**known, scope: time.monotonic() + seconds}

    def _with_base(self, client: Client, scope: Scope, user: str) -> tuple[State, State | None]:
        """Returns the session's state, and the user's if the session has no memory of its own, else None."""
        owner = Scope(scope.tenant, "", user)
        state, base = self._redis.read_two(client, scope, owner)
        state = state if state.revision else self._state(client, scope)
        self._known.put(scope, state)
        if state.version or state.apart or not self._settings.user_memory:
            return state, None
        if state.user not in ("", user):
            owner, base = Scope(scope.tenant, "", state.user), State()
        base = base if base.revision else self._state(client, owner)
        return state, None if base.apart else self._with_waiting(client, base, scope, owner.user)

    def _both(self, client: Client, scope: Scope, user: str) -> tuple[State, State]:
        """Returns the session's state, and the user's with the waiting turns of other sessions."""
        state = self._state(client, scope)
        owner = Scope(scope.tenant, "", state.user or user)
        if state.apart or not self._settings.user_memory:
            return state, State()
        return state, self._with_waiting(client, self._state(client, owner), scope, owner.user)

    def _with_waiting(self, client: Client, base: State, scope: Scope, user: str) -> State:
        """Returns the user's memory with other sessions' waiting turns, added by code, so that no user waits."""
        saved = {each.session: each for each in self._archive.waiting(scope.tenant, user, MOST_LEFT + 1)}
        unsaved = [each.session for each in self._upkeep.unsaved if each.tenant == scope.tenant]
        sessions = [each for each in dict.fromkeys([*saved, *unsaved]) if each not in ("", scope.session)]
        for other in (Scope(scope.tenant, each) for each in sessions[-MOST_LEFT:]):
            # A broken memory raises when its own session uses it.
            with suppress(ResponseError, ValueError, TypeError, LookupError):
                state, versions = self._redis.look(client, other)
                state = state if state.revision else saved.get(other.session, state)
                if state.user == user and not state.apart:
                    state = portable.caught_up(self._archive, other, state)
                    base = user_memory.with_waiting(base, state, versions, other.tag, self._settings.budget_memory)
        return base

    def _write(
        self, scope: Scope, user: str, kind: str, data: dict[str, Any], patience: Patience | None = None
    ) -> bool:
        """Writes a change to Redis, or queues it when Redis is away; returns False then."""
        queued = Queued(0, scope, user, kind, data)
        try:
            self._link.quick(lambda client: self._apply(client, queued), patience)
        except MemoryAway:
            self._archive.queue(scope, user, kind, data)
            self._link.catch_up()
            return False
        self._upkeep.changed(scope)
        return True

    def _apply(self, client: Client, each: Queued) -> None:
        """Applies one change: a turn, a value to keep, a text to forget, and so on; twice is as good as once."""
        if each.kind == "withdraw":
            Withdrawal(client, self._redis, self._archive, each.scope, each.user).erase(portable.erased(each.data))
            return
        if each.kind == "settle":
            self._save_all(client)
            Withdrawal(client, self._redis, self._archive, each.scope, each.user).settle()
            self._known = LastStates()
            return
        before, after = "", ""
        if each.kind == "forget" and not each.data.get("here"):
            forget = partial(write.forgotten, texts=write.texts(each.data))
            before, after = self._of_user(client, each.scope, each.user, forget)
        known = self._known.take(each.scope)

        def new(state: State) -> State:
            return user_memory.moved(write.written(state, each.kind, each.user, each.data), before, after)

        revised = partial(write.version, "forget") if each.kind == "forget" else lambda before, after: None
        state = self._redis.change(client, each.scope, new, revised, known=known, read=self._state)
        self._known.put(each.scope, state)

    def _change(self, scope: Scope, user: str, new: Callable[[State], State], everywhere: bool = False) -> None:
        """Makes a change by hand to the memory that the session shows; a change of text or entities creates a version.

        ``everywhere``: also changes the user's memory.
        """

        def work(client: Client) -> None:
            if everywhere and self._settings.user_memory:
                new(adopted(*self._with_base(client, scope, user)))  # raises before anything is written
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
        """Changes the memory of the session's user; returns its marks (``State.mark``) before and after. Changes
        nothing when the session is kept apart."""
        session = self._state(client, scope)
        owner = Scope(scope.tenant, "", session.user or user)
        before = self._state(client, owner)
        if session.apart:
            return before.mark, before.mark
        after = self._redis.change(client, owner, new, known=before, read=self._state)
        self._upkeep.changed(owner)
        return before.mark, after.mark

    def _reported(self, scope: Scope, user: str, run: Callable[[Scope, str], tuple[list[int], str]]) -> FoldReport:
        """Runs a fold of this session and returns its report; ``user``: the user of a session that records none yet."""
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
        """Returns the session's state, whether a fold is due, and whether the user's memory takes over what sessions
        tell; both are False while Redis is away."""

        def work(client: Client) -> tuple[State, bool, bool]:
            state = self._state(client, scope)
            owner = Scope(scope.tenant, "", state.user or user)
            apart = state.apart or self._redis.read(client, owner).apart
            carries = self._settings.user_memory and not apart
            due = state.due or bool(self._archive.queued(scope, limit=1))
            return state, due or (carries and state.version != state.taken), carries

        try:
            return self._link.run(work)
        except MemoryAway:
            return State(), False, False

    def _own_and_users(self, scope: Scope, user: str, patience: Patience | None) -> tuple[State, State]:
        """Returns the same as ``_both``; while Redis is away, the archive's state and an empty user's memory."""
        try:
            return self._link.quick(lambda client: self._both(client, scope, user), patience)
        except MemoryAway:
            archived = self._archive.load(scope)
            return (archived[0] if archived else State()), State()

    def _seen(self, scope: Scope, patience: Patience | None) -> State:
        """Returns a state with its queued changes; from the archive while Redis is away. Does not count as a use."""
        try:
            state = self._link.quick(lambda client: self._redis.look(client, scope)[0], patience)
        except MemoryAway:
            state = State()
        archived = None if state.revision else self._archive.load(scope)
        return portable.caught_up(self._archive, scope, archived[0] if archived else state)

    def _save_all(self, client: Client) -> None:
        """Saves all changed memories, so that the archive lists every memory."""
        for scope in self._upkeep.unsaved:
            self._upkeep.save(client, scope)

    def _drain(self, scope: Scope) -> None:
        for queued in self._archive.queued(scope):
            self._link.run(lambda client, queued=queued: self._upkeep.write(client, queued))  # type: ignore[misc]

    def _sync(self, tenant: str, user: str) -> None:
        """Brings the archive up to date with Redis; does nothing more once Redis is away."""
        try:
            self._link.quick(lambda client: client.ping())  # a server that hangs fails here, within the user's patience
            for scope in self._link.run(lambda client: self._redis.scopes(client, tenant)):
                self._link.run(lambda client, scope=scope: self._upkeep.save(client, scope))  # type: ignore[misc]
        except MemoryAway:
            return


__all__ = ["USER", "CallerError", "Due", "FoldReport", "Memory"]
