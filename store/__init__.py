"""What is kept on disk: sessions, transcript, summary ledger, the checkpointer and the session lock (design §3)."""

from store.record import Finished, Session, Summary, Turn
from store.search import Hit
from store.store import Store

__all__ = ["Finished", "Hit", "Session", "Store", "Summary", "Turn"]
