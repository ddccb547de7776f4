"""The file that names the MCP servers: ``mcp.json`` in the data folder, in the shape that other programs have, too.

A wrong entry is told by server and field; the sound servers stay usable, and the wrong entry stays in the file.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from errors import ServerEntryWrong, ServersUnreadable
from host.entry import ServerEntry

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
"""A server's name begins the names of its tools."""
KEY = "mcpServers"
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Read:
    """What the file holds. ``wrong``: why an entry cannot be used, by the name of the server."""

    entries: Mapping[str, ServerEntry] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)


class Servers:
    """The file of one data folder. Every method reads it anew, because its user may edit it by hand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def read(self) -> Read:
        """Returns the servers. Raises ``ServersUnreadable`` when the file is no such JSON."""
        entries, wrong = dict[str, ServerEntry](), dict[str, str]()
        for name, data in self._whole()[KEY].items():
            try:
                entries[name] = validate_server_entry(name, data)
            except ServerEntryWrong as error:
                wrong[name] = str(error)
        return Read(entries, wrong)

    def stamp(self) -> tuple[int, int]:
        """Returns what changes with the file; zeros without a file."""
        try:
            stat = self.path.stat()
        except OSError:
            return (0, 0)
        return (stat.st_mtime_ns, stat.st_size)

    def put(self, name: str, data: Mapping[str, Any]) -> None:
        """Adds a server or replaces it. Raises ``ServerEntryWrong`` and changes nothing when the entry is wrong."""
        entry = validate_server_entry(name, data)
        self._change(lambda servers: servers | {name: entry.plain()})

    def remove(self, name: str) -> None:
        """Removes a server; does nothing when there is none of this name."""
        self._change(lambda servers: {key: data for key, data in servers.items() if key != name})

    def change(self, name: str, **values: Any) -> None:
        """Changes fields of a server, such as ``disabled``; does nothing when there is none of this name."""
        entry = self.read().entries.get(name)
        if entry is not None:
            self.put(name, entry.plain() | values)

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Writes the file anew, for the user's eyes only; a crash leaves the old file or the new one."""
        with self._lock:
            whole = self._whole()
            text = json.dumps(whole | {KEY: change(whole[KEY])}, ensure_ascii=False, indent=2)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
            try:
                descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                    out.write(text + "\n")
                    out.flush()
                    os.fsync(out.fileno())
                new.replace(self.path)
            except OSError as error:
                new.unlink(missing_ok=True)
                raise ServersUnreadable(path=self.path.name, reason=error.strerror or "not writable") from error

    def _whole(self) -> dict[str, Any]:
        try:
            if not self.path.exists():
                return {KEY: {}}
            if self.path.stat().st_size > MOST_BYTES:
                raise ServersUnreadable(path=self.path.name, reason=f"more than {MOST_BYTES:,} bytes")
            whole = json.loads(self.path.read_text("utf-8"))
        except OSError as error:
            raise ServersUnreadable(path=self.path.name, reason=error.strerror or "not readable") from error
        except (ValueError, RecursionError) as error:
            raise ServersUnreadable(path=self.path.name, reason=_describe_read_error(error)) from None
        if not isinstance(whole, dict) or not isinstance(whole.get(KEY, {}), dict):
            raise ServersUnreadable(path=self.path.name, reason=f"no object with {KEY}")
        return {KEY: {}} | whole


def validate_server_entry(name: str, data: object) -> ServerEntry:
    """Returns an entry. Raises ``ServerEntryWrong``, which names server and field and repeats no value."""
    if not NAME.fullmatch(name):
        raise ServerEntryWrong(server=name[:40], field="name", reason="1 to 32 letters, digits, _ or -")
    if not isinstance(data, Mapping):
        raise ServerEntryWrong(server=name, field="entry", reason="not an object")
    try:
        return ServerEntry.model_validate(dict(data))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "entry"
        raise ServerEntryWrong(server=name, field=place, reason=first["msg"]) from None


def _describe_read_error(error: ValueError | RecursionError) -> str:
    match error:
        case RecursionError():
            return "nested too deep"
        case json.JSONDecodeError():
            return f"no JSON at line {error.lineno}, column {error.colno}"
        case UnicodeDecodeError():
            return "no UTF-8 text"
    return "a number of too many digits"
