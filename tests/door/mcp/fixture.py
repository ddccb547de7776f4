"""What the conformance suite wants to find on a server: tools, resources and prompts with names that it knows.

``add`` puts them beside ours on our own server object, so that the suite goes through our transport, our middleware and
our answers. None of it is in the product.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import mcp_types as types
from mcp.server.lowlevel.server import Server

from tests.door.mcp import fixture_input
from tests.door.mcp.fixture_input import Context, Tools, text, tool

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
PAUSE = 0.05
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADERS: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
    "required": ["region"],
}
ENUMS: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
        "type": "string",
        "oneOf": [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)],
    },
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]},
    },
}
DEFAULTS: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ANSWER: dict[str, Any] = {"username": {"type": "string"}, "email": {"type": "string"}}


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, mime_type: str, content: str) -> types.EmbeddedResource:
    resource = types.TextResourceContents(uri=uri, mime_type=mime_type, text=content)
    return types.EmbeddedResource(type="resource", resource=resource)


# --- tools --------------------------------------------------------------------------------------


def always(*content: types.ContentBlock, is_error: bool = False) -> fixture_input.Run:
    async def run(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=list(content), is_error=is_error)

    return run


async def with_logging(context: Context, _: types.CallToolRequestParams) -> types.CallToolResult:
    for step in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", step, related_request_id=context.request_id)
        await asyncio.sleep(PAUSE)
    return text("Tool with logging executed successfully")


async def with_progress(context: Context, _: types.CallToolRequestParams) -> types.CallToolResult:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(PAUSE)
    return text("done")


async def sampling(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    prompt = str((params.arguments or {}).get("prompt", ""))
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    reply = await context.session.create_message([message], max_tokens=100, related_request_id=context.request_id)
    return text(f"LLM response: {getattr(reply.content, 'text', '')}")


def eliciting(message: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> fixture_input.Run:
    async def run(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        schema = {"type": "object", "properties": properties, "required": list(required)}
        shown = str((params.arguments or {}).get("message", message))
        reply = await context.session.elicit_form(shown, schema, related_request_id=context.request_id)
        return text(f"Elicitation completed: action={reply.action}, content={json.dumps(reply.content)}")

    return run


async def reconnecting(context: Context, _: types.CallToolRequestParams) -> types.CallToolResult:
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    await asyncio.sleep(4 * PAUSE)
    return text("Reconnection test completed")


def asking(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


MIXED = (
    types.TextContent(type="text", text="Multiple content types test:"),
    image(),
    embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
)
FAILURE = types.TextContent(type="text", text="This tool intentionally returns an error for testing")
TOOLS: Tools = {
    **tool("test_simple_text", always(*text("This is a simple text response for testing.").content)),
    **tool("test_image_content", always(image())),
    **tool("test_audio_content", always(types.AudioContent(type="audio", data=WAV, mime_type="audio/wav"))),
    **tool(
        "test_embedded_resource",
        always(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    ),
    **tool("test_multiple_content_types", always(*MIXED)),
    **tool("test_error_handling", always(FAILURE, is_error=True)),
    **tool("test_tool_with_logging", with_logging),
    **tool("test_logging_tool", with_logging),
    **tool("test_tool_with_progress", with_progress),
    **tool("test_sampling", sampling, asking("prompt")),
    **tool("test_elicitation", eliciting("", ANSWER, ("username", "email")), asking("message")),
    **tool("test_elicitation_sep1034_defaults", eliciting("Please fill in", DEFAULTS)),
    **tool("test_elicitation_sep1330_enums", eliciting("Please choose", ENUMS)),
    **tool("test_reconnection", reconnecting),
    **tool("json_schema_2020_12_tool", always(*text("ok").content), SCHEMA),
    **tool("test_headers", always(*text("ok").content), HEADERS),
    **fixture_input.TOOLS,
}

# --- resources and prompts ----------------------------------------------------------------------

RESOURCES = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PNG),
    "test://watched-resource": types.TextResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="Watched"
    ),
}
TEMPLATE = types.ResourceTemplate(
    uri_template="test://template/{id}/data", name="template", mime_type="application/json"
)
PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    fixture_input.PROMPT: (),
}


def template(uri: str) -> types.ReadResourceResult:
    number = uri.removeprefix("test://template/").removesuffix("/data")
    told = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
    content = types.TextResourceContents(uri=uri, mime_type="application/json", text=told)
    return types.ReadResourceResult(contents=[content])


def prompted(name: str, given: dict[str, str]) -> types.GetPromptResult:
    parts: dict[str, Sequence[types.ContentBlock]] = {
        "test_simple_prompt": text("This is a simple prompt for testing.").content,
        "test_prompt_with_arguments": text(
            f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
        ).content,
        "test_prompt_with_embedded_resource": (
            embedded(given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
            *text("Please process the embedded resource above.").content,
        ),
        "test_prompt_with_image": (image(), *text("Please analyze the image above.").content),
    }
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=part) for part in parts[name]])


# --- beside ours --------------------------------------------------------------------------------

Handler = Callable[[Any, Any], Awaitable[Any]]


def add(server: Server[Any]) -> None:
    """Puts the fixtures beside what the server has."""

    def beside(method: str, make: Callable[[Handler], Handler]) -> None:
        entry = server.get_request_handler(method)
        assert entry is not None
        server.add_request_handler(method, entry.params_type, make(entry.handler))

    beside("tools/list", _with("tools", [described for described, _ in TOOLS.values()]))
    beside("tools/call", _call)
    resources = [types.Resource(uri=uri, name=uri, mime_type=row.mime_type) for uri, row in RESOURCES.items()]
    beside("resources/list", _with("resources", resources))
    beside("resources/templates/list", _with("resource_templates", [TEMPLATE]))
    beside("resources/read", _read)
    beside("prompts/list", _with("prompts", [_prompt(*row) for row in PROMPTS.items()]))
    beside("prompts/get", _get)
    ours = server.get_tool_input_schema
    assert ours is not None
    server.get_tool_input_schema = lambda name: TOOLS[name][0].input_schema if name in TOOLS else ours(name)
    for method, params in (
        ("logging/setLevel", types.SetLevelRequestParams),
        ("resources/subscribe", types.SubscribeRequestParams),
        ("resources/unsubscribe", types.UnsubscribeRequestParams),
    ):
        server.add_request_handler(method, params, _nothing)


def _prompt(name: str, arguments: tuple[str, ...]) -> types.Prompt:
    described = [types.PromptArgument(name=argument, required=True) for argument in arguments]
    return types.Prompt(name=name, description=name, arguments=described)


def _with(field: str, more: list[Any]) -> Callable[[Handler], Handler]:
    def make(ours: Handler) -> Handler:
        async def handle(context: Any, params: Any) -> Any:
            result = await ours(context, params)
            return result.model_copy(update={field: [*getattr(result, field), *more]})

        return handle

    return make


def _call(ours: Handler) -> Handler:
    async def handle(context: Any, params: types.CallToolRequestParams) -> Any:
        known = TOOLS.get(params.name)
        return await (known[1] if known else ours)(context, params)

    return handle


def _read(ours: Handler) -> Handler:
    async def handle(context: Any, params: types.ReadResourceRequestParams) -> Any:
        if params.uri in RESOURCES:
            return types.ReadResourceResult(contents=[RESOURCES[params.uri]])
        return template(params.uri) if params.uri.startswith("test://template/") else await ours(context, params)

    return handle


def _get(ours: Handler) -> Handler:
    async def handle(context: Any, params: types.GetPromptRequestParams) -> Any:
        if params.name == fixture_input.PROMPT:
            return fixture_input.prompt(params)
        known = params.name in PROMPTS
        return prompted(params.name, params.arguments or {}) if known else await ours(context, params)

    return handle


async def _nothing(_: Any, __: Any) -> types.EmptyResult:
    return types.EmptyResult()
