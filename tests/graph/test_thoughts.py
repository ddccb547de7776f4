"""What a model thinks stands apart: shown, kept with the turn, exported, and never in an answer, prompt or summary."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from graph.answer.text_call import TextCalls
from graph.turn.agent import Agent
from graph.turn.event import Thought, Token
from model import scripted
from model.call import client
from settings import load_settings
from store import Store
from store.export import portable
from store.export.transcript import render_transcript
from tests.graph.conftest import OpenAgent
from tests.graph.talk import done, failed, only, question, say, summarising
from tests.stub import reply
from tests.stub.upstream import Upstream

NewSession = Callable[[Agent], str]
THOUGHT = "비밀스러운 생각"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as running:
        yield running


@pytest.fixture
def bot(agent: OpenAgent, upstream: Upstream) -> Agent:
    """An agent whose model is a server."""
    chat = client.build_chat_model(
        client.ModelAddress(upstream.url, "key", "thinker"), settings=load_settings(model_retries=0)
    )
    models = replace(scripted.build_scripted_models((), summarising), chat=chat, kind="local")
    return agent(resolve=lambda: models)


def thinking(text: str, thought: str = THOUGHT) -> reply.Reply:
    return reply.said(f"<think>\n{thought}\n</think>\n\n{text}")


def test_thoughts_are_shown_apart_and_kept_with_the_turn(bot: Agent, session: NewSession, upstream: Upstream) -> None:
    upstream.add(thinking("네 살입니다."))
    own = session(bot)
    events = say(bot, own, "몇 살?")
    assert done(events).answer == "네 살입니다."
    assert "".join(event.text for event in only(events, Token)) == "네 살입니다."
    assert "".join(event.text for event in only(events, Thought)).strip() == THOUGHT
    turn = bot.store.turn(own, 1)
    assert turn is not None
    assert turn.reasoning is not None
    assert turn.answer == "네 살입니다."
    assert turn.reasoning["text"] == THOUGHT
    assert turn.reasoning["seconds"] == only(events, Thought)[-1].seconds >= 0


def test_no_later_prompt_summary_or_search_holds_a_thought(bot: Agent, session: NewSession, upstream: Upstream) -> None:
    upstream.always = lambda _: thinking(
        "이야기는 아주 길어서 오늘은 앞부분만 말씀드리고 나머지는 다음에 이어 가겠습니다"
    )
    own = session(bot)
    for number in range(1, 6):
        done(say(bot, own, question(number)))
        assert bot.background.idle(5)
    sent = json.dumps([request.body for request in upstream.requests], ensure_ascii=False)
    assert len(upstream.requests) == 5
    assert THOUGHT not in sent
    assert THOUGHT not in str(bot.models().utility.calls)  # type: ignore[attr-defined]
    assert bot.store.ledger.summaries(own)
    assert THOUGHT not in str(bot.store.ledger.summaries(own))
    assert bot.store.search(THOUGHT) == []
    assert bot.store.turn(own, 1).messages is not None  # type: ignore[union-attr]
    assert THOUGHT not in str(bot.store.turn(own, 1).messages)  # type: ignore[union-attr]


def test_an_export_carries_thoughts_and_an_import_takes_them(
    bot: Agent, session: NewSession, upstream: Upstream, tmp_path: object
) -> None:
    upstream.add(thinking("네."))
    own = session(bot)
    done(say(bot, own, "맞지?"))
    exported = portable.render_session_json(bot.store, own)
    (copy,) = portable.import_conversations(bot.store, exported.encode(), 10_000_000, len).sessions
    stored: Store = bot.store
    assert stored.turn(copy, 1).reasoning == stored.turn(own, 1).reasoning  # type: ignore[union-attr]
    assert json.loads(portable.render_session_json(stored, copy))["turns"] == json.loads(exported)["turns"]
    assert f"> {THOUGHT}" in render_transcript(stored, own, "ko")


def test_thoughts_of_a_tool_loop_are_one_reasoning(bot: Agent, session: NewSession, upstream: Upstream) -> None:
    called = reply.called("calculate", {"expression": "2+2"})
    thought = reply.delta({"reasoning_content": "먼저 계산"})
    upstream.add(called.but(chunks=(thought, *called.chunks)), thinking("4입니다.", "이제 답"))
    own = session(bot)
    done(say(bot, own, "계산해 줘"))
    turn = bot.store.turn(own, 1)
    assert turn is not None
    assert turn.reasoning is not None
    assert [each.strip() for each in turn.reasoning["text"].split("\n\n")] == ["먼저 계산", "이제 답"]


def test_what_turns_out_to_be_thought_leaves_the_answer(bot: Agent, session: NewSession, upstream: Upstream) -> None:
    upstream.add(reply.said(f"{THOUGHT}\n</think>\n\n네."), reply.said(f"{THOUGHT}\n</think>\n\n네."))
    own = session(bot)
    first, second = say(bot, own, "하나"), say(bot, own, "둘")
    assert [done(events).answer for events in (first, second)] == ["네.", "네."]
    assert [event.moved for event in only(first, Thought)] == [True]
    assert not any(event.moved for event in only(second, Thought))
    reasons = [bot.store.turn(own, number).reasoning for number in (1, 2)]  # type: ignore[union-attr]
    assert [each and each["text"] for each in reasons] == [THOUGHT, THOUGHT]


def test_a_turn_that_only_thought_fails_and_keeps_what_it_thought(
    bot: Agent, session: NewSession, upstream: Upstream
) -> None:
    upstream.add(reply.said(f"<think>{THOUGHT}", finish="length"))
    own = session(bot)
    assert failed(say(bot, own, "하나")).code == "answer_cut_off"
    turn = bot.store.turn(own, 1)
    assert turn is not None
    assert turn.reasoning is not None
    assert (turn.answer, turn.reasoning["text"]) == (None, THOUGHT)


def test_a_call_written_as_text_is_run(bot: Agent, session: NewSession, upstream: Upstream) -> None:
    written = '<tool_call>\n{"name": "calculate", "arguments": {"expression": "12*12"}}\n</tool_call>'
    upstream.add(reply.said(written), reply.said("144입니다."))
    own = session(bot)
    events = say(bot, own, "12 곱하기 12는?")
    assert "".join(event.text for event in only(events, Token)) == "144입니다."
    turn = bot.store.turn(own, 1)
    assert turn is not None
    assert [(step["name"], step["ok"]) for step in turn.steps] == [("calculate", True)]
    (sent,) = (each for each in upstream.requests[-1].body["messages"] if each["role"] == "assistant")
    assert sent["tool_calls"][0]["function"]["name"] == "calculate"


def test_the_same_call_four_times_with_the_same_result_ends_the_loop(
    bot: Agent, session: NewSession, upstream: Upstream
) -> None:
    def answer(body: dict[str, object]) -> reply.Reply:
        return reply.called("calculate", {"expression": "1+1"}) if body.get("tools") else reply.said("2입니다.")

    upstream.always = answer
    bot = replace(bot, settings=bot.settings.model_copy(update={"tool_limit": 20}))
    own = session(bot)
    assert done(say(bot, own, "계산해 줘")).answer == "2입니다."
    assert len(upstream.requests) == 5
    assert "더 쓸 수 없습니다" in upstream.requests[-1].body["messages"][-1]["content"]


def test_the_size_of_a_turn_is_its_last_prompt_and_its_cost_is_the_sum(
    bot: Agent, session: NewSession, upstream: Upstream
) -> None:
    calls = [reply.called("calculate", {"expression": f"{n}+1"}) for n in range(3)]
    upstream.add(*calls, reply.said("끝", prompt=50, cached=30))
    own = session(bot)
    usage = done(say(bot, own, "계산해 줘")).usage
    assert (usage.prompt_tokens, usage.last_prompt_tokens, usage.cached_tokens, usage.calls) == (140, 50, 30, 4)
    stored = bot.store.turn(own, 1)
    assert stored is not None
    assert stored.usage is not None
    assert stored.usage["last_prompt_tokens"] == 50


def test_an_answer_in_json_is_no_call_when_its_name_is_no_tools() -> None:
    calls = TextCalls({"calculate"})
    assert calls.feed('[{"name": "Kim", ') == '[{"name": "Kim", '
    assert TextCalls({"calculate"}).feed('[{"name": "calc') == ""
