"""Documents: load, split, embed, index, search, and the loop that answers from them (copilot-rag.md §4, design §7)."""

from retrieval.change import Added, Progress
from retrieval.document import DocType, Document, Filters, Hit, Passage, Section, Status
from retrieval.library import Library

__all__ = [
    "Added",
    "DocType",
    "Document",
    "Filters",
    "Hit",
    "Library",
    "Passage",
    "Progress",
    "Section",
    "Status",
]
