"""Long-term memory: recursive summaries and entities in Redis, archived in the database (design 6.3).

Other folders use ``Memory`` and the data classes listed here; all other modules of this folder are internal.
"""

from memory.listed import Line
from memory.memory import USER, Due, FoldReport, Memory
from memory.redis.link import Patience
from memory.state import Entity, MemoryTurn, Rejection, Version
from memory.view import MemoryView

__all__ = [
    "USER",
    "Due",
    "Entity",
    "FoldReport",
    "Line",
    "Memory",
    "MemoryTurn",
    "MemoryView",
    "Patience",
    "Rejection",
    "Version",
]
