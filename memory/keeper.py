"""The keeper of the embedded server: its parent process, which stops it when nobody uses it any more.

Run as a script in isolated mode and kept to the standard library, so that it is small and starts at once:
``keeper.py FOLDER GRACE COMMAND…``. Two locks of the folder say everything, and the kernel drops them on kill -9:

- ``server.lock``, exclusive: handed to the server itself, so that no second one starts while the first one lives.
- ``users.lock``, shared by every process that uses the server. Once the keeper gets it for itself, nobody does.

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
STOP_SECONDS = 10.0
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def main(folder: Path, grace: float, command: list[str]) -> int:
    """Run the server as long as somebody uses it; ``grace``: seconds it outlives its last user."""
    server_lock = _open(folder / "server.lock")
    if not _take(server_lock):
        return 0
    for noise in (signal.SIGINT, signal.SIGHUP):
        signal.signal(noise, signal.SIG_IGN)
    process = _start(folder, command, server_lock)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    users_lock = _open(folder / "users.lock")
    while process.poll() is None:
        if _unused(users_lock, grace):
            return _stop(process)  # the users' lock is kept until the end: a new user waits for it
        time.sleep(LOOK_SECONDS)
    return 1


def _start(folder: Path, command: list[str], server_lock: int) -> subprocess.Popen[bytes]:
    with (folder / "valkey.log").open("ab") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(server_lock,),
            preexec_fn=_die_with_keeper,
        )


def _die_with_keeper() -> None:
    """On Linux the server is told to stop when its keeper is killed; elsewhere it waits for the next keeper's users."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM)


def _unused(users_lock: int, grace: float) -> bool:
    """Whether nobody held the users' lock for ``grace`` seconds; it is then held by the keeper."""
    until = time.monotonic() + grace
    while _take(users_lock):
        if time.monotonic() >= until:
            return True
        fcntl.flock(users_lock, fcntl.LOCK_UN)
        time.sleep(LOOK_SECONDS)
    return False


def _stop(process: subprocess.Popen[bytes]) -> int:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return 0


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
