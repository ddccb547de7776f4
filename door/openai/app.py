"""The OpenAI-compatible endpoint: any client that lets you change the address of its model gets Gieok's memory.

``create_app`` makes the ASGI application; ``application`` is what uvicorn's workers call. The routes only translate:
the turn is the same as in the page (``door.openai.work``).
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from door.host import Host
from door.openai import refusal, work, world
from door.openai.access import Access
from door.openai.answer import Answer, ChatAnswer, ResponseAnswer
from door.openai.body import MODEL, Body, chat_body, parsed, read_body, response_body
from door.openai.chat_name import is_temporary, read_name
from door.openai.client_tools import make_tool_form
from door.openai.doors import Doors
from door.openai.embedding import embedded, embedding_body
from door.openai.health import Health
from door.openai.lost import report_to_log
from door.openai.metric import Metrics
from door.openai.origin import Origins
from door.openai.passing import Passing
from door.openai.refusal import Refusal, shutting_down
from door.openai.reply import Reply
from door.openai.running import LEAVE_SECONDS, Requests, Work
from door.openai.side_call import is_side_call
from door.openai.watch import Watch, note_of
from errors import GieokError, MissingExtra
from graph.answer import documents
from graph.tool.client_tool import NO_TOOLS
from graph.turn.agent import Agent, open_agent
from model.modelset import ModelSet
from settings import Settings, current
from store.api_key import ApiKey
from world.engine import Engine

if TYPE_CHECKING:  # imported with the first request to one of them
    from door.a2a.app import Agents
    from door.mcp.http import Endpoint

LOG = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def application() -> FastAPI:
    """Returns the application on the settings of this machine, for uvicorn."""
    logging.basicConfig(format=LOG)
    logging.getLogger("gieok.endpoint").setLevel(logging.INFO)
    settings = current()
    return create_app(open_agent(settings), settings)


def create_app(agent: Agent, settings: Settings) -> FastAPI:
    """Returns the application on an agent, which it closes at its end. Raises ``MissingExtra``."""
    service = Service(agent, settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(report_to_log)
        before_ending(service.leave)
        loop.run_in_executor(None, service.warm)
        service.doors.begin()
        yield
        await loop.run_in_executor(None, service.end)
        await service.doors.close()
        await loop.run_in_executor(None, service.close)

    app = FastAPI(title="Gieok", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.service = service
    app.add_api_route("/v1/models", service.models, methods=["GET"])
    app.add_api_route("/v1/models/{name:path}", service.model, methods=["GET"])
    app.add_api_route("/v1/chat/completions", service.chat, methods=["POST"])
    app.add_api_route("/v1/responses", service.respond, methods=["POST"])
    app.add_api_route("/v1/embeddings", service.embed, methods=["POST"])
    app.add_api_route("/healthz", service.health, methods=["GET"])
    app.add_api_route("/metrics", service.metrics_page, methods=["GET"])
    service.doors.add_to(app)
    app.add_exception_handler(Refusal, service.refused)
    app.add_exception_handler(GieokError, service.refused)
    app.add_exception_handler(HTTPException, service.unknown)
    app.add_middleware(Origins, origins=settings.api_origins)
    app.add_middleware(Host, answer=_foreign, origins=settings.api_origins)
    app.add_middleware(Watch, metrics=service.metrics, tracing=service.tracing)  # the last one is the outermost
    return app


def before_ending(leave: Callable[[], object]) -> None:
    """Calls ``leave`` when the process is told to end, before what the server does then: it waits for its clients, and
    only afterwards ends the application. Does nothing beside the main thread, which gets no signals."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        then = signal.getsignal(number)

        def handle(number: int, frame: FrameType | None, then: Any = then) -> None:
            leave()
            if callable(then):
                then(number, frame)

        signal.signal(number, handle)


