"""Limits of one answer: what goes to the model, what code cuts, and why an answer ended."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from errors import GieokError, OutOfRange, TooLong
from graph.answer.stop_word import StopWords
from graph.turn.event import Token
from graph.turn.request import AnswerLimits
from graph.turn.runtime import Inputs, TurnContext
from model.profile import SMALL, STRONG
from model.scripted import ScriptedModel
from store.session.options import AnswerOptions
from tests.graph.asking import ask, bound
from tests.graph.conftest import OpenAgent, Route
from tests.graph.talk import done, failed, only, question
from tests.graph.test_exact import NewSession
from tests.table import table

OPTIONS = AnswerOptions(temperature=0.7, answer_tokens=800)


def test_they_go_to_the_model_and_win_over_the_options_for_one_answer(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    one.store.options.set(own, OPTIONS)
    limits = AnswerLimits(max_tokens=40, temperature=0.0, top_p=0.5, stop=("\n그", "끝"))
    done(ask(one, own, question(1), limits=limits))
    assert bound(one) == {
        "temperature": 0.0,
        "max_tokens": 40,
        "top_p": 0.5,
        "optional": ["temperature", "top_p", "stop"],
    }
    done(ask(one, own, question(2), limits=AnswerLimits(top_p=0.5)))
    assert bound(one) == {"temperature": 0.7, "max_tokens": 800, "top_p": 0.5, "optional": ["top_p"]}
    done(ask(one, own, kind="again", number=2, limits=AnswerLimits(max_tokens=50)))
    assert bound(one) == {"temperature": 0.7, "max_tokens": 50}
    done(ask(one, own, question(3)))
    assert bound(one) == {"temperature": 0.7, "max_tokens": 800}
    assert one.store.options.of(own) == OPTIONS


def test_the_stop_words_reach_the_model(agent: OpenAgent, session: NewSession, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[Any]()
    whole = ScriptedModel._stream

    def noting(model: ScriptedModel, messages: Any, stop: Any = None, *rest: Any, **named: Any) -> Any:
        seen.append(stop)
        return whole(model, messages, stop, *rest, **named)

    monkeypatch.setattr(ScriptedModel, "_stream", noting)
    one = agent()
    done(ask(one, session(one), question(1), limits=AnswerLimits(stop=tuple("abcde"))))
    done(ask(one, session(one), question(1)))
    assert seen == [list("abcd"), None], "OpenAI takes no more than four"


def test_a_longer_answer_leaves_less_room_for_the_prompt(agent: OpenAgent) -> None:
    one = agent(context_size=10_000)
    inputs = Inputs(options=OPTIONS, limits=AnswerLimits(max_tokens=2000))
    turn = TurnContext(one.models(), one.settings, inputs=inputs)
    assert (turn.answer_tokens, turn.limits().prompt) == (2000, 8000)


@pytest.mark.parametrize("profile", [STRONG, SMALL], ids=lambda profile: profile.name)
@pytest.mark.parametrize("piece", [".", r"\s*\S+|\s+$", r"[\s\S]+"], ids=["letters", "words", "whole"])
def test_an_answer_ends_before_a_stop_word_however_it_arrives(
    agent: OpenAgent, session: NewSession, profile: Any, piece: str
) -> None:
    said = "등대는 밤에 켜집니다.\nUser: 정말?\nAI: 네"
    one = agent(ScriptedModel([said, said, said], piece=f"(?s:{piece})"), profile=profile, side=STRONG)
    own = session(one)
    events = ask(one, own, question(1), limits=AnswerLimits(stop=("없는 말", "\nAI:", "\nUser:")))
    assert done(events).answer == "".join(token.text for token in only(events, Token)) == "등대는 밤에 켜집니다."
    assert done(events).finish_reason == "stop"
    turn = one.store.turn(own, 1)
    assert turn is not None
    assert turn.answer == "등대는 밤에 켜집니다."
    held = ask(one, own, question(2), limits=AnswerLimits(stop=("네요", "네, 알")))
    assert done(held).answer == "".join(token.text for token in only(held, Token)) == said, "held back, and released"


@table(
    ("words", "pieces", "shown"),
    [
        (["ab"], ["xa", "b", "y"], "x"),
        (["ab"], ["xa", "a", "c"], "xaac"),
        (["aab"], ["aa", "ab"], "a"),
        (["\n\n", "\nUser"], ["하나\n", "Use", "d"], "하나\nUsed"),
        (["long", "on"], ["al", "o", "ng"], "a"),
        (["b", "a"], ["xab"], "x"),
        ([], ["a", "b"], "ab"),
        (["끝"], [], ""),
    ],
)
def test_what_may_begin_a_stop_word_waits_and_the_rest_is_shown(
    words: list[str], pieces: list[str], shown: str
) -> None:
    watch = StopWords(words)
    assert "".join([*(watch.feed(piece) for piece in pieces), watch.end()]) == shown


def test_nothing_is_held_back_that_begins_no_stop_word() -> None:
    watch = StopWords(["\nUser:"])
    assert [watch.feed(piece) for piece in ("하나", " 둘\n", "셋")] == ["하나", " 둘", "\n셋"]


@pytest.mark.parametrize("stop", [(), ("없는 말",)])
def test_an_answer_that_was_cut_at_its_tokens_says_so(agent: OpenAgent, session: NewSession, stop: Any) -> None:
    cut = AIMessage("중간에서 끊긴 대", response_metadata={"finish_reason": "length"})
    one = agent([cut, "온전한 대답입니다", cut])
    own = session(one)
    limits = AnswerLimits(max_tokens=5, stop=stop)
    first = done(ask(one, own, question(1), limits=limits))
    assert (first.finish_reason, first.usage.cut_at > 0) == ("length", True)
    assert done(ask(one, own, question(2), limits=limits)).finish_reason == "stop"
    met = done(ask(one, own, question(3), limits=AnswerLimits(stop=("끊긴",))))
    assert (met.answer, met.finish_reason) == ("중간에서 ", "stop")


def test_a_tool_call_that_was_cut_does_not_make_the_answer_a_cut_one(agent: OpenAgent, session: NewSession) -> None:
    call = {"name": "calculate", "args": {"expression": "6*7"}, "id": "c1", "type": "tool_call"}
    cut = AIMessage("", tool_calls=[call], response_metadata={"finish_reason": "length"})
    one = agent([cut, "42입니다"])
    assert done(ask(one, session(one), question(1))).finish_reason == "stop"


def test_an_answer_that_is_only_a_stop_word_is_empty(agent: OpenAgent, session: NewSession) -> None:
    one = agent(["끝입니다"])
    assert failed(ask(one, session(one), question(1), limits=AnswerLimits(stop=("끝",)))).code == "empty_answer"


def test_an_answer_that_code_words_obeys_no_limits(agent: OpenAgent, session: NewSession, route: Route) -> None:
    route("6 곱하기 7", "calculate", expression="6*7")
    one = agent([], profile=SMALL)
    end = done(ask(one, session(one), "6 곱하기 7은?", limits=AnswerLimits(max_tokens=1, stop=("42",))))
    assert "42" in end.answer
    assert end.finish_reason == "stop"


@table(
    ("limits", "kind", "what"),
    [
        ({"max_tokens": 0}, OutOfRange, "max_tokens"),
        ({"max_tokens": 1_000_001}, OutOfRange, "max_tokens"),
        ({"temperature": 2.1}, OutOfRange, "temperature"),
        ({"temperature": float("nan")}, OutOfRange, "temperature"),
        ({"top_p": -0.1}, OutOfRange, "top_p"),
        ({"stop": tuple(map(str, range(17)))}, OutOfRange, "number of stop words"),
        ({"stop": ("x" * 501,)}, TooLong, "stop word"),
    ],
)
def test_what_is_out_of_range_is_named_and_no_turn_begins(
    agent: OpenAgent, session: NewSession, limits: dict[str, Any], kind: type[GieokError], what: str
) -> None:
    one = agent()
    own = session(one)
    with pytest.raises(kind) as caught:
        ask(one, own, question(1), limits=AnswerLimits(**limits))
    assert caught.value.values["what"] == what
    assert one.store.session(own).turn_count == 0


def test_empty_stop_words_count_for_nothing() -> None:
    assert AnswerLimits(stop=("", "a", "\x00", "a")).validate_limits() == AnswerLimits(stop=("a",))
