"""The curator as one plain call: for a model without tools, and where the agent failed. It remembers as the agent does,
but cannot look anything up."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, ValidationError

from model.call.json_reply import build_response_format, complete_shaped, find_json_objects
from store.world.record import FindingKind
from text.cut import cut_graphemes
from world.curator.agent import CuratorFailed
from world.curator.desk import Desk
from world.curator.material import build_plain_messages
from world.curator.notebook import Unfit, shorten_memory_text

KINDS = ("dead_talks", "no_hp_fights", "two_places", "lost_item", "other")
MOST = 10
"""The most findings of a reply."""
SUBJECT, TEXT = 100, 500
_FINDING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": list(KINDS)},
        "subject": {"type": "string"},
        "text": {"type": "string"},
    },
    "required": ["kind", "subject", "text"],
    "additionalProperties": False,
}
SHAPE = build_response_format(
    "curation",
    {
        "type": "object",
        "properties": {
            "findings": {"type": "array", "items": _FINDING, "maxItems": MOST},
            "memory": {"type": "string"},
        },
        "required": ["findings", "memory"],
        "additionalProperties": False,
    },
)


class _Noted(BaseModel):
    model_config = ConfigDict(extra="ignore")

    kind: FindingKind
    subject: str
    text: str


class _CuratorReply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    findings: tuple[_Noted, ...]
    memory: str


def curate_by_call(desk: Desk, model: BaseChatModel, stop: threading.Event | None) -> None:
    """Puts the model's findings and its memory on the desk. An empty memory never replaces a text. Raises
    ``CuratorFailed`` for an unreadable reply, ``Stopped`` and the model's own errors."""
    answer = complete_shaped(model, build_plain_messages(desk), SHAPE, stop=stop)
    desk.calls.append(answer)
    reply = next(filter(None, map(_read_curator_reply, find_json_objects(answer.text))), None)
    if reply is None:
        raise CuratorFailed("the reply is no JSON of findings and memory")
    for one in reply.findings[:MOST]:
        if one.subject.strip() and one.text.strip():
            with suppress(Unfit):
                desk.note(one.kind, cut_graphemes(one.subject, SUBJECT), cut_graphemes(one.text, TEXT))
    desk.memory = shorten_memory_text(reply.memory) or desk.memory


def _read_curator_reply(value: dict[str, Any]) -> _CuratorReply | None:
    try:
        return _CuratorReply.model_validate(value)
    except ValidationError:
        return None
