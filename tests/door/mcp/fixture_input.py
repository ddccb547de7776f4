"""The fixtures of the conformance suite that need input from the client's user (2026-07-28)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
Run = Callable[[Context, types.CallToolRequestParams], Awaitable[Any]]
Tools = dict[str, tuple[types.Tool, Run]]
PROMPT = "test_input_required_result_prompt"
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def tool(name: str, run: Run, schema: dict[str, Any] | None = None) -> Tools:
    return {name: (types.Tool(name=name, description=name, input_schema=schema or NOTHING), run)}


def text(content: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=content)])


def form(message: str, name: str, kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str, most: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=most))


def asks(requests: dict[str, Any], state: str | None = None) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def given(params: Any, name: str, field: str) -> Any:
    """The field of an accepted form; None where it is missing or of another kind."""
    response = (params.input_responses or {}).get(name)
    content = getattr(response, "content", None)
    return content.get(field) if isinstance(content, dict) else None


NAME = form("What is your name?", "name")


async def elicitation(_: Context, params: types.CallToolRequestParams) -> Any:
    name = given(params, "user_name", "name")
    return text(f"Hello, {name}!") if name else asks({"user_name": NAME})


async def sampling(_: Context, params: types.CallToolRequestParams) -> Any:
    reply = (params.input_responses or {}).get("capital_question")
    if not isinstance(reply, types.CreateMessageResult):
        return asks({"capital_question": sample("What is the capital of France?", 100)})
    return text(str(getattr(reply.content, "text", "")))


async def roots(_: Context, params: types.CallToolRequestParams) -> Any:
    reply = (params.input_responses or {}).get("client_roots")
    if not isinstance(reply, types.ListRootsResult):
        return asks({"client_roots": types.ListRootsRequest()})
    return text(", ".join(str(root.uri) for root in reply.roots))


async def state(_: Context, params: types.CallToolRequestParams) -> Any:
    if params.request_state == "asked":
        return text("state-ok")
    return asks({"confirm": form("Please confirm", "ok", "boolean")}, "asked")


async def several(_: Context, params: types.CallToolRequestParams) -> Any:
    requests = {
        "user_name": NAME,
        "greeting": sample("Generate a greeting", 50),
        "client_roots": types.ListRootsRequest(),
    }
    responses = params.input_responses or {}
    return text("all there") if requests.keys() <= responses.keys() else asks(requests, "asked")


async def rounds(_: Context, params: types.CallToolRequestParams) -> Any:
    if params.request_state is None:
        return asks({"step1": form("Step 1: What is your name?", "name")}, "1")
    if params.request_state == "1":
        name = given(params, "step1", "name")
        return asks({"step2": form("Step 2: What is your favorite color?", "color")}, f"2 {name}")
    return text(f"{params.request_state.removeprefix('2 ')} likes {given(params, 'step2', 'color')}")


async def capable(context: Context, _: types.CallToolRequestParams) -> Any:
    able = context.session.client_capabilities
    requests: dict[str, Any] = {}
    if able is not None and able.sampling is not None:
        requests["greeting"] = sample("Generate a greeting", 50)
    if able is not None and able.elicitation is not None:
        requests["user_name"] = NAME
    return asks(requests) if requests else text("nothing to ask with")


async def needing(context: Context, _: types.CallToolRequestParams) -> Any:
    able = context.session.client_capabilities
    if able is None or able.sampling is None:
        wanted = types.MissingRequiredClientCapabilityErrorData(
            required_capabilities=types.ClientCapabilities(sampling=types.SamplingCapability())
        )
        data = wanted.model_dump(by_alias=True, mode="json", exclude_none=True)
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed", data)
    return text("ok")


def prompt(params: types.GetPromptRequestParams) -> Any:
    context = given(params, "user_context", "context")
    if context is None:
        return asks({"user_context": form("What context should the prompt use?", "context")})
    content = types.TextContent(type="text", text=f"In the context of {context}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


TOOLS: Tools = {
    **tool("test_input_required_result_elicitation", elicitation),
    **tool("test_input_required_result_sampling", sampling),
    **tool("test_input_required_result_list_roots", roots),
    **tool("test_input_required_result_request_state", state),
    **tool("test_input_required_result_tampered_state", state),
    **tool("test_input_required_result_multiple_inputs", several),
    **tool("test_input_required_result_multi_round", rounds),
    **tool("test_input_required_result_capabilities", capable),
    **tool("test_missing_capability", needing),
    **tool("test_streaming_elicitation", elicitation),
}
