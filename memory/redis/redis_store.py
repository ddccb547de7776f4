"""One memory in Redis: reads it in one round trip, changes it atomically (specification 6.3, design 6.1).

``short`` is a list of JSON turns, ``memory`` a JSON object, ``entities`` the specified JSON array. One Lua script in
one slot makes every change. The script accepts a change only when nothing else has changed the memory since it was read
(``revision``) and, for a fold, when no younger holder of the lock exists (``token``). Revisions and tokens start from
the server's clock, so they also differ after an erasure. Every use renews the time to live of all keys.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, Protocol, TypeVar

from redis.cluster import RedisCluster
from redis.exceptions import ResponseError

from memory.key import PARTS, Scope, pattern
from memory.redis.address import Client
from memory.state import Entity, MemoryTurn, Rejection, State, Version, note
from text.clean import encodable

KEPT_VERSIONS = 20
"""Most versions of one memory that Redis keeps; the archive keeps all of them."""
TRIES = 50
"""Tries of a change that other writers overtake; then ``Conflict``."""

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
    "pinned",
)

_VERSION = frozenset(field.name for field in fields(Version))

_T = TypeVar("_T")


class Runs(Protocol):
    """The type of ``Link.quick`` and ``Link.run``: calls ``work`` with a client."""

    def __call__(self, work: Callable[[Client], _T]) -> _T: ...


class Stale(Exception):
    """The error of a fold whose lock another holder has taken over: its result must not be written."""


class Conflict(Exception):
    """The error of a change that failed ``TRIES`` times because the memory changed between reading and writing."""


class RedisStore:
    """Memories in Redis. ``ttl``: milliseconds without use until the keys expire; 0: they never expire."""

    def __init__(self, ttl: int) -> None:
        self._ttl = ttl

    def read(self, client: Client, scope: Scope) -> State:
        """Returns the whole state, read in one round trip; its revision is 0 when there is no memory."""
        return self._read(client, scope, versions=False)[0]

    def read_two(self, client: Client, one: Scope, other: Scope) -> tuple[State, State]:
        """Returns two states, read in one round trip unless Redis is a cluster."""
        if isinstance(getattr(client, "behind", client), RedisCluster):
            return self.read(client, one), self.read(client, other)
        keys = [*one.keys, *other.keys]
        first, second = client.eval(_READ, len(keys), *keys, self._ttl, "0")
        return _state(first)[0], _state(second)[0]

    def read_all(self, client: Client, scope: Scope) -> tuple[State, tuple[Version, ...]]:
        """Returns the state and the versions that Redis keeps, oldest first."""
        return self._read(client, scope, versions=True)

    def look(self, client: Client, scope: Scope) -> tuple[State, tuple[Version, ...]]:
        """Returns the same as ``read_all`` without counting as a use: the time to live is not renewed."""
        return self._read(client, scope, versions=True, ttl=-1)

    def revision(self, client: Client, scope: Scope) -> int:
        """Returns the revision in Redis, 0 when there is no memory; does not count as a use."""
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
        """Replaces the state by ``new(state)``, atomically; returns the new state.

        ``version`` gets the states before and after; the version that it returns is added in the same step. ``undo``:
        how many of the newest versions are removed. Both functions are called again when the memory has changed in the
        meantime. When ``new`` returns an equal state, nothing is written. ``known``: the state as last seen, which
        saves the first read; ``read``: how to read it again, by default ``RedisStore.read``. Raises ``Stale``, and
        ``Conflict`` after ``TRIES`` tries.
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

    def revise(
        self, client: Client, scope: Scope, new: Callable[[State, Sequence[Version]], tuple[State, Sequence[Version]]]
    ) -> tuple[State, State]:
        """Replaces the state and the versions in Redis, atomically; returns the states before and after.

        Writes nothing when neither changes. May call ``new`` several times. Raises ``Conflict``.
        """
        for _ in range(TRIES):
            before, versions = self.look(client, scope)
            after, revised = new(before, versions)
            if (after, tuple(revised)) == (before, versions):
                return before, before
            anew = () if tuple(revised) == versions else [("DEL", _VERSIONS, ""), *_pushes(revised)]
            operations = [*_operations(before, after, []), *anew]
            if (revision := self._run(client, scope, before, operations, None)) > 0:
                return before, replace(after, revision=revision)
        raise Conflict(scope.tag)

    def append_turn(self, client: Client, scope: Scope, turn: MemoryTurn, known: State | None = None) -> State:
        """Adds one turn to the memory (``state.note``)."""
        return self.change(client, scope, lambda state: note(state, turn), known=known)

    def swap(self, client: Client, scope: Scope, version: Version, new: Callable[[State], State], token: int) -> State:
        """Replaces the memory by a new version under the fold's lock. Raises ``Stale``."""
        return self.change(client, scope, new, lambda before, after: version, token=token)

    def restore(self, client: Client, scope: Scope, state: State, versions: Sequence[Version]) -> bool:
        """Writes a state from the archive; returns False, and writes nothing, when Redis has this memory already."""
        after = replace(state, revision=0, token=0)
        return self._write(client, scope, State(), after, [*versions][-KEPT_VERSIONS:], None) > 0

    def erase(self, client: Client, scope: Scope) -> None:
        """Removes every key of this memory."""
        client.delete(*scope.keys, scope.key("lock"))

    def fence(self, client: Client, scope: Scope) -> None:
        """Increments the token, so that a fold under way cannot write its result (``Stale``), which may hold erased
        text."""
        if client.hexists(scope.key("meta"), "token"):
            client.hincrby(scope.key("meta"), "token", 1)

    def erase_if_older(self, client: Client, tag: str, at: float) -> None:
        """Removes the memory with this tag if it was created at or before ``at`` (Unix seconds)."""
        if _words(client, tag).get("created", 0.0) <= at:
            client.delete(*(f"chat:{{{tag}}}:{part}" for part in (*PARTS, "lock")))

    def sweep(self, client: Client, tenant: str) -> int:
        """Removes a tenant's leftover keys without a state and sets the time to live of keys that have none.

        Returns how many memories it changed.
        """
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
        """Returns the seconds until the memory expires in Redis; None when it never expires or does not exist."""
        left = int(client.pttl(scope.key("meta")))
        return left / 1000 if left >= 0 else None

    def tags(self, client: Client, tenant: str | None = None) -> list[str]:
        """Returns the tags of all memories in Redis, or of one tenant's: several tenants may share a server."""
        keys = client.scan_iter(match=pattern(tenant), count=1000)
        return [key.decode("utf-8", "surrogatepass")[6:-6] for key in keys]

    def scopes(self, client: Client, tenant: str) -> list[Scope]:
        """Returns the scopes of a tenant's memories, from their ``meta`` keys; skips leftovers without an owner."""
        scopes = []
        for tag in self.tags(client, tenant):
            data = _words(client, tag)
            if data.get("session") or data.get("user"):
                session = data.get("session", "")
                scopes.append(Scope(data.get("tenant", ""), session, "" if session else data.get("user", "")))
        return scopes

    def _read(
        self, client: Client, scope: Scope, versions: bool, ttl: int | None = None
    ) -> tuple[State, tuple[Version, ...]]:
        milliseconds = self._ttl if ttl is None else ttl
        return _state(client.eval(_READ, len(scope.keys), *scope.keys, milliseconds, "1" if versions else "0")[0])

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
        return self._run(client, scope, before, operations, token)

    def _run(
        self,
        client: Client,
        scope: Scope,
        before: State,
        operations: Sequence[tuple[str, str, str]],
        token: int | None,
    ) -> int:
        flat = [part for operation in operations for part in operation]
        head = [str(before.revision), "" if token is None else str(token), self._ttl]
        revision = int(client.eval(_WRITE, len(scope.keys), *scope.keys, *head, *flat))
        if revision == -2:
            raise Stale
        return revision


