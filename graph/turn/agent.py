"""The agent of one process, which the doors and the app use: opens the stores, runs turns, closes the stores."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import Protocol, Self

import private
from errors import GieokError, SessionBusy
from graph.context.prompt import raw_tokens
from graph.context.system_prompt import build_bare_prefixes
from graph.context.turns import CHUNK
from graph.summary import Writer, backlog, by_hand, revise
from graph.tool.question.ask import Ask
from graph.turn import run
from graph.turn.event import Ended, Event
from graph.turn.memory import confirm, long_term
from graph.turn.process.engine import TurnEngine
from graph.turn.process.side_work import Background
from graph.turn.process.stop_watch import StopWatch
from graph.turn.request import Kind, Request
from graph.turn.session import answer_edit, repair, side_question, trash, turn_removal
from graph.turn.threaded import play_turn_events
from graph.wiring import compile_chat_graph
from host import McpHost, Servers
from memory import FoldReport, Memory
from memory.row import apart
from model.call import token
from model.choice import kept
from model.file_lock import translate_disk_errors
from model.modelset import ModelSet
from retrieval.change import Added, AddingProgress, Upload, build_upload_source
from retrieval.library import Library
from settings import Settings
from store import Store, SummaryRow
from store.database.checkpoint import checkpoints_in_memory, open_checkpoints
from store.database.engine import IN_MEMORY
from store.export import portable
from store.export.portable import ImportedSessions
from store.export.preview import ImportPreview, preview_conversations
from store.lock import ProcessLock, session_lock
from store.turn.attachment import NEXT
from store.turn.question import UserAnswer
from world.engine import WorldEngine as Worlds
from world.file.file import WorldFiles

log = logging.getLogger(__name__)

_IMPORT_COUNT = partial(raw_tokens, count=token.estimate_tokens)
"""Counts the tokens of imported turns."""


class Agent(TurnEngine):
    """An ``TurnEngine`` with methods that run turns and change conversations."""

    def of(self, user: str) -> Self:
        """Returns the same agent for a user: another user's sessions, folders and memory do not exist for it."""
        return replace(self, store=self.store.of(user), user=user)

    def using(self, models: ModelSet | None, budgets: Mapping[str, int] | None = None) -> Self:
        """Returns the same agent with other models and budgets, such as those of one page; None keeps its own.

        Turns, and the side work that turns start, run with these models.
        """
        agent = self if budgets is None else replace(self, budgets=budgets)
        return agent if models is None else replace(agent, models=lambda: models, yields=lambda: models.alone)

    def open_worlds(self) -> Worlds:
        """Returns what plays the stories of this user; the first call opens it."""
        assert self.worlds is not None
        return self.worlds().using(self.store, self.models)

    def turn(self, request: Request, stop: threading.Event, emit: Callable[[Event], None]) -> Ended:
        """Runs a turn in the caller's thread (``graph.turn.run.run_turn``)."""
        return run.run_turn(self, request, stop, emit)

    def run(
        self, session_id: str, text: str, *, stop: threading.Event | None = None, asks: bool = True
    ) -> Iterator[Event]:
        """Runs a new turn in a thread of its own and yields the turn's events. ``asks``: whether there is a user who
        can be asked meanwhile."""
        return play_turn_events(partial(run.run_turn, self, Request(session_id, "new", text, asks=asks)), stop)

    def retry(self, session_id: str, *, stop: threading.Event | None = None) -> Iterator[Event]:
        """Runs the last turn again and yields its events."""
        return play_turn_events(partial(run.run_turn, self, Request(session_id, "retry", asks=True)), stop)

    def again(
        self, session_id: str, number: int, text: str | None = None, *, stop: threading.Event | None = None
    ) -> Iterator[Event]:
        """Runs another version of a turn, with the same question or ``text`` in its place, and yields the events."""
        kind: Kind = "again" if text is None else "edited"
        return play_turn_events(
            partial(run.run_turn, self, Request(session_id, kind, text or "", number, asks=True)), stop
        )

    def resume(
        self, session_id: str, answers: Mapping[str, UserAnswer], *, stop: threading.Event | None = None
    ) -> Iterator[Event]:
        """Goes on with the turn that waits for the user, and yields its events. ``answers``: by the ids of the
        questions; a missing one counts as no. Raises ``NothingToAnswer`` when no turn waits."""
        return play_turn_events(
            partial(run.run_turn, self, Request(session_id, "resume", answers=answers, asks=True)), stop
        )

    def stop(self, session_id: str) -> None:
        """Asks for the end of the session's running turn, which any process may run: it ends within about a second. A
        turn that waits for the user ends at once.

        Raises ``SessionUnknown``.
        """
        self.store.stops.ask(session_id)
        with suppress(SessionBusy):
            run.end_user_wait(self, session_id)

    def switch(self, session_id: str, number: int, branch: int) -> None:
        """Switches to another version of a turn (``graph.turn.session.turn_removal.switch_version``)."""
        turn_removal.switch_version(self, session_id, number, branch)

    def take_back(self, session_id: str, number: int, branch: int | None = None) -> None:
        """Takes a turn and all that follow it out of the conversation; they stay as another version (``store.tree``).
        ``branch``: of the turn that the user saw; None: whichever the path has.

        Raises ``TurnUnknown``, also for one that has left the path, and ``SessionBusy`` while the session answers.
        """
        with self.hold(session_id) as session:
            answer_edit.load_turn_on_path(self, session_id, number, branch)
            repair.settle_last_turn(self, session, self.store.status(session))
            self.store.tree.cut(session_id, number)

    def remove_turn(self, session_id: str, number: int, branch: int | None = None) -> int:
        """Takes one turn out of the conversation and keeps what came after it
        (``graph.turn.session.turn_removal.remove_turn``)."""
        return turn_removal.remove_turn(self, session_id, number, branch)

    def replace_answer(self, session_id: str, number: int, answer: str, branch: int | None = None) -> None:
        """Puts the user's own words in place of an answer (``graph.turn.session.answer_edit.replace_answer``)."""
        answer_edit.replace_answer(self, session_id, number, answer, branch)

    def keep_side_answer(self, session_id: str, side_answer: side_question.SideAnswer) -> None:
        """Makes a side question and its answer a turn (``graph.turn.session.side_question.keep_side_answer``)."""
        side_question.keep_side_answer(self, session_id, side_answer)

    def fork(self, session_id: str, last_turn: int) -> str:
        """Copies the turns up to ``last_turn`` into a new session with a memory of its own; returns its id.

        Raises ``SessionUnknown``, ``TurnUnknown``.
        """
        copy_id = self.store.tree.copy(session_id, last_turn)
        made = self.store.session(copy_id)
        if made.world and not made.remembers:
            return copy_id
        if self.memory is not None:
            self.memory.writer.copy_session(self.tenant, session_id, copy_id, user=self.user)
        else:
            apart.keep_copy_apart(self.store, self.tenant, session_id, copy_id, self.user)
        return copy_id

    def remake_summary(
        self,
        session_id: str,
        first_turn: int,
        rate: float,
        *,
        stop: threading.Event | None = None,
        writer: Writer | None = None,
    ) -> SummaryRow:
        """Makes a chunk summary once more, at another rate or by another writer
        (``graph.summary.revise.remake_chunk_summary``)."""
        return revise.remake_chunk_summary(self, session_id, first_turn, rate, stop, writer)

    def rewrite_memory(self, session_id: str, *, stop: threading.Event | None = None) -> FoldReport:
        """Lets the model write the long-term memory of a session anew, as a version of its own.

        Raises ``Stopped`` when ``stop`` was set, ``SessionUnknown``, and the model's own errors. Does nothing without
        memory.
        """
        language = self.store.session(session_id).language
        if self.memory is None:
            return FoldReport("nothing")
        return self.memory.folds.run(
            self.tenant, session_id, models=self.models(), language=language, stop=stop, anew=True
        )

    def edit_summary(self, session_id: str, first_turn: int, text: str) -> SummaryRow:
        """Replaces a chunk summary by the user's own words (``graph.summary.revise.edit_chunk_summary``)."""
        return revise.edit_chunk_summary(self, session_id, first_turn, text)

    def choose_summary(self, session_id: str, first_turn: int, version: int) -> None:
        """Goes back to an earlier version of a chunk summary (``graph.summary.revise.choose_summary_version``)."""
        revise.choose_summary_version(self, session_id, first_turn, version)

    def summary_versions(self, session_id: str, first_turn: int) -> list[SummaryRow]:
        """Returns every version of a chunk summary (``graph.summary.revise.list_summary_versions``)."""
        return revise.list_summary_versions(self, session_id, first_turn)

    def draft_summaries(
        self, session_id: str, hint: str = "", *, stop: threading.Event | None = None
    ) -> list[by_hand.SummaryDraft]:
        """Writes summaries of all turns that have none yet, and stores nothing (``graph.summary.by_hand``)."""
        return by_hand.write_drafts(self, session_id, hint, stop)

    def use_drafts(self, session_id: str, drafts: Sequence[by_hand.SummaryDraft], hint: str = "") -> bool:
        """Puts such summaries into the context (``graph.summary.by_hand.use_drafts``)."""
        return by_hand.use_drafts(self, session_id, drafts, hint)

    def pin_turn(self, session_id: str, number: int, pinned: bool) -> None:
        """Has every prompt from the next one on hold a turn word for word, or no more. Raises ``TurnUnknown``, and
        ``SessionBusy`` while the session answers."""
        with self.hold(session_id):
            self.store.pin_turn(session_id, number, pinned)

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
        """Carries out the user's answer to a turn's question about memory
        (``graph.turn.memory.confirm.confirm_memory_question``)."""
        return confirm.confirm_memory_question(self, session_id, number, call, yes, branch=branch, lines=lines)

    def reconcile(self, session_id: str) -> bool:
        """Completes the last turn of a session that the user opens (``graph.turn.run.reconcile_session``). Returns
        False while the session is answering."""
        return run.reconcile_session(self, session_id)

    def export_session(self, session_id: str, branches: bool = True) -> str:
        """Returns the session as JSON; without ``branches`` only the turns of its path (``store.export.portable``)."""
        return portable.render_session_json(self.store, session_id, branches)

    def preview_import(self, data: bytes) -> ImportPreview:
        """Returns what the sessions of a file would bring. Raises as ``import_sessions`` does; stores nothing."""
        return preview_conversations(portable.read_conversations(data, portable.LIMIT, _IMPORT_COUNT), CHUNK)

    def import_sessions(self, data: bytes) -> ImportedSessions:
        """Imports the sessions of a file (``store.export.portable.read_conversations``), and extracts their
        summaries."""
        imported = portable.import_conversations(self.store, data, portable.LIMIT, _IMPORT_COUNT)
        told = [session_id for session_id in imported.sessions if not self.store.session(session_id).world]
        if self.memory is not None:  # so that the user's other conversations find what was said in them
            for session_id in told:
                self.memory.writer.open_session(self.tenant, session_id, user=self.user)
        backlog.fill_imported(self, told)
        return imported

    def put_away(self, session_id: str, forget: bool = True) -> None:
        """Takes a session off the list; ``restore`` brings it back. ``forget``: what it told leaves the profile."""
        self._put_away(session_id, True, forget)

    def restore(self, session_id: str) -> None:
        """Brings back a session that was put away, and what left the profile with it."""
        self._put_away(session_id, False, None)

    def _put_away(self, session_id: str, away: bool, forget: bool | None) -> None:
        session = self.store.session(session_id)  # memory is asked only about a session of this user
        if self.memory is None or session.world:
            self.store.put_away(session_id, away)
            return
        beside = self.memory.writer.note_deletion(self.tenant, session_id, forget, user=self.user)
        self.store.put_away(session_id, away, beside)

    def delete_session(self, session_id: str) -> None:
        """Removes the session and its memory everywhere, of a story also the files that were written of it. What it
        told leaves the profile, too, unless the user chose to keep it when putting the session away.

        Raises ``SessionUnknown``, and ``SessionBusy`` while the session answers.
        """
        session = self.store.session(session_id)  # memory is asked only about a session of this user
        with self.hold(session_id):
            self.checkpoints.saver.delete_thread(session_id)
            self.store.delete_session(session_id)
        if self.memory is not None:
            self.memory.eraser.erase_session(self.tenant, session_id, user=self.user)
        self.tidy_files()
        if session.world:  # last: where the disk refuses, all the rest is done
            folder = self.settings.data_dir / "world"
            with translate_disk_errors(folder):
                WorldFiles(folder).remove_all(session.world, session_id)

    def attach(self, session_id: str, uploads: Iterable[Upload], message: int = NEXT) -> None:
        """Registers files with a conversation before they are read. ``message``: the waiting message they go with."""
        files = [build_upload_source(name, data, "session") for name, data in uploads]
        self.store.attachments.add(session_id, [(file.name, file.key) for file in files], message)

    def read_attached(
        self,
        uploads: Sequence[Upload],
        *,
        progress: Callable[[AddingProgress], None] = lambda _: None,
        stop: threading.Event | None = None,
    ) -> Added:
        """Reads attached files into the library (``Library.add``) and removes the files that they replace.

        Does nothing without a library.
        """
        if self.library is None:
            return Added()
        added = self.library.add(uploads, collection="session", progress=progress, stop=stop)
        self.tidy_files()
        return added

    def detach(self, session_id: str, name: str) -> None:
        """Removes a file from a conversation."""
        self.store.images.detach(session_id, name)
        self.tidy_files()

    def remove_old(self, session_id: str) -> None:
        """Removes a session of any user for good (``graph.turn.session.trash``), as ``delete_session`` does for its
        owner."""
        self.of(self.store.everyone.session(session_id).owner).delete_session(session_id)

    def tidy_files(self) -> None:
        """Removes the files that no conversation uses any more; after a failure the next start tries again."""
        try:
            if self.library is not None:
                self.library.sweep()
        except GieokError as error:
            log.warning("files without a conversation stay for now: %s", error.code)

    def close(self) -> None:
        """Stops side work and closes the stores."""
        if isinstance(self.worlds, OpenOnce):
            self.worlds.close()
        if self.host is not None:
            self.host.close()
        if self.library is not None:
            self.library.close()
        self.background.close()
        if self.memory is not None:
            self.memory.close()
        self.checkpoints.close()
        self.store.close()


