"""An answer in JSON by a real small model: llama.cpp's grammar holds its words to the schema, whatever they say."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from graph.answer.json_form import JsonForm
from graph.turn.agent import open_agent
from graph.turn.event import Done
from graph.turn.request import AnswerLimits, Request
from settings import load_settings
from tests.model_server import release_servers

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Seoul", "Busan"]},
        "degrees": {"type": "integer"},
        "words": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 2},
    },
    "required": ["city", "degrees", "words"],
    "additionalProperties": False,
}


@pytest.mark.small_model
def test_a_small_model_answers_in_the_form(small_model: Path, tmp_path: Path) -> None:
    settings = load_settings(
        data_dir=tmp_path,
        provider="embedded",
        embedded_path=small_model,
        embedded_context=4096,
        embedded_threads=1,
        memory=False,
        retrieval=False,
        titles=False,
        ahead=False,
    )
    agent = open_agent(settings)
    session = agent.store.create_session("en", 0.3).id
    limits = AnswerLimits(max_tokens=120, form=JsonForm(SCHEMA, "weather"))
    request = Request(session, "new", "How warm is it in Busan today, and which words describe it?", limits=limits)
    end = agent.turn(request, threading.Event(), lambda _: None)
    assert isinstance(end, Done), end
    value = json.loads(end.answer)
    assert set(value) == set(SCHEMA["required"])
    assert value["city"] in ("Seoul", "Busan")
    assert end.usage.calls == 1
    agent.close()
    release_servers()
