"""Ends an answer before a stop word that a client named, while the answer streams.

Servers cut at stop words themselves, but not all do, and a stop word may arrive in pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from text.cut import find_overlap


@dataclass
class StopWords:
    """Watches one answer for stop words. ``met``: a stop word came; nothing after it is let through."""

    words: Sequence[str]
    met: bool = False
    _held: str = ""

    def feed(self, text: str) -> str:
        """Takes the next piece of the answer; returns the text that can be shown now. The end of the text is held back
        while it may be the beginning of a stop word."""
        if self.met or not self.words:
            return "" if self.met else text
        text = self._held + text
        places = [at for word in self.words if (at := text.find(word)) >= 0]
        if places:
            self.met, self._held = True, ""
            return text[: min(places)]
        shown = len(text) - max(find_overlap(text, word) for word in self.words)
        self._held = text[shown:]
        return text[:shown]

    def end(self) -> str:
        """Returns the text that was held back and began no stop word after all."""
        held, self._held = self._held, ""
        return held
