"""Role-play through the endpoint: models ``world/<upstream>`` and ``world/<upstream>/<world>``.

The client's request goes to the model's server with the world's texts in it, and the answer comes back without its
state block; everything else passes as it is.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

from starlette.requests import Request

from door.openai.passing import PassedOn, PassingBegun, choose_passed_headers
from door.openai.side_call import is_side_call
from errors import GieokError, ModelBroken, UpstreamError, WorldUnknown
from graph.turn.event import Done, Token, TurnUsage, find_finish_reason
from graph.turn.finish import build_failed_row
from graph.turn.runtime import Notes
from model.raw import Raw, RawAnswer, RawStopped
from server.header import FIT, TURN
from server.refusal import Refusal, build_field_refusal, shutting_down
from server.request.message import ClientMessage
from server.request.running import Emit, Work
from server.stream import format_sse_event
from store.world.record import StoryNode, World
from text.clean import collapse_spaces
from world.engine import Fit, RecognisedRequest, WorldEngine
from world.prompt.placement import list_message_texts
from world.story.told import StoryMessage
from world.turn.reply import DONE, WorldReply, read_object
from world.turn.turn import StoryTurn, StoryTurnEnd, UpstreamRefusal

PREFIX = "world/"
WORLD, LATE = "X-Gieok-World", "X-Gieok-Late"
ENTRY = "gieok_world"
"""The entry of ``metadata`` that names a world."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoryRequest:
    """A request for a story. ``body``: as the client sent it, without our own entry; ``lines``: its messages as the
    engine reads them; ``model``, ``world``: as the client named them, None for no world; ``counted``: whether a stream
    ends with its tokens."""

    body: Json
    lines: list[StoryMessage]
    model: str
    world: str | None
    stream: bool
    counted: bool

    @property
    def aside(self) -> bool:
        """Whether a chat program asks for itself: for a title, a summary."""
        spoken = any(line.role == "user" for line in self.lines)
        return spoken and is_side_call([ClientMessage(line.role, line.text) for line in self.lines])


def is_world(fields: Any) -> bool:
    """Returns whether a request is one for a story."""
    model = fields.get("model") if isinstance(fields, Mapping) else None
    return isinstance(model, str) and model.startswith(PREFIX)


def only_completions(model: str) -> Refusal:
    """Returns the refusal of a story on another route: what passes a request on knows the form of completions alone."""
    return Refusal(
        400,
        f"The model {model!r} tells a story, and stories answer at /v1/chat/completions only, not at /v1/responses.",
        code="unsupported_endpoint",
        param="model",
    )


def read_story_request(fields: Mapping[str, Any], request: Request) -> StoryRequest:
    """Reads a request. Raises ``Refusal`` for what cannot be one."""
    messages = fields.get("messages")
    if not isinstance(messages, list) or not messages:
        raise build_field_refusal("messages", "messages must be a list with at least one message.")
    if fields.get("n") not in (None, 1):
        raise build_field_refusal("n", "n must be 1: an answer is a turn of a story.")
    body, metadata = dict(fields), fields.get("metadata")
    named = None
    if isinstance(metadata, Mapping) and ENTRY in metadata:
        named = str(metadata[ENTRY])
        body["metadata"] = {name: value for name, value in metadata.items() if name != ENTRY}
        if not body["metadata"]:
            del body["metadata"]
    options = fields.get("stream_options")
    counted = isinstance(options, Mapping) and options.get("include_usage") is True
    lines, world = [_read_engine_line(message) for message in messages], _read_world_header(request) or named
    return StoryRequest(body, lines, str(fields["model"]), world, fields.get("stream") is True, counted)


def list_story_models(engine: WorldEngine) -> list[str]:
    """Returns the names under which stories answer: the model's own, and one for each world of the user."""
    name = f"{PREFIX}{engine.models().name}"
    return [name, *(f"{name}/{world.slug}" for world in engine.store.worlds.all())]


def build_roleplay_work(engine: WorldEngine, given: StoryRequest) -> Work:
    """Returns the work that answers a request."""

    def run(stop: threading.Event, emit: Emit) -> Done:
        raw = engine.models().raw
        if raw is None:
            raise _build_model_refusal(given.model)
        upstream, world = _resolve_story_model(engine, given, raw)
        body = {**given.body, "model": upstream}
        return _StoryPassage(given, emit, time.monotonic()).run(engine, raw, body, world, stop)

    return run


