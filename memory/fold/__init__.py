"""M_i = fold(M_{i-1}, new turns): the new memory and its entities (specification 6.4, specification 6.5).

Shows ``fold_memory``: the profile of the utility model decides whether the model folds (``by_model``) or code
(``extracted``). Neither results of tools nor memory that was recalled for the model ever enter a memory.
May import ``memory.state``, ``memory.line``, ``model``, ``prompt`` and ``text``; it knows neither Redis nor rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from memory.fold import by_model, extracted
from memory.fold.fold_input import FoldInput
from memory.fold.folded import MOST_SENTENCES, Folded, read_fold_cost, sum_fold_costs
from model.modelset import ModelSet

__all__ = [
    "MOST_SENTENCES",
    "Folded",
    "by_model",
    "extracted",
    "fold_memory",
    "read_fold_cost",
    "sum_fold_costs",
]


def fold_memory(
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
        return extracted.fold_by_code(source, models.count, room)
    return by_model.fold_by_model(source, models, room, stop, step)
