"""What the prompts of the embedded model begin with is read once, kept as a file, and put back in milliseconds.

llama.cpp reads a prompt only from where it differs from the one that its slot holds. So the beginning that all prompts
of a language share is read alone and the slot is saved below ``data_dir/embedded/prefix``. From then on it is restored,
in 15 ms instead of seconds (docs/decision/0016-one-slot.md).
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

from model import slot
from model.embedded import Embedded

KEPT = 4
"""How many files stay, the last used ones: two languages of two weights."""
RESTORE_SECONDS = 2.0
READ_SECONDS = 300.0

log = logging.getLogger(__name__)
_standing: dict[int, Prefix] = {}
"""By the server's process id: the prefix of the last request that this process sent. Others may have sent more since:
then a prompt is read in full, and right all the same."""
_guard = threading.Lock()


@dataclass(frozen=True)
class Prefix:
    """How every prompt of one language begins: the static text of its first message, and tools in OpenAI's form."""

    text: str
    tools: tuple[dict[str, Any], ...] = ()

    def body(self) -> dict[str, Any]:
        """A request that begins so. It has a question, because some chat templates refuse to be without one."""
        messages = [{"role": "system", "content": self.text}, {"role": "user", "content": "."}]
        return {"messages": messages, **({"tools": list(self.tools)} if self.tools else {})}

    def begins(self, body: dict[str, Any]) -> bool:
        """Whether that request does."""
        messages, tools = body.get("messages") or [{}], body.get("tools") or []
        return str(messages[0].get("content")).startswith(self.text) and tools == list(self.tools)


class Prefixes:
    """The prefixes of an app's prompts, that of the interface's language first.

    ``connect`` gives the running server, ``weights`` is its GGUF file, ``folder`` its ``slot_save_path``. Nothing here
    fails a start or a turn: without a prefix the prompt is read in full. A file belongs to one weights file, version of
    ``xllamacpp`` and prefix, and its name holds its own digest: llama.cpp aborts on one that is cut short.
    """

    def __init__(
        self, prefixes: Sequence[Prefix], connect: Callable[[], Embedded], weights: Path, folder: Path
    ) -> None:
        self._prefixes, self._connect, self._folder = tuple(prefixes), connect, folder
        state = weights.stat() if prefixes else None
        size = (state.st_size, state.st_mtime_ns) if state else (0, 0)
        self._model = (str(weights.resolve()), *size, version("xllamacpp") if state else "")

    def prepare(self) -> None:
        """Have the first prefix stand in the slot, so that an answer can begin at once; make the files that are not
        there (seconds for every prefix, once). A slot that holds a conversation, another process's perhaps, is left
        alone. Raises what ``connect`` raises."""
        with _guard:
            if not self._prefixes or self._used():
                return
            for prefix in reversed(self._prefixes):
                if self._file(prefix) is None:
                    self._make(prefix)
            if not self._restore(self._prefixes[0]):
                self._make(self._prefixes[0])

    def before(self, content: bytes) -> None:
        """To be called with every request's body before it is sent: restores its prefix if the slot has another."""
        if not self._prefixes:
            return
        body = json.loads(content)
        wanted = next((prefix for prefix in self._prefixes if prefix.begins(body)), None)
        with _guard:
            if wanted is None:
                _standing.pop(self._connect().pid, None)
            else:
                self._restore(wanted)

    def _used(self) -> bool:
        try:
            return slot.tokens(self._connect(), RESTORE_SECONDS) > 0
        except httpx2.HTTPError:
            return True

    def _restore(self, prefix: Prefix) -> bool:
        """Whether it stands now. A file that the server does not take is removed."""
        server = self._connect()
        if _standing.get(server.pid) == prefix:
            return True
        _standing.pop(server.pid, None)
        path = self._file(prefix)
        if path is None:
            return False
        try:
            slot.restore(server, path.name, RESTORE_SECONDS)
            os.utime(path)
        except httpx2.TimeoutException:  # the slot is at work
            return False
        except (httpx2.HTTPError, OSError) as error:
            log.warning("the saved prompt %s could not be restored: %s", path.name, error)
            _remove(path)
            return False
        _standing[server.pid] = prefix
        return True

    def _make(self, prefix: Prefix) -> None:
        """Have the slot read the prefix, and keep that: under another name until it is whole."""
        server, fresh = self._connect(), self._folder / f"{self._key(prefix)}-{os.getpid()}.new"
        try:
            slot.read(server, prefix.body(), READ_SECONDS)
            _standing[server.pid] = prefix
            slot.save(server, fresh.name, READ_SECONDS)
            fresh.replace(self._folder / f"{self._key(prefix)}-{_digest(fresh)}.state")
            self._tidy()
        except (httpx2.HTTPError, OSError) as error:
            log.warning("the beginning of prompts could not be saved: %s", error)
            _remove(fresh)

    def _key(self, prefix: Prefix) -> str:
        told = json.dumps([self._model, prefix.text, prefix.tools])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def _file(self, prefix: Prefix) -> Path | None:
        """Its file; one whose content is not what was saved is removed."""
        for path in self._folder.glob(f"{self._key(prefix)}-*.state"):
            if path.stem.endswith(_digest(path)):
                return path
            _remove(path)
        return None

    def _tidy(self) -> None:
        """Remove what has long not been used, and what a killed process left."""
        old = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]
        for path in old:
            _remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