class _StoryPassage:
    """A request on its way. ``began``: the moment at which it came."""

    def __init__(self, given: StoryRequest, emit: Emit, began: float) -> None:
        self._given, self._emit, self._began = given, emit, began
        self._first: float | None = None
        self._turn: StoryTurn | None = None
        self._settle: Callable[[], None] = lambda: None

    def run(self, engine: WorldEngine, raw: Raw, body: Json, world: World | None, stop: threading.Event) -> Done:
        try:
            if self._given.aside:
                return self._aside(raw, body, stop)
            begun = engine.begin(self._given.lines, world)
            begun = replace(begun, waits=_mark_first_line(begun, self._given))
            if (known := engine.find_undelivered_turn(begun)) is not None:
                return self._tell(engine, begun, known, upstream=str(body["model"]))
            self._turn = StoryTurn(engine, raw, begun, body, counted=self._given.counted)
            ended = self._run_turn(engine, self._turn, stop)
            if ended.node is not None:
                self._settle = partial(engine.settle_waiting, ended.node, begun)
            return self._build_done(ended, begun.number)
        except UpstreamRefusal as error:
            raise PassedOn(error.status, error.headers, error.content) from error
        except RawStopped as error:  # the client has left, or the server ends
            raise shutting_down() from error

    def _run_turn(self, engine: WorldEngine, turn: StoryTurn, stop: threading.Event) -> StoryTurnEnd:
        """Runs the turn; one that fails is stored as that of a conversation is, and its error is the client's."""
        failure: GieokError | None = None
        try:
            ended = turn.run(stop, self._begin, self._piece)
            failure = ended.failure
        except UpstreamRefusal as error:
            failure = turn.name_refusal(error)
            raise
        except UpstreamError as error:
            failure = error
            raise
        finally:
            if failure is not None:
                seconds = time.monotonic() - self._began
                engine.keep_failed(turn.begun, build_failed_row(failure, Notes(), seconds, turn.reply.visible_text))
        return ended

    def _aside(self, raw: Raw, body: Json, stop: threading.Event) -> Done:
        """Passes a program's own question on, and its answer in the form of any other (``WorldReply``)."""
        reply = WorldReply(self._given.counted, is_turn=False)
        with raw.ask(body, stop) as answer:
            if answer.status >= 300:
                raise UpstreamRefusal(answer.status, answer.headers, answer.whole())
            self._emit(PassingBegun(headers=choose_passed_headers(answer.headers)))
            if self._given.stream:
                for event in answer.events():
                    self._piece(reply.event(event))
                if not (reply.reason or reply.ended or reply.failed or stop.is_set()):
                    raise ModelBroken(url=raw.url, reason="the answer has no end", reason_code="no_end")
                self._piece(reply.end(None))
            else:
                whole = read_object(answer.whole())
                if whole is None and not stop.is_set():
                    raise ModelBroken(url=raw.url, reason="it sent something that is not JSON", reason_code="json")
                self._piece(json.dumps(reply.whole(whole or {}), ensure_ascii=False, separators=(",", ":")))
        return Done(0, "", seconds=time.monotonic() - self._began, first_token_seconds=self._first)

    def _tell(self, engine: WorldEngine, begun: RecognisedRequest, known: StoryNode, upstream: str) -> Done:
        """Tells the answer that the client has missed; nothing runs."""
        world = engine.store.worlds.world(known.world)
        self._settle = partial(engine.settle_waiting, known, begun)
        self._open(world, known.turn, "again", {})
        if self._given.stream:
            self._settle()
        self._piece(render_known_answer(known.answer, upstream, known.created, self._given))
        return Done(known.turn, known.answer, seconds=time.monotonic() - self._began, finish_reason="stop")

    def _begin(self, begun: RecognisedRequest, answer: RawAnswer) -> None:
        assert begun.world is not None
        headers = choose_passed_headers(answer.headers)
        if self._turn is not None and self._turn.late:
            headers[LATE] = str(self._turn.late)
        self._open(begun.world, begun.number, begun.fit, headers)

    def _open(self, world: World, number: int, fit: Fit, headers: Mapping[str, str]) -> None:
        """Says where the answer stands. A stream's turn notes by itself that its end goes out."""
        deliver = None if self._given.stream else lambda: self._settle()
        own = {WORLD: quote(world.slug), TURN: str(number), FIT: fit}
        self._emit(PassingBegun(world.id, number, fit, deliver=deliver, headers={**headers, **own}))

    def _piece(self, text: str) -> None:
        if not text:
            return
        if self._first is None:
            self._first = time.monotonic() - self._began
        self._emit(Token(text))

    def _build_done(self, ended: StoryTurnEnd, number: int) -> Done:
        tokens = ended.tokens
        usage = TurnUsage(
            tokens.prompt, tokens.cached, tokens.answer, 1, tokens.exact, ended.receipt.get("usd"), cut_at=0
        )
        seconds = time.monotonic() - self._began
        answer = ended.node.answer if ended.node is not None else ""
        return Done(number, answer, False, usage, seconds, self._first, find_finish_reason(0, False))


