"""Storage on disk: sessions, transcript, summary ledger, the checkpointer and the session lock (design 3).

Shows ``Store``, whose parts are the classes of the folders below, and the rows listed here.
May import ``history``, ``text``, ``settings``, ``private`` and ``errors``.
"""

from store.record import Finished, Folder, GivenTurn, Session, SummaryRow, TurnRow
from store.search.text_search import TextHit
from store.store import Store

__all__ = ["Finished", "Folder", "GivenTurn", "Session", "Store", "SummaryRow", "TextHit", "TurnRow"]