def _words(client: Client, tag: str) -> dict[str, Any]:
    """Returns the data that a memory keeps about itself.

    Returns an empty dictionary when it cannot be read, so that one broken key does not block the other memories.
    """
    try:
        data = json.loads(client.hget(f"chat:{{{tag}}}:meta", "data") or b"{}")
    except (ValueError, ResponseError):
        return {}
    return data if isinstance(data, dict) else {}


def _state(answer: list[Any]) -> tuple[State, tuple[Version, ...]]:
    """Returns state and versions from the answer of the reading script."""
    short, memory, entities, listed, revision, token, data = answer
    content = json.loads(memory or b"{}")
    state = State(
        revision=int(revision),
        token=int(token),
        text=content.get("memory", ""),
        version=content.get("version", 0),
        updated=content.get("updated", 0.0),
        entities=tuple(Entity(**item) for item in json.loads(entities or b"[]")),
        short=tuple(_turn(json.loads(item)) for item in short),
        **plain_kept(json.loads(data or b"{}")),
    )
    return state, tuple(plain_version(json.loads(item)) for item in listed)


def _operations(before: State, after: State, versions: Sequence[Version]) -> list[tuple[str, str, str]]:
    """Returns the fewest Redis commands that turn ``before`` into ``after``."""
    operations = _short_operations(before.short, after.short)
    if (before.text, before.version) != (after.text, after.version):
        operations.append(("SET", _MEMORY, _json(memory_json(after))))
    if before.entities != after.entities:
        operations.append(("SET", _ENTITIES, _json([asdict(item) for item in after.entities])))
    operations += _pushes(versions)
    if versions:
        operations.append(("LTRIM", _VERSIONS, str(KEPT_VERSIONS)))
    return [*operations, ("HSET", _META, _json(kept_json(after)))]


