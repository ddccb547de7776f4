from __future__ import annotations

import copy

from errors import MissingExtra


def test_an_error_can_be_sent_from_one_process_to_another() -> None:
    error = MissingExtra(feature="The comparison", package="chromadb")
    arrived = copy.copy(error)
    assert arrived is not error
    assert (type(arrived), arrived.values, str(arrived)) == (MissingExtra, error.values, str(error))
