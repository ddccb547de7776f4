"""The state block that a model writes at the end of an answer (specification 12.7): hidden, read, checked."""

from __future__ import annotations

import prompt
from text.language import Language
from world.block.check import Checked, check
from world.block.contradiction import Noticed, contradictions
from world.block.cut import cut
from world.block.hidden import HiddenBlock
from world.block.light import light
from world.block.read import Fields, read


def instruction(language: Language) -> str:
    """Returns what asks the model for a state block."""
    return prompt.render("world_state", language)


__all__ = [
    "Checked",
    "Fields",
    "HiddenBlock",
    "Noticed",
    "check",
    "contradictions",
    "cut",
    "instruction",
    "light",
    "read",
]
