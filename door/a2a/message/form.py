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


def replace_unencodable_text(text: str) -> str:
    """Returns the text without what UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()


def text_part(text: str) -> Part:
    """Returns a part with text."""
    return Part(text=replace_unencodable_text(text))


def data_part(data: Any) -> Part:
    """Returns a part with plain data."""
    return Part(data=build_proto_value(data), media_type="application/json")


def file_part(name: str, kind: str, content: bytes) -> Part:
    """Returns a part with a file."""
    return Part(raw=content, filename=replace_unencodable_text(name), media_type=kind)


def build_agent_message(task_id: str, context_id: str, parts: Iterable[Part]) -> Message:
    """Returns a message of ours."""
    return Message(
        message_id=uuid.uuid4().hex, task_id=task_id, context_id=context_id, role=Role.ROLE_AGENT, parts=list(parts)
    )


def build_task_status(state: int, said_of_it: Message | None = None) -> TaskStatus:
    """Returns a status that begins now."""
    now = TaskStatus(state=state, message=said_of_it)  # type: ignore[arg-type]
    now.timestamp.GetCurrentTime()
    return now


def join_answer_parts(task: Task) -> None:
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


def build_proto_value(data: Any) -> Value:
    """Returns plain data in the protocol's form."""
    holder = Struct()
    holder.update({"data": _make_proto_storable(data)})
    return holder.fields["data"]


def build_proto_struct(data: Mapping[str, Any]) -> Struct:
    """Returns a mapping in the protocol's form."""
    holder = Struct()
    holder.update(_make_proto_storable(data))
    return holder


def read_proto_data(data: Struct | Value) -> Any:
    """Returns plain data from the protocol's form, which knows no whole numbers: 3.0 becomes 3 again."""
    return _restore_whole_numbers(MessageToDict(data))


def read_gieok_entry(metadata: Struct) -> dict[str, Any]:
    """Returns our entry of ``metadata``; empty without one."""
    entry = read_proto_data(metadata).get(ENTRY) if metadata.fields else None
    return entry if isinstance(entry, dict) else {}


def _restore_whole_numbers(data: Any) -> Any:
    if isinstance(data, float) and data.is_integer():
        return int(data)
    if isinstance(data, list):
        return [_restore_whole_numbers(item) for item in data]
    return {name: _restore_whole_numbers(item) for name, item in data.items()} if isinstance(data, dict) else data


def _make_proto_storable(data: Any) -> Any:
    if isinstance(data, str):
        return replace_unencodable_text(data)
    if isinstance(data, list | tuple):
        return [_make_proto_storable(item) for item in data]
    if isinstance(data, Mapping):
        return {replace_unencodable_text(str(name)): _make_proto_storable(item) for name, item in data.items()}
    return data if data is None or isinstance(data, bool | int | float) else replace_unencodable_text(str(data))


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
    "build_agent_message",
    "build_proto_struct",
    "build_proto_value",
    "build_task_status",
    "data_part",
    "file_part",
    "join_answer_parts",
    "read_gieok_entry",
    "read_proto_data",
    "replace_unencodable_text",
    "state_of",
    "text_part",
]
