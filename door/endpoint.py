"""The application that serves every door over HTTP: OpenAI's protocol, MCP and other agents.

``create_app`` makes the ASGI application; ``application`` is what uvicorn's workers call.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from door.doors import Doors
from door.openai.routes import OpenAIRoutes
from errors import GieokError, MissingExtra
from graph.answer import documents
from graph.turn.agent import Agent, open_agent
from server import refusal
from server.access import Access
from server.network.host import HostGuard
from server.network.origin import Origins
from server.observe.health import Health
from server.observe.lost_exception import report_to_log
from server.observe.metric import Metrics
from server.observe.watch import Watch, note_of
from server.refusal import Refusal
from server.request.running import LEAVE_SECONDS, Requests
from settings import Settings, load_current_settings

if TYPE_CHECKING:  # imported with the first request to one of them
    from door.a2a.app import Agents
    from door.mcp.http import Endpoint

LOG = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def application() -> FastAPI:
    """Returns the application on the settings of this machine, for uvicorn."""
    logging.basicConfig(format=LOG)
    logging.getLogger("gieok.endpoint").setLevel(logging.INFO)
    settings = load_current_settings()
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
    app.add_api_route("/healthz", service.health, methods=["GET"])
    app.add_api_route("/metrics", service.metrics_page, methods=["GET"])
    service.routes.add_to(app)
    service.doors.add_to(app)
    app.add_exception_handler(Refusal, service.answer_error)
    app.add_exception_handler(GieokError, service.answer_error)
    app.add_exception_handler(HTTPException, service.unknown)
    app.add_middleware(Origins, origins=settings.api_origins)
    app.add_middleware(HostGuard, answer=_build_foreign_response, origins=settings.api_origins)
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
    """What all doors share in one process: keys, limits, models, worlds, counters; and the routes of none of them."""

    def __init__(self, agent: Agent, settings: Settings) -> None:
        self._agent, self._settings = agent, settings
        self._access = Access(agent, settings)
        self._health = Health(agent)
        self._worlds = agent.open_worlds()
        self.metrics = Metrics()
        self.tracing = _open_tracing(settings)
        self._requests = Requests(settings.api_concurrency, self.metrics.running.set)
        self.routes = OpenAIRoutes(agent, settings, self._access, self._requests, self._worlds, self.metrics)
        self.doors = Doors(self._make_mcp, self._make_agents, agent.store.everyone.tasks.is_any_open)

    def _make_mcp(self) -> Endpoint:
        from door.mcp.http import Endpoint

        return Endpoint(self._settings, self._access, self._requests, self._worlds, self.metrics)

    def _make_agents(self) -> Agents:
        from door.a2a.app import Agents

        load_key = partial(self._access.load_key, requests=self._requests)
        shared = (self._requests, self._access, load_key, self._worlds, self.metrics.count_answer)
        return Agents(self._agent, self._settings, *shared)

    def leave(self, seconds: float = LEAVE_SECONDS) -> None:
        """Begins to end (``Requests.leave``); clients of MCP that only listen are told at once."""
        self._requests.leave(seconds)
        self.doors.leave()

    def warm(self) -> None:
        """Makes the models and the product's documents ready before the first request; a failure is told by
        ``/healthz`` and by every request."""
        documents.start_product_docs_indexing(self._agent)
        self.routes.warm()

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

    async def answer_error(self, request: Request, error: Exception) -> Response:
        """Answers a refusal or an error of Gieok's."""
        told = refusal.build_error_refusal(error) if isinstance(error, GieokError) else error
        assert isinstance(told, Refusal)
        note_of(request.scope).code = told.code
        return told.response_at(request.url.path)

    async def unknown(self, request: Request, error: Exception) -> Response:
        """Answers a path or a method that does not exist."""
        assert isinstance(error, HTTPException)
        code = "not_found" if error.status_code == 404 else "method_not_allowed"
        message = f"There is no {request.method} {request.url.path}."
        return await self.answer_error(request, Refusal(error.status_code, message, code=code))


def _open_tracing(settings: Settings) -> Any:
    """Returns where spans go; None without an address. Raises ``MissingExtra``."""
    if settings.otlp_endpoint is None:
        return None
    try:
        from server.observe.trace import Tracing
    except ImportError as error:
        package = "opentelemetry-exporter-otlp-proto-http"
        raise MissingExtra(feature="OpenTelemetry", package=package) from error
    return Tracing(settings.otlp_endpoint)


def _build_foreign_response(message: str, path: str) -> Response:
    """Returns the answer to a foreign name in ``HostGuard`` or ``Origin``."""
    return Refusal(403, message, code="foreign_host", kind="permission_error").response_at(path)


__all__ = ["Service", "application", "create_app"]
