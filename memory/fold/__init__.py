"""M_i = fold(M_{i-1}, new turns): the new memory and its entities (specification 6.4, specification 6.5).

This folder knows neither Redis nor the database. The profile of the utility
model decides what folds: the model (``by_model``) or code (``extracted``). Results of tools never enter a memory; the
turns that the caller passes do not contain the memory that was recalled for the model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from memory.fold import by_model, extracted
from memory.fold.fold_input import FoldInput
from memory.fold.folded import MOST_SENTENCES, Folded, cost, together
from model.modelset import ModelSet

__all__ = ["MOST_SENTENCES", "Folded", "by_model", "cost", "extracted", "make", "together", "word_for_word"]

word_for_word = extracted.make


def make(
    source: FoldInput,
    models: ModelSet,
    room: int,
    stop: threading.Event | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> Folded:
    """Returns the next memory, of at most 20 sentences and about ``room`` tokens, with its entities.

    ``step`` is called with the name of every finished step (tests stop there). A fold by a model raises
    ``FoldRejected`` when its text must not replace the memory, ``Stopped``, and the model's own errors.
    """
    if models.side.folds == "extracted":
        return extracted.make(source, models.count, room)
    return by_model.make(source, models, room, stop, step)
