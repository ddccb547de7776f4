"""The beginnings of the embedded model's prompts: each is read once, saved as a file, and restored in milliseconds.

llama.cpp reads a prompt only from the place where it differs from the prompt in its slot. All prompts of a language
share their beginning. So the server first reads only that beginning, and saves the slot below
``data_dir/embedded/prefix``. From then on the server restores the file, in 15 ms instead of seconds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2

from model.embedded import slot
from model.embedded.llama_server import Embedded

KEPT = 4
"""Number of files that stay, the most recently used ones: two languages of two weights files."""
RESTORE_SECONDS = 2.0
READ_SECONDS = 300.0

log = logging.getLogger(__name__)
_standing: dict[int, Prefix] = {}
"""The prefix of the last request that this process sent, by the server's process id. Other processes may have sent more
since. The server then reads a prompt in full, and its answer is still right."""
_guard = threading.Lock()


@dataclass(frozen=True)
class Prefix:
    """The beginning of every prompt of one language: the static text of its first message, and tools in OpenAI's
    form."""

    text: str
    tools: tuple[dict[str, Any], ...] = ()

    def body(self) -> dict[str, Any]:
        """Returns a request that begins with this prefix. It has a question, because some chat templates refuse a
        request without one."""
        messages = [{"role": "system", "content": self.text}, {"role": "user", "content": "."}]
        return {"messages": messages, **({"tools": list(self.tools)} if self.tools else {})}

    def begins(self, body: dict[str, Any]) -> bool:
        """Returns whether the request begins with this prefix."""
        messages, tools = body.get("messages") or [{}], body.get("tools") or []
        return str(messages[0].get("content")).startswith(self.text) and tools == list(self.tools)


class Prefixes:
    """The prefixes of an app's prompts, that of the interface's language first.

    ``connect`` returns the running server, ``weights`` is its GGUF file, ``folder`` its ``slot_save_path``. A failure
    here never fails a start or a turn: without a prefix the server reads the prompt in full. A file belongs to one
    weights file, one version of ``xllamacpp`` and one prefix. Its name holds its own digest, because llama.cpp aborts
    on a file that is cut short.
    """

    def __init__(
        self, prefixes: Sequence[Prefix], connect: Callable[[], Embedded], weights: Path, folder: Path
    ) -> None:
        self._prefixes, self._connect, self._folder = tuple(prefixes), connect, folder
        state = weights.stat() if prefixes else None
        size = (state.st_size, state.st_mtime_ns) if state else (0, 0)
        self._model = (str(weights.resolve()), *size, version("xllamacpp") if state else "")

    def prepare(self) -> None:
        """Restores the first prefix in the slot, so that an answer can begin at once; makes the missing files first
        (seconds for every prefix, once). Leaves a slot alone that holds a conversation, perhaps another process's.
        Raises what ``connect`` raises."""
        with _guard:
            if not self._prefixes or self._used():
                return
            for prefix in reversed(self._prefixes):
                if self._file(prefix) is None:
                    self._make(prefix)
            if not self._restore(self._prefixes[0]):
                self._make(self._prefixes[0])

    def before(self, content: bytes) -> None:
        """Restores the prefix of a request if the slot has another one. The client calls this with every request's body
        before it sends the request."""
        if not self._prefixes:
            return
        body = json.loads(content)
        matching = next((prefix for prefix in self._prefixes if prefix.begins(body)), None)
        with _guard:
            if matching is None:
                _standing.pop(self._connect().pid, None)
            else:
                self._restore(matching)

    def _used(self) -> bool:
        try:
            return slot.count_slot_tokens(self._connect(), RESTORE_SECONDS) > 0
        except httpx2.HTTPError:
            return True

    def _restore(self, prefix: Prefix) -> bool:
        """Returns whether the slot holds the prefix now; restores it if necessary. Removes a file that the server does
        not take."""
        server = self._connect()
        if _standing.get(server.pid) == prefix:
            return True
        _standing.pop(server.pid, None)
        path = self._file(prefix)
        if path is None:
            return False
        try:
            slot.restore_slot(server, path.name, RESTORE_SECONDS)
            os.utime(path)
        except httpx2.TimeoutException:  # the slot is at work
            return False
        except (httpx2.HTTPError, OSError) as error:
            log.warning("the saved prompt %s could not be restored: %s", path.name, error)
            _remove_prefix_file(path)
            return False
        _standing[server.pid] = prefix
        return True

    def _make(self, prefix: Prefix) -> None:
        """Has the slot read the prefix and saves the slot; the file has another name until it is complete."""
        server, fresh = self._connect(), self._folder / f"{self._key(prefix)}-{os.getpid()}.new"
        try:
            slot.read_into_slot(server, prefix.body(), READ_SECONDS)
            _standing[server.pid] = prefix
            slot.save_slot(server, fresh.name, READ_SECONDS)
            fresh.replace(self._folder / f"{self._key(prefix)}-{_digest_file(fresh)}.state")
            self._tidy()
        except (httpx2.HTTPError, OSError) as error:
            log.warning("the beginning of prompts could not be saved: %s", error)
            _remove_prefix_file(fresh)

    def _key(self, prefix: Prefix) -> str:
        identity = json.dumps([self._model, prefix.text, prefix.tools])
        return hashlib.sha256(identity.encode()).hexdigest()[:16]

    def _file(self, prefix: Prefix) -> Path | None:
        """Returns the prefix's file; removes files whose content differs from the saved content."""
        for path in self._folder.glob(f"{self._key(prefix)}-*.state"):
            if path.stem.endswith(_digest_file(path)):
                return path
            _remove_prefix_file(path)
        return None

    def _tidy(self) -> None:
        """Removes all but the most recently used files, also those that a killed process left."""
        old = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]
        for path in old:
            _remove_prefix_file(path)


def _remove_prefix_file(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
