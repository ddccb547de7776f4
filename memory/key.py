"""Whose memory it is, and the names of its keys (copilot-rag.md §3.3, with the hash tag of design §6)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

LONGEST = 200
PARTS = ("short", "memory", "entities", "versions", "meta")
"""The first three as specified; ``versions`` and ``meta`` are ours, in the same slot."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One memory: a session of a tenant, or what a user carries from session to session (``session`` is then empty)."""

    tenant: str
    session: str
    user: str = ""

    @property
    def tag(self) -> str:
        """``tenant:session`` or ``tenant:@user``, encoded: no text can spell another tenant's or another kind's tag."""
        owner = encoded(self.session) if self.session else f"@{encoded(self.user)}"
        return f"{encoded(self.tenant)}:{owner}"

    def key(self, part: str) -> str:
        """``chat:{tenant:session}:part``; the braces are literal: a cluster keeps all of one memory in one slot."""
        return f"chat:{{{self.tag}}}:{part}"

    @property
    def keys(self) -> list[str]:
        """All keys, in the order of ``PARTS``."""
        return [self.key(part) for part in PARTS]


def pattern(tenant: str | None = None) -> str:
    """What the ``meta`` keys of a tenant's memories match in ``SCAN``; of all tenants by default."""
    return f"chat:{{{'' if tenant is None else f'{encoded(tenant)}:'}*}}:meta"


def encoded(text: str) -> str:
    """The text without colons, braces, ``@``, ``~``, white space or line breaks; other letters stay readable.

    Very long ones end in a digest after ``~``, which nothing else holds.
    """
    name = "".join(letter if letter.isalnum() or letter in "-_." else _escaped(letter) for letter in text)
    if len(name) <= LONGEST:
        return name
    return f"{name[:100]}~{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _escaped(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))
