"""Lorebooks and character cards of other programs: read from their files, and written for them (specification 12.9)."""

from world.book.model import Book, Card, Origin
from world.book.read import read_book
from world.book.write import FORMATS, Format, write_again, write_book

__all__ = ["FORMATS", "Book", "Card", "Format", "Origin", "read_book", "write_again", "write_book"]
