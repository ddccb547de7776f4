"""A state block in whose middle an answer ended, as it does at a model's token limit."""

from __future__ import annotations

from world.block.hidden import whole
from world.block.read import Fields, read_block

_FENCES = ("```", "~~~")
LAST = "mood"
"""The last field that the instruction asks for; a block that has it has all that matters."""


def cut(raw: str) -> Fields | None:
    """Returns the whole lines of the block that the answer ends in the middle of; None when it does not. A fence alone
    that was never closed makes no such block, if the last field is there."""
    blocks = whole(raw).blocks
    block = blocks[-1].strip() if blocks else ""
    if not block or not raw.rstrip().endswith(block) or not _open(block) or LAST in read_block(block):
        return None
    return read_block(block.rpartition("\n")[0])


def _open(block: str) -> bool:
    """Returns whether a block began with a fence or a brace and has not ended."""
    fence = next((one for one in _FENCES if block.startswith(one)), None)
    if fence is not None:
        return not block.endswith(fence) or block.count(fence) < 2
    return block.startswith("{") and not block.endswith("}")
