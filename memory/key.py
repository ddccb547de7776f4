"""The owner of a memory, and the names of its keys (specification 6.3, with the hash tag of design 6.1)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

LONGEST = 200
"""Most characters of an encoded name; a longer one is cut and ends in a digest."""
PARTS = ("short", "memory", "entities", "versions", "meta")
"""The first three as in specification 6.3; ``versions`` and ``meta`` are additions in the same slot."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of one memory: a session of a tenant, or a user (``session`` is empty then) for the memory that all of
    the user's sessions share."""

    tenant: str
    session: str
    user: str = ""

    @property
    def tag(self) -> str:
        """Returns ``tenant:session`` or ``tenant:@user``, encoded: no text can spell the tag of another tenant or
        kind."""
        owner = encoded(self.session) if self.session else f"@{encoded(self.user)}"
        return f"{encoded(self.tenant)}:{owner}"

    def key(self, part: str) -> str:
        """Returns ``chat:{tenant:session}:part``; the braces make a cluster keep all keys of one memory in one slot."""
        return f"chat:{{{self.tag}}}:{part}"

    @property
    def keys(self) -> list[str]:
        """Returns all keys in the order of ``PARTS``."""
        return [self.key(part) for part in PARTS]


def pattern(tenant: str | None = None) -> str:
    """Returns the ``SCAN`` pattern for the ``meta`` keys of a tenant's memories; by default of all tenants."""
    return f"chat:{{{'' if tenant is None else f'{encoded(tenant)}:'}*}}:meta"


def encoded(text: str) -> str:
    """Returns the text without colons, braces, ``@``, ``~``, white space or line breaks; other letters stay readable.

    A text longer than ``LONGEST`` is cut and ends in ``~`` and a digest; no other encoded text contains ``~``.
    """
    name = "".join(letter if letter.isalnum() or letter in "-_." else _escaped(letter) for letter in text)
    if len(name) <= LONGEST:
        return name
    return f"{name[:100]}~{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _escaped(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))
