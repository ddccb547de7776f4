"""What holds for every summary, whoever writes it (specification 3.2, design 5.3)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from graph.summary import SLACK, SMALL, ChunkSource, make_edited_summary
from model import profile
from model.call.stream import Stopped
from model.modelset import ModelSet
from model.scripted import ScriptedModel, build_scripted_models
from tests.graph.summary.chunk import FACTS, chunk, run, turns
from tests.graph.talk import summarising
from tests.graph.test_hostile import HOSTILE
from text.fact import fact
from text.language import detect_language

KEYS = ["thread_id", "turns", "turn_length", "original_chars", "summary_chars", "compression_rate", "summary"]
Writing = Callable[..., ModelSet]


@pytest.fixture(params=["model", "extracted"])
def writing(request: pytest.FixtureRequest) -> Writing:
    """The models of one writer: ``reply`` is what the model says; code asks none, so its script is empty."""

    def make(reply: Any = summarising, **fields: Any) -> ModelSet:
        if request.param == "extracted":
            return build_scripted_models(profile=profile.SMALL)
        return build_scripted_models(
            utility=ScriptedModel(lambda messages: reply(messages), **fields), profile=profile.STRONG
        )

    return make


@pytest.mark.parametrize(("size", "rate"), [(100, 0.3), (500, 0.3), (1500, 0.3), (500, 0.1), (500, 0.5)])
def test_the_length_is_the_specified_one_within_the_slack(writing: Writing, size: int, rate: float) -> None:
    record = run(chunk(size), writing(), rate=rate).record
    target = int(size * rate)
    assert (record["original_chars"], record["summary_chars"]) == (size, len(record["summary"]))
    assert 0.75 * target <= record["summary_chars"] <= (SLACK * target if target > SMALL else target + 12)


def test_the_record_has_exactly_the_specified_keys(writing: Writing) -> None:
    record = run(chunk(500), writing(), thread_id="session_abc123", rate=0.25).record
    assert list(record) == KEYS
    assert (record["thread_id"], record["turns"], record["turn_length"]) == ("session_abc123", [1, 2, 3], 3)
    assert (record["original_chars"], record["compression_rate"]) == (500, 0.25)


def test_what_tools_said_counts_and_their_calls_do_not(writing: Writing) -> None:
    call = ToolCall(name="current_time", args={"zone": "Asia/Seoul"}, id="c1")
    messages: list[AnyMessage] = [HumanMessage("몇 시?"), AIMessage("", tool_calls=[call])]
    messages += [ToolMessage("낮", tool_call_id="c1"), AIMessage("낮입니다")]
    made = run(messages, writing(lambda _: "낮"), rate=0.5)
    assert made.record["original_chars"] == len("몇 시?" + "낮" + "낮입니다")
    assert made.record["summary_chars"] <= made.record["original_chars"]


def test_every_fact_is_told_as_kept_or_lost_and_rightly(writing: Writing) -> None:
    made = run(FACTS, writing(lambda _: "김민수 과장이 3월 5일에 옴."), rate=0.1)
    assert sorted((*made.kept, *made.lost)) == sorted(["김민수", "3월 5일", "120만 원"])
    assert made.lost
    for one in fact.find_facts("\n".join(message.text for message in FACTS)):
        assert fact.has_fact_value(made.record["summary"], one) is (one.text in made.kept)


@pytest.mark.parametrize("session", ["ko", "en"])
@pytest.mark.parametrize(
    ("said", "spoken"),
    [
        (("We will move to Dublin in May.", "Good. Which things will you take along?"), "en"),
        (("다음 달에 부산으로 이사해요.", "그렇군요. 어떤 짐을 가져가시나요?"), "ko"),
    ],
)
def test_the_language_is_that_of_the_conversation(
    writing: Writing, said: tuple[str, str], spoken: str, session: str
) -> None:
    def reply(messages: list[BaseMessage]) -> str:
        return "They talk about moving." if "in English" in str(messages) else "이사 이야기를 나눔."

    summary = run(turns(said, said, said), writing(reply), language=session, rate=0.5).record["summary"]
    assert detect_language(summary, "en" if spoken == "ko" else "ko") == spoken


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_turns_are_summed_up_and_what_comes_of_it_is_clean(writing: Writing, text: str) -> None:
    messages: list[AnyMessage] = [
        HumanMessage(text),
        AIMessage("네, 살펴보았습니다."),
        *[HumanMessage("더 없어요")] * 2,
    ]
    record = run(messages, writing(lambda _: f"글 {text}"[:20])).record
    assert 0 < record["summary_chars"] <= record["original_chars"]
    record["summary"].encode()
    assert "\x00" not in record["summary"]


def test_a_stop_ends_it_at_once(writing: Writing) -> None:
    stop = threading.Event()
    stop.set()
    with suppress(Stopped):  # code is done before it could look
        run(chunk(1500), writing(delay=3600.0), stop=stop)


def test_a_summary_in_the_users_own_words_may_have_any_length_and_tells_what_it_lacks() -> None:
    made = make_edited_summary(ChunkSource(FACTS, [1, 2, 3], "s1", 0.3, "ko"), "비용은 120만 원. " * 40)
    assert made.record["summary_chars"] == len(made.record["summary"]) > made.record["original_chars"]
    assert (made.kept, made.calls, made.model, made.origin) == (("120만 원",), 0, "", "edited")
    assert set(made.lost) == {"김민수", "3월 5일"}
