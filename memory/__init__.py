"""Long-term memory: recursive summaries and entities in Redis, archived in the database (design §6).

``Memory`` is the door; everything else here is behind it.
"""

from memory.link import Patience
from memory.listed import Line
from memory.memory import USER, Due, FoldReport, Memory
from memory.state import Entity, Rejection, Turn, Version
from memory.view import MemoryView

__all__ = [
    "USER",
    "Due",
    "Entity",
    "FoldReport",
    "Line",
    "Memory",
    "MemoryView",
    "Patience",
    "Rejection",
    "Turn",
    "Version",
]
