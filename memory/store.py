"""One memory in Redis: read in one round trip, changed atomically (copilot-rag.md §3.3, design §6).

``short`` is a list of JSON turns, ``memory`` a JSON object, ``entities`` the specified JSON array. Every change is one
Lua script in one slot: it is taken only when nothing else changed since the reading (``revision``) and, for a fold,
when no younger holder of the lock exists (``token``). Revisions and tokens start from the server's clock, so that they
also differ after an erasure. Every use renews the time to live of all keys.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, Protocol, TypeVar

from redis.cluster import RedisCluster
from redis.exceptions import ResponseError

from memory.address import Client
from memory.key import PARTS, Scope, pattern
from memory.state import Entity, Rejection, State, Turn, Version, note

KEPT_VERSIONS = 20
"""Versions in Redis; all of them are in the archive."""
TRIES = 50

_RENEW = """
local function renew(ttl)
  if tonumber(ttl) < 0 then return end
  for _, key in ipairs(KEYS) do
    if tonumber(ttl) > 0 then redis.call('PEXPIRE', key, ttl) else redis.call('PERSIST', key) end
  end
end
"""
_READ = (
    _RENEW
    + """
renew(ARGV[1])
local found = {}
for at = 0, #KEYS - 1, 5 do
  local meta = redis.call('HMGET', KEYS[at + 5], 'revision', 'token', 'data')
  local versions = ARGV[2] == '1' and redis.call('LRANGE', KEYS[at + 4], 0, -1) or {}
  found[#found + 1] = {
    redis.call('LRANGE', KEYS[at + 1], 0, -1), redis.call('GET', KEYS[at + 2]) or '',
    redis.call('GET', KEYS[at + 3]) or '', versions, meta[1] or '0', meta[2] or '0', meta[3] or ''}
end
return found
"""
)
_WRITE = (
    _RENEW
    + """
local known = redis.call('HMGET', KEYS[5], 'revision', 'token')
if (known[1] or '0') ~= ARGV[1] then return -1 end
if ARGV[2] ~= '' and (known[2] or '0') ~= ARGV[2] then return -2 end
local revision = tonumber(ARGV[1]) + 1
if ARGV[1] == '0' then
  local now = redis.call('TIME')
  revision = now[1] * 1000000 + now[2]
end
local at = 4
while ARGV[at] do
  local command, key, value = ARGV[at], KEYS[tonumber(ARGV[at + 1])], ARGV[at + 2]
  if command == 'LTRIM' then redis.call('LTRIM', key, -tonumber(value), -1)
  elseif command == 'HSET' then redis.call('HSET', key, 'data', value)
  elseif command == 'DEL' then redis.call('DEL', key)
  else redis.call(command, key, value) end
  at = at + 3
end
redis.call('HSET', KEYS[5], 'revision', string.format('%.0f', revision))
renew(ARGV[3])
return revision
"""
)
_SHORT, _MEMORY, _ENTITIES, _VERSIONS, _META = "12345"
_KEPT = (
    "folded",
    "pins",
    "forgotten",
    "rejection",
    "tenant",
    "session",
    "user",
    "start",
    "taken",
    "carried",
    "created",
    "apart",
)

_VERSION = frozenset(each.name for each in fields(Version))

_T = TypeVar("_T")


class Runs(Protocol):
    """``Link.quick`` or ``Link.run``."""

    def __call__(self, work: Callable[[Client], _T]) -> _T: ...


class Stale(Exception):
    """Somebody else holds the fold's lock by now: what was made under the older token must not be written."""


class Conflict(Exception):
    """The memory changed between reading and writing, again and again."""


