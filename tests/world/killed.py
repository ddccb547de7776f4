"""What a process does that works off a story and kills itself at a given place: SIGKILL, so nothing is tidied up."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from tests.world.tale import Tale
from world.extraction import behind


def main(folder: str, place: str, times: int) -> None:
    """Opens an extractor on the data folder and works off what is raw; dies the ``times``-th time it comes to the
    place. Ends only when nothing is left. Every turn that this process worked off stands in the file ``settled``."""
    behind.CARRIED = 0  # the story is short, and its episodes get vectors all the same
    told = Tale(Path(folder), light, open_it=False)
    rows: Any = told.store.everyone.worlds
    hits = 0

    def reached(name: str) -> None:
        nonlocal hits
        hits += name == place
        if hits == times and name == place:
            os.kill(os.getpid(), signal.SIGKILL)

    def settle(node_id: int, *args: Any, **kinds: Any) -> bool:
        reached("before_settle")
        if taken := rows.settle(node_id, *args, **kinds):
            with (Path(folder) / "settled").open("a") as file:
                file.write(f"{node_id}\n")
        reached("after_settle")
        return bool(taken)

    def put_vectors(*args: Any) -> None:
        reached("before_vector")
        rows.put_vectors(*args)

    def call(messages: list[Any]) -> str:
        reached("in_call")
        return light(messages)

    told.models.utility.answers = call  # type: ignore[attr-defined]
    told.open(Wrapped(rows, settle=settle, put_vectors=put_vectors))
    told.idle()
    told.close()


class Wrapped:
    """Rows of worlds with other methods in their place."""

    def __init__(self, rows: Any, **methods: Any) -> None:
        self._rows = rows
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)


def light(messages: list[Any]) -> str:
    """Reads the place of a turn from its answer, as the stand-in of a light call."""
    import re

    text = "\n".join(str(message.text) for message in messages)
    number = re.findall(r"You reach place (\d+)\.", text)[-1]
    return f'{{"location": "place {number}", "location_moved": true, "hp_change": -1}}'
