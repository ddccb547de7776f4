"""The working memory in Redis: a copy of one session's memory, in the form of specification 6.3.

``short`` is a JSON list of turns, ``memory`` a JSON object, ``entities`` the specified JSON array. It is filled from
the rows of the database and carries their stamp: a copy with another stamp does not count. So it may vanish, fall
behind or be away at any time, and nothing but speed is lost. Every use renews the time to live.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from memory.key import Scope, keys_of
from memory.redis.address import Client
from memory.state import MemoryLine, MemoryState, MemoryTurn, OldValue, Rejection
from text.clean import parse_json

FORM = 3
"""Rises when the form of a copy changes, so that a copy of another version of Gieok does not count."""


_READ = """
local found = {}
for at, key in ipairs(KEYS) do
  found[at] = redis.call('GET', key)
  if tonumber(ARGV[1]) > 0 then redis.call('PEXPIRE', key, ARGV[1]) end
end
return found
"""
_WRITE = """
for at, key in ipairs(KEYS) do
  redis.call('SET', key, ARGV[at + 1])
  if tonumber(ARGV[1]) > 0 then redis.call('PEXPIRE', key, ARGV[1]) end
end
"""
"""One command each, so that nobody sees a half of it and a user's patience bounds it (``memory.redis.link``)."""


class WorkingMemory:
    """Copies in Redis. ``ttl``: milliseconds without use until a copy expires; 0: it never expires."""

    def __init__(self, ttl: int) -> None:
        self._ttl = ttl

    def read(self, client: Client, scope: Scope, stamp: str) -> MemoryState | None:
        """Returns the copy of a session's memory, in one round trip; None where there is none with this stamp."""
        short, memory, entities = client.eval(_READ, len(scope.keys), *scope.keys, self._ttl)
        try:
            return _decode_state(short, memory, entities, stamp)
        except (ValueError, TypeError, LookupError, AttributeError):  # written by something else: the rows answer
            return None

    def write(self, client: Client, scope: Scope, state: MemoryState, stamp: str) -> None:
        """Writes the copy, all of it or nothing, in one round trip."""
        values = [json.dumps(value, ensure_ascii=True) for value in _encode_state(state, stamp)]
        client.eval(_WRITE, len(scope.keys), *scope.keys, self._ttl, *values)

    def remove(self, client: Client, tag: str) -> None:
        """Removes the copy of the session with this tag (``memory.key.Scope.tag``)."""
        client.delete(*keys_of(tag))

    def read_ttl(self, client: Client, scope: Scope) -> float | None:
        """Returns the seconds until the copy expires; None when it never expires or does not exist."""
        left = int(client.pttl(scope.keys[1]))
        return left / 1000 if left >= 0 else None


def _encode_state(state: MemoryState, stamp: str) -> tuple[Any, Any, Any]:
    short = [
        {"turn": turn.number, "question": turn.question, "answer": turn.answer, "at": turn.at, "branch": turn.branch,
         "foreign": turn.foreign, "imported": turn.imported}
        for turn in state.short
    ]  # fmt: skip
    memory = {
        "memory": [asdict(line) for line in state.lines],
        "old_values": [asdict(old) for old in state.old_values],
        "version": state.version,
        "version_id": state.version_id,
        "updated": state.updated,
        "language": state.language,
        "folded": state.folded,
        "rejection": asdict(state.rejection) if state.rejection else None,
        "apart": state.apart,
        "user": state.user,
        "revision": state.revision,
        "form": FORM,
        "stamp": stamp,
        "counts": [len(state.short), len(state.entities)],
    }
    entities = [{**asdict(row), "key": row.key, "value": row.text, "turn": row.turn} for row in state.entities]
    return short, memory, entities


def _decode_state(short: bytes | None, memory: bytes | None, entities: bytes | None, stamp: str) -> MemoryState | None:
    if short is None or memory is None or entities is None:
        return None
    content = parse_json(memory)
    if (content.pop("form", None), content.pop("stamp", None)) != (FORM, stamp):
        return None
    turns, rows = parse_json(short), parse_json(entities)
    if content.pop("counts") != [len(turns), len(rows)]:  # something else wrote one of the keys
        return None
    turns = [{("number" if name == "turn" else name): turn[name] for name in turn} for turn in turns]
    rejection = content.pop("rejection")
    return MemoryState(
        lines=tuple(MemoryLine(**row) for row in content.pop("memory")),
        entities=tuple(MemoryLine(**{name: row[name] for name in row if name != "value"}) for row in rows),
        old_values=tuple(OldValue(**old) for old in content.pop("old_values")),
        short=tuple(MemoryTurn(**turn) for turn in turns),
        rejection=Rejection(**rejection) if rejection else None,
        **content,
    )