class RedisStore:
    """Memories in Redis. ``ttl``: milliseconds without use until the keys go; 0: they stay."""

    def __init__(self, ttl: int) -> None:
        self._ttl = ttl

    def read(self, client: Client, scope: Scope) -> State:
        """The whole state in one round trip; a revision of 0 when there is none."""
        return self._read(client, scope, versions=False)[0]

    def read_two(self, client: Client, one: Scope, other: Scope) -> tuple[State, State]:
        """Two states, in one round trip where both are on one server."""
        if isinstance(getattr(client, "behind", client), RedisCluster):
            return self.read(client, one), self.read(client, other)
        keys = [*one.keys, *other.keys]
        first, second = client.eval(_READ, len(keys), *keys, self._ttl, "0")
        return _state(first)[0], _state(second)[0]

    def read_all(self, client: Client, scope: Scope) -> tuple[State, tuple[Version, ...]]:
        """The state and the versions that Redis keeps, oldest first."""
        return self._read(client, scope, versions=True)

    def look(self, client: Client, scope: Scope) -> tuple[State, tuple[Version, ...]]:
        """As ``read_all``, but not a use: the time to live runs on."""
        return self._read(client, scope, versions=True, ttl=-1)

    def revision(self, client: Client, scope: Scope) -> int:
        """The revision in Redis, 0 when there is no memory; not a use."""
        return int(client.hget(scope.key("meta"), "revision") or 0)

    def change(
        self,
        client: Client,
        scope: Scope,
        new: Callable[[State], State],
        version: Callable[[State, State], Version | None] = lambda before, after: None,
        *,
        token: int | None = None,
        undo: int = 0,
        known: State | None = None,
        read: Callable[[Client, Scope], State] | None = None,
    ) -> State:
        """Replace the state by ``new(state)``, atomically.

        ``version``, of the states before and after, is added to the versions in the same step; ``undo``: how many of
        the newest are taken off. Both may be called again when the memory changed meanwhile; when ``new`` returns the
        state as it is, nothing is written. ``known``: the state as it was last seen; ``read``: how to
        see it anew, by default as it is in Redis. Raises ``Stale``, ``Conflict``.
        """
        for _ in range(TRIES):
            before, known = known or (read or self.read)(client, scope), None
            after = new(before)
            if after == before:
                return before
            added = version(before, after)
            after = self._stamped(scope, before, after, added)
            revision = self._write(client, scope, before, after, [added] if added else [], token, undo)
            if revision > 0:
                return replace(after, revision=revision)
        raise Conflict(scope.tag)

    @staticmethod
    def _stamped(scope: Scope, before: State, after: State, added: Version | None) -> State:
        if not before.revision:
            after = replace(after, tenant=scope.tenant, session=scope.session, user=after.user or scope.user)
            after = replace(after, created=time.time())
        return replace(after, version=added.number, updated=added.created) if added else after

    def append_turn(self, client: Client, scope: Scope, turn: Turn, known: State | None = None) -> State:
        """Note one turn (``state.note``)."""
        return self.change(client, scope, lambda state: note(state, turn), known=known)

    def swap(self, client: Client, scope: Scope, version: Version, new: Callable[[State], State], token: int) -> State:
        """Replace the memory by a new version under the fold's lock. Raises ``Stale``."""
        return self.change(client, scope, new, lambda before, after: version, token=token)

    def restore(self, client: Client, scope: Scope, state: State, versions: Sequence[Version]) -> bool:
        """Write a state from the archive where Redis has none; False when it has."""
        after = replace(state, revision=0, token=0)
        return self._write(client, scope, State(), after, [*versions][-KEPT_VERSIONS:], None) > 0

    def erase(self, client: Client, scope: Scope) -> None:
        """Remove every key of this memory."""
        client.delete(*scope.keys, scope.key("lock"))

    def fence(self, client: Client, scope: Scope) -> None:
        """Who folds this memory now may not write what was made any more (``Stale``): it may hold what is erased."""
        if client.hexists(scope.key("meta"), "token"):
            client.hincrby(scope.key("meta"), "token", 1)

    def erase_if_older(self, client: Client, tag: str, at: float) -> None:
        """Remove a memory that existed at this time (Unix seconds), by its tag."""
        if _words(client, tag).get("created", 0.0) <= at:
            client.delete(*(f"chat:{{{tag}}}:{part}" for part in (*PARTS, "lock")))

    def drop_versions(self, client: Client, scope: Scope) -> None:
        """Remove the versions; the state stays."""
        client.delete(scope.key("versions"))

    def sweep(self, client: Client, tenant: str) -> int:
        """Remove a tenant's leftovers without a state, and give a time to live to keys that have none; how many."""
        count = 0
        for tag in self.tags(client, tenant):
            meta = f"chat:{{{tag}}}:meta"
            if not client.hexists(meta, "revision"):
                count += int(client.delete(meta))
            elif self._ttl and client.pttl(meta) == -1:
                count += 1
                for part in PARTS:
                    client.pexpire(f"chat:{{{tag}}}:{part}", self._ttl)
        return count

    def ttl(self, client: Client, scope: Scope) -> float | None:
        """Seconds until the memory leaves Redis; None when it stays or is not there."""
        left = int(client.pttl(scope.key("meta")))
        return left / 1000 if left >= 0 else None

    def tags(self, client: Client, tenant: str | None = None) -> list[str]:
        """The tags of all memories in Redis, or of a tenant's: others may keep theirs on the same server."""
        found = client.scan_iter(match=pattern(tenant), count=1000)
        return [key.decode("utf-8", "surrogatepass")[6:-6] for key in found]

    def scopes(self, client: Client, tenant: str) -> list[Scope]:
        """A tenant's memories in Redis, by their own words; leftovers without any are not among them."""
        found = []
        for tag in self.tags(client, tenant):
            data = _words(client, tag)
            if data.get("session") or data.get("user"):
                session = data.get("session", "")
                found.append(Scope(data.get("tenant", ""), session, "" if session else data.get("user", "")))
        return found

    def _read(
        self, client: Client, scope: Scope, versions: bool, ttl: int | None = None
    ) -> tuple[State, tuple[Version, ...]]:
        lasts = self._ttl if ttl is None else ttl
        return _state(client.eval(_READ, len(scope.keys), *scope.keys, lasts, "1" if versions else "0")[0])

    def _write(
        self,
        client: Client,
        scope: Scope,
        before: State,
        after: State,
        versions: Sequence[Version],
        token: int | None,
        undo: int = 0,
    ) -> int:
        operations = _operations(before, after, versions)
        operations += [("RPOP", _VERSIONS, str(int(undo)))] if undo else []
        flat = [part for operation in operations for part in operation]
        head = [str(before.revision), "" if token is None else str(token), self._ttl]
        revision = int(client.eval(_WRITE, len(scope.keys), *scope.keys, *head, *flat))
        if revision == -2:
            raise Stale
        return revision


