"""Storage on disk: sessions, transcript, summary ledger, the checkpointer and the session lock (design 3)."""

from store.record import Finished, Folder, GivenTurn, Session, Summary, Turn
from store.search import TextHit
from store.store import Store

__all__ = ["Finished", "Folder", "GivenTurn", "Session", "Store", "Summary", "TextHit", "Turn"]
