"""Values that a model copied from the instruction instead of filling them in: they say nothing."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import prompt
from text.language import Language
from world.block.field import Field
from world.block.reading.read import Fields, read_answer_blocks


def is_template(field: Field, given: Any) -> bool:
    """Returns whether a value is the instruction's own for its field."""
    return any(given == template[field] for template in _read_instruction_blocks() if field in template)


@cache
def _read_instruction_blocks() -> tuple[Fields, ...]:
    """Returns the blocks that the instructions show."""
    return tuple(
        block
        for language in get_args(Language)
        for block in read_answer_blocks(prompt.render_prompt("world_state", language))
    )
