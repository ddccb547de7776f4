"""The forms of tools that a model calls itself."""

from __future__ import annotations

import json
from typing import cast

from graph.choice import native
from graph.context.turns import make_question_message as asked
from graph.tool import TOOLS, memory_tools
from graph.tool.reach import MemoryReach
from model.call.stream import complete_answer
from model.scripted import ScriptedModel, build_scripted_models
from tests.graph.talk import question


def test_the_tools_go_with_every_request_in_openais_form() -> None:
    chosen = build_scripted_models(["Yes.", "Yes."])
    assert isinstance(chosen.chat, ScriptedModel)
    for _ in range(2):
        complete_answer(native.bind_tool_forms(chosen, TOOLS), [asked(question(1), 1, "s")])
    first, second = (each["tools"] for each in chosen.chat.bound_arguments)
    assert [each["function"]["name"] for each in first] == ["current_time", "calculate"]
    assert first == second
    assert all(each["function"]["description"] and each["function"]["parameters"] for each in first)


def test_without_tools_the_model_is_asked_as_it_is() -> None:
    chosen = build_scripted_models()
    assert native.bind_tool_forms(chosen, ()) is chosen.chat
    assert native.count_native_form_tokens(chosen, ()) == 0


def test_the_forms_tokens_are_those_of_their_json() -> None:
    chosen = build_scripted_models()
    said = "\n".join(json.dumps(each, ensure_ascii=False) for each in _forms(chosen))
    assert native.count_native_form_tokens(chosen, TOOLS) == chosen.count(said) > 0


def test_tools_of_another_session_have_the_same_forms() -> None:
    one, other = (memory_tools(cast(MemoryReach, reach)) for reach in (None, None))
    chosen = build_scripted_models(["Yes.", "Yes."])
    assert isinstance(chosen.chat, ScriptedModel)
    for tools in (one, other):
        complete_answer(native.bind_tool_forms(chosen, tools), [asked(question(1), 1, "s")])
    assert chosen.chat.bound_arguments[0] == chosen.chat.bound_arguments[1]


def _forms(chosen: object) -> list[dict[str, object]]:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    return [convert_to_openai_tool(tool) for tool in TOOLS]