def _pushes(versions: Iterable[Version]) -> list[tuple[str, str, str]]:
    return [("RPUSH", _VERSIONS, _json(asdict(version))) for version in versions]


def _short_operations(before: Sequence[MemoryTurn], after: Sequence[MemoryTurn]) -> list[tuple[str, str, str]]:
    """Returns the commands for ``short``: usually the new turn is appended and an old one removed at the start;
    otherwise all turns are written again."""
    if tuple(before) == tuple(after):
        return []
    if not after:
        return [("DEL", _SHORT, "")]
    same = next(n for n in range(len(before), -1, -1) if tuple(before[len(before) - n :]) == tuple(after[:n]))
    new = [("RPUSH", _SHORT, _json(turn_json(turn))) for turn in after[same:]]
    return [*new, ("LTRIM", _SHORT, str(len(after)))]


def turn_json(turn: MemoryTurn) -> dict[str, Any]:
    """Returns a turn in the form that ``short`` stores."""
    data: dict[str, Any] = {"turn": turn.number, "question": turn.question, "answer": turn.answer}
    return {**data, "tools": turn.tools} if turn.tools else data


def memory_json(state: State) -> dict[str, Any]:
    """Returns the text with its version in the form that the key ``memory`` stores."""
    return {"memory": state.text, "version": state.version, "updated": state.updated}


def kept_json(state: State) -> dict[str, Any]:
    """Returns the fields of a state that are stored beside the keys of specification 6.3."""
    data = {name: getattr(state, name) for name in _KEPT if getattr(state, name)}
    return {**data, "rejection": asdict(state.rejection)} if state.rejection else data


def plain_kept(kept: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields that ``kept_json`` wrote; drops unknown names, which a later release may have written."""
    values: dict[str, Any] = {name: value for name, value in kept.items() if name in _KEPT}
    for name in ("folded", "forgotten", "carried"):
        values[name] = tuple((pair[0], pair[1]) for pair in kept.get(name, ()))
    for name in ("pins", "pinned"):
        values[name] = tuple(kept.get(name, ()))
    values["rejection"] = Rejection(**kept["rejection"]) if kept.get("rejection") else None
    return values


def plain_version(kept: dict[str, Any]) -> Version:
    """Returns the version whose ``asdict`` this is; drops unknown names, which another release may have written."""
    lists = {
        "turns": tuple(MemoryTurn(**item) for item in kept.get("turns", ())),
        "before": tuple(Entity(**item) for item in kept.get("before", ())),
        "after": tuple(Entity(**item) for item in kept.get("after", ())),
        "kept": tuple(kept.get("kept", ())),
        "lost": tuple(kept.get("lost", ())),
        "dropped": tuple(Entity(**item) for item in kept.get("dropped", ())),
    }
    return Version(**{**{name: value for name, value in kept.items() if name in _VERSION}, **lists})


def _turn(kept: dict[str, Any]) -> MemoryTurn:
    return MemoryTurn(kept["turn"], kept["question"], kept["answer"], kept.get("tools", ""))


def _json(value: object) -> str:
    return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))  # an id may contain any character