class PrivateAgent(Agent):
    """An agent that leaves nothing behind: its record exists only in the memory of this process, and it has no
    long-term memory. Chunk summaries and documents work as in every other chat."""

    def close(self) -> None:
        """Stops side work and closes the stores, which deletes the whole conversation."""
        self.background.close()
        self.checkpoints.close()
        self.store.close()


def private_agent(agent: Agent) -> PrivateAgent:
    """Returns a private agent with the models and the documents of another agent."""
    store, checkpoints = Store(IN_MEMORY), checkpoints_in_memory()
    shared = {field.name: getattr(agent, field.name) for field in fields(agent)}
    overrides = {
        "settings": agent.settings.model_copy(update={"titles": False, "memory": False}),
        "store": store,
        "checkpoints": checkpoints,
        "lock": ProcessLock(),
        "graph": compile_chat_graph(checkpoints.saver),
        "background": Background(agent.background.yields),
        "stop_watch": StopWatch(store),
        "memory": None,
        "worlds": None,
    }
    return PrivateAgent(**{**shared, **overrides})


class Resolver(Protocol):
    """A function that returns the models in use, which may change. ``ready_models``: those that are ready by now, if
    any."""

    @property
    def ready_models(self) -> ModelSet | None: ...

    def __call__(self) -> ModelSet: ...


