"""Long-term memory: recursive summaries, entities and a profile as rows, with a copy in Redis (design 6).

Other folders use ``Memory`` and the data classes listed here; all other modules of this folder are internal.
"""

from memory.folds import FoldReport
from memory.listed import Line
from memory.memory import Memory
from memory.profile import ProfileLine
from memory.reader import USER
from memory.redis.link import Patience
from memory.state import Entity, MemoryTurn, Rejection, Version
from memory.view import MemoryView, Rooms

__all__ = [
    "USER",
    "Entity",
    "FoldReport",
    "Line",
    "Memory",
    "MemoryTurn",
    "MemoryView",
    "Patience",
    "ProfileLine",
    "Rejection",
    "Rooms",
    "Version",
]
