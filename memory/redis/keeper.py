"""The keeper of the embedded server: its parent process, which stops the server when no process uses it any more.

Runs as a script in isolated mode and uses only the standard library, so that it is small and starts fast:
``keeper.py FOLDER GRACE COMMAND…``. Two file locks of the folder hold the whole state, and the kernel releases them on
kill -9:

- ``server.lock``, exclusive: the server inherits it, so that no second server starts while the first one lives.
- ``users.lock``, shared by every process that uses the server. When the keeper gets it exclusively, no user is left.

Exit codes: 0 stopped or not needed (another keeper's server runs), 1 the server ended by itself.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

LOOK_SECONDS = 0.25
"""Seconds between two looks at the users' lock."""
STOP_SECONDS = 10.0
"""Seconds that the server has to stop before it is killed."""
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def run_server_keeper(folder: Path, grace: float, command: list[str]) -> int:
    """Runs the server as long as a process uses it; ``grace``: seconds that the server outlives its last user."""
    server_lock = _open_lock_file(folder / "server.lock")
    if not _take_file_lock(server_lock):
        return 0
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    process = _start_server(folder, command, server_lock)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    users_lock = _open_lock_file(folder / "users.lock")
    while process.poll() is None:
        if _is_server_unused(users_lock, grace):
            return _stop_server(process)  # the keeper holds the users' lock until it ends, so a new user waits
        time.sleep(LOOK_SECONDS)
    return 1


def _start_server(folder: Path, command: list[str], server_lock: int) -> subprocess.Popen[bytes]:
    """Starts the server; only the owner of the process may read the files that the server writes."""
    with open(folder / "valkey.log", "ab", opener=_open_private_file) as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(server_lock,),
            umask=0o077,
            preexec_fn=_die_with_keeper,
        )


def _die_with_keeper() -> None:
    """On Linux, makes the server stop when its keeper is killed; elsewhere the next keeper's users find it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM)


def _is_server_unused(users_lock: int, grace: float) -> bool:
    """Tells whether no process held the users' lock for ``grace`` seconds; the keeper holds the lock then."""
    deadline = time.monotonic() + grace
    while _take_file_lock(users_lock):
        if time.monotonic() >= deadline:
            return True
        fcntl.flock(users_lock, fcntl.LOCK_UN)
        time.sleep(LOOK_SECONDS)
    return False


def _stop_server(process: subprocess.Popen[bytes]) -> int:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return 0


def _open_lock_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _open_private_file(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _take_file_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(run_server_keeper(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
