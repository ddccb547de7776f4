from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import BaseTool, tool

from graph.system import system_prompt
from graph.tool import TOOLS
from model import decide
from model.scripted import ScriptedModel, models
from model.stream import Stopped


@tool
def remember(fact: str, importance: int = 1) -> str:
    """Remember something about the user."""
    return fact


remember.metadata = {
    "about": {"ko": "기억해 두기", "en": "remember something"},
    "examples": {
        "ko": [("기억해 줘: 나는 채식을 해", {"fact": "채식"})],
        "en": [("Remember that I am vegan", {"fact": "vegan"})],
    },
}


def _decided(answer: str, question: str = "지금 몇 시야?", **options: Any) -> tuple[list[Any], ScriptedModel]:
    model = ScriptedModel([answer])
    made = decide.decision(models(decide=model), TOOLS, question, language="ko", **options)
    return made.tool_calls, model


def test_a_valid_decision_becomes_a_tool_call() -> None:
    (call,), _ = _decided('{"current_time": {"zone": "Asia/Seoul"}}')
    assert (call["name"], call["args"], call["type"]) == ("current_time", {"zone": "Asia/Seoul"}, "tool_call")
    assert call["id"]


@pytest.mark.parametrize(
    "answer",
    [
        '{"reply": {}}',
        "",
        " ",
        "not json",
        '{"calculate": {"expression": "1+1"',
        "[]",
        "null",
        '"calculate"',
        "{}",
        '{"weather": {"place": "Seoul"}}',
        '{"calculate": {}}',
        '{"calculate": "1+1"}',
        '{"calculate": {"expression": 5}}',
        '{"calculate": {"expression": "365"}}',
        '{"calculate": {"expression": "' + "1" * 400 + '"}}',
        '{"calculate": {"expression": "1+1", "extra": true}}',
        '{"calculate": {"expression": "1"}, "current_time": {"zone": "local"}}',
        '{"current_time": {"zone": ["Asia/Seoul"]}}',
        "[" * 100_000,
    ],
)
def test_an_invalid_decision_is_no_call(answer: str) -> None:
    assert decide.parse(answer, TOOLS) == []


def test_an_invalid_answer_of_the_model_leaves_the_turn_without_a_call() -> None:
    calls, model = _decided("I think I should look at the clock!")
    assert calls == []
    assert len(model.calls) == 1


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_not_put_to_the_model(question: str) -> None:
    assert decide.decision(models(decide=[]), TOOLS, question, language="ko").tool_calls == []


def test_a_model_with_native_calls_is_not_asked() -> None:
    assert decide.decision(models(), TOOLS, "3*4?", language="en").tool_calls == []


def test_the_forms_of_tools_count_where_the_model_is_sent_them() -> None:
    assert decide.form_tokens(models(), TOOLS) > decide.form_tokens(models(), TOOLS[:1]) > 40
    assert decide.form_tokens(models(decide=[]), TOOLS) == decide.form_tokens(models(), ()) == 0


def test_without_tools_nothing_is_decided() -> None:
    assert decide.decision(models(decide=[]), (), "3*4?", language="en").tool_calls == []


def test_native_models_get_the_tools_bound_and_others_do_not() -> None:
    native, other = ScriptedModel(["a"]), ScriptedModel(["a"])
    decide.prepare(models(native), TOOLS).invoke("hi")
    decide.prepare(models(other, decide=[]), TOOLS).invoke("hi")
    assert [each["function"]["name"] for each in native.bound[0]["tools"]] == [each.name for each in TOOLS]
    assert other.bound == [{}]
    assert decide.prepare(models(native), ()) is native


def test_the_prompt_is_static_but_for_the_last_message() -> None:
    _, first = _decided('{"reply": {}}', "지금 몇 시야?")
    _, second = _decided('{"reply": {}}', "3 곱하기 4는?", history=[HumanMessage("안녕"), AIMessage("안녕하세요")])
    (one,), (two,) = first.calls, second.calls
    assert one[:-1] == two[:-1]
    assert one[-1].text != two[-1].text


def test_only_a_short_line_of_the_history_goes_in() -> None:
    history = [HumanMessage("비밀 이야기"), AIMessage("답" * 5000), HumanMessage("가" * 5000), AIMessage("끝")]
    _, model = _decided('{"reply": {}}', "그럼 뉴욕은?", history=history)
    asked = model.calls[0][-1].text
    assert len(asked) < 250
    assert "그럼 뉴욕은?" in asked
    assert "비밀" not in asked


