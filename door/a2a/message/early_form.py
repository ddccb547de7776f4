"""Messages and tasks in the form of the protocol's first version (``tasks/send``), to and from the SDK's."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from a2a.types import (
    Artifact,
    AuthenticationInfo,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.json_format import MessageToDict

from door.a2a.message.form import (
    ENDED,
    ENTRY,
    STATES,
    WAITING,
    build_proto_struct,
    build_proto_value,
    read_gieok_entry,
    read_proto_data,
    replace_unencodable_text,
)

Json = dict[str, Any]
OLD_STATES = {"rejected": "failed", "auth-required": "input-required"}
"""States that came later, as the first version knows them."""
ID = "early"
"""Where our entry of a task's metadata keeps the client's id; ``metadata``: what the client sent."""


# --- from the client ----------------------------------------------------------------------------


def read_early_field(params: Mapping[str, Any], name: str, kind: type, needed: bool = False) -> Any:
    """Returns a field of a request. Raises ``InvalidParamsError`` for one of another kind."""
    given = params.get(name)
    if given is None and not needed:
        return None
    if not isinstance(given, kind) or (kind is int and isinstance(given, bool)) or (needed and given == ""):
        raise InvalidParamsError(message=f"{name} is missing, or of another kind than expected.")
    return given


def core_message(plain_message: Mapping[str, Any], message_id: str, task_id: str, context_id: str) -> Message:
    """Returns a message of the client. Raises ``InvalidParamsError`` and ``ContentTypeNotSupportedError``."""
    given = read_early_field(plain_message, "parts", list, needed=True)
    if plain_message.get("role", "user") != "user":
        raise InvalidParamsError(message="The role of a message to us is user.")
    return Message(
        message_id=message_id,
        task_id=task_id,
        context_id=context_id,
        role=Role.ROLE_USER,
        parts=[_core_part(part) for part in given],
        metadata=build_proto_struct(read_early_field(plain_message, "metadata", dict) or {}),
    )


def core_push(given: Mapping[str, Any], task_id: str) -> TaskPushNotificationConfig:
    """Returns the address that shall be told. Raises ``InvalidParamsError``."""
    config = TaskPushNotificationConfig(
        task_id=task_id, id=task_id, url=replace_unencodable_text(read_early_field(given, "url", str, needed=True))
    )
    config.token = replace_unencodable_text(read_early_field(given, "token", str) or "")
    known = read_early_field(given, "authentication", dict)
    if known:
        schemes: Any = known.get("schemes")
        scheme = schemes[0] if isinstance(schemes, list) and schemes else schemes
        credentials = read_early_field(known, "credentials", str) or ""
        config.authentication.CopyFrom(
            AuthenticationInfo(
                scheme=replace_unencodable_text(str(scheme or "")), credentials=replace_unencodable_text(credentials)
            )
        )
    return config


def _core_part(part: Any) -> Part:
    match part:
        case {"type": "text", "text": str(text)}:
            return Part(text=replace_unencodable_text(text))
        case {"type": "data", "data": dict(data)}:
            return Part(data=build_proto_value(data), media_type="application/json")
        case {"type": "file", "file": {"uri": str()}}:
            raise ContentTypeNotSupportedError(message="Addresses are not fetched: send the file itself.")
        case {"type": "file", "file": {"bytes": str(content), **rest}}:
            try:
                raw = base64.b64decode(content, validate=True)
            except (binascii.Error, ValueError):
                raise InvalidParamsError(message="The bytes of a file are no base64.") from None
            name, kind = (replace_unencodable_text(str(rest.get(key) or "")) for key in ("name", "mimeType"))
            return Part(raw=raw, filename=name, media_type=kind)
        case {"type": str(kind)} if kind not in ("text", "data", "file"):
            raise ContentTypeNotSupportedError(message=f"Parts of the type {kind[:40]!r} are not read.")
    raise InvalidParamsError(message="A part is none: it has a type, and the field of that type.")


# --- to the client ------------------------------------------------------------------------------


def early_task(task: Task, history: int | None = None) -> Json:
    """Returns a task. ``history``: how many of its last messages; None for none."""
    entry = read_gieok_entry(task.metadata)
    own: Json = {"id": client_id(task), "sessionId": task.context_id, "status": early_status(task.status)}
    if task.artifacts:
        own["artifacts"] = [{**_build_early_artifact(one), "index": index} for index, one in enumerate(task.artifacts)]
    if history:
        own["history"] = [_build_early_message(one) for one in task.history[-history:]]
    told = {name: given for name, given in entry.items() if name not in (ID, "metadata")}
    return {**own, "metadata": {**entry.get("metadata", {}), ENTRY: told}}


def client_id(task: Task) -> str:
    """Returns the id that the client gave a task."""
    return str(read_gieok_entry(task.metadata).get(ID) or task.id)


def early_status(given: TaskStatus) -> Json:
    """Returns a status."""
    state = STATES[given.state]
    told: Json = {"state": OLD_STATES.get(state, state)}
    if given.HasField("message"):
        told["message"] = _build_early_message(given.message)
    if given.HasField("timestamp"):
        told["timestamp"] = MessageToDict(given)["timestamp"]
    return told


def early_event(event: Any, task_id: str, places: list[str]) -> Json | None:
    """Returns an event of a stream; None for what the first version does not know. ``places``: the artifacts so far,
    which grow."""
    if isinstance(event, TaskArtifactUpdateEvent):
        name = event.artifact.artifact_id
        if name not in places:
            places.append(name)
        place = {"index": places.index(name), "append": event.append, "lastChunk": event.last_chunk}
        return {"id": task_id, "artifact": {**_build_early_artifact(event.artifact), **place}}
    if isinstance(event, Task | TaskStatusUpdateEvent):
        final = STATES[event.status.state] in (*ENDED, *WAITING)
        return {"id": task_id, "status": early_status(event.status), "final": final}
    return None


def early_push(config: TaskPushNotificationConfig, task_id: str) -> Json:
    """Returns the address that is told of a task."""
    told: Json = {"url": config.url}
    if config.token:
        told["token"] = config.token
    if config.authentication.scheme:
        told["authentication"] = {"schemes": [config.authentication.scheme]}
    return {"id": task_id, "pushNotificationConfig": told}


def _build_early_artifact(artifact: Artifact) -> Json:
    told: Json = {"name": artifact.name, "parts": _build_early_parts(artifact.parts)}
    return told | ({"metadata": read_proto_data(artifact.metadata)} if artifact.metadata.fields else {})


def _build_early_message(message: Message) -> Json:
    role = "user" if message.role == Role.ROLE_USER else "agent"
    told: Json = {"role": role, "parts": _build_early_parts(message.parts)}
    return told | ({"metadata": read_proto_data(message.metadata)} if message.metadata.fields else {})


def _build_early_parts(parts: Sequence[Part]) -> list[Json]:
    return [_build_early_part(part) for part in parts]


def _build_early_part(part: Part) -> Json:
    match part.WhichOneof("content"):
        case "data":
            data = read_proto_data(part.data)
            return {"type": "data", "data": data if isinstance(data, dict) else {"value": data}}
        case "raw":
            content = base64.b64encode(part.raw).decode()
            return {"type": "file", "file": {"name": part.filename, "mimeType": part.media_type, "bytes": content}}
    return {"type": "text", "text": part.text}
