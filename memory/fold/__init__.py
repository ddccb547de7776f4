"""M_i = fold(M_{i-1}, new turns): the new memory and its entities (copilot-rag.md §3.4, §3.5).

Knows neither Redis nor the database. The profile of the utility model says who folds: the model (``by_model``) or code
(``extracted``). What tools said never enters; what the caller recalled for the model is not in the turns it hands over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from memory.fold import by_model, extracted
from memory.fold.folded import MOST_SENTENCES, Folded, cost, together
from memory.source import Source
from model.modelset import ModelSet

__all__ = ["MOST_SENTENCES", "Folded", "by_model", "cost", "extracted", "make", "together", "word_for_word"]

word_for_word = extracted.make


def make(
    source: Source,
    models: ModelSet,
    room: int,
    stop: threading.Event | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> Folded:
    """The next memory, of at most 20 sentences and about ``room`` tokens, and the entities with it.

    ``step`` is told how far it is (tests stop there). By a model, raises ``FoldRejected`` when what it wrote must not
    replace the memory, ``Stopped``, and the model's own errors.
    """
    if models.side.folds == "extracted":
        return extracted.make(source, models.count, room)
    return by_model.make(source, models, room, stop, step)
