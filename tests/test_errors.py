from __future__ import annotations

import copy
import json
from pathlib import Path

from errors import BadSetting, EmbeddedFailed, FoldRejected, MissingExtra
from graph.finish import plain_error


def test_an_error_can_be_sent_from_one_process_to_another() -> None:
    error = MissingExtra(feature="The comparison", package="chromadb")
    arrived = copy.copy(error)
    assert arrived is not error
    assert (type(arrived), arrived.values, str(arrived)) == (MissingExtra, error.values, str(error))


def test_an_errors_values_are_plain_data_whatever_was_given() -> None:
    error = EmbeddedFailed(name="m", reason=OSError("gone"), log=Path("/data/m.log"))
    assert json.loads(json.dumps(plain_error(error)))["values"] == {"name": "m", "reason": "gone", "log": "/data/m.log"}
    assert "/data/m.log" in error.text()
    setting = BadSetting(name="data_dir", value=[Path("a"), {1}, (2, None)], reason="no")
    assert setting.values["value"] == ["a", "{1}", [2, None]]
    cost = {"calls": 2, "exact": True, "seconds": 0.5}
    assert FoldRejected(first=1, last=3, reason="r", cost=cost).values["cost"] == cost
