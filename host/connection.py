"""One connection to a server, with one call at a time, so that whatever the server asks belongs to that call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import Client
from mcp.client.context import ClientRequestContext

from errors import ServerUnreachable, format_error_trace
from host.entry import ServerEntry, Utility
from host.transport import open_server_transport

if TYPE_CHECKING:  # a pool opens connections
    from host.pool import Pool

log = logging.getLogger(__name__)

ANSWER_SECONDS = 600.0
"""How long a server of the handshake generation waits for the user, before its question counts as declined."""
MOST_PAGES = 20
MOST_SAMPLED_TOKENS = 2_000
CLIENT = types.Implementation(name="gieok", version="0.1.0")


@dataclass(eq=False)
class ServerQuestion:
    """What a server wants from the user during a call. ``answer``: takes the user's answer."""

    params: types.ElicitRequestFormParams | types.ElicitRequestURLParams
    answer: asyncio.Future[types.ElicitResult]


@dataclass(eq=False)
class Connection:
    """A connection; ``changed`` is called when the server says that its tools changed. Everything runs in one loop.

    ``called``: whether a call runs; what the server asks at other times belongs to none and is declined.
    """

    entry: ServerEntry
    changed: Callable[[], None]
    client: Client | None = None
    utility: Utility | None = None
    called: bool = False
    asked: asyncio.Queue[ServerQuestion] = field(default_factory=asyncio.Queue)
    sampled: list[dict[str, str]] = field(default_factory=list)
    ended: bool = False
    pool: Pool | None = None
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _owner: asyncio.Task[None] | None = None

    async def open(self, seconds: float, older: bool = False) -> None:
        """Connects and negotiates; ``older``: by SSE, the only way to the oldest servers. Raises ``ServerUnreachable``
        after ``seconds`` or when the server refuses; the caller closes the connection then."""
        try:
            await asyncio.wait_for(self._open(older), seconds)
        except asyncio.CancelledError:  # the user has stopped the turn: a program that was started for it ends, too
            await asyncio.shield(self.close())
            raise
        except (Exception, ExceptionGroup) as error:
            raise ServerUnreachable(reason=_explain_connection_failure(error, seconds)) from error

    async def _open(self, older: bool) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(ready, older))
        await ready

    async def _own(self, ready: asyncio.Future[None], older: bool) -> None:
        """Holds the connection open: the task that opened it must close it."""
        client = Client(
            open_server_transport(self.entry, older),
            elicitation_callback=self._elicit,
            sampling_callback=self._sample if self.entry.sampling else None,
            message_handler=self._heard,
            client_info=CLIENT,
            cache=None,
        )
        try:
            async with client:
                self.client = client
                ready.set_result(None)
                await self._closing.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error if isinstance(error, Exception) else ConnectionError("cancelled"))
            elif not isinstance(error, asyncio.CancelledError):
                log.info("a connection to an MCP server ended: %s", type(error).__name__)
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self.ended = True

    async def close(self) -> None:
        """Closes the connection; a server of our own ends with it, at once where it never answered."""
        is_first = not self._closing.is_set()
        self._closing.set()
        if self._owner is not None:
            if self.client is None and is_first:  # still connecting: it does not hear that it should close
                self._owner.cancel()  # once: a second time would end the SDK's own end of the program
            await asyncio.wait({self._owner}, timeout=8.0)
            if not self._owner.done():
                self._owner.cancel()
                await asyncio.wait({self._owner}, timeout=2.0)
            if self._owner.done() and not self._owner.cancelled():
                self._owner.exception()  # it was told to whoever waited for the connection

    @property
    def session(self) -> Any:
        assert self.client is not None
        return self.client.session

    async def tools(self) -> list[types.Tool]:
        """Returns the tools of the server, of at most ``MOST_PAGES`` pages."""
        assert self.client is not None
        tools, cursor = list[types.Tool](), None
        for _ in range(MOST_PAGES):
            page = await self.client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        return tools

    async def call(
        self, name: str, arguments: dict[str, Any], responses: dict[str, Any] | None, state: str | None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Calls a tool. A server of the stateless generation may give its questions as the result."""
        result: types.CallToolResult | types.InputRequiredResult = await self.session.call_tool(
            name, arguments, input_responses=responses, request_state=state, allow_input_required=True
        )
        return result

    async def respond(self, key: str, request: types.InputRequest) -> Any:
        """Answers what a stateless server asks and no user need answer: the utility model, or an error."""
        context = ClientRequestContext(session=self.session, request_id=key, meta=None)
        return await self.session.dispatch_input_request(context, request)

    def rest(self) -> None:
        """Ends what belongs to the call that is over."""
        self.utility, self.called = None, False
        while not self.asked.empty():
            answer = self.asked.get_nowait().answer
            if not answer.done():
                answer.set_result(types.ElicitResult(action="cancel"))

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        if not self.called:
            return types.ElicitResult(action="cancel")
        asked = ServerQuestion(params, asyncio.get_running_loop().create_future())
        await self.asked.put(asked)
        try:
            return await asyncio.wait_for(asked.answer, ANSWER_SECONDS)
        except TimeoutError:
            return types.ElicitResult(action="cancel")

    async def _sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        utility = self.utility
        if utility is None:
            return types.ErrorData(code=types.INVALID_REQUEST, message="no model is allowed now")
        text = "\n\n".join(part for message in params.messages for part in _list_block_texts(message.content))
        tokens = min(params.max_tokens, MOST_SAMPLED_TOKENS)
        try:
            reply = await asyncio.to_thread(utility, params.system_prompt or "", text, tokens)
        except Exception as error:  # the server hears only that it failed
            log.info("a request of an MCP server to the model failed: %s", format_error_trace(error))
            return types.ErrorData(code=types.INTERNAL_ERROR, message="the model failed")
        self.sampled.append({"asked": text, "answered": reply})
        content = types.TextContent(type="text", text=reply)
        return types.CreateMessageResult(role="assistant", content=content, model="utility")

    async def _heard(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.changed()


def _list_block_texts(content: Any) -> list[str]:
    blocks = content if isinstance(content, list) else [content]
    return [str(block.text) for block in blocks if getattr(block, "type", "") == "text"]


def _explain_connection_failure(error: BaseException, seconds: float) -> str:
    """Returns why a connection failed, in words that repeat no secret of the entry."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"no answer in {seconds:g} s"
    if isinstance(error, FileNotFoundError):
        return "the command was not found"
    if isinstance(error, PermissionError):
        return "the command may not be run"
    status = getattr(getattr(error, "response", None), "status_code", None)
    return f"it answered with status {status}" if status else type(error).__name__