class Service:
    """The routes, and what they share in one process."""

    def __init__(self, agent: Agent, settings: Settings) -> None:
        self._agent, self._settings = agent, settings
        self._access = Access(agent, settings)
        self._known: ModelSet | None = None
        self._health = Health(agent)
        self._worlds = Engine.open(settings, agent.store, agent.models)
        self.metrics = Metrics()
        self.tracing = _tracing(settings)
        self._requests = Requests(settings.api_concurrency, self.metrics.running.set)
        self.doors = Doors(self._make_mcp, self._make_agents, agent.store.everyone.tasks.is_any_open)

    def _make_mcp(self) -> Endpoint:
        from door.mcp.http import Endpoint

        return Endpoint(self._settings, self._access, self._requests, self._worlds, self.metrics)

    def _make_agents(self) -> Agents:
        from door.a2a.app import Agents

        shared = (self._requests, self._access, self._key, self._worlds, self.metrics.ended)
        return Agents(self._agent, self._settings, *shared)

    def leave(self, seconds: float = LEAVE_SECONDS) -> None:
        """Begins to end (``Requests.leave``); clients of MCP that only listen are told at once."""
        self._requests.leave(seconds)
        self.doors.leave()

    def warm(self) -> None:
        """Makes the models and the product's documents ready before the first request; a failure is told by
        ``/healthz`` and by every request."""
        documents.begin(self._agent)
        with suppress(GieokError):
            self._known = self._agent.models()

    def end(self) -> None:
        """Ends the requests: running turns go on for a while, then they are stopped."""
        self._requests.close()

    def close(self) -> None:
        """Closes the stores, after everything that uses them has ended."""
        if self.tracing is not None:
            self.tracing.close()
        self.metrics.close()
        self._worlds.close()
        self._agent.close()

    # --- the routes -----------------------------------------------------------------------------

    async def models(self, request: Request) -> Response:
        """Lists the one model under its names, alone and with each of the user's worlds."""
        key = await self._key(request)
        names = [*await self._names(), *await self._story_names(key)]
        return JSONResponse({"object": "list", "data": [_model(name) for name in names]})

    async def model(self, name: str, request: Request) -> Response:
        """Describes the model under one of its names."""
        key = await self._key(request)
        if name not in await self._story_names(key):
            await self._check(name)
        return JSONResponse(_model(name))

    async def chat(self, request: Request) -> Response:
        """Answers a chat completion, or a call that a chat program makes for itself, or a turn of a story."""
        key = await self._key(request)
        given = await self._json(request)
        if world.is_world(given):
            return await self._story(request, key, world.asked(given, request))
        body = await self._with_tools(chat_body(given))
        agent = self._agent_for(key, body)
        aside = is_side_call(body.messages)
        task = work.side(agent, body) if aside else _choose_turn(request, agent, body)
        return await self._answer(request, key, body, task, ChatAnswer(body))

    async def _story(self, request: Request, key: ApiKey | None, given: world.Asked) -> Response:
        work = world.turn(self._engine(key), given)
        running = self._requests.start(work, free=self._access.begin(key))
        return await Passing(request, running, self.metrics, stream=given.stream).response()

    async def respond(self, request: Request) -> Response:
        """Answers a request of the responses API."""
        key = await self._key(request)
        given = await self._json(request)
        if world.is_world(given):
            raise world.only_completions(given["model"])
        body = await self._with_tools(response_body(given))
        task = _choose_turn(request, self._agent_for(key, body), body)
        return await self._answer(request, key, body, task, ResponseAnswer(body))

    async def embed(self, request: Request) -> Response:
        """Embeds texts by the built-in model, as passages."""
        key = await self._key(request)
        body = embedding_body(await self._json(request), self._settings.api_embedding_tokens)
        leave = self._access.begin(key)
        try:
            return JSONResponse(await self._requests.call_while(partial(embedded, body), request.is_disconnected))
        finally:
            leave()

    async def health(self) -> Response:
        """Tells whether the store, Redis and the model can be used. Without Redis answers go on, without memory."""
        parts = await asyncio.get_running_loop().run_in_executor(None, self._health.parts)
        fine = not self._requests.closing and all(parts[name] == "ok" for name in ("store", "model"))
        return JSONResponse({"status": "ok" if fine else "unavailable", **parts}, 200 if fine else 503)

    async def metrics_page(self) -> Response:
        """The counters for Prometheus."""
        memory = self._agent.memory
        self.metrics.memory_away.set(1 if memory is not None and memory.away else 0)
        page = await asyncio.get_running_loop().run_in_executor(None, self.metrics.page)
        return Response(page, media_type=CONTENT_TYPE_LATEST)

    # --- errors ---------------------------------------------------------------------------------

    async def refused(self, request: Request, error: Exception) -> Response:
        """Answers a refusal or an error of Gieok's."""
        told = refusal.of(error) if isinstance(error, GieokError) else error
        assert isinstance(told, Refusal)
        note_of(request.scope).code = told.code
        return told.response()

    async def unknown(self, request: Request, error: Exception) -> Response:
        """Answers a path or a method that does not exist."""
        assert isinstance(error, HTTPException)
        code = "not_found" if error.status_code == 404 else "method_not_allowed"
        message = f"There is no {request.method} {request.url.path}."
        return await self.refused(request, Refusal(error.status_code, message, code=code))

    # --- parts of requests ----------------------------------------------------------------------

    async def _key(self, request: Request) -> ApiKey | None:
        if self._requests.closing:
            raise shutting_down()
        return await self._requests.look(partial(self._access.key, request))

    async def _json(self, request: Request) -> Any:
        """Returns the body as JSON. Raises ``Refusal`` for a large body (413) and for one that is no JSON (400)."""
        return parsed(await read_body(request, self._settings.api_body_limit))

    async def _names(self) -> list[str]:
        """Returns the names under which the model answers."""
        return list(dict.fromkeys([MODEL, (await self._models()).name]))

    async def _models(self) -> ModelSet:
        if self._known is None:
            self._known = await self._requests.call(self._agent.models)
        return self._known

    async def _with_tools(self, body: Body) -> Body:
        """Returns the request without the client's tools where the model does not call tools itself; one that it must
        call becomes the form of its answer. Raises ``Refusal`` (400) where it would have to choose one."""
        if not body.tools.forms or (await self._models()).profile.tools == "native":
            return body
        if body.tools.choice is not None:
            limits = replace(body.limits, form=make_tool_form(body.tools))
            return replace(body, tools=NO_TOOLS, fills=str(limits.form.name if limits.form else ""), limits=limits)
        return replace(body, tools=NO_TOOLS, left_out=tuple(dict.fromkeys(("tools", *body.left_out))))

    def _agent_for(self, key: ApiKey | None, body: Body) -> Agent:
        agent = self._access.agent(key).in_zone(body.zone)
        return replace(agent, apart=True) if body.apart else agent

    def _engine(self, key: ApiKey | None) -> Engine:
        return self._worlds.using(self._access.agent(key).store)

    async def _story_names(self, key: ApiKey | None) -> list[str]:
        """Returns the names under which the model answers with a world."""
        return await self._requests.call(partial(world.names, self._engine(key)))

    async def _check(self, name: str) -> None:
        """Raises ``Refusal`` (404) for a name that no model has."""
        if name != MODEL and name not in (names := await self._names()):
            message = f"There is no model {name!r}. There is: {', '.join(names)}."
            raise Refusal(404, message, code="model_not_found", kind="not_found_error", param="model")

    async def _answer(self, request: Request, key: ApiKey | None, body: Body, task: Work, answer: Answer) -> Response:
        await self._check(body.model)
        running = self._requests.start(task, free=self._access.begin(key))
        return await Reply(request, running, answer, self.metrics).response(body)


def _tracing(settings: Settings) -> Any:
    """Returns where spans go; None without an address. Raises ``MissingExtra``."""
    if settings.otlp_endpoint is None:
        return None
    try:
        from door.openai.trace import Tracing
    except ImportError as error:
        package = "opentelemetry-exporter-otlp-proto-http"
        raise MissingExtra(feature="OpenTelemetry", package=package) from error
    return Tracing(settings.otlp_endpoint)


def _foreign(message: str) -> Response:
    """Returns the answer to a foreign name in ``Host`` or ``Origin``."""
    return Refusal(403, message, code="foreign_host", kind="permission_error").response()


def _choose_turn(request: Request, agent: Agent, body: Body) -> Work:
    """Returns the work of a turn; that of a temporary chat leaves no trace."""
    if is_temporary(request):
        return work.private_turn(agent, body)
    return work.turn(agent, body, *read_name(request, body))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "gieok"}


__all__ = ["Service", "application", "create_app"]
