"""Tasks, messages and artifacts of the protocol: how we make them, and what we read in them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from a2a.types import Artifact, Message, Part, Role, Task, TaskState, TaskStatus
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct, Value

ENTRY = "gieok"
"""The entry of ``metadata`` that is ours."""
ANSWER, REPORT = "answer", "report"
"""Ids of the artifacts of an answer: the second one for a message that asks for it, by an entry of its name."""
STATES: dict[int, str] = {
    TaskState.TASK_STATE_UNSPECIFIED: "unknown",
    TaskState.TASK_STATE_SUBMITTED: "submitted",
    TaskState.TASK_STATE_WORKING: "working",
    TaskState.TASK_STATE_COMPLETED: "completed",
    TaskState.TASK_STATE_FAILED: "failed",
    TaskState.TASK_STATE_CANCELED: "canceled",
    TaskState.TASK_STATE_INPUT_REQUIRED: "input-required",
    TaskState.TASK_STATE_REJECTED: "rejected",
    TaskState.TASK_STATE_AUTH_REQUIRED: "auth-required",
}
ENDED = frozenset({"completed", "failed", "canceled", "rejected"})
RUNNING = ("submitted", "working")
WAITING = ("input-required", "auth-required")


def state_of(task: Task) -> str:
    """Returns the name of a task's state, as versions before 1.0 write it."""
    return STATES[task.status.state]


def safe(text: str) -> str:
    """Returns the text without what UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()


def text_part(text: str) -> Part:
    """Returns a part with text."""
    return Part(text=safe(text))


def data_part(data: Any) -> Part:
    """Returns a part with plain data."""
    return Part(data=value(data), media_type="application/json")


def file_part(name: str, kind: str, content: bytes) -> Part:
    """Returns a part with a file."""
    return Part(raw=content, filename=safe(name), media_type=kind)


def message(task_id: str, context_id: str, parts: Iterable[Part]) -> Message:
    """Returns a message of ours."""
    return Message(
        message_id=uuid.uuid4().hex, task_id=task_id, context_id=context_id, role=Role.ROLE_AGENT, parts=list(parts)
    )


def status(state: int, said_of_it: Message | None = None) -> TaskStatus:
    """Returns a status that begins now."""
    now = TaskStatus(state=state, message=said_of_it)  # type: ignore[arg-type]
    now.timestamp.GetCurrentTime()
    return now


def joined(task: Task) -> None:
    """Makes one part of the pieces of an answer, in the task itself: the SDK adds a part for each."""
    for artifact in task.artifacts:
        if artifact.artifact_id == ANSWER and len(artifact.parts) > 1:
            text = "".join(part.text for part in artifact.parts)
            del artifact.parts[1:]
            artifact.parts[0].text = text


def answer_of(task: Task) -> str:
    """Returns the text of the answer so far."""
    parts = (part.text for artifact in task.artifacts if artifact.artifact_id == ANSWER for part in artifact.parts)
    return "".join(parts)


def answer_piece(text: str) -> Artifact:
    """Returns a piece of the answer."""
    return Artifact(artifact_id=ANSWER, name=ANSWER, parts=[text_part(text)])


def value(data: Any) -> Value:
    """Returns plain data in the protocol's form."""
    holder = Struct()
    holder.update({"data": _storable(data)})
    return holder.fields["data"]


def struct(data: Mapping[str, Any]) -> Struct:
    """Returns a mapping in the protocol's form."""
    holder = Struct()
    holder.update(_storable(data))
    return holder


def plain(data: Struct | Value) -> Any:
    """Returns plain data from the protocol's form, which knows no whole numbers: 3.0 becomes 3 again."""
    return _whole(MessageToDict(data))


def ours(metadata: Struct) -> dict[str, Any]:
    """Returns our entry of ``metadata``; empty without one."""
    entry = plain(metadata).get(ENTRY) if metadata.fields else None
    return entry if isinstance(entry, dict) else {}


def _whole(data: Any) -> Any:
    if isinstance(data, float) and data.is_integer():
        return int(data)
    if isinstance(data, list):
        return [_whole(item) for item in data]
    return {name: _whole(item) for name, item in data.items()} if isinstance(data, dict) else data


def _storable(data: Any) -> Any:
    if isinstance(data, str):
        return safe(data)
    if isinstance(data, list | tuple):
        return [_storable(item) for item in data]
    if isinstance(data, Mapping):
        return {safe(str(name)): _storable(item) for name, item in data.items()}
    return data if data is None or isinstance(data, bool | int | float) else safe(str(data))


__all__ = [
    "ANSWER",
    "ENDED",
    "ENTRY",
    "REPORT",
    "RUNNING",
    "STATES",
    "WAITING",
    "Artifact",
    "answer_of",
    "answer_piece",
    "data_part",
    "file_part",
    "joined",
    "message",
    "ours",
    "plain",
    "safe",
    "state_of",
    "status",
    "struct",
    "text_part",
    "value",
]
