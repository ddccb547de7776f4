"""All memory of somebody: taking it along, bringing it in, erasing it everywhere, clearing up (issue 4).

Erasing notes a digest in the database before anything else goes, so what was away or half done cannot come back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from errors import BadImport, MemoryAway
from memory.address import Client
from memory.archive import Archive, plain, read
from memory.key import Scope
from memory.line import alike
from memory.link import Link
from memory.state import State, same_key
from memory.store import RedisStore, plain_version
from text import sentence

FORMAT = "gieok-memory"
FORMAT_VERSION = 1
ORPHAN_SECONDS = 86_400.0
"""A memory without a session is left alone for a day: the session may be on its way."""
DIGEST_SECONDS = 90 * 86_400.0


def erase(link: Link, redis: RedisStore, archive: Archive, scope: Scope) -> None:
    """Erase one memory everywhere. While Redis is away its keys go as soon as it is back, before anybody reads them."""
    kept = archive.load(scope)
    states = [kept[0]] if kept else []
    states += [State(text=each.text, entities=each.after) for each in archive.versions(scope, undone=True)]
    archive.erase(scope)
    try:
        now, versions = link.quick(lambda client: redis.look(client, scope))
        states += [now, *(State(text=each.text, entities=each.after) for each in versions)]
        name = now.user or (kept[0].user if kept else "")
        if name and scope.session:
            _withdraw(link, redis, archive, scope, Scope(scope.tenant, "", name), states)
        link.quick(lambda client: redis.erase(client, scope))
    except MemoryAway:
        return


def erase_user(link: Link, redis: RedisStore, archive: Archive, tenant: str, user: str) -> int:
    """Erase all memories of a user."""
    scopes = [scope for scope, *_ in archive.scopes(tenant, user)]
    for scope in {*scopes, Scope(tenant, "", user)}:
        archive.erase(scope)
        try:
            link.run(lambda client, scope=scope: redis.erase(client, scope))  # type: ignore[misc]
        except MemoryAway:
            continue
    return len(scopes)


def export(archive: Archive, tenant: str, user: str) -> dict[str, Any]:
    """All memories of a user, with their versions, as plain JSON data."""
    memories = []
    for scope, *_ in archive.scopes(tenant, user):
        if kept := archive.load(scope):
            state, versions = kept
            memories.append(
                {"session": scope.session, "state": plain(state), "versions": [asdict(each) for each in versions]}
            )
    return {"format": FORMAT, "version": FORMAT_VERSION, "user": user, "memories": memories}


def import_(archive: Archive, tenant: str, user: str, data: Mapping[str, Any]) -> int:
    """Take in an export under this tenant and user; memories that exist already are kept."""
    if data.get("format") != FORMAT or data.get("version") != FORMAT_VERSION:
        raise BadImport(reason=f"it is not in the form {FORMAT} {FORMAT_VERSION}")
    try:
        parsed = [_memory(tenant, user, each) for each in data["memories"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadImport(reason=f"{type(error).__name__} {error}") from error
    fresh = [each for each in parsed if archive.load(each[0]) is None]
    for scope, state, versions in fresh:
        archive.save(scope, replace(state, created=time.time()), versions, user)
    return len(fresh)


def cleanup(link: Link, redis: RedisStore, archive: Archive, known: Callable[[str, str], bool]) -> dict[str, int]:
    """Erase what belongs to no session any more, renew what lost its time to live, drop old digests and leftovers."""
    orphans = [
        scope
        for scope, _, _, _, updated in archive.scopes()
        if scope.session and updated < time.time() - ORPHAN_SECONDS and not known(scope.tenant, scope.session)
    ]
    for scope in orphans:
        erase(link, redis, archive, scope)
    digests = archive.forget_erased(time.time() - DIGEST_SECONDS)
    try:
        leftovers = link.run(redis.sweep)
    except MemoryAway:
        leftovers = 0
    return {"orphans": len(orphans), "leftovers": leftovers, "digests": digests}


def _memory(tenant: str, user: str, data: Mapping[str, Any]) -> tuple[Scope, State, list[Any]]:
    session = data["session"]
    if not isinstance(session, str):
        raise TypeError("session")
    scope = Scope(tenant, session, "" if session else user)
    state = replace(read(data["state"]), tenant=tenant, session=session, user=user)
    _check(state)
    own = Scope(tenant, "").tag
    carried = tuple((own + tag.partition(":")[2], version) for tag, version in state.carried)
    return scope, replace(state, carried=carried), [plain_version(each) for each in data["versions"]]


def _check(state: State) -> None:
    """Raise ``TypeError`` where a value has another type than memory writes."""
    texts = [state.text, *state.pins, *(part for each in state.entities for part in (each.key, each.value))]
    texts += [part for each in state.short for part in (each.question, each.answer, each.tools)]
    numbers = [state.version, *(each.turn for each in state.entities), *(each.number for each in state.short)]
    if not all(isinstance(each, str) for each in texts) or not all(isinstance(each, int) for each in numbers):
        raise TypeError("a value of another type than expected")


def _withdraw(link: Link, redis: RedisStore, archive: Archive, scope: Scope, user: Scope, gone: list[State]) -> None:
    """Take out of the user's memory what only this session says, and drop the user's earlier versions."""
    others = [archive.load(each) for each, *_ in archive.scopes(user.tenant, user.user) if each.session]
    rest = [each[0] for each in others if each is not None]

    def work(client: Client) -> None:
        redis.change(client, user, lambda state: _less(state, scope, gone, rest) if state.revision else state)
        redis.drop_versions(client, user)

    link.quick(work)
    archive.erase_versions(user)
    link.quick(lambda client: _save(client, redis, archive, user))


def _save(client: Client, redis: RedisStore, archive: Archive, scope: Scope) -> None:
    state, versions = redis.look(client, scope)
    if state.revision:
        archive.save(scope, state, versions, state.user)


def _less(state: State, scope: Scope, gone: list[State], rest: list[State]) -> State:
    said = [line for each in gone for line in sentence.split(each.text)]
    elsewhere = [line for each in rest for line in sentence.split(each.text)]
    lines = [
        line
        for line in sentence.split(state.text)
        if not any(alike(line, each) for each in said) or any(alike(line, each) for each in elsewhere)
    ]
    values = {(same_key(each.key), each.value) for old in gone for each in old.entities}
    values -= {(same_key(each.key), each.value) for other in rest for each in other.entities}
    entities = tuple(each for each in state.entities if (same_key(each.key), each.value) not in values)
    pins = tuple(each for each in state.pins if all(each not in old.pins for old in gone))
    carried = tuple(each for each in state.carried if each[0] != scope.tag)
    return replace(state, text="\n".join(lines), entities=entities, pins=pins, carried=carried)
