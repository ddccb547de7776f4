"""The OpenAI-compatible endpoint: any client that lets you change the address of its model gets Gieok's memory.

``create_app`` makes the ASGI application; ``application`` is what uvicorn's workers call. The routes only translate:
the turn is the same as in the page (``door.openai.running``).
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException

from door.host import Host
from door.openai import refusal
from door.openai.access import Access
from door.openai.body import MODEL, Body, chat_body, response_body
from door.openai.form import DONE, Completion, Report, ResponseForm, sse
from door.openai.metric import Metrics
from door.openai.refusal import Refusal, bad
from door.openai.running import Begun, Item, RunningRequest, Turns, response_id
from door.openai.side_call import is_side_call
from door.openai.told import SYSTEM, Message
from errors import GieokError
from graph.turn.agent import Agent, open_agent
from graph.turn.event import Done, Failed, Token, Usage
from model.call.stream import complete, usage
from model.call.token import estimate
from model.modelset import ModelSet
from retrieval.index.embed import built_in
from settings import Settings, current

log = logging.getLogger("gieok.endpoint")

SILENCE = 10.0
"""Seconds without a piece after which a stream sends a comment, so that no proxy takes it for dead."""
LOOK = 0.5
"""Seconds between two looks whether a client that waits for a whole answer is still there."""
SESSION, TURN, FIT, LEFT_OUT = "X-Gieok-Session", "X-Gieok-Turn", "X-Gieok-Fit", "X-Gieok-Left-Out"
EMBEDDED_TEXTS = 2048
"""The most texts of one request for embeddings, as OpenAI has it."""


def application() -> FastAPI:
    """Returns the application on the settings of this machine, for uvicorn."""
    settings = current()
    return create_app(open_agent(settings), settings)


def create_app(agent: Agent, settings: Settings) -> FastAPI:
    """Returns the application on an agent, which it closes at its end."""
    service = Service(agent, settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.get_running_loop().run_in_executor(None, service.warm)
        yield
        await asyncio.get_running_loop().run_in_executor(None, service.close)
        warming.cancel()

    app = FastAPI(title="Gieok", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_api_route("/v1/models", service.models, methods=["GET"])
    app.add_api_route("/v1/models/{name:path}", service.model, methods=["GET"])
    app.add_api_route("/v1/chat/completions", service.chat, methods=["POST"])
    app.add_api_route("/v1/responses", service.respond, methods=["POST"])
    app.add_api_route("/v1/embeddings", service.embed, methods=["POST"])
    app.add_api_route("/healthz", service.health, methods=["GET"])
    app.add_api_route("/metrics", service.metrics_page, methods=["GET"])
    app.add_exception_handler(Refusal, service.refused)
    app.add_exception_handler(GieokError, service.failed)
    app.add_exception_handler(HTTPException, service.unknown)
    app.add_exception_handler(RequestValidationError, service.unknown)
    app.add_middleware(Host)
    return app


class Service:
    """The routes, and what they share in one process."""

    def __init__(self, agent: Agent, settings: Settings) -> None:
        self._agent, self._settings = agent, settings
        self._access = Access(agent, settings)
        self._turns = Turns(settings.api_concurrency)
        self._metrics = Metrics()
        self._models: ModelSet | None = None

    def warm(self) -> None:
        """Makes the models ready before the first request; a failure is told by ``/healthz`` and by every request."""
        with suppress(GieokError):
            self._models = self._agent.models()

    def close(self) -> None:
        """Ends: running turns go on for a while, then they are stopped; then the stores are closed."""
        self._turns.close()
        self._agent.close()

    # --- the routes -----------------------------------------------------------------------------

    async def models(self, request: Request) -> Response:
        """Lists the one model under its names."""
        await self._key(request)
        return JSONResponse({"object": "list", "data": [_model(name) for name in await self._names()]})

    async def model(self, name: str, request: Request) -> Response:
        await self._key(request)
        await self._known(name)
        return JSONResponse(_model(name))

    async def chat(self, request: Request) -> Response:
        """Answers a chat completion."""
        key = await self._key(request)
        body = chat_body(await self._json(request))
        await self._known(body.model)
        agent, leave = self._access.agent(key), self._access.begin(key)
        completion = Completion(f"chatcmpl-{uuid.uuid4().hex}", body.model, int(time.time()))
        if is_side_call(body.messages):
            try:
                done = await self._turns.call(partial(_side_answer, agent, body))
            finally:
                leave()
            return _side_stream(completion, body, done) if body.stream else JSONResponse(completion.whole(done))
        return await self._answer(request, agent, body, leave, _ChatAnswer(completion, body))

    async def respond(self, request: Request) -> Response:
        """Answers a request of the responses API."""
        key = await self._key(request)
        body = response_body(await self._json(request))
        await self._known(body.model)
        agent, leave = self._access.agent(key), self._access.begin(key)
        return await self._answer(request, agent, body, leave, _ResponseAnswer(agent, self._turns, body))

    async def embed(self, request: Request) -> Response:
        """Embeds texts by the built-in model, as passages."""
        key = await self._key(request)
        fields = await self._json(request)
        given = fields.get("input") if isinstance(fields, dict) else None
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
            raise bad("input", "input must be a text or a list of texts that are not empty.")
        if len(texts) > EMBEDDED_TEXTS:
            raise bad("input", f"input has {len(texts)} texts; the limit is {EMBEDDED_TEXTS}.")
        leave = self._access.begin(key)
        try:
            vectors = await self._turns.call(lambda: built_in().passages(texts))
            tokens = sum(estimate(text) for text in texts)
        finally:
            leave()
        packed = fields.get("encoding_format") == "base64"
        data = [
            {
                "object": "embedding",
                "index": at,
                "embedding": base64.b64encode(vector.astype("<f4").tobytes()).decode()
                if packed
                else [float(value) for value in vector],
            }
            for at, vector in enumerate(vectors)
        ]
        counts = {"prompt_tokens": tokens, "total_tokens": tokens}
        model = str(fields.get("model") or MODEL)
        return JSONResponse({"object": "list", "data": data, "model": model, "usage": counts})

    async def health(self) -> Response:
        """Tells whether the store, Redis and the model can be used. Without Redis answers go on, without memory."""
        parts = await asyncio.get_running_loop().run_in_executor(None, self._health)
        fine = not self._turns.closing and all(parts[name] == "ok" for name in ("store", "model"))
        return JSONResponse({"status": "ok" if fine else "unavailable", **parts}, 200 if fine else 503)

    async def metrics_page(self) -> Response:
        """The counters of this process for Prometheus."""
        memory = self._agent.memory
        self._metrics.memory_away.set(1 if memory is not None and memory.away else 0)
        self._metrics.running.set(self._turns.count)
        return Response(generate_latest(self._metrics.registry), media_type=CONTENT_TYPE_LATEST)

    # --- errors ---------------------------------------------------------------------------------

    async def refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        self._count(request, error.http, error.code)
        return error.response()

    async def failed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, GieokError)
        return await self.refused(request, refusal.of(error))

    async def unknown(self, request: Request, error: Exception) -> Response:
        """Answers a path or a method that does not exist."""
        http = error.status_code if isinstance(error, HTTPException) else 400
        code = "not_found" if http == 404 else "method_not_allowed" if http == 405 else "bad_request"
        message = f"There is no {request.method} {request.url.path}."
        return await self.refused(request, Refusal(http, message, code=code))

    # --- parts of requests ----------------------------------------------------------------------

    async def _key(self, request: Request) -> Any:
        if self._turns.closing:
            raise Refusal(503, "The server is ending.", code="shutting_down", kind="api_error", wait=5)
        return await self._turns.call(partial(self._access.key, request))

    async def _json(self, request: Request) -> Any:
        """Returns the body as JSON. Raises ``Refusal`` for a large body (413) and for one that is no JSON (400)."""
        limit, parts, size = self._settings.api_body_limit, list[bytes](), 0
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise Refusal(413, f"The body is too large; the limit is {limit:,} bytes.", code="request_too_large")
            parts.append(part)
        try:
            return json.loads(b"".join(parts))
        except (ValueError, RecursionError) as error:
            raise bad("body", "The body is no JSON.", "invalid_json") from error

    async def _names(self) -> list[str]:
        if self._models is None:
            self._models = await self._turns.call(self._agent.models)
        return list(dict.fromkeys([MODEL, self._models.name]))

    async def _known(self, name: str) -> None:
        names = await self._names()
        if name not in names:
            message = f"There is no model {name!r}. There is: {', '.join(names)}."
            raise Refusal(404, message, code="model_not_found", kind="not_found_error", param="model")

    async def _answer(
        self, request: Request, agent: Agent, body: Body, leave: Callable[[], object], form: _Answer
    ) -> Response:
        """Runs the turn and answers whole or as a stream. ``leave``: called when the request has ended."""
        began, running = time.monotonic(), self._turns.start(agent, body, _name(request, body))
        ended = False
        try:
            begun = await self._begun(request, running)
            headers = _headers(begun, body)
            if body.stream:
                first = await self._first(running)
                stream = self._stream(running, begun, first, form, leave, request, began)
                ended = True
                return StreamingResponse(stream, media_type="text/event-stream", headers=headers)
            done = await self._whole(request, running, form)
            self._end(request, 200, begun, began, done)
            return JSONResponse(await form.whole(begun, done), headers=headers)
        finally:
            if not ended:
                running.stop.set()
                leave()

    async def _begun(self, request: Request, running: RunningRequest) -> Begun:
        item = await self._next(request, running)
        if isinstance(item, Begun):
            return item
        raise _error(item)

    async def _first(self, running: RunningRequest) -> Item | None:
        """Returns the first piece of a stream, so that an early failure has a status of its own; None after a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SILENCE):
                while True:
                    item = await running.items.get()
                    if isinstance(item, Failed | GieokError | Refusal):
                        raise _error(item)
                    if isinstance(item, Token | Done):
                        return item
        return None

    async def _next(self, request: Request, running: RunningRequest) -> Item:
        """Returns the next item. Stops the turn when the client leaves."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    return await running.items.get()
            if await request.is_disconnected():
                running.stop.set()

    async def _whole(self, request: Request, running: RunningRequest, form: _Answer) -> Done:
        while True:
            item = await self._next(request, running)
            if isinstance(item, Done):
                return item
            if isinstance(item, Failed | GieokError | Refusal):
                raise _error(item)
            form.hear(item)

    async def _stream(
        self,
        running: RunningRequest,
        begun: Begun,
        first: Item | None,
        form: _Answer,
        leave: Callable[[], object],
        request: Request,
        began: float,
    ) -> AsyncIterator[str]:
        try:
            for text in await form.begin(begun):
                yield text
            item = first
            while True:
                if item is None:
                    yield ": still at work\n\n"
                elif isinstance(item, Done):
                    self._end(request, 200, begun, began, item)
                    for text in await form.end(begun, item):
                        yield text
                    return
                elif isinstance(item, Failed | GieokError | Refusal):
                    error = _error(item)
                    self._count(request, error.http, error.code)
                    yield form.failed(error)
                    return
                elif isinstance(item, Token):
                    yield form.piece(item.text)
                else:
                    form.hear(item)
                item = None
                with suppress(TimeoutError):
                    async with asyncio.timeout(SILENCE):
                        item = await running.items.get()
        finally:  # also when the client has left: the model's call is cut, and what was said is kept
            running.stop.set()
            leave()

    def _end(self, request: Request, status: int, begun: Begun, began: float, done: Done) -> None:
        self._metrics.ended(done)
        self._metrics.requests.labels(_route(request), status).inc()
        seconds = time.monotonic() - began
        log.info("%s %d session %s turn %d %.2f s", _route(request), status, begun.session, begun.turn, seconds)

    def _count(self, request: Request, status: int, code: str) -> None:
        self._metrics.requests.labels(_route(request), status).inc()
        self._metrics.errors.labels(code).inc()
        log.info("%s %d %s", _route(request), status, code)

    def _health(self) -> dict[str, str]:
        memory, parts = self._agent.memory, {"store": "ok", "redis": "off", "model": "ok"}
        try:
            self._agent.store.last_used()
        except GieokError as error:
            parts["store"] = error.code
        if memory is not None:
            parts["redis"] = "away" if memory.away else "ok"
        if self._models is None:
            try:
                self._models = self._agent.models()
            except GieokError as error:
                parts["model"] = error.code
        return parts


# --- one answer in the form of its route --------------------------------------------------------


class _Answer:
    """The form of an answer; hears the events that its report holds."""

    def __init__(self, body: Body) -> None:
        self.body, self.report = body, Report()

    def hear(self, item: Item) -> None:
        if not isinstance(item, Begun | GieokError | Refusal):
            self.report.hear(item)

    def more(self, begun: Begun, done: Done) -> dict[str, Any]:
        """Returns our own field, if the client asked for it."""
        return {"gieok": self.report.plain(begun.session, done.turn, done)} if self.body.report else {}

    async def whole(self, begun: Begun, done: Done) -> dict[str, Any]:
        raise NotImplementedError

    async def begin(self, begun: Begun) -> list[str]:
        raise NotImplementedError

    async def end(self, begun: Begun, done: Done) -> list[str]:
        raise NotImplementedError

    def piece(self, text: str) -> str:
        raise NotImplementedError

    def failed(self, error: Refusal) -> str:
        return sse({"error": error.error})


class _ChatAnswer(_Answer):
    def __init__(self, completion: Completion, body: Body) -> None:
        super().__init__(body)
        self._completion = completion

    async def whole(self, begun: Begun, done: Done) -> dict[str, Any]:
        return {**self._completion.whole(done), **self.more(begun, done)}

    async def begin(self, begun: Begun) -> list[str]:
        return [self._chunk({"role": "assistant", "content": ""})]

    def piece(self, text: str) -> str:
        return self._chunk({"content": text})

    async def end(self, begun: Begun, done: Done) -> list[str]:
        more = self.more(begun, done)
        last = self._completion.piece({}, done.finish_reason, usage=self.body.usage)
        counts = [sse({**self._completion.end(done), **more})] if self.body.usage else []
        return [sse({**last, **({} if counts else more)}), *counts, DONE]

    def _chunk(self, delta: dict[str, Any]) -> str:
        return sse(self._completion.piece(delta, usage=self.body.usage))


class _ResponseAnswer(_Answer):
    def __init__(self, agent: Agent, turns: Turns, body: Body) -> None:
        super().__init__(body)
        self._agent, self._turns = agent, turns
        self._form: ResponseForm | None = None

    async def whole(self, begun: Begun, done: Done) -> dict[str, Any]:
        form = await self._of(begun)
        return {**form.whole(done), **self.more(begun, done)}

    async def begin(self, begun: Begun) -> list[str]:
        return list((await self._of(begun)).begin())

    def piece(self, text: str) -> str:
        assert self._form is not None
        return self._form.piece(text)

    async def end(self, begun: Begun, done: Done) -> list[str]:
        return list((await self._of(begun)).end(done, self.more(begun, done)))

    def failed(self, error: Refusal) -> str:
        assert self._form is not None
        return self._form.failed(error.error)

    async def _of(self, begun: Begun) -> ResponseForm:
        if self._form is None:
            name = await self._turns.call(partial(response_id, self._agent, begun.session, begun.turn))
            self._form = ResponseForm(name, self.body.model, int(time.time()), self.body.fields)
        return self._form


# --- side calls ---------------------------------------------------------------------------------


def _side_answer(agent: Agent, body: Body) -> Done:
    """Answers a call that a chat program makes for itself: by the model alone, without a trace."""
    models = agent.models()
    limits = {"temperature": body.limits.temperature, "max_tokens": body.limits.max_tokens}
    bound: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    message = complete(models.utility, [_plain(each) for each in body.messages], **bound)
    prompt, cached, answer, _ = usage(message)
    return Done(0, str(message.text), usage=Usage(prompt, cached, answer))


def _plain(message: Message) -> BaseMessage:
    if message.role in SYSTEM:
        return SystemMessage(message.text)
    return AIMessage(message.text) if message.role == "assistant" else HumanMessage(message.text)


def _side_stream(completion: Completion, body: Body, done: Done) -> Response:
    pieces = [
        completion.piece({"role": "assistant", "content": done.answer}, usage=body.usage),
        completion.piece({}, done.finish_reason, usage=body.usage),
        *([completion.end(done)] if body.usage else []),
    ]
    return StreamingResponse(iter([*map(sse, pieces), DONE]), media_type="text/event-stream")


# --- small parts --------------------------------------------------------------------------------


def _error(item: Item) -> Refusal:
    if isinstance(item, Failed):
        return refusal.of_turn(item)
    if isinstance(item, GieokError):
        return refusal.of(item)
    assert isinstance(item, Refusal)
    return item


def _headers(begun: Begun, body: Body) -> dict[str, str]:
    left_out = {LEFT_OUT: ",".join(body.left_out)} if body.left_out else {}
    return {SESSION: begun.session, TURN: str(begun.turn), FIT: begun.fit, **left_out}


def _name(request: Request, body: Body) -> str | None:
    return request.headers.get(SESSION) or body.session


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "gieok"}


def _route(request: Request) -> str:
    route = request.scope.get("route")
    return str(getattr(route, "path", "unknown"))


__all__ = ["Service", "application", "create_app"]
