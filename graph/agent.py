"""The agent of one process: opens the stores, runs turns, closes cleanly. What doors and the app hold."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from graph import confirm, memory, revise, trash, turn
from graph.background import Background
from graph.engine import Engine
from graph.event import Event
from graph.play import play
from graph.summary import Writer
from graph.system import prefixes
from graph.tool.ask import Ask
from graph.wiring import build
from memory import FoldReport, Memory
from model import token
from model.modelset import ModelSet
from retrieval.library import Library
from settings import Settings
from store import Store, Summary, portable
from store.checkpoint import open_checkpoints
from store.lock import session_lock
from store.portable import Imported


class Agent(Engine):
    """An ``Engine`` with the turns as methods."""

    def using(self, models: ModelSet | None, budgets: Mapping[str, int] | None = None) -> Agent:
        """The same agent with other models and budgets, such as those that one browser session chose; None: its own.

        Turns, and the side work that they start, run with these models.
        """
        told = self if budgets is None else replace(self, budgets=budgets)
        return told if models is None else replace(told, models=lambda: models, yields=lambda: models.alone)

    def run(self, session_id: str, text: str, *, stop: threading.Event | None = None) -> Iterator[Event]:
        """One turn (``graph.turn.run``)."""
        return play(lambda halt, emit: turn.run(self, session_id, text, halt, emit), stop)

    def retry(self, session_id: str, *, stop: threading.Event | None = None) -> Iterator[Event]:
        """The last turn again (``graph.turn.retry``)."""
        return play(lambda halt, emit: turn.retry(self, session_id, halt, emit), stop)

    def again(
        self, session_id: str, number: int, text: str | None = None, *, stop: threading.Event | None = None
    ) -> Iterator[Event]:
        """Another version of a turn, with the same question or another (``graph.turn.again``)."""
        return play(lambda halt, emit: turn.again(self, session_id, number, text, halt, emit), stop)

    def switch(self, session_id: str, number: int, branch: int) -> None:
        """Follows another version of a turn (``store.tree``); raises ``SessionBusy`` while the session answers."""
        with self.lock.hold(session_id):
            self.store.tree.switch(session_id, number, branch)

    def fork(self, session_id: str, last_turn: int) -> str:
        """A new session with the turns up to ``last_turn``, and a memory of its own; returns its id."""
        made = self.store.tree.copy(session_id, last_turn)
        if self.memory is not None and self.memory.fork(self.tenant, session_id, made, user=self.user):
            memory.follow(self, made, last_turn)
        return made

    def remake_summary(
        self,
        session_id: str,
        first_turn: int,
        rate: float,
        *,
        stop: threading.Event | None = None,
        writer: Writer | None = None,
    ) -> Summary:
        """A chunk summary once more, at another rate or by another writer (``graph.revise.remake``)."""
        return revise.remake(self, session_id, first_turn, rate, stop, writer)

    def rewrite_memory(self, session_id: str, *, stop: threading.Event | None = None) -> FoldReport:
        """The long-term memory of a session once more, in the model's words; a version of its own.

        Raises ``Stopped`` when ``stop`` was set, and the model's own errors. Without memory nothing is done.
        """
        if self.memory is None:
            return FoldReport("nothing")
        language = self.store.session(session_id).language
        return self.memory.rewrite(
            self.tenant, session_id, models=self.models(), language=language, user=self.user, stop=stop
        )

    def edit_summary(self, session_id: str, first_turn: int, text: str) -> Summary:
        """A chunk summary in the user's words (``graph.revise.edit``)."""
        return revise.edit(self, session_id, first_turn, text)

    def choose_summary(self, session_id: str, first_turn: int, version: int) -> None:
        """Back to an earlier version of a chunk summary (``graph.revise.choose``)."""
        revise.choose(self, session_id, first_turn, version)

    def summary_versions(self, session_id: str, first_turn: int) -> list[Summary]:
        """Every version of a chunk summary (``graph.revise.versions``)."""
        return revise.versions(self, session_id, first_turn)

    def confirm(
        self,
        session_id: str,
        number: int,
        call: str,
        yes: bool,
        *,
        branch: int | None = None,
        lines: Sequence[str] | None = None,
    ) -> Ask:
        """The user's answer to a question of a turn about memory (``graph.confirm.confirm``)."""
        return confirm.confirm(self, session_id, number, call, yes, branch=branch, lines=lines)

    def reconcile(self, session_id: str) -> bool:
        """On opening a session (``graph.turn.reconcile``); False while it is answering."""
        return turn.reconcile(self, session_id)

    def export_session(self, session_id: str, branches: bool = True) -> str:
        """The session as JSON (``store.portable``)."""
        return portable.export(self.store, session_id, branches)

    def import_sessions(self, data: bytes) -> Imported:
        """Sessions from a file of Gieok's or ChatGPT's, all or none (``store.portable.read``)."""
        return portable.import_(self.store, data, self.settings.import_limit, token.estimate)

    def delete_session(self, session_id: str) -> None:
        """Removes the session everywhere, with what it left in long-term memory.

        Raises ``SessionBusy`` while it answers.
        """
        with self.lock.hold(session_id):
            self.checkpoints.saver.delete_thread(session_id)
            self.store.delete_session(session_id)
        if self.memory is not None:
            self.memory.erase(self.tenant, session_id)

    def close(self) -> None:
        """Stops side work and closes the stores."""
        if self.library is not None:
            self.library.close()
        self.background.close()
        if self.memory is not None:
            self.memory.close()
        self.checkpoints.close()
        self.store.close()


def open_agent(settings: Settings, models: Callable[[], ModelSet] | None = None) -> Agent:
    """Opens everything that is on disk; models are resolved on first use, once.

    ``models`` replaces the resolution (tests, benches). Raises ``OperatorError``.
    """
    resolve = _Once(models or _resolver(settings))
    store = Store(settings.database)
    checkpoints = open_checkpoints(settings.database_url, settings.data_dir)
    agent = Agent(
        settings=settings,
        store=store,
        checkpoints=checkpoints,
        lock=session_lock(store.engine, settings.data_dir),
        graph=build(checkpoints.saver),
        models=resolve,
        background=Background(yields=lambda: resolve.known is not None and resolve.known.alone),
        memory=Memory.open(settings, store) if settings.memory else None,
        tenant=settings.tenant,
        library=_library(settings, store),
    )
    trash.plan(agent, agent.delete_session)
    memory.begin(agent)
    return agent


def _library(settings: Settings, store: Store) -> Library | None:
    """The documents. Their index is opened at the first search."""
    return Library.open(settings, store) if settings.retrieval else None


def _resolver(settings: Settings) -> Callable[[], ModelSet]:
    def resolve() -> ModelSet:
        from model.resolve import models

        return models(settings, prefixes=prefixes(settings.language))

    return resolve


class _Once:
    """Resolves the models once; a failure is not remembered."""

    def __init__(self, resolve: Callable[[], ModelSet]) -> None:
        self._resolve = resolve
        self._lock = threading.Lock()
        self.known: ModelSet | None = None

    def __call__(self) -> ModelSet:
        with self._lock:
            if self.known is None:
                self.known = self._resolve()
            return self.known
