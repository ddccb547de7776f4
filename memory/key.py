"""The names of a session's keys in Redis (specification 6.3, with the hash tag of design 6.5)."""

from __future__ import annotations

from dataclasses import dataclass

from text.digest import hash_text

LONGEST = 200
"""Most characters of an encoded name; a longer one is cut and ends in a digest."""
PARTS = ("short", "memory", "entities")
"""As in specification 6.3."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One session of a tenant, whose memory it is."""

    tenant: str
    session: str

    @property
    def tag(self) -> str:
        """Returns ``tenant:session``, encoded: no text can spell the tag of another tenant."""
        return f"{encode_key_text(self.tenant)}:{encode_key_text(self.session)}"

    @property
    def keys(self) -> list[str]:
        """Returns all keys in the order of ``PARTS``."""
        return keys_of(self.tag)


def keys_of(tag: str) -> list[str]:
    """Returns ``chat:{tenant:session}:part`` for each part; the braces make a cluster keep them in one slot."""
    return [f"chat:{{{tag}}}:{part}" for part in PARTS]


def encode_key_text(text: str) -> str:
    """Returns the text without colons, braces, ``@``, ``~``, white space or line breaks; other letters stay readable.

    A text longer than ``LONGEST`` is cut and ends in ``~`` and a digest; no other encoded text contains ``~``.
    """
    name = "".join(letter if letter.isalnum() or letter in "-_." else _escape_key_letter(letter) for letter in text)
    if len(name) <= LONGEST:
        return name
    return f"{name[:100]}~{hash_text(text)}"


def _escape_key_letter(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))
