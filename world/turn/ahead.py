"""Lets a model that serves everything read a story's next prompt while the player reads the scene.

The model has one slot, and the light call takes it, so without this the model would read the whole story anew before
the next scene. All of that prompt but what changes and the player's message is known as soon as the scene is there.
A message that comes meanwhile stops the reading and keeps the part that was read (design 9.5).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from errors import GieokError
from model.call.stream import Stopped
from model.modelset import ModelSet
from world.prompt.placement import Placed

log = logging.getLogger("gieok.world")

Messages = list[BaseMessage]
_KINDS: dict[str, type[BaseMessage]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
_ASKED = "."
"""Stands for the player's next message: servers take no prompt that ends with an answer."""


def build_next_beginning(given: Placed, answer: str = "") -> Messages | None:
    """Returns the beginning of the prompt that follows a request and its answer; None where it holds more than texts.

    It ends with a message of the user that says nothing.
    """
    told = [one for at, one in enumerate(given.messages) if at not in (given.ours[1], *given.deep)]
    told += [{"role": "assistant", "content": answer}] if answer else []
    told.append({"role": "user", "content": _ASKED})
    if not all(one.get("role") in _KINDS and isinstance(one.get("content"), str) for one in told):
        return None
    return [_KINDS[one["role"]](one["content"]) for one in told]


def read_next_prompt(models: ModelSet, make: Callable[[], Messages | None] | None, stop: threading.Event) -> None:
    """Has the model read what ``make`` returns. ``stop`` ends it. Nothing depends on it: a failure is only logged."""
    if make is None or models.read is None:
        return
    try:
        if messages := make():
            models.read(messages, stop)
    except Stopped:
        return
    except GieokError as error:
        log.info("the next prompt was not read ahead: %s", error.code)
