"""Messages between two processes over a pipe: eight bytes of length, then the bytes of the message."""

from __future__ import annotations

import struct
from typing import IO

_LENGTH = struct.Struct(">Q")


def send_messages(pipe: IO[bytes], *messages: bytes) -> None:
    """Writes messages. Raises ``OSError`` when the other process is gone."""
    for message in messages:
        pipe.write(_LENGTH.pack(len(message)))
        pipe.write(message)
    pipe.flush()


def receive_message(pipe: IO[bytes]) -> bytes:
    """Returns the next message. Raises ``EOFError`` when the other process is gone."""
    (length,) = _LENGTH.unpack(_read_exactly(pipe, _LENGTH.size))
    return _read_exactly(pipe, length)


def _read_exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data
