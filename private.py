"""Private files of one user: folders that only the owner may enter (0700), files that only the owner may read (0600).

Conversations, memory, documents and logs are private files. Opening a file or folder again also removes the access of
others that an earlier version or another program left open. Files whose mode Gieok may not change stay as they are.
"""

from __future__ import annotations

import os
import stat
import threading
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_folder(path: Path) -> None:
    """Creates the folder and its missing parents with mode 0700; an existing folder keeps its mode."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Creates an empty file if none exists, so that any later writer finds a private file. Applies ``shut`` to the
    file.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    shut(path)


def write(path: Path, text: str) -> None:
    """Writes the file with this text completely or not at all, even when the power fails; creates missing folders.

    Raises ``OSError``.
    """
    make_folder(path.parent)
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def shut(*paths: Path) -> None:
    """Removes the access of group and others from those paths that exist. Skips paths with the sticky bit, such as the
    shared folder /tmp.
    """
    for path in paths:
        with suppress(OSError):
            mode = path.stat().st_mode
            if mode & _OTHERS and not mode & stat.S_ISVTX and (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                path.chmod(stat.S_IMODE(mode) & ~_OTHERS)


def shut_all(folder: Path) -> None:
    """Shuts the folder and everything in it, if the folder exists; does not follow symbolic links."""
    shut(folder)
    for parent, folders, files in os.walk(folder):
        shut(*(path for name in (*folders, *files) if not (path := Path(parent, name)).is_symlink()))
