"""Documents: load, split, embed, index, search, and the loop that answers from them (copilot-rag.md §4, design §7)."""

from retrieval.change import Added, Progress
from retrieval.document import DocType, Document, Filters, Hit, Passage, Section, Status
from retrieval.library import Library
from retrieval.lookup import Cited, Fallback, Link, LookUp, Step
from retrieval.tool import tool

__all__ = [
    "Added",
    "Cited",
    "DocType",
    "Document",
    "Fallback",
    "Filters",
    "Hit",
    "Library",
    "Link",
    "LookUp",
    "Passage",
    "Progress",
    "Section",
    "Status",
    "Step",
    "tool",
]
