"""One task while its turn runs: what the turn's events mean for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any, assert_never

from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.types import Artifact, Part, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent
from google.protobuf.json_format import MessageToDict

from door.a2a.message.form import (
    ENTRY,
    STATES,
    WAITING,
    answer_of,
    answer_piece,
    build_agent_message,
    build_proto_struct,
    build_task_status,
    data_part,
    file_part,
    read_gieok_entry,
    state_of,
    text_part,
)
from door.a2a.message.form import REPORT as REPORT_ID
from door.a2a.message.part import build_turn_text
from door.a2a.task import question
from door.a2a.task.story import NODE, build_story_work
from door.a2a.task.task import WORLD
from errors import GieokError, NothingToAnswer
from graph.context.report import ContextReport
from graph.turn.agent import Agent
from graph.turn.event import Done, Ended, Event, Failed, Step, Token, ToolStarted, TurnQuestions
from graph.turn.request import Request
from server import refusal
from server.phrase import Language, resolve_language
from server.refusal import Refusal
from server.request.report import AnswerReport
from server.request.running import BegunRequest, Emit, Item, Work
from server.status import REJECTED, status_of
from settings import Settings
from store import Session, TurnRow
from store.turn.question import UserAnswer
from text.language import detect_language
from world.engine import WorldEngine

EXPORTS = ("session",)
"""What ``metadata`` may ask for under ``export``: the session as a file of Gieok's own form."""
KEPT = ("session", "turn", "early", "metadata", WORLD, NODE)
"""What a task keeps of our entry in its metadata, from message to message."""
Answers = Mapping[str, UserAnswer]


