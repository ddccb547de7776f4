"""The call of the utility model for an answer whose state block nobody can read: tried a few times, then given up."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from langchain_core.messages import AIMessage

from errors import GieokError
from model.modelset import ModelSet
from store.user.usage import SideUsage
from store.world.record import Origin, StoryNode, World
from text.language import Language
from world.block import Fields, extract_turn_fields
from world.block.witness import filter_witnessed_fields
from world.prompt.side_call import note_side_calls, sum_side_calls
from world.story.state import StoryState

log = logging.getLogger("gieok.world")

PAUSES = (2.0, 15.0)
"""After how many seconds a failed call is tried again, the first and the second time."""
AWAY, UNREADABLE, MOST = 1, 2, 3
"""How much a failed call counts, and a reply that cannot be read; at ``MOST`` the turn changes nothing."""
NOT_READ: dict[Language, str] = {
    "ko": "상태 블록도, 따로 물어본 모델의 답도 읽을 수 없었습니다({reason}). 이 턴은 아무것도 바꾸지 않았습니다.",
    "en": "No state block could be read, and a call of the model failed ({reason}). This turn changed nothing.",
}


class Later(Exception):
    """The error of a call that is to be tried again after ``seconds``."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class LightCalls:
    """The calls of one process; counts the failures of each turn."""

    def __init__(self, models: Callable[[], ModelSet], note: Callable[[StoryNode, SideUsage], None]) -> None:
        """``note``: stores what a call took."""
        self._models, self._note = models, note
        self._failures: dict[int, int] = {}

    def ask(
        self, node: StoryNode, world: World, before: StoryState, known: list[Fields], stop: threading.Event
    ) -> tuple[list[Fields], Origin, tuple[str, ...]]:
        """Returns what the utility model read in the answer, and why nothing, if so. ``known``: the blocks of the
        answer; the last one has lost its end, and what is left of it counts more than the model's reading. Raises
        ``Later`` while it may be tried again, and ``Stopped``."""
        reason, weight, calls = "unreadable", UNREADABLE, list[AIMessage]()
        try:
            models = self._models()
            fields = extract_turn_fields(models, node.question, node.answer, before, world.language, stop, calls)
            note_side_calls(self._note, node, sum_side_calls("tracker", calls, models.side_name, models))
        except GieokError as error:
            fields, reason, weight = None, error.code, AWAY
        if fields is not None:
            self._failures.pop(node.id, None)
            refused: tuple[str, ...] = ()
            if models.side.prompt == "bare":
                text = f"{node.question}\n{node.answer}"
                fields, refused = filter_witnessed_fields(fields, text, before, world.language)
            return [*known[:-1], {**fields, **(known[-1] if known else {})}], "light", refused
        failures = self._failures[node.id] = self._failures.get(node.id, 0) + weight
        log.warning("turn %d has no state block, and the light call failed: %s", node.turn, reason)
        if failures < MOST:
            raise Later(PAUSES[failures - 1])
        del self._failures[node.id]
        return known, "block" if any(known) else "none", (NOT_READ[world.language].format(reason=reason),)
