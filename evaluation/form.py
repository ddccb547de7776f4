"""The forms of memory that are compared: all of them come from one play of a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Form = Literal["none", "turns", "chunks", "recursive", "observations", "all", "full"]
"""What the model is given of the conversation, besides the query and its instructions.

*none*: nothing. *turns*: the last turns word for word. *chunks*: the chunk summaries. *recursive*: the long-term memory
with its entities. *observations*: dated lines that are only ever appended. *all*: the next prompt as the product builds
it. *full*: every turn word for word.
"""

FORMS: tuple[Form, ...] = get_args(Form)
SINGLE: tuple[Form, ...] = ("turns", "chunks", "recursive", "observations")
"""The forms that hold one kind of memory alone; *all* is compared with the best of them."""


@dataclass(frozen=True, slots=True)
class FormContext:
    """What a form gives the model: its lines, oldest first, and their tokens.

    The instructions and tools that every form needs are not counted.
    """

    lines: tuple[str, ...]
    tokens: int

    @property
    def text(self) -> str:
        return "\n".join(self.lines)
