"""The routes of OpenAI's protocol: any client that lets you change the address of its model gets Gieok's memory.

They only translate: the turn is the same as in the page (``door.openai.work``).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from door.openai import work, world
from door.openai.answer import AnswerForm, ChatAnswer, ResponseAnswer
from door.openai.body import MODEL, Body, chat_body, response_body
from door.openai.chat_name import is_temporary, read_name
from door.openai.client_tools import make_tool_form
from door.openai.embedding import build_embedding_answer, embedding_body
from door.openai.passing import Passing
from door.openai.reply import ClientReply
from door.openai.side_call import is_side_call
from errors import GieokError
from graph.tool.client_tool import NO_TOOLS
from graph.turn.agent import Agent
from model.modelset import ModelSet
from server.access import Access
from server.observe.metric import Metrics
from server.refusal import Refusal
from server.request.json_body import parse_request_json, read_body
from server.request.running import Requests, Work
from settings import Settings
from store.user.api_key import ApiKey
from world.engine import WorldEngine


class OpenAIRoutes:
    """The models, chat completions, responses and embeddings of one process."""

    def __init__(
        self,
        agent: Agent,
        settings: Settings,
        access: Access,
        requests: Requests,
        worlds: WorldEngine,
        metrics: Metrics,
    ) -> None:
        self._agent, self._settings, self._access = agent, settings, access
        self._requests, self._worlds, self._metrics = requests, worlds, metrics
        self._known: ModelSet | None = None

    def add_to(self, app: FastAPI) -> None:
        """Adds the routes to the application."""
        app.add_api_route("/v1/models", self.models, methods=["GET"])
        app.add_api_route("/v1/models/{name:path}", self.model, methods=["GET"])
        app.add_api_route("/v1/chat/completions", self.chat, methods=["POST"])
        app.add_api_route("/v1/responses", self.respond, methods=["POST"])
        app.add_api_route("/v1/embeddings", self.embed, methods=["POST"])

    def warm(self) -> None:
        """Makes the models ready before the first request; a failure is told by every request."""
        with suppress(GieokError):
            self._known = self._agent.models()

    # --- the routes -----------------------------------------------------------------------------

    async def models(self, request: Request) -> Response:
        """Lists the one model under its names, alone and with each of the user's worlds."""
        key = await self._load_key(request)
        names = [*await self._names(), *await self._story_names(key)]
        return JSONResponse({"object": "list", "data": [_build_model_entry(name) for name in names]})

    async def model(self, name: str, request: Request) -> Response:
        """Describes the model under one of its names."""
        key = await self._load_key(request)
        if name not in await self._story_names(key):
            await self._check(name)
        return JSONResponse(_build_model_entry(name))

    async def chat(self, request: Request) -> Response:
        """Answers a chat completion, or a call that a chat program makes for itself, or a turn of a story."""
        key = await self._load_key(request)
        given = await self._json(request)
        if world.is_world(given):
            return await self._story(request, key, world.read_story_request(given, request))
        body = await self._with_tools(chat_body(given))
        agent = self._agent_for(key, body)
        aside = is_side_call(body.messages)
        task = work.build_side_work(agent, body) if aside else _choose_turn(request, agent, body)
        return await self._answer(request, key, body, task, ChatAnswer(body))

    async def _story(self, request: Request, key: ApiKey | None, given: world.StoryRequest) -> Response:
        work = world.build_roleplay_work(self._engine(key), given)
        running = self._requests.start(work, free=self._access.begin(key))
        return await Passing(request, running, self._metrics, stream=given.stream).response()

    async def respond(self, request: Request) -> Response:
        """Answers a request of the responses API."""
        key = await self._load_key(request)
        given = await self._json(request)
        if world.is_world(given):
            raise world.only_completions(given["model"])
        body = await self._with_tools(response_body(given))
        task = _choose_turn(request, self._agent_for(key, body), body)
        return await self._answer(request, key, body, task, ResponseAnswer(body))

    async def embed(self, request: Request) -> Response:
        """Embeds texts by the built-in model, as passages."""
        key = await self._load_key(request)
        body = embedding_body(await self._json(request), self._settings.api_embedding_tokens)
        leave = self._access.begin(key)
        try:
            return JSONResponse(
                await self._requests.call_while(partial(build_embedding_answer, body), request.is_disconnected)
            )
        finally:
            leave()

    # --- parts of requests ----------------------------------------------------------------------

    async def _load_key(self, request: Request) -> ApiKey | None:
        return await self._access.load_key(request, self._requests)

    async def _json(self, request: Request) -> Any:
        """Returns the body as JSON. Raises ``Refusal`` for a large body (413) and for one that is no JSON (400)."""
        return parse_request_json(await read_body(request, self._settings.api_body_limit))

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

    def _engine(self, key: ApiKey | None) -> WorldEngine:
        return self._worlds.using(self._access.agent(key).store)

    async def _story_names(self, key: ApiKey | None) -> list[str]:
        """Returns the names under which the model answers with a world."""
        return await self._requests.call(partial(world.list_story_models, self._engine(key)))

    async def _check(self, name: str) -> None:
        """Raises ``Refusal`` (404) for a name that no model has."""
        if name != MODEL and name not in (names := await self._names()):
            message = f"There is no model {name!r}. There is: {', '.join(names)}."
            raise Refusal(404, message, code="model_not_found", kind="not_found_error", param="model")

    async def _answer(
        self, request: Request, key: ApiKey | None, body: Body, task: Work, answer: AnswerForm
    ) -> Response:
        await self._check(body.model)
        running = self._requests.start(task, free=self._access.begin(key))
        return await ClientReply(request, running, answer, self._metrics).response(body)


def _choose_turn(request: Request, agent: Agent, body: Body) -> Work:
    """Returns the work of a turn; that of a temporary chat leaves no trace."""
    if is_temporary(request):
        return work.build_private_work(agent, body)
    return work.build_turn_work(agent, body, *read_name(request, body))


def _build_model_entry(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "gieok"}


__all__ = ["OpenAIRoutes"]