def render_known_answer(text: str, model: str, created: float, given: StoryRequest) -> str:
    """Returns a stored answer in the form that the client asked for; it cost no tokens this time."""
    frame: Json = {"id": f"chatcmpl-{int(created * 1000)}", "created": int(created), "model": model}
    tokens = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), 0)
    choice: Json = {"index": 0, "finish_reason": "stop"}
    if not given.stream:
        message = {"role": "assistant", "content": text}
        whole = {**frame, "object": "chat.completion", "choices": [{**choice, "message": message}], "usage": tokens}
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    frame["object"] = "chat.completion.chunk"
    said = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    events = [{**frame, "choices": [said]}, {**frame, "choices": [{**choice, "delta": {}}]}]
    if given.counted:
        events.append({**frame, "choices": [], "usage": tokens})
    return "".join(map(format_sse_event, events)) + f"data: {DONE}\n\n"


# --- parts of a request -----------------------------------------------------------------------------


def _resolve_story_model(engine: WorldEngine, given: StoryRequest, raw: Raw) -> tuple[str, World | None]:
    """Returns the model's name upstream, and the world that the client named. Raises ``Refusal`` (404)."""
    name, worlds = given.model.removeprefix(PREFIX), engine.store.worlds
    if name in (raw.model, ""):
        upstream, slug = raw.model, None
    elif name.startswith(f"{raw.model}/"):
        upstream, slug = raw.model, name.removeprefix(f"{raw.model}/")
    else:
        upstream, _, slug = name.rpartition("/")
        if not upstream or worlds.by_slug(slug) is None:
            upstream, slug = name, None
        if raw.only:
            raise _build_model_refusal(given.model)
    if slug is not None:
        world = worlds.by_slug(slug)
        if world is None:
            raise _build_model_refusal(given.model)
        return upstream, world
    return upstream, _load_named_world(engine, given.world) if given.world else None


def _load_named_world(engine: WorldEngine, name: str) -> World:
    """Returns the user's world with this short name or id. Raises ``Refusal`` (404)."""
    worlds = engine.store.worlds
    try:
        return worlds.by_slug(name) or worlds.world(name)
    except WorldUnknown as error:
        raise Refusal(
            404, f"There is no world {name!r}.", code="world_unknown", kind="not_found_error", param="world"
        ) from error


def _build_model_refusal(model: str) -> Refusal:
    return Refusal(404, f"There is no model {model!r}.", code="model_not_found", kind="not_found_error", param="model")


def _mark_first_line(begun: RecognisedRequest, given: StoryRequest) -> str:
    """Returns the mark of a request for the first turn of a story: of all that it says and the world that it names;
    empty for a later turn, which the turns before it tell from others."""
    if any(question.strip() for question, _ in begun.told_story.turns):
        return ""
    said = [given.model, given.world, [[line.role, line.text] for line in given.lines]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def _read_engine_line(message: Any) -> StoryMessage:
    """Returns a message as the engine reads it; one in an unknown form is left to the model's server."""
    if not isinstance(message, Mapping):
        return StoryMessage("", "")
    role, calls = message.get("role"), message.get("tool_calls") or message.get("function_call")
    name = message.get("name")
    return StoryMessage(
        role if isinstance(role, str) else "",
        "\n".join(list_message_texts(message)),
        bool(calls),
        collapse_spaces(name) if isinstance(name, str) else "",
    )


def _read_world_header(request: Request) -> str | None:
    """Returns the world that a header names. A header's bytes are read as Latin-1, and clients write UTF-8 or quote."""
    given = request.headers.get(WORLD)
    if not given:
        return None
    try:
        return unquote(given.encode("latin-1").decode("utf-8"))
    except UnicodeError:
        return unquote(given)


__all__ = [
    "ENTRY",
    "LATE",
    "PREFIX",
    "WORLD",
    "StoryRequest",
    "build_roleplay_work",
    "is_world",
    "list_story_models",
    "only_completions",
    "read_story_request",
]