class RunningTask:
    """A task whose turn runs; it makes the task's events."""

    def __init__(self, context: RequestContext, queue: EventQueue, settings: Settings, worlds: WorldEngine) -> None:
        self.id, self.context_id = context.task_id or "", context.context_id or ""
        self._context, self._queue, self._settings, self._worlds = context, queue, settings, worlds
        task = context.current_task
        entry = read_gieok_entry(task.metadata) if task is not None else {}
        self._entry: dict[str, Any] = {name: entry[name] for name in KEPT if name in entry}
        self._steps: list[dict[str, str]] = list(entry.get("transitions", []))
        self._shown, self._report = "", AnswerReport()
        self._piece = bool(task is not None and answer_of(task))

    @property
    def agent(self) -> Agent:
        """Returns the agent as the caller."""
        agent: Agent = self._context.call_context.state["agent"]
        return agent

    @property
    def place(self) -> tuple[str, str]:
        """Returns whose session the task is for, and its name."""
        return str(self.agent.user), self.context_id

    @property
    def message(self) -> Any:
        return self._context.message

    @property
    def context_report(self) -> ContextReport | None:
        """Returns the report of the turn's last prompt."""
        return self._report.context

    @property
    def language(self) -> Language:
        return resolve_language("auto", self.agent.settings.language)

    @property
    def waits(self) -> bool:
        task = self._context.current_task
        return task is not None and state_of(task) in WAITING

    @property
    def number(self) -> int:
        """Returns the number of the task's turn; 0 before it began."""
        return int(self._entry.get("turn", 0))

    # --- the turn -------------------------------------------------------------------------------

    def turn(self, answers: Answers | None = None) -> Work:
        """Returns the work that runs the turn, or goes on with it by ``answers``."""
        state = self._context.call_context.state
        created = self.context_id if state.get("new_context") == self.context_id else None
        text = (
            build_turn_text(self.message.parts, self._settings.document_limit, self.language) if answers is None else ""
        )
        if answers is None and (world := self._read_option("world")):
            return build_story_work(self._worlds, self.agent, self.context_id, str(world), text)

        def run(stop: threading.Event, emit: Emit) -> Ended:
            row = self.agent.store.tasks.get(self.id)  # None until the SDK has written it, which it does beside us
            if stop.is_set() or (row is not None and row.ended):
                return Done(0, "", stopped=True)
            session = _ensure_context_session(self.agent, self.context_id, text, created)
            if answers is None:
                request, number = Request(session.id, "new", text, asks=True), session.turn_count + 1
            else:
                request, number = Request(session.id, "resume", answers=answers, asks=True), session.turn_count
            return _TaskTurn(session.id, number, emit).run(self.agent, request, stop)

        return run

    # --- its events -----------------------------------------------------------------------------

    async def begin(self) -> None:
        """Tells that the task was taken."""
        self._note(TaskState.TASK_STATE_SUBMITTED)
        if self._context.current_task is not None:
            await self._status(TaskState.TASK_STATE_SUBMITTED)
            return
        now = build_task_status(TaskState.TASK_STATE_SUBMITTED)
        task = Task(id=self.id, context_id=self.context_id, status=now, history=[self.message])
        task.metadata.update(build_proto_struct({ENTRY: self._build_entry()}))
        await self._queue.enqueue_event(task)

    async def hear(self, item: Item, closing: bool) -> bool:
        """Tells what an item of the turn means for the task; returns whether it was the last one."""
        if isinstance(item, Step) and not isinstance(item, ToolStarted):
            self._report.hear(item)
            return False
        match item:
            case BegunRequest(session=world, turn=turn, fit="world"):
                self._entry |= {WORLD: world, "turn": turn}
                await self.tell(TaskState.TASK_STATE_WORKING)
                return False
            case BegunRequest(session=session, turn=turn):
                self._entry |= {"session": session, "turn": turn}
                await self.tell(TaskState.TASK_STATE_WORKING)
                return False
            case ToolStarted(name=name):
                await self._status(TaskState.TASK_STATE_WORKING, tool=name)
                return False
            case Token():  # it goes another way (``say``)
                return False
            case TurnQuestions(questions=questions):
                await self.ask(
                    question.choose_question_state(questions), question.build_question_parts(questions, self.language)
                )
            case Done():
                await self._finish_turn(item, closing)
            case Failed():
                error = refusal.error_of(item)
                rejected = error is not None and status_of(error).task == REJECTED
                await self.fail(refusal.build_turn_refusal(item), rejected, item.retryable)
            case NothingToAnswer():
                await self.settle(None)
            case GieokError():
                await self.fail(refusal.build_error_refusal(item), status_of(item).task == REJECTED, item.retryable)
            case Refusal():
                await self.fail(item, item.http < 500, item.again)
            case _:
                assert_never(item)
        return True

    async def ask(self, state: int, parts: list[Part]) -> None:
        """Tells that the task waits for the other agent."""
        await self.tell(state, build_agent_message(self.id, self.context_id, parts))

    async def settle(self, turn: TurnRow | None) -> None:
        """Ends a task whose turn was answered through another door."""
        if turn is not None and turn.status == "done":
            await self._last(turn.answer or "")
            await self.end(TaskState.TASK_STATE_COMPLETED)
        elif turn is not None and turn.status == "stopped":
            await self.end(TaskState.TASK_STATE_CANCELED)
        else:
            await self.end(TaskState.TASK_STATE_FAILED, NothingToAnswer().text(), code=NothingToAnswer.code)

    async def end(self, state: int, text: str = "", **entry: Any) -> None:
        """Tells the end of the task. ``text``: why, if there is anything to say."""
        self._entry |= entry
        await self.tell(state, build_agent_message(self.id, self.context_id, [text_part(text)]) if text else None)

    async def tell(self, state: int, words: Any = None) -> None:
        """Tells a new state of the task."""
        self._note(state)
        await self._status(state, words)

    async def _status(self, state: int, words: Any = None, **more: Any) -> None:
        await self._queue.enqueue_event(
            TaskStatusUpdateEvent(
                task_id=self.id,
                context_id=self.context_id,
                status=build_task_status(state, words),
                metadata=build_proto_struct({ENTRY: {**self._build_entry(), **more}}),
            )
        )

    def _note(self, state: int) -> None:
        stamp = MessageToDict(build_task_status(state))["timestamp"]
        self._steps.append({"state": STATES[state], "timestamp": stamp})

    def _build_entry(self) -> dict[str, Any]:
        return {**self._entry, "transitions": self._steps}

    async def say(self, text: str) -> None:
        """Tells a piece of the answer."""
        self._shown += text
        await self._artifact(answer_piece(text), append=self._piece)
        self._piece = True

    async def _finish_turn(self, done: Done, closing: bool) -> None:
        if WORLD in self._entry and done.turn:
            self._entry[NODE] = done.turn
        if done.stopped and closing:
            await self.fail(refusal.shutting_down(), False, True)
            return
        if not done.stopped or self._piece:
            rest = done.answer[len(self._shown) :] if done.answer.startswith(self._shown) else ""
            await self._last(rest)
        if done.stopped:
            await self.end(TaskState.TASK_STATE_CANCELED)
            return
        if WORLD in self._entry:
            await self.end(TaskState.TASK_STATE_COMPLETED)
            return
        if self._read_option(REPORT_ID) is True:
            parts = [data_part(self._report.plain(str(self._entry.get("session", "")), done.turn, done))]
            await self._artifact(Artifact(artifact_id=REPORT_ID, name=REPORT_ID, parts=parts), last=True)
        for export in self._exports():
            name, content = f"{self._entry['session']}.json", await asyncio.to_thread(self._export)
            parts = [file_part(name, "application/json", content)]
            await self._artifact(Artifact(artifact_id=export, name=export, parts=parts), last=True)
        await self.end(TaskState.TASK_STATE_COMPLETED)

    async def _last(self, rest: str) -> None:
        await self._artifact(answer_piece(rest), append=self._piece, last=True)
        self._piece = True

    async def fail(self, error: Refusal, rejected: bool, again: bool) -> None:
        """Tells that the task failed, or was rejected. ``again``: whether another try may succeed."""
        if self._shown:
            await self._last("")
        state = TaskState.TASK_STATE_REJECTED if rejected else TaskState.TASK_STATE_FAILED
        await self.end(state, str(error.error["message"]), code=error.code, retryable=again)

    async def _artifact(self, artifact: Artifact, *, append: bool = False, last: bool = False) -> None:
        ends = {"task_id": self.id, "context_id": self.context_id}
        await self._queue.enqueue_event(
            TaskArtifactUpdateEvent(artifact=artifact, append=append, last_chunk=last, **ends)
        )

    def _exports(self) -> list[str]:
        wanted = self._read_option("export")
        return [name for name in EXPORTS if name == wanted or (isinstance(wanted, list) and name in wanted)]

    def _read_option(self, name: str) -> Any:
        """Returns what the metadata of the message, or of the request, asks of us."""
        return read_gieok_entry(self.message.metadata).get(name) or read_gieok_entry(
            build_proto_struct(self._context.metadata)
        ).get(name)

    def _export(self) -> bytes:
        return self.agent.export_session(str(self._entry["session"])).encode("utf-8", "surrogatepass")


class _TaskTurn:
    """A turn that runs in its thread; what was said before a tool call stands apart from the answer."""

    def __init__(self, session: str, number: int, emit: Emit) -> None:
        self._session, self._number, self._emit = session, number, emit
        self._begun, self._shown = False, ""

    def run(self, agent: Agent, request: Request, stop: threading.Event) -> Ended:
        end = agent.turn(request, stop, self._hear)
        self._begin()
        return end

    def _hear(self, event: Event) -> None:
        self._begin()
        if isinstance(event, Token):
            self._shown += event.text
        self._emit(event)
        if isinstance(event, ToolStarted) and self._shown and not self._shown.endswith("\n\n"):
            self._hear(Token("\n\n"))

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._emit(BegunRequest(self._session, self._number))


def _ensure_context_session(agent: Agent, name: str, text: str, created: str | None) -> Session:
    """Returns the session of a context. ``created``: the id of a session for a context that we named ourselves."""
    session = agent.store.find_session(name)
    if session is not None:
        return session
    language = detect_language(text, resolve_language("auto", agent.settings.language))
    alias = "" if created else name
    return agent.store.create_session(language, agent.settings.compression_rate, created, alias=alias)
