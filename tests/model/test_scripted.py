from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

import errors
from model import scripted
from model.call import stream
from model.call.abort import CuttableCall
from model.profile import SMALL, STRONG
from model.scripted import ScriptedModel

QUESTION = [HumanMessage("how much is it")]


@tool
def calculate(expression: str) -> str:
    """Work it out."""
    return expression


def test_answers_come_in_order_and_the_calls_are_recorded() -> None:
    model = ScriptedModel(["first", AIMessage("second"), lambda messages: f"third: {messages[0].text}"])
    assert [stream.complete_answer(model, QUESTION).text for _ in range(3)] == [
        "first",
        "second",
        "third: how much is it",
    ]
    assert model.calls == [QUESTION] * 3


def test_a_script_that_runs_dry_fails_loudly() -> None:
    model = ScriptedModel(["only one"])
    stream.complete_answer(model, QUESTION)
    with pytest.raises(errors.ScriptExhausted, match=r"2 times.* 1 answers"):
        stream.complete_answer(model, QUESTION)


def test_a_function_answers_for_ever() -> None:
    model = ScriptedModel(lambda messages: messages[-1].text.upper())
    assert {stream.complete_answer(model, QUESTION).text for _ in range(5)} == {"HOW MUCH IS IT"}


@given(st.text())
def test_streamed_words_add_up_to_the_answer(text: str) -> None:
    assert stream.complete_answer(ScriptedModel([text]), QUESTION).text == text


def test_words_arrive_singly() -> None:
    chunks = [chunk.text for chunk in stream.stream_answer(ScriptedModel(["one  two three\n"]), QUESTION)]
    assert [each for each in chunks if each] == ["one", "  two", " three", "\n"]


def test_an_exception_in_the_script_is_raised_and_the_script_goes_on() -> None:
    model = ScriptedModel([errors.ModelTimeout(url="x", seconds=1), lambda _: ValueError("no"), "fine"])
    with pytest.raises(errors.ModelTimeout):
        stream.complete_answer(model, QUESTION)
    with pytest.raises(ValueError, match="no"):
        stream.complete_answer(model, QUESTION)
    assert stream.complete_answer(model, QUESTION).text == "fine"


def test_tool_calls_arrive_as_calls_and_the_tools_are_recorded() -> None:
    call = {"name": "calculate", "args": {"expression": "2*3"}, "id": "c1", "type": "tool_call"}
    model = ScriptedModel([AIMessage("Let me see.", tool_calls=[call])])
    answer = stream.complete_answer(model.bind_tools([calculate]), QUESTION)
    assert (answer.text, answer.tool_calls) == ("Let me see.", [call])
    assert answer.response_metadata["finish_reason"] == "tool_calls"
    assert [each["function"]["name"] for each in model.bound_arguments[0]["tools"]] == ["calculate"]


def test_a_bound_format_is_recorded() -> None:
    model = ScriptedModel(["{}", "{}"])
    stream.complete_answer(model, QUESTION, response_format={"type": "json_object"})
    stream.complete_answer(model, QUESTION)
    assert model.bound_arguments == [{"response_format": {"type": "json_object"}}, {}]


def test_usage_is_counted() -> None:
    assert stream.read_token_usage(stream.complete_answer(ScriptedModel(["six words"]), QUESTION)) == (3, 0, 2, True)


def test_a_gate_holds_the_answer_in_its_middle() -> None:
    gate = threading.Event()
    chunks = stream.stream_answer(ScriptedModel(["one two three"], gate=gate), QUESTION)
    assert next(chunks).text == "one"
    with ThreadPoolExecutor(1) as pool:
        rest = pool.submit(lambda: "".join(chunk.text for chunk in chunks))
        with pytest.raises(TimeoutError):
            rest.result(0.1)
        gate.set()
        assert rest.result(60) == " two three"


def test_a_delay_stands_before_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(CuttableCall, "wait", lambda _, seconds: waited.append(seconds))
    stream.complete_answer(ScriptedModel(["one two three"], delay=0.05), QUESTION)
    assert waited == [0.05] * 3


def test_threads_share_a_script_without_loss() -> None:
    model = ScriptedModel([str(number) for number in range(50)])
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda _: stream.complete_answer(model, QUESTION).text, range(50)))
    assert sorted(said, key=int) == [str(number) for number in range(50)]


def test_a_set_of_models_has_its_roles() -> None:
    made = scripted.build_scripted_models(["answer"], ["summary"], profile=SMALL, side=STRONG)
    assert (made.profile, made.side) == (SMALL, STRONG)
    assert [stream.complete_answer(each, QUESTION).text for each in (made.chat, made.utility)] == ["answer", "summary"]


def test_a_role_without_answers_fails_when_called() -> None:
    made = scripted.build_scripted_models(["answer"])
    assert made.profile == made.side == STRONG
    with pytest.raises(errors.ScriptExhausted):
        stream.complete_answer(made.utility, QUESTION)


def test_white_space_does_not_count() -> None:
    assert scripted.count_scripted_tokens("  a b\n\tc d  e ") == 2
    assert scripted.count_scripted_tokens("") == 0
