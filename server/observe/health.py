"""Whether what an answer needs can be reached: the store, Redis, the model."""

from __future__ import annotations

import threading
import time

from errors import GieokError
from graph.turn.agent import Agent
from model.choice.probe import ListingRefusal, list_server_models

SECONDS = 2.0
"""How long the model's server may take to answer."""
KEPT_SECONDS = 10.0
"""How long a look at the model's server counts, however often somebody asks."""


class Health:
    """The state of the parts of one process."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._lock = threading.Lock()
        self._model, self._looked = "", 0.0

    def parts(self) -> dict[str, str]:
        """Returns each part with «ok», «off», «away», or the code of its error. For a thread: it waits for them."""
        return {"store": self._store(), "redis": self._redis(), "model": self._of_model()}

    def _store(self) -> str:
        try:
            self._agent.store.last_used()
        except GieokError as error:
            return error.code
        return "ok"

    def _redis(self) -> str:
        memory = self._agent.memory
        return "off" if memory is None else "away" if memory.away else "ok"

    def _of_model(self) -> str:
        with self._lock:
            if not self._model or time.monotonic() - self._looked > KEPT_SECONDS:
                self._model, self._looked = self._look(), time.monotonic()
            return self._model

    def _look(self) -> str:
        try:
            models = self._agent.models()
        except GieokError as error:
            return error.code
        if not models.url:
            return "ok"
        try:
            list_server_models(models.url, "", SECONDS)
        except ListingRefusal as error:
            return "ok" if error.status is not None else "model_unreachable"
        return "ok"
