"""Documents: load, split, embed, index, search, and the loop that answers from them (specification 7, design 7).

Shows ``library.Library`` and what it returns to the graph, the page and the doors; ``batch`` to the terminal.
May import ``store``, ``model``, ``prompt``, ``text`` and ``settings``.

Names are imported on first use: the process that reads documents (``retrieval.read.child``) needs none of them and
starts five times as fast without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrieval.answer.lookup import Cited, Fallback, LookUp, MenuLink, SearchStep
    from retrieval.change import Added, AddingProgress
    from retrieval.document import DocType, Document, Filters, Hit, LibraryStatus, Passage, Section
    from retrieval.library import Library

__all__ = [
    "Added",
    "AddingProgress",
    "Cited",
    "DocType",
    "Document",
    "Fallback",
    "Filters",
    "Hit",
    "Library",
    "LibraryStatus",
    "LookUp",
    "MenuLink",
    "Passage",
    "SearchStep",
    "Section",
]
_PLACES = {
    "change": ("Added", "AddingProgress"),
    "document": ("DocType", "Document", "Filters", "Hit", "Passage", "Section", "LibraryStatus"),
    "library": ("Library",),
    "answer.lookup": ("Cited", "Fallback", "MenuLink", "LookUp", "SearchStep"),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        for module, names in _PLACES.items():
            if name in names:
                return getattr(import_module(f"retrieval.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