def open_agent(
    settings: Settings, models: Callable[[], ModelSet] | None = None, in_use: Resolver | None = None
) -> Agent:
    """Opens the stores, the memory and the library; resolves the models once, on first use.

    ``resolve_models`` replaces the resolution (tests, benches). ``in_use`` is called every time instead, for a program
    whose models change while it runs. Raises ``OperatorError``.
    """
    resolve = in_use or _Once(models or _build_model_resolver(settings))
    private.restrict_to_owner(settings.data_dir)
    store = Store(settings.database)
    checkpoints = open_checkpoints(settings.database_url, settings.data_dir)
    agent = Agent(
        settings=settings,
        store=store,
        checkpoints=checkpoints,
        lock=session_lock(store.engine, settings.data_dir),
        graph=compile_chat_graph(checkpoints.saver),
        models=resolve,
        background=Background(yields=lambda: (known := resolve.ready_models) is not None and known.alone),
        stop_watch=StopWatch(store),
        memory=Memory.open(settings, store) if settings.memory else None,
        tenant=settings.tenant,
        library=_open_library(settings, store),
        host=McpHost(Servers(settings.data_dir / "mcp.json"), settings.mcp_connect_seconds, settings.mcp_call_seconds),
    )
    agent = replace(agent, worlds=OpenOnce(agent))
    trash.plan_trash_removal(agent, agent.remove_old)
    if agent.library is not None and agent.library.has_orphans:  # its conversation was erased just before a crash
        agent.background.submit("files", lambda stop: agent.tidy_files())
    long_term.submit_due_folds(agent)
    return agent


