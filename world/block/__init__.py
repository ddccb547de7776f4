"""The state block that a model writes at the end of an answer (specification 12.7): hidden, read, checked.

Shows what is listed below; ``reading`` finds a block in an answer, ``check`` and ``effect`` say what it changes.
May import ``world.lore``, ``world.naming``, ``world.story``, ``store``, ``model`` and all below them.
"""

from __future__ import annotations

import prompt
from text.language import Language
from world.block.check import Checked, check_block_fields
from world.block.contradiction import Noticed, find_contradictions
from world.block.reading.cut import read_cut_blocks
from world.block.reading.hidden import HiddenBlock
from world.block.reading.light import extract_turn_fields
from world.block.reading.read import Fields, read_answer_blocks


def build_block_instruction(language: Language) -> str:
    """Returns what asks the model for a state block."""
    return prompt.render_prompt("world_state", language)


__all__ = [
    "Checked",
    "Fields",
    "HiddenBlock",
    "Noticed",
    "build_block_instruction",
    "check_block_fields",
    "extract_turn_fields",
    "find_contradictions",
    "read_answer_blocks",
    "read_cut_blocks",
]