def _words(client: Client, tag: str) -> dict[str, Any]:
    """What a memory says of itself; nothing when it cannot be read: one broken key keeps nobody from the others."""
    try:
        found = json.loads(client.hget(f"chat:{{{tag}}}:meta", "data") or b"{}")
    except (ValueError, ResponseError):
        return {}
    return found if isinstance(found, dict) else {}


def _state(answer: list[Any]) -> tuple[State, tuple[Version, ...]]:
    """State and versions from what the reading script gives."""
    short, memory, entities, listed, revision, token, data = answer
    held = json.loads(memory or b"{}")
    state = State(
        revision=int(revision),
        token=int(token),
        text=held.get("memory", ""),
        version=held.get("version", 0),
        updated=held.get("updated", 0.0),
        entities=tuple(Entity(**each) for each in json.loads(entities or b"[]")),
        short=tuple(_turn(json.loads(each)) for each in short),
        **plain_kept(json.loads(data or b"{}")),
    )
    return state, tuple(plain_version(json.loads(each)) for each in listed)


def _operations(before: State, after: State, versions: Sequence[Version]) -> list[tuple[str, str, str]]:
    """The least that makes the one state the other."""
    found = _short_operations(before.short, after.short)
    if (before.text, before.version) != (after.text, after.version):
        found.append(("SET", _MEMORY, _json(memory_json(after))))
    if before.entities != after.entities:
        found.append(("SET", _ENTITIES, _json([asdict(each) for each in after.entities])))
    for version in versions:
        found.append(("RPUSH", _VERSIONS, _json(asdict(version))))
    if versions:
        found.append(("LTRIM", _VERSIONS, str(KEPT_VERSIONS)))
    return [*found, ("HSET", _META, _json(kept_json(after)))]


def _short_operations(before: Sequence[Turn], after: Sequence[Turn]) -> list[tuple[str, str, str]]:
    """Usually the new turn comes to the end and an old one leaves the beginning; else all are written anew."""
    if tuple(before) == tuple(after):
        return []
    if not after:
        return [("DEL", _SHORT, "")]
    same = next(n for n in range(len(before), -1, -1) if tuple(before[len(before) - n :]) == tuple(after[:n]))
    new = [("RPUSH", _SHORT, _json(turn_json(turn))) for turn in after[same:]]
    return [*new, ("LTRIM", _SHORT, str(len(after)))]


def turn_json(turn: Turn) -> dict[str, Any]:
    """A turn as ``short`` holds it."""
    made: dict[str, Any] = {"turn": turn.number, "question": turn.question, "answer": turn.answer}
    return {**made, "tools": turn.tools} if turn.tools else made


def memory_json(state: State) -> dict[str, Any]:
    """The memory as its key holds it."""
    return {"memory": state.text, "version": state.version, "updated": state.updated}


def kept_json(state: State) -> dict[str, Any]:
    """What is kept beside the specified keys."""
    made = {name: getattr(state, name) for name in _KEPT if getattr(state, name)}
    return {**made, "rejection": asdict(state.rejection)} if state.rejection else made


def plain_kept(kept: dict[str, Any]) -> dict[str, Any]:
    """The reverse of ``kept_json``; unknown names of a later release are left out."""
    found: dict[str, Any] = {name: value for name, value in kept.items() if name in _KEPT}
    for name in ("folded", "forgotten", "carried"):
        found[name] = tuple((each[0], each[1]) for each in kept.get(name, ()))
    found["pins"] = tuple(kept.get("pins", ()))
    found["rejection"] = Rejection(**kept["rejection"]) if kept.get("rejection") else None
    return found


def plain_version(kept: dict[str, Any]) -> Version:
    """The reverse of ``asdict``; unknown names of another release are left out."""
    lists = {
        "turns": tuple(Turn(**each) for each in kept.get("turns", ())),
        "before": tuple(Entity(**each) for each in kept.get("before", ())),
        "after": tuple(Entity(**each) for each in kept.get("after", ())),
        "kept": tuple(kept.get("kept", ())),
        "lost": tuple(kept.get("lost", ())),
        "dropped": tuple(Entity(**each) for each in kept.get("dropped", ())),
    }
    return Version(**{**{name: value for name, value in kept.items() if name in _VERSION}, **lists})


def _turn(kept: dict[str, Any]) -> Turn:
    return Turn(kept["turn"], kept["question"], kept["answer"], kept.get("tools", ""))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