def _open_library(settings: Settings, store: Store) -> Library | None:
    """Opens the library, if the settings want one. The first search opens the index of the documents."""
    return Library.open(settings, store) if settings.retrieval else None


def _build_model_resolver(settings: Settings) -> Callable[[], ModelSet]:
    def resolve() -> ModelSet:
        from model.choice.resolve import resolve_models

        return resolve_models(kept.apply_stored_choice(settings), prefixes=build_bare_prefixes(settings.language))

    return resolve


class OpenOnce:
    """Opens the engine of story worlds on first use, which works off the turns that an earlier process left."""

    def __init__(self, agent: Agent) -> None:
        self._agent, self._lock = agent, threading.Lock()
        self._opened: Worlds | None = None

    def __call__(self) -> Worlds:
        with self._lock:
            if self._opened is None:
                self._opened = Worlds.open(self._agent.settings, self._agent.store, self._agent.models)
            return self._opened

    def close(self) -> None:
        """Ends the work behind stories, where there is some."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None


class _Once:
    """A ``Resolver`` that resolves the models once; it does not remember a failure."""

    def __init__(self, resolve: Callable[[], ModelSet]) -> None:
        self._resolve = resolve
        self._lock = threading.Lock()
        self.ready_models: ModelSet | None = None

    def __call__(self) -> ModelSet:
        with self._lock:
            if self.ready_models is None:
                self.ready_models = self._resolve()
            return self.ready_models
