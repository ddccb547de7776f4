"""Tools within a turn: steps, the limit, and failures that the model can act on (design 2.6)."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.runtime import Runtime

from graph.context.turns import make_question_message as asked
from graph.node.tool import RESULT_CHARS, tool_node
from graph.state import ChatState
from graph.turn.event import Token, ToolFinished, ToolStarted
from graph.turn.runtime import Inputs, TurnContext
from model import scripted
from model.profile import SMALL
from settings import load_settings
from tests.graph.conftest import OpenAgent
from tests.graph.talk import answer, calling, done, failed, only, plain, prompts, question, say, summary_calls, talk
from tests.graph.test_conversation import NewSession
from tests.table import table


@tool
def long_letter(size: int) -> str:
    """Writes a letter."""
    return "가" * size


@tool
def broken(reason: str) -> str:
    """Fails."""
    raise RuntimeError(reason)


@tool(response_format="content_and_artifact")
def leaf_through(letter: str) -> tuple[str, dict[str, Any]]:
    """Searches in documents."""
    return letter * 6000, {"trace": [], "language": "ko", "passages": [{"number": 1, "label": "안내 › 요약"}]}


TOOLS: list[BaseTool] = [long_letter, broken]


def run_tool(message: AIMessage) -> tuple[ToolMessage, ToolFinished]:
    """One call through tool_node."""
    events: list[Any] = []
    context = TurnContext(scripted.build_scripted_models(), load_settings(), inputs=Inputs(tools=TOOLS))
    state = ChatState(
        messages=[asked("q", 1, "s"), message], session_id="s", summary_history=[], turn_count=1, compression_rate=0.3
    )
    update = tool_node(state, Runtime(context=context, stream_writer=events.append))
    assert [type(event) for event in events] == [ToolStarted, ToolFinished]
    return update["messages"][0], events[1]


def test_a_turn_with_a_tool_shows_its_steps_and_keeps_them(agent: OpenAgent, session: NewSession) -> None:
    bot = agent([calling("calculate", expression="12*12"), "144입니다"])
    own = session(bot)
    events = say(bot, own, "12 곱하기 12는?")
    assert done(events).answer == "144입니다"
    (started,), (finished,) = only(events, ToolStarted), only(events, ToolFinished)
    assert (started.name, started.arguments) == ("calculate", {"expression": "12*12"})
    assert (finished.call, finished.ok) == (started.call, True)
    assert "144" in finished.result
    turn = bot.store.turn(own, 1)
    assert turn is not None
    assert [step["name"] for step in turn.steps] == ["calculate"]
    assert [each["type"] for each in turn.messages or []] == ["human", "ai", "tool", "ai"]
    assert [message.type for message in prompts(bot)[-1]] == ["system", "human", "ai", "tool"]


def test_the_second_call_of_a_turn_continues_the_first(agent: OpenAgent, session: NewSession) -> None:
    bot = agent([calling("calculate", expression="1+1"), "2입니다", "그렇습니다"])
    own = session(bot)
    say(bot, own, "1 더하기 1은?")
    say(bot, own, "정말 그런지 설명해 줘")
    first, second, third = map(plain, prompts(bot))
    assert second[: len(first)] == first
    assert third[: len(second)] == second


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_at_the_limit_the_model_answers_without_tools(agent: OpenAgent, session: NewSession, limit: int) -> None:
    calls = [calling("calculate", f"c{n}", expression=f"{n}+1") for n in range(limit)]
    bot = agent([*calls, "끝"], tool_limit=limit)
    assert done(say(bot, session(bot), "계속 계산해 봐")).answer == "끝"
    bound = bot.models().chat.bound_arguments  # type: ignore[attr-defined]
    assert ["tools" in each for each in bound] == [True] * limit + [False]
    told = ["더 쓸 수 없습니다" in str(each.text) for each in prompts(bot)[-1] if each.type == "tool"]
    assert told == [False] * (limit - 1) + [True] * (limit > 0)


def test_a_model_that_calls_tools_past_the_limit_does_not_run_for_ever(agent: OpenAgent, session: NewSession) -> None:
    numbers = count()
    bot = agent(lambda _: calling("calculate", f"c{next(numbers)}", expression="1+1"), tool_limit=2)
    own = session(bot)
    end = failed(say(bot, own, "계속 계산해 봐"))
    assert (end.code, end.values) == ("tools_used_up", {"limit": 2})
    assert len(prompts(bot)) == 3


def test_results_that_do_not_fit_the_model_are_shortened_first_ones_first(
    agent: OpenAgent, session: NewSession
) -> None:
    calls = [calling("long_letter", f"c{n}", size=size) for n, size in enumerate((6000, 3000))]
    bot = replace(agent([*calls, "끝"], context_size=2600), tools=TOOLS)
    own = session(bot)
    assert done(say(bot, own, "편지를 두 통 써 줘")).answer == "끝"
    first, second = (str(each.text) for each in prompts(bot)[-1] if each.type == "tool")
    assert 0 < first.count("가") < 6000
    assert "left out" in first
    assert second == "가" * 3000
    turn = bot.store.turn(own, 1)
    assert turn is not None
    assert [(each["what"], each["reason"]) for each in (turn.report or {})["left_out"]] == [
        ("long_letter", "context_full")
    ]
    assert [len(each["result"]) for each in turn.steps] == [6000, 3000]


def test_of_a_search_that_does_not_fit_beside_the_next_the_places_stay(agent: OpenAgent, session: NewSession) -> None:
    calls = [calling("leaf_through", f"c{n}", letter=letter) for n, letter in enumerate("가나")]
    bot = replace(agent([*calls, "끝"], context_size=3000), tools=[leaf_through])
    assert done(say(bot, session(bot), "요약은 얼마나 길어?")).answer == "끝"
    first, second = (str(each.text) for each in prompts(bot)[-1] if each.type == "tool")
    assert "[1] 안내 › 요약" in first
    assert "가" * 100 not in first
    assert second == "나" * 6000


def nested(depth: int) -> dict[str, Any]:
    return {"a": nested(depth - 1)} if depth else {}


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), nested(200)], ids=["inf", "nan", "nested"])
def test_arguments_that_nothing_takes_harm_neither_the_turn_nor_its_export(
    agent: OpenAgent, session: NewSession, odd: Any
) -> None:
    bot = agent([calling("calculate", expression="1+2", odd=odd), "셋입니다", "넷입니다"])
    own = session(bot)
    assert done(say(bot, own, "1 더하기 2는?")).answer == "셋입니다"
    assert done(say(bot, own, "거기에 1을 더 더하면?")).answer == "넷입니다"
    assert "Infinity" not in bot.export_session(own)


def test_a_name_that_comes_with_every_piece_is_one_name(agent: OpenAgent, session: NewSession) -> None:
    bot = agent([calling("calculatecalculatecalculate", expression="1+2"), "셋입니다"])
    assert [(each.name, each.ok) for each in only(say(bot, session(bot), "1 더하기 2는?"), ToolFinished)] == [
        ("calculate", True)
    ]


CUT = {"finish_reason": "length"}


def test_an_answer_that_was_cut_off_is_kept_with_its_limit(agent: OpenAgent, session: NewSession) -> None:
    bot = agent([AIMessage("먼저 물을 끓이고, 다음에 국", response_metadata=CUT), "다 끓였습니다"])
    own = session(bot)
    end = done(say(bot, own, "국수 끓이는 법을 자세히 알려줘"))
    turn = bot.store.turn(own, 1)
    assert turn is not None
    assert (turn.status, turn.answer) == ("done", "먼저 물을 끓이고, 다음에 국")
    assert (turn.usage or {})["cut_at"] == end.usage.cut_at == end.usage.answer_tokens
    assert done(say(bot, own, "그래서 다 끓였나요?")).usage.cut_at == 0


def test_tokens_that_went_into_thinking_are_said_to_have_done_so(agent: OpenAgent, session: NewSession) -> None:
    counted = {"input_tokens": 20, "output_tokens": 1024, "total_tokens": 1044}
    bot = agent([AIMessage("", response_metadata=CUT, usage_metadata=counted)])
    end = failed(say(bot, session(bot), "딸기에 r이 몇 개지?"))
    assert (end.code, end.values) == ("answer_cut_off", {"tokens": 1024})


def test_tools_asked_for_past_the_limit_beside_an_answer_are_ignored(agent: OpenAgent, session: NewSession) -> None:
    both = AIMessage("답은 둘", tool_calls=calling("calculate", expression="1+1").tool_calls)
    bot = agent([both], tool_limit=0)
    assert done(say(bot, session(bot), "계산해 봐")).answer == "답은 둘"


@table(
    ("call", "words"),
    [
        (calling("broken", reason="no disk"), ["broken", "no disk"]),
        (calling("unheard_of"), ["unheard_of", "long_letter", "broken"]),
        (calling("long_letter"), ["size"]),
        (calling("long_letter", size="many"), ["size"]),
        (calling("long_letter", size=[1]), ["size"]),
        (calling("broken", reason="bad \ud800 and \x00"), ["bad \ufffd and "]),
    ],
)
def test_a_failure_is_text_that_the_model_can_act_on(call: AIMessage, words: list[str]) -> None:
    message, event = run_tool(call)
    assert (message.status, event.ok) == ("error", False)
    assert message.tool_call_id == call.tool_calls[0]["id"]
    assert all(word in str(message.text) for word in words)
    assert message.text == event.result


@pytest.mark.parametrize(
    ("arguments", "said"), [({"expression": "1/0"}, "0"), ({"expression": "drop table"}, ""), ({}, "expression")]
)
def test_the_tools_own_errors_are_marked_as_failures(
    agent: OpenAgent, session: NewSession, arguments: dict[str, Any], said: str
) -> None:
    bot = agent([calling("calculate", **arguments), "안 되네요"])
    own = session(bot)
    events = say(bot, own, "계산해 봐")
    (finished,) = only(events, ToolFinished)
    assert not finished.ok
    assert said in finished.result
    assert done(events).answer == "안 되네요"
    result = prompts(bot)[-1][-1]
    assert isinstance(result, ToolMessage)
    assert result.status == "error"


def test_a_long_result_is_cut_with_a_note() -> None:
    message, event = run_tool(calling("long_letter", size=RESULT_CHARS + 5000))
    assert event.ok
    assert str(message.text).startswith("가" * RESULT_CHARS)
    assert str(message.text)[RESULT_CHARS:] == "\n… (5,000 more characters were left out)"


def test_a_result_of_just_the_limit_is_whole() -> None:
    message, _ = run_tool(calling("long_letter", size=RESULT_CHARS))
    assert message.text == "가" * RESULT_CHARS


class Garbled(BaseChatModel):
    """Calls a tool with arguments that are no JSON and an empty id, then answers."""

    @property
    def _llm_type(self) -> str:
        return "garbled"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _stream(self, messages: list[BaseMessage], *_: Any, **kwargs: Any) -> Any:
        if isinstance(messages[-1], ToolMessage):
            text = AIMessageChunk(content=str(messages[-1].text), chunk_position="last")
            yield ChatGenerationChunk(message=text)
            return
        call = tool_call_chunk(name="calculate", args="1 + 1 <", id="", index=0)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call], chunk_position="last"))

    def _generate(self, *_: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError


def test_arguments_that_are_no_json_go_back_to_the_model(agent: OpenAgent, session: NewSession) -> None:
    from dataclasses import replace

    own_models = replace(scripted.build_scripted_models(), chat=Garbled())
    bot = agent(resolve=lambda: own_models)
    events = say(bot, session(bot), "1 더하기 1은?")
    (finished,) = only(events, ToolFinished)
    assert not finished.ok
    assert finished.call
    assert "JSON" in done(events).answer


def test_arguments_with_lone_surrogates_do_not_crash_the_turn(agent: OpenAgent, session: NewSession) -> None:
    bot = agent([calling("calculate", expression="\ud800\x001+1", more={"\udfff": ["\ud801"]}), "둘"])
    own = session(bot)
    assert done(say(bot, own, "계산해 봐")).answer == "둘"
    str(bot.state(own)["messages"]).encode()


def test_a_tool_turn_is_summarised_whole(agent: OpenAgent, session: NewSession) -> None:
    texts = iter([calling("calculate", expression="12*12"), answer(1), answer(2), answer(3), answer(4)])
    bot = agent(lambda _: next(texts), ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 5))
    (record,) = bot.state(own)["summary_history"]
    assert summary_calls(bot) >= 1
    turn = bot.store.turn(own, 1)
    assert turn is not None
    whole = sum(len(question(n)) + len(answer(n)) for n in (1, 2, 3)) + len(turn.steps[0]["result"])
    assert record["original_chars"] == whole


def test_a_small_model_s_answer_that_goes_round_in_circles_ends_there(agent: OpenAgent, session: NewSession) -> None:
    unit = "산의 높은 곳은 강릉 산 산의 높은 곳입니다. "
    bot = agent(lambda _: "다음과 같습니다: " + unit * 400, profile=SMALL)
    own = session(bot)
    events = say(bot, own, "강릉에서 가 볼 만한 곳 세 곳만 알려줘")
    assert done(events).answer == "다음과 같습니다: " + unit.rstrip()
    assert len("".join(each.text for each in only(events, Token))) < 10 * len(unit)
    assert "곳입니다. 산의 높은 곳은" not in str(bot.state(own)["messages"][-1].text)
