"""What running turns needs, made once per process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.types import StateSnapshot

from graph.background import Background
from graph.clock import clock
from graph.context import Changing
from graph.state import ChatState
from graph.tool import TOOLS
from graph.wiring import Graph
from memory import USER, Memory
from model.modelset import ModelSet
from retrieval.library import Library
from settings import Settings
from store import Session, Store
from store.checkpoint import Checkpoints
from store.database import translated
from store.lock import SessionLock


@dataclass(frozen=True)
class Engine:
    """The record, the checkpoints, the lock, the graph, the models and the side worker of one process.

    ``models`` resolves the models on first use and may take long or raise; ``changing`` gives what is placed just
    before the question. ``yields``: whether side work pauses while a turn with these models runs; None: as the side
    worker has it. ``memory`` is None when the settings turn it off; ``tenant`` (the setting) and ``user`` say whose it
    is; ``library`` (the documents) is None when the setting ``retrieval`` is off. ``budgets``: of the
    prompts of one page, in the place of the settings that they are named by; what all pages share, such as a session's
    state, goes by the settings.
    """

    settings: Settings
    store: Store
    checkpoints: Checkpoints
    lock: SessionLock
    graph: Graph
    models: Callable[[], ModelSet]
    background: Background
    changing: Callable[[Session], Sequence[Changing]] = clock
    tools: Sequence[BaseTool] = TOOLS
    yields: Callable[[], bool] | None = None
    memory: Memory | None = None
    tenant: str = "local"
    user: str = USER
    library: Library | None = None
    budgets: Mapping[str, int] = field(default_factory=dict)

    @property
    def prompting(self) -> Settings:
        """The settings that prompts are made by: with the page's budgets."""
        return self.settings.model_copy(update=self.budgets)

    def snapshot(self, session_id: str) -> StateSnapshot:
        """LangGraph's view of the session: state values and the nodes that are still to run."""
        with translated("the checkpoints"):
            return self.graph.get_state(config(session_id))

    def state(self, session_id: str) -> ChatState:
        """The session's state; empty before its first turn."""
        with translated("the checkpoints"):
            found = self.checkpoints.saver.get(config(session_id))
        return cast(ChatState, found["channel_values"] if found else {})


def config(session_id: str) -> RunnableConfig:
    """LangGraph's address of a session."""
    # one node at a time, so one thread for LangGraph's writing will do
    return {"configurable": {"thread_id": session_id}, "recursion_limit": 100, "max_concurrency": 1}
