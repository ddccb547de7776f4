"""Private files of one user: folders that only the owner may enter (0700), files that only the owner may read (0600).

Conversations, memory, documents and logs are private files. Opening a file or folder again also removes the access of
others that an earlier version or another program left open. Files whose mode Gieok may not change stay as they are.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_folder(path: Path) -> None:
    """Creates the folder and its missing parents with mode 0700; an existing folder keeps its mode."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Creates an empty file if none exists, so that any later writer finds a private file. Applies
    ``restrict_to_owner`` to the file.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    restrict_to_owner(path)


def write_private_file(path: Path, text: str) -> None:
    """Writes the file with this text completely or not at all, even when the power fails; creates missing folders.

    Raises ``OSError``.
    """
    data = text.encode()
    make_folder(path.parent)
    replace_private_file(path, data)


def replace_private_file(path: Path, data: bytes) -> None:
    """Writes the file completely or not at all, even when the power fails: a new one takes its name once it is whole.

    Raises ``OSError``.
    """
    number, name = tempfile.mkstemp(dir=path.parent, prefix=".gieok-", suffix=".new")
    temporary = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def restrict_to_owner(*paths: Path) -> None:
    """Removes the access of group and others from those paths that exist. Skips paths with the sticky bit, such as the
    shared folder /tmp.
    """
    for path in paths:
        with suppress(OSError):
            mode = path.stat().st_mode
            if mode & _OTHERS and not mode & stat.S_ISVTX and (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                path.chmod(stat.S_IMODE(mode) & ~_OTHERS)


def restrict_folder_to_owner(folder: Path) -> None:
    """Shuts the folder and everything in it, if the folder exists; does not follow symbolic links."""
    restrict_to_owner(folder)
    for parent, folders, files in os.walk(folder):
        restrict_to_owner(*(path for name in (*folders, *files) if not (path := Path(parent, name)).is_symlink()))
