"""The forms of tools that a model calls itself."""

from __future__ import annotations

import json
from typing import cast

from graph.choice import native
from graph.context.turns import question as asked
from graph.tool import TOOLS, memory_tools
from graph.tool.reach import Reach
from model.call.stream import complete
from model.scripted import ScriptedModel, models
from tests.graph.talk import question


def test_the_tools_go_with_every_request_in_openais_form() -> None:
    chosen = models(["Yes.", "Yes."])
    assert isinstance(chosen.chat, ScriptedModel)
    for _ in range(2):
        complete(native.prepare(chosen, TOOLS), [asked(question(1), 1, "s")])
    first, second = (each["tools"] for each in chosen.chat.bound)
    assert [each["function"]["name"] for each in first] == ["current_time", "calculate"]
    assert first == second
    assert all(each["function"]["description"] and each["function"]["parameters"] for each in first)


def test_without_tools_the_model_is_asked_as_it_is() -> None:
    chosen = models()
    assert native.prepare(chosen, ()) is chosen.chat
    assert native.form_tokens(chosen, ()) == 0


def test_the_forms_tokens_are_those_of_their_json() -> None:
    chosen = models()
    said = "\n".join(json.dumps(each, ensure_ascii=False) for each in _forms(chosen))
    assert native.form_tokens(chosen, TOOLS) == chosen.count(said) > 0


def test_tools_of_another_session_have_the_same_forms() -> None:
    one, other = (memory_tools(cast(Reach, reach)) for reach in (None, None))
    chosen = models(["Yes.", "Yes."])
    assert isinstance(chosen.chat, ScriptedModel)
    for tools in (one, other):
        complete(native.prepare(chosen, tools), [asked(question(1), 1, "s")])
    assert chosen.chat.bound[0] == chosen.chat.bound[1]


def _forms(chosen: object) -> list[dict[str, object]]:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    return [convert_to_openai_tool(tool) for tool in TOOLS]
