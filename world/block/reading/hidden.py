"""Keeps state blocks from the reader while an answer arrives, in every form in which models write them.

A block is: a fenced part whose fence says ``state`` and that says a field; a part in which more than half of the lines
are fields under the names that the instruction gives (``world.block.reading.verdict``); or, at the end of an answer
that has no block in our own fence behind it, a part with fields under names that models give them. All else is the
author's, such as his status window, and shown as soon as it cannot become one of these (``world.block.reading.part``).
"""

from __future__ import annotations

from world.block.reading.part import CLOSING, LONGEST, STILL, AnswerPart, decide_answer_part, line_end

WINDOW = 2 * LONGEST
"""Characters within which a part is decided, so that a long answer takes no square of its length."""


class HiddenBlock:
    """One answer. ``visible_text``: what the reader has seen so far; ``blocks``: the hidden parts, as they came."""

    def __init__(self) -> None:
        self._came: list[str] = []
        self._shown: list[str] = []
        self._rest, self._fresh, self._after, self._open = "", True, False, False
        self._fence, self._line, self._below = "", "", False
        self.blocks: list[str] = []

    @property
    def raw(self) -> str:
        """Returns everything that came."""
        return "".join(self._came)

    @property
    def visible_text(self) -> str:
        return "".join(self._shown)

    def feed(self, text: str) -> str:
        """Takes the next piece of the answer; returns what can be shown now."""
        self._came.append(text)
        self._rest += text
        return self._take(last=False)

    def end(self) -> str:
        """Takes the end of the answer; returns what is left to be shown."""
        return self._take(last=True)

    def _take(self, last: bool) -> str:
        visible, at = list[str](), 0
        while rest := self._rest[at : at + WINDOW]:
            part = self._decide_part(rest, last and at + WINDOW >= len(self._rest))
            if part is None:
                break
            piece, self._fence = rest[: part.size], part.fence
            at += part.size
            if part.hidden:
                self._hide(piece)
            elif piece:
                visible.append(piece)
                self._after = self._open = False
                self._fresh = piece.endswith("\n")
                self._line = (self._line + piece[:-1]).rpartition("\n")[2] + piece[-1]
                if self._fresh:
                    self._below, self._line = bool(self._line.strip()), ""
        self._rest = self._rest[at:]
        text = "".join(visible)
        if text:
            self._shown.append(text)
        return text

    def _decide_part(self, rest: str, last: bool) -> AnswerPart | None:
        """Returns the first part of the rest, or None while more must come."""
        part = line_end(rest, last) if self._open else STILL
        if part is STILL:
            part = decide_answer_part(rest, self._fresh, self._after, last, self._fence, self._below)
        return AnswerPart(len(rest), False) if part is None and len(rest) == WINDOW else part

    def _hide(self, piece: str) -> None:
        if piece.strip() and not (self._after and CLOSING.fullmatch(piece)):
            self.blocks.append(piece)
        self._fresh, self._after, self._open = True, True, not piece.endswith("\n")


def read_whole_answer(raw: str) -> HiddenBlock:
    """Returns a whole answer, read to its end."""
    hidden = HiddenBlock()
    hidden.feed(raw)
    hidden.end()
    return hidden
