"""The request for a turn: four kinds of runs, for the page, the terminal and the agent alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["new", "retry", "again", "edited"]


@dataclass(frozen=True, slots=True)
class Request:
    """The request to run a turn in session ``session``.

    ``new``: ``text`` is the next message. ``retry``: the last turn failed or was cut off, and goes on from the node
    where it ended. ``again``: another answer to turn ``number``. ``edited``: turn ``number`` with ``text`` as its
    question. ``again`` and ``edited`` begin a new branch; the turns that followed stay on their old branch.
    """

    session: str
    kind: Kind = "new"
    text: str = ""
    number: int = 0
