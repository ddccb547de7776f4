"""All memories of a user: export, import, erasure, and cleanup.

An erasure first writes a digest to the database, so that data that was out of reach or half erased cannot come back.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from pydantic import TypeAdapter

from errors import BadImport, MemoryAway
from memory.archive import OF_OTHERS, Archive, plain, read
from memory.change import write
from memory.change.telling import Kept
from memory.change.withdraw import Withdrawal
from memory.key import Scope
from memory.redis.link import Link
from memory.redis.redis_store import RedisStore, plain_version
from memory.state import Entity, State, Version
from text.clean import clean

FORMAT = "gieok-memory"
FORMAT_VERSION = 1
ORPHAN_SECONDS = 86_400.0
"""Age in seconds from which a memory without a session is erased: the session of a younger one may not be stored
yet."""
DIGEST_SECONDS = 90 * 86_400.0
"""Seconds that the digest of an erasure is kept."""
MOST_TURNS = 1_000_000
"""Highest turn number that an export may hold."""
MOST_WAITING = 100_000
"""Most queued writes that are read for one memory."""


_STATE, _VERSIONS = TypeAdapter(State), TypeAdapter(tuple[Version, ...])


def erase(link: Link, redis: RedisStore, archive: Archive, scope: Scope, forget: bool = True) -> None:
    """Erases one memory everywhere and, with ``forget``, what only its session told from the other memories of its
    user.

    While Redis is away, the keys of the memory are removed as soon as Redis is back, before any other call reads them.
    """
    archived = archive.load(scope)
    state = archived[0] if archived else State()
    versions = {(version.number, version.created): version for version in archive.versions(scope, undone=True)}
    # A session kept apart from its beginning gave nothing to others.
    apart = state.apart and not archive.taken(scope, scope)
    archive.erase(scope)
    try:
        current, newest = link.quick(lambda client: redis.look(client, scope))
        state = current if current.revision else state
        versions |= {(version.number, version.created): version for version in newest}
        link.quick(lambda client: redis.erase(client, scope))
    except MemoryAway:
        link.catch_up()
    user, memory = state.user, (state, [versions[name] for name in sorted(versions)])
    if not (user and scope.session and forget) or apart:
        return
    archive.erase_given(scope.tenant, user)  # new sessions were given its waiting turns, too
    try:
        link.run(lambda client: Withdrawal(client, redis, archive, scope, user).erase(memory))
    except MemoryAway:
        data = {"state": plain(state), "versions": [asdict(version) for version in memory[1]]}
        archive.queue(scope, user, "withdraw", data)
        link.catch_up()


def erased(data: Mapping[str, Any]) -> Kept:
    """Returns the memory of an erased session from a queued write; its content must still leave other memories."""
    if "state" in data:
        return read(data["state"]), [plain_version(version) for version in data["versions"]]
    values = tuple(Entity(key, value, 1) for key, value in data["values"])  # written by an earlier release
    return State(text="\n".join(data["lines"]), entities=values, pinned=tuple(data["pins"])), []


def erase_user(link: Link, redis: RedisStore, archive: Archive, tenant: str, user: str) -> int:
    """Erases all memories of a user, also those that only wait for Redis; returns how many."""
    scopes, owner = [scope for scope, *_ in archive.scopes(tenant, user)], Scope(tenant, "", user)
    # The user's own memory comes last: a fold may be writing a session's content to it now.
    for scope in [*(other for other in scopes if other != owner), owner]:
        archive.erase(scope)
        try:
            link.run(lambda client, scope=scope: redis.erase(client, scope))  # type: ignore[misc]
        except MemoryAway:
            link.catch_up()
    archive.drop_queued(tenant, user)
    return len(scopes)


def told(archive: Archive, scope: Scope) -> tuple[State, tuple[Version, ...]] | None:
    """Returns a memory from the archive, with its queued writes applied; None when there is neither."""
    archived = archive.load(scope)
    if archived is None and all(queued.kind in OF_OTHERS for queued in archive.queued(scope, limit=MOST_WAITING)):
        return None
    state, versions = archived or (State(tenant=scope.tenant, session=scope.session), ())
    return caught_up(archive, scope, state), versions


def caught_up(archive: Archive, scope: Scope, state: State) -> State:
    """Returns the state with the queued writes of its memory applied."""
    for queued in archive.queued(scope, limit=MOST_WAITING):
        state = state if queued.kind in OF_OTHERS else write.written(state, queued.kind, queued.user, queued.data)
    return state


def export(archive: Archive, tenant: str, user: str) -> dict[str, Any]:
    """Returns all memories of a user, with their versions and their queued writes, as plain JSON data."""
    memories = []
    for scope, *_ in archive.scopes(tenant, user):
        memory = told(archive, scope)
        if memory is not None and not _is_empty(memory):
            state, versions = memory
            memories.append(
                {"session": scope.session, "state": plain(state), "versions": [asdict(version) for version in versions]}
            )
    return {"format": FORMAT, "version": FORMAT_VERSION, "user": user, "memories": memories}


def import_(link: Link, redis: RedisStore, archive: Archive, tenant: str, user: str, data: Mapping[str, Any]) -> int:
    """Imports an export under this tenant and user; returns how many memories it wrote.

    Keeps memories that exist already, unless they are empty. Raises ``BadImport``.
    """
    if data.get("format") != FORMAT or data.get("version") != FORMAT_VERSION:
        form = f"{FORMAT} {FORMAT_VERSION}"
        raise BadImport(reason=f"it is not in the form {form}", reason_code="form", form=form)
    try:
        parsed = [_memory(tenant, user, memory) for memory in data["memories"]]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        detail = " ".join(clean(f"{type(error).__name__} {error}").split())[:200]
        raise BadImport(reason=detail, reason_code="content", detail=detail) from error
    fresh = [memory for memory in parsed if _is_empty(archive.load(memory[0]))]
    for scope, state, versions in fresh:
        if archive.load(scope) is not None:  # empty, such as the rest of an erased memory
            archive.erase(scope)
            with contextlib.suppress(MemoryAway):
                link.quick(lambda client, scope=scope: redis.erase(client, scope))  # type: ignore[misc]
        archive.save(scope, replace(state, created=time.time()), versions, user)
    return len(fresh)


def cleanup(
    link: Link, redis: RedisStore, archive: Archive, tenant: str, known: Callable[[str], bool]
) -> dict[str, int]:
    """Erases memories whose session no longer exists, sets missing times to live, drops old digests and leftovers.

    ``known`` tells whether a session exists. Returns how many of each were found.
    """
    orphans = [
        scope
        for scope, _, _, _, updated in archive.scopes(tenant)
        if scope.session and updated < time.time() - ORPHAN_SECONDS and not known(scope.session)
    ]
    for scope in orphans:
        erase(link, redis, archive, scope)
    digests = archive.forget_erased(time.time() - DIGEST_SECONDS)
    try:
        leftovers = link.run(lambda client: redis.sweep(client, tenant))
    except MemoryAway:
        leftovers = 0
    return {"orphans": len(orphans), "leftovers": leftovers, "digests": digests}


def _is_empty(kept: tuple[State, Sequence[Version]] | None) -> bool:
    return kept is None or (kept[0].empty and not kept[1])


def _memory(tenant: str, user: str, data: Mapping[str, Any]) -> tuple[Scope, State, list[Any]]:
    session = data["session"]
    if not isinstance(session, str):
        raise TypeError("session")
    scope = Scope(tenant, session, "" if session else user)
    state = replace(read(data["state"]), tenant=tenant, session=session, user=user)
    versions = [plain_version(item) for item in data["versions"]]
    _check(state, versions)
    prefix = Scope(tenant, "").tag
    carried = tuple((prefix + tag.partition(":")[2], version) for tag, version in state.carried)
    return scope, replace(state, carried=carried), versions


def _check(state: State, versions: Sequence[Version]) -> None:
    """Raises ``ValueError`` where a value has a type that memory never writes, or a number is out of range."""
    _STATE.validate_json(json.dumps(asdict(state), allow_nan=False), strict=True)
    _VERSIONS.validate_json(json.dumps([asdict(item) for item in versions], allow_nan=False), strict=True)
    turns = [turn.number for turn in (*state.short, *(turn for item in versions for turn in item.turns))]
    turns += [number for span in state.folded for number in span] + [number for _, number in state.forgotten]
    turns += [item.turn for item in state.entities]
    turns += [state.version, state.taken, *(item.number for item in versions)]
    clocks = (state.revision, state.token)  # microseconds; the server's numbers are exact below 2**53
    if not all(0 <= number <= MOST_TURNS for number in turns) or not all(0 <= item < 2**53 for item in clocks):
        raise ValueError("a number out of range")
