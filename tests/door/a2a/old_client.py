"""Speaks to the service by a2a-sdk 0.3, and writes what it saw as JSON. Runs in that SDK's own environment."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from typing import Any

import httpx

sdk: Any = import_module("a2a.client")
types: Any = import_module("a2a.types")


def message(text: str, **fields: Any) -> Any:
    parts = [types.Part(root=types.TextPart(text=text))]
    return types.Message(message_id=text, role=types.Role.user, parts=parts, **fields)


def text_of(task: Any) -> str:
    parts = [part.root for artifact in task.artifacts for part in artifact.parts]
    return "".join(part.text for part in parts if part.kind == "text")


async def told(client: Any, sent: Any) -> tuple[list[str], Any]:
    states: list[str] = []
    task: Any = None
    async for task, update in client.send_message(sent):
        state = task.status.state.value
        if (update is None or update.kind == "status-update") and state not in states[-1:]:
            states.append(state)
    return states, task


async def main(root: str, transport: str, what: str) -> Any:
    async with httpx.AsyncClient(timeout=60) as http:
        card = await sdk.A2ACardResolver(http, root).get_agent_card()
        config = sdk.ClientConfig(httpx_client=http, streaming=True, supported_transports=[transport])
        client: Any = sdk.ClientFactory(config).create(card)
        if what == "talk":
            first, task = await told(client, message("안녕?"))
            _, second = await told(client, message("And?", context_id=task.context_id))
            got = await client.get_task(types.TaskQueryParams(id=task.id))
            return {"first": first, "texts": [text_of(task), text_of(second)], "got": got.status.state.value}
        if what == "cancel":
            stream = client.send_message(message("Slowly"))
            begun, update = await anext(stream)
            while update is None or update.kind != "artifact-update":
                begun, update = await anext(stream)
            return {"state": (await client.cancel_task(types.TaskIdParams(id=begun.id))).status.state.value}
        states, task = await told(client, message("Paint."))
        after, task = await told(client, message("blue", task_id=task.id, context_id=task.context_id))
        return {"states": [states[-1], after[-1]], "text": text_of(task)}


sys.stdout.write(json.dumps(asyncio.run(main(*sys.argv[1:4]))))
