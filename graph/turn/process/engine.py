"""The objects that running turns need, made once per process."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Self, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.types import StateSnapshot

from graph.context.clock import Clock, build_clock_part, read_local_time, set_zone
from graph.context.prompt import Changing
from graph.state import ChatState
from graph.tool import TOOLS
from graph.turn.process.side_work import Background, Work
from graph.turn.process.stop_watch import StopWatch
from graph.wiring import Graph
from host import McpHost
from memory import USER, Memory
from model.modelset import ModelSet
from retrieval.library import Library
from settings import Settings
from store import Session, Store
from store.database.checkpoint import Checkpoints
from store.database.engine import translate_database_errors
from store.lock import SessionLock
from store.session.opening import Opening
from world.engine import WorldEngine as Worlds


@dataclass(frozen=True)
class TurnEngine:
    """The record, the checkpoints, the lock, the graph, the models, the side worker and the stop watch of
    one process.

    ``models`` resolves the models on first use and may take long or raise. ``changing`` returns the parts that stand
    just before the question, at a moment. ``now``: the clock of turns, prompts and tools; a recorded conversation has
    its own. ``yields``: whether side work pauses while a turn with these models runs; None: the side worker decides.
    ``memory`` is None when the settings turn it off; ``tenant`` (the setting) and ``user`` say whose memory it is;
    ``store`` is the same user's. ``apart``: its turns keep their sessions apart from what
    the user's conversations share. ``library`` (the documents) is None when the setting ``retrieval`` is off.
    ``host`` (foreign tools) is None where there are none. ``worlds`` opens what plays stories on first use; None where
    there are none.
    ``budgets``: the user's own settings of prompts (token budgets, switches), by the names of the settings that they
    replace; data that all pages share, such as a session's state, goes by the settings.
    """

    settings: Settings
    store: Store
    checkpoints: Checkpoints
    lock: SessionLock
    graph: Graph
    models: Callable[[], ModelSet]
    background: Background
    stop_watch: StopWatch
    changing: Callable[[Session, datetime], Sequence[Changing]] = build_clock_part
    now: Clock = read_local_time
    tools: Sequence[BaseTool] = TOOLS
    yields: Callable[[], bool] | None = None
    memory: Memory | None = None
    tenant: str = "local"
    user: str = USER
    apart: bool = False
    library: Library | None = None
    host: McpHost | None = None
    worlds: Callable[[], Worlds] | None = None
    budgets: Mapping[str, int] = field(default_factory=dict)

    @property
    def prompting(self) -> Settings:
        """Returns the settings that prompts are made with: the settings with the page's budgets."""
        return self.settings.model_copy(update=self.budgets)

    def in_zone(self, zone: tzinfo | None) -> Self:
        """Returns the same engine with a clock in the reader's zone; None leaves the clock."""
        return self if zone is None else replace(self, now=set_zone(self.now, zone))

    @contextmanager
    def hold(self, session_id: str) -> Iterator[Session]:
        """Holds a session of this user while the block runs; yields it as it is then.

        Raises ``SessionUnknown``, and ``SessionBusy`` while somebody else holds it: only its owner learns that.
        """
        with self.open_turn(session_id) as opening:
            yield opening.session

    @contextmanager
    def open_turn(self, session_id: str) -> Iterator[Opening]:
        """Holds a session as ``hold`` does; yields all that a turn reads of it."""
        self.store.session(session_id)  # an unknown id, or a stranger's, neither leaves a lock nor holds one
        with self.lock.hold(session_id):
            yield self.store.open_turn(session_id)

    def aside(self, key: Hashable, work: Work, lane: str, *, for_all: bool = False) -> None:
        """Puts side work on the list, in place of waiting work with the same key. ``lane``: what the work goes in order
        with, usually its session's id. ``for_all``: the work serves all sessions of the user.

        Sessions do not wait for each other's work, except where one model on this machine serves everything: it has one
        slot, and two calls at once only take the prompt of the other one out of it.
        """
        alone = (self.yields or self.background.yields)()
        self.background.submit(key, work, "" if alone else lane, lane, self.user if for_all else "")

    def snapshot(self, session_id: str) -> StateSnapshot:
        """Returns LangGraph's view of the session: state values and the nodes that are still to run. Raises
        ``SessionUnknown``.
        """
        self.store.session(session_id)
        with translate_database_errors("the checkpoints"):
            return self.graph.get_state(build_graph_config(session_id))

    def state(self, session_id: str) -> ChatState:
        """Returns the session's state; empty before its first turn. Raises ``SessionUnknown``."""
        return self.state_of(self.store.session(session_id))

    def state_of(self, session: Session) -> ChatState:
        """Returns the state of a session that was read from this store."""
        with translate_database_errors("the checkpoints"):
            checkpoint = self.checkpoints.saver.get(build_graph_config(session.id))
        return cast(ChatState, checkpoint["channel_values"] if checkpoint else {})


def build_graph_config(session_id: str) -> RunnableConfig:
    """Returns LangGraph's address of a session."""
    # one node runs at a time, so LangGraph needs one thread for writing
    return {"configurable": {"thread_id": session_id}, "recursion_limit": 100, "max_concurrency": 1}