def test_a_long_question_is_cut_in_its_middle() -> None:
    _, model = _decided('{"reply": {}}', "앞" + "가" * 100_000 + "3*4는?")
    asked = model.calls[0][-1].text
    assert len(asked) < 700
    assert asked.endswith("3*4는?")


def test_the_answer_is_constrained_to_the_tools_and_their_arguments() -> None:
    _, model = _decided('{"reply": {}}')
    shape = model.bound[0]["response_format"]["json_schema"]["schema"]
    assert [each["required"][0] for each in shape["anyOf"]] == ["reply", "current_time", "calculate"]
    assert shape["anyOf"][2]["properties"]["calculate"] == {
        "type": "object",
        "properties": {"expression": {"type": "string", "maxLength": 300}},
        "required": ["expression"],
        "additionalProperties": False,
    }
    assert model.bound[0]["max_tokens"] == decide.MAX_TOKENS


def test_usage_of_the_decision_is_kept() -> None:
    made = decide.decision(models(decide=['{"reply": {}}']), TOOLS, "지금 몇 시야?", language="ko")
    assert made.usage_metadata
    assert made.usage_metadata["input_tokens"] > 0


def test_a_stop_ends_the_decision() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        decide.decision(models(decide=['{"reply": {}}']), TOOLS, "지금 몇 시야?", language="ko", stop=stop)


@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_new_tool_brings_its_own_words_into_the_prompt(language: str) -> None:
    tools: list[BaseTool] = [*TOOLS, remember]
    about, (question, arguments) = (
        remember.metadata["about"][language],  # type: ignore[index]
        remember.metadata["examples"][language][0],  # type: ignore[index]
    )
    said = decide.instructions(tools, language)
    assert f"- remember: {about}" in said
    assert question in said
    assert json.dumps({"remember": arguments}, ensure_ascii=False) in said


def test_a_follow_up_is_put_with_the_question_before_it_in_examples_and_in_use() -> None:
    history: list[AnyMessage] = [HumanMessage("What is 17 times 10?"), AIMessage("170")]
    model = ScriptedModel(['{"reply": {}}', '{"reply": {}}'])
    decide.decision(models(decide=model), TOOLS, "And if we add 50?", history, language="en")
    decide.decision(
        models(decide=model), TOOLS, "Please write a poem about the sea and the sky", history, language="en"
    )
    first, second = (messages[-1].text for messages in model.calls)
    assert first == "Previous question: What is 17 times 10?\nQuestion: And if we add 50?"
    assert second == "Question: Please write a poem about the sea and the sky"
    assert "Previous question: What is 12 times 4?\nQuestion: And minus 8?\n{" in decide.instructions(TOOLS, "en")


def test_a_tool_without_words_of_its_own_is_described_by_its_docstring() -> None:
    @tool
    def look(place: str) -> str:
        """Look around."""
        return place

    assert decide.describe([look], "ko") == "- look: Look around."


@pytest.mark.parametrize("language", ["ko", "en"])
def test_every_example_is_a_decision_that_is_valid(language: str) -> None:
    lines = [line for line in decide.instructions(TOOLS, language).splitlines() if line.startswith("{")]
    decisions = [decide.parse(line, TOOLS) for line in lines]
    named = [calls[0]["name"] for calls in decisions if calls]
    assert {"current_time", "calculate"} == set(named)
    assert all('{"reply"' in line for line, calls in zip(lines, decisions, strict=True) if not calls)


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize(
    "make", [lambda language: system_prompt(language, TOOLS), lambda language: decide.instructions(TOOLS, language)]
)
def test_rendered_prompts_are_stable_and_list_every_tool_once(make: Any, language: str) -> None:
    text = make(language)
    assert text == make(language)
    assert "$" not in text.replace("$80", "")
    for each in TOOLS:
        assert text.count(f"- {each.name}: ") == 1


@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_model_that_does_not_call_tools_itself_is_told_no_tool_names(language: str) -> None:
    text = system_prompt(language, TOOLS, calls=False)
    assert text.startswith(system_prompt(language, (), calls=False))
    assert "JSON" in text
    assert decide.describe(TOOLS, language) not in text
    assert not any(f"{each.name}:" in text for each in TOOLS)
