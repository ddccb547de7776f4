"""Speaks to the service by a2a-sdk 0.3, and prints what it saw as JSON. Runs in that SDK's own environment."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory  # type: ignore[attr-defined, unused-ignore]
from a2a.types import Message, Part, Role, TaskIdParams, TaskQueryParams, TextPart  # type: ignore[attr-defined, unused-ignore]


def message(text: str, **fields: Any) -> Any:
    return Message(message_id=text, role=Role.user, parts=[Part(root=TextPart(text=text))], **fields)


def text_of(task: Any) -> str:
    parts = [part.root for artifact in task.artifacts for part in artifact.parts]
    return "".join(part.text for part in parts if part.kind == "text")


async def told(client: Any, sent: Any) -> tuple[list[str], Any]:
    states, task = [], None
    async for task, update in client.send_message(sent):
        state = task.status.state.value
        if (update is None or update.kind == "status-update") and state not in states[-1:]:
            states.append(state)
    return states, task


async def main(root: str, transport: str, what: str) -> Any:
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, root).get_agent_card()
        config = ClientConfig(httpx_client=http, streaming=True, supported_transports=[transport])
        client: Any = ClientFactory(config).create(card)
        if what == "talk":
            first, task = await told(client, message("안녕?"))
            _, second = await told(client, message("And?", context_id=task.context_id))
            got = await client.get_task(TaskQueryParams(id=task.id))
            return {"first": first, "texts": [text_of(task), text_of(second)], "got": got.status.state.value}
        if what == "cancel":
            async for task, update in client.send_message(message("Slowly")):
                if update is not None and update.kind == "artifact-update":
                    break
            return {"state": (await client.cancel_task(TaskIdParams(id=task.id))).status.state.value}
        states, task = await told(client, message("Paint."))
        after, task = await told(client, message("blue", task_id=task.id, context_id=task.context_id))
        return {"states": [states[-1], after[-1]], "text": text_of(task)}


print(json.dumps(asyncio.run(main(*sys.argv[1:4]))))
