"""Long-term memory: recursive summaries, entities and a profile as rows, with a copy in Redis (design 6).

Shows ``Memory``, which has reader, writer, folds and eraser, and the data classes listed here.
May import ``store``, ``model`` and all below them; it knows neither ``graph`` nor LangGraph.
"""

from memory.folds import FoldReport
from memory.memory import Memory
from memory.reader import USER
from memory.redis.link import Patience
from memory.row.profile import ProfileLine
from memory.state import Entity, MemoryTurn, MemoryVersion, Rejection
from memory.view.listed import NumberedLine
from memory.view.view import MemoryView, Rooms

__all__ = [
    "USER",
    "Entity",
    "FoldReport",
    "Memory",
    "MemoryTurn",
    "MemoryVersion",
    "MemoryView",
    "NumberedLine",
    "Patience",
    "ProfileLine",
    "Rejection",
    "Rooms",
]
