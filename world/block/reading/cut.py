"""A state block in whose middle an answer ended, as it does at a model's token limit."""

from __future__ import annotations

from world.block.reading.hidden import read_whole_answer
from world.block.reading.read import Fields, read_block

_FENCES = ("```", "~~~")
LAST = "mood"
"""The last field that the instruction asks for; a block that has it has all that matters."""


def read_cut_blocks(raw: str) -> list[Fields] | None:
    """Returns the blocks of an answer that ends in the middle of one, of that one only the whole lines; None for any
    other answer. A fence that was never closed alone makes no such block, if the last field is there."""
    *others, last = read_whole_answer(raw).blocks or [""]
    block = last.strip()
    if not block or not raw.rstrip().endswith(block) or not _is_open_block(block) or LAST in read_block(block):
        return None
    return [*filter(None, map(read_block, others)), read_block(block.rpartition("\n")[0])]


def _is_open_block(block: str) -> bool:
    """Returns whether a block began with a fence or a brace and has not ended."""
    fence = next((one for one in _FENCES if block.startswith(one)), None)
    if fence is not None:
        return not block.endswith(fence) or block.count(fence) < 2
    return block.startswith("{") and not block.endswith("}")
