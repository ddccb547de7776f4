"""The seal of what a client carries for us between a question and its answer: a key of this installation."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

import private
from door.mcp.caller import Context
from model.file_lock import exclusive, written

FILE = "mcp-state.key"
SECONDS = 3600.0
"""How long a question may wait for its answer through the same client; afterwards it is answered in the app."""


def boundary(data_dir: Path, user: Callable[[Context], str], name: str) -> RequestStateBoundary:
    """Returns the middleware that seals ``requestState`` and opens it again. ``user``: whose request it is; ``name``:
    the server's."""
    security = RequestStateSecurity(keys=[_key(data_dir / FILE)], ttl=SECONDS, bind_principal=user)
    return RequestStateBoundary(security, default_audience=name)


def _key(file: Path) -> str:
    """Returns the key, the same for all processes of the data folder; writes a new one where there is none."""
    with written(file), exclusive(file.with_suffix(".lock")):
        if not file.is_file():
            private.write(file, secrets.token_hex(32))
        return file.read_text("ascii").strip()
