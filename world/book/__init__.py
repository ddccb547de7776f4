"""Lorebooks and character cards of other programs: read from files, and written for them (specification 12.9).

Shows ``read_book``, ``write_book`` and what is listed below; a new format is a file in ``format``.
May import ``world.lore`` for the rules of entries, ``store`` for their records, and ``text``.
"""

from world.book.model import Book, Card, Origin
from world.book.read import read_book
from world.book.write import FORMATS, Format, write_again, write_book

__all__ = ["FORMATS", "Book", "Card", "Format", "Origin", "read_book", "write_again", "write_book"]
