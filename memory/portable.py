"""All memory of somebody: taking it along, bringing it in, erasing it everywhere, clearing up.

Erasing notes a digest in the database before anything else goes, so what was away or half done cannot come back.
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
from memory import carry, write
from memory.address import Client
from memory.archive import Archive, plain, read
from memory.key import Scope
from memory.line import parts, says, thinned
from memory.link import Link
from memory.state import State, Turn, Version, same_key
from memory.store import RedisStore, plain_version
from text import sentence

FORMAT = "gieok-memory"
FORMAT_VERSION = 1
ORPHAN_SECONDS = 86_400.0
"""A memory without a session is left alone for a day: the session may be on its way."""
DIGEST_SECONDS = 90 * 86_400.0
MOST_TURNS = 1_000_000
"""Turns of a session that an export may number."""
MOST_WAITING = 100_000
"""Of what waits for Redis, for one memory."""


_STATE, _VERSIONS = TypeAdapter(State), TypeAdapter(tuple[Version, ...])


def erase(link: Link, redis: RedisStore, archive: Archive, scope: Scope) -> None:
    """Erase one memory everywhere. While Redis is away its keys go as soon as it is back, before anybody reads them."""
    kept = archive.load(scope)
    states = [kept[0]] if kept else []
    states += [State(text=each.text, entities=each.after) for each in archive.versions(scope, undone=True)]
    archive.erase(scope)
    try:
        now, versions = link.quick(lambda client: redis.look(client, scope))
        states += [now, *(State(text=each.text, entities=each.after) for each in versions)]
        link.quick(lambda client: redis.erase(client, scope))
    except MemoryAway:
        now = State()
    user = now.user or (kept[0].user if kept else "")
    if not (user and scope.session):
        return
    archive.erase_given(scope.tenant, user)  # also what only waited was given to new sessions
    left = _left_by(states)
    if not any(left.values()):
        return
    try:
        link.run(lambda client: withdraw(client, redis, archive, scope, user, left))
    except MemoryAway:
        archive.queue(scope, user, "withdraw", left)


def withdraw(
    client: Client, redis: RedisStore, archive: Archive, scope: Scope, user: str, left: Mapping[str, Any]
) -> None:
    """Take what only an erased session said out of the user's memory and the sessions that started from it.

    ``left``: its lines, entities and pins. A memory that held some of it also loses its earlier versions. A merge under
    way is not written: it may hold all of it.
    """
    owner = Scope(scope.tenant, "", user)
    redis.fence(client, owner)
    sessions = [each for each, *_ in archive.scopes(scope.tenant, user) if each.session and each != scope]
    states = [redis.look(client, each) for each in sessions]
    turns = [turn for state, versions in states for turn in _turns(state, versions)]
    said = [line for turn in turns for line in sentence.split(f"{turn.question}\n{turn.answer}")]

    def without(state: State) -> State:
        return _less(state, scope, left, said)

    old, new = (each.mark for each in _thinned(client, redis, archive, owner, without))
    for each in sessions:
        _thinned(client, redis, archive, each, lambda state: carry.moved(without(state), old, new))


def _thinned(
    client: Client, redis: RedisStore, archive: Archive, scope: Scope, less: Callable[[State], State]
) -> tuple[State, State]:
    """A memory before and after something was taken out of it; its earlier versions go where it held some of that."""
    before = redis.look(client, scope)[0]
    after = redis.change(client, scope, lambda state: less(state) if state.revision else state)
    if (before.text, before.entities, before.pins) != (after.text, after.entities, after.pins):
        redis.drop_versions(client, scope)
        archive.erase_versions(scope)
    _save(client, redis, archive, scope)
    return before, after


def erase_user(link: Link, redis: RedisStore, archive: Archive, tenant: str, user: str) -> int:
    """Erase all memories of a user, also those that only wait for Redis; returns how many."""
    scopes, owner = [scope for scope, *_ in archive.scopes(tenant, user)], Scope(tenant, "", user)
    for scope in [*(each for each in scopes if each != owner), owner]:  # last: a session may be carried there now
        archive.erase(scope)
        try:
            link.run(lambda client, scope=scope: redis.erase(client, scope))  # type: ignore[misc]
        except MemoryAway:
            continue
    archive.drop_queued(tenant, user)
    return len(scopes)


def told(archive: Archive, scope: Scope) -> tuple[State, tuple[Version, ...]] | None:
    """A memory as the archive has it, with what waits for Redis; None where there is neither."""
    kept = archive.load(scope)
    if kept is None and all(each.kind == "withdraw" for each in archive.queued(scope, limit=MOST_WAITING)):
        return None
    state, versions = kept or (State(tenant=scope.tenant, session=scope.session), ())
    return caught_up(archive, scope, state), versions


def caught_up(archive: Archive, scope: Scope, state: State) -> State:
    """The state with what waits for Redis."""
    for each in archive.queued(scope, limit=MOST_WAITING):
        state = state if each.kind == "withdraw" else write.written(state, each.kind, each.user, each.data)
    return state


def export(archive: Archive, tenant: str, user: str) -> dict[str, Any]:
    """All memories of a user, with their versions and with what waits for Redis, as plain JSON data."""
    memories = []
    for scope, *_ in archive.scopes(tenant, user):
        kept = told(archive, scope)
        if kept is not None and not _is_empty(kept):
            state, versions = kept
            memories.append(
                {"session": scope.session, "state": plain(state), "versions": [asdict(each) for each in versions]}
            )
    return {"format": FORMAT, "version": FORMAT_VERSION, "user": user, "memories": memories}


def import_(link: Link, redis: RedisStore, archive: Archive, tenant: str, user: str, data: Mapping[str, Any]) -> int:
    """Take in an export under this tenant and user; memories that exist already are kept, unless they are empty."""
    if data.get("format") != FORMAT or data.get("version") != FORMAT_VERSION:
        form = f"{FORMAT} {FORMAT_VERSION}"
        raise BadImport(reason=f"it is not in the form {form}", reason_code="form", form=form)
    try:
        parsed = [_memory(tenant, user, each) for each in data["memories"]]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        detail = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise BadImport(reason=detail, reason_code="content", detail=detail) from error
    fresh = [each for each in parsed if _is_empty(archive.load(each[0]))]
    for scope, state, versions in fresh:
        if archive.load(scope) is not None:  # what an erasure has left
            archive.erase(scope)
            with contextlib.suppress(MemoryAway):
                link.quick(lambda client, scope=scope: redis.erase(client, scope))  # type: ignore[misc]
        archive.save(scope, replace(state, created=time.time()), versions, user)
    return len(fresh)


def cleanup(
    link: Link, redis: RedisStore, archive: Archive, tenant: str, known: Callable[[str], bool]
) -> dict[str, int]:
    """Erase what belongs to no session any more, renew what lost its time to live, drop old digests and leftovers."""
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
    versions = [plain_version(each) for each in data["versions"]]
    _check(state, versions)
    own = Scope(tenant, "").tag
    carried = tuple((own + tag.partition(":")[2], version) for tag, version in state.carried)
    return scope, replace(state, carried=carried), versions


def _check(state: State, versions: Sequence[Version]) -> None:
    """Raise ``ValueError`` where a value has another type than memory writes, or a number is none that it counts to."""
    _STATE.validate_json(json.dumps(asdict(state), allow_nan=False), strict=True)
    _VERSIONS.validate_json(json.dumps([asdict(each) for each in versions], allow_nan=False), strict=True)
    turns = [turn.number for turn in (*state.short, *(turn for each in versions for turn in each.turns))]
    turns += [number for some in state.folded for number in some] + [number for _, number in state.forgotten]
    turns += [each.turn for each in state.entities]
    turns += [state.version, state.taken, *(each.number for each in versions)]
    clocks = (state.revision, state.token)  # microseconds; as far as the server's numbers are exact
    if not all(0 <= number <= MOST_TURNS for number in turns) or not all(0 <= each < 2**53 for each in clocks):
        raise ValueError("a number out of range")


def _left_by(states: Sequence[State]) -> dict[str, Any]:
    """What a session may have left elsewhere, as plain data."""
    return {
        "lines": list(dict.fromkeys(line for each in states for line in parts(each.text))),
        "values": sorted({(same_key(each.key), each.value) for state in states for each in state.entities}),
        "pins": list(dict.fromkeys(pin for each in states for pin in each.pins)),
    }


def _turns(state: State, versions: Sequence[Version]) -> list[Turn]:
    return [*state.short, *(turn for each in versions for turn in each.turns)]


def _save(client: Client, redis: RedisStore, archive: Archive, scope: Scope) -> None:
    state, versions = redis.look(client, scope)
    if state.revision:
        archive.save(scope, state, versions, state.user)


def _less(state: State, scope: Scope, left: Mapping[str, Any], said: Sequence[str]) -> State:
    """Without lines and values of the erased session, unless what another one said holds them."""

    def goes(part: str) -> bool:
        return any(says(line, part) for line in left["lines"]) and not any(says(line, part) for line in said)

    values = {(key, value) for key, value in left["values"] if not any(value in each for each in said)}
    return replace(
        state,
        text=thinned(state.text, goes),
        entities=tuple(each for each in state.entities if (same_key(each.key), each.value) not in values),
        pins=tuple(each for each in state.pins if each not in left["pins"]),
        carried=tuple(each for each in state.carried if each[0] != scope.tag),
    )
