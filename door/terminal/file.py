"""Writes a file that the user named: private, whole or not at all, and never silently over another file."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

import private
from errors import FileTaken, FileUnwritten

_REASONS = {
    errno.ENOENT: ("no_folder", "its folder does not exist"),
    errno.ENOTDIR: ("no_folder", "its folder does not exist"),
    errno.EACCES: ("no_permission", "you may not write there"),
    errno.EPERM: ("no_permission", "you may not write there"),
    errno.EROFS: ("no_permission", "you may not write there"),
}
"""By the number of the system's error: the code and the sentence of ``FileUnwritten``."""


def write_user_file(name: str, text: str, *, replace: bool = False) -> Path:
    """Writes the text as UTF-8 into a file that only its owner may read (mode 0600); returns the file's path.

    ``name``: a path, which may begin with «~». ``replace``: an existing file is replaced at once. Raises ``FileTaken``
    for an existing file otherwise, and ``FileUnwritten``.
    """
    path = Path(name)
    try:
        path = path.expanduser()
        _write_reserved_file(path, text.encode(), replace)
    except FileExistsError as error:
        raise FileTaken(path=path) from error
    except OSError as error:
        code, reason = _REASONS.get(error.errno or 0, ("", error.strerror or type(error).__name__))
        raise FileUnwritten(path=path, reason=reason, reason_code=code) from error
    except (ValueError, RuntimeError) as error:  # a NUL in the name, a «~name» that nobody has
        raise FileUnwritten(path=path, reason=str(error)) from error
    return path


def _write_reserved_file(path: Path, data: bytes, replace: bool) -> None:
    """Writes into a new file beside the path, which then takes the path's name; the name is reserved before."""
    exists = os.path.lexists(path)
    if exists and replace and (path.is_symlink() or not path.is_file()):
        raise FileUnwritten(path=path, reason="it is no regular file", reason_code="no_file")
    if not (exists and replace):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        private.replace_private_file(path, data)
    except BaseException:
        if not exists:
            with suppress(OSError):
                path.unlink()
        raise
