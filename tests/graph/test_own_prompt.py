"""A conversation's own system prompt, temperature and longest answer: what the model gets, and what is shown of it."""

from __future__ import annotations

import pytest

from graph.context import compare
from graph.context.exact_prompt import rebuild_exact_prompt
from graph.context.preview import preview_next_prompt
from graph.context.system_prompt import build_bare_prefixes, system_prompt
from graph.tool import TOOLS
from graph.turn.agent import Agent
from graph.turn.event import ContextBuilt
from graph.turn.runtime import Inputs, TurnContext
from model.profile import SMALL, STRONG, TOOLLESS, Profile
from model.scripted import ScriptedModel
from prompt import LANGUAGES, render_prompt
from store.session.options import DEFAULT, AnswerOptions
from tests.graph.conftest import OpenAgent, Route
from tests.graph.talk import done, only, prompts, say, talk
from tests.graph.test_exact import NewSession, check, text

PIRATE = AnswerOptions("You are a pirate. Say arr.", 0.7, 800)


def chat_model(agent: Agent) -> ScriptedModel:
    model = agent.models().chat
    assert isinstance(model, ScriptedModel)
    return model


def first(agent: Agent, call: int = -1) -> str:
    """The first message of a call."""
    return str(prompts(agent)[call][0].text)


def role(profile: Profile) -> str:
    return render_prompt("role_bare" if profile.prompt == "bare" else "role", "ko")


@pytest.mark.parametrize("profile", [STRONG, TOOLLESS, SMALL], ids=lambda profile: profile.name)
def test_it_takes_the_place_of_our_role_and_our_rules_stay(
    agent: OpenAgent, session: NewSession, route: Route, profile: Profile
) -> None:
    one = agent(profile=profile, side=STRONG)
    own = session(one)
    talk(one, own, range(1, 3))
    one.store.options.set(own, PIRATE)
    talk(one, own, range(3, 6))
    assert role(profile) in first(one, 0)
    sent = first(one)
    assert sent.startswith(PIRATE.system_prompt)
    assert role(profile) not in sent
    if profile.prompt == "full":
        assert render_prompt("rules", "ko") in sent
    for number in range(1, 6):  # summaries, short-term memory, and answers from before the change
        check(one, own, number, number - 1)
    assert text(rebuild_exact_prompt(one, own, 3), "instructions") == PIRATE.system_prompt


def test_temperature_and_longest_answer_go_with_answers_and_with_nothing_else(
    agent: OpenAgent, session: NewSession
) -> None:
    one = agent()
    own = session(one)
    one.store.options.set(own, PIRATE)
    talk(one, own, range(1, 5))
    asked = [
        {name: call.get(name) for name in ("temperature", "max_tokens")} for call in chat_model(one).bound_arguments
    ]
    assert asked == [{"temperature": 0.7, "max_tokens": 800}] * 4
    utility = one.models().utility
    assert isinstance(utility, ScriptedModel)
    assert utility.calls, "a summary was made"
    assert not any({"temperature", "max_tokens"} & set(call) for call in utility.bound_arguments)
    one.store.options.set(own, DEFAULT)
    talk(one, own, [5])
    assert not {"temperature", "max_tokens"} & set(chat_model(one).bound_arguments[-1])


def test_a_longer_answer_leaves_less_room_for_the_prompt(agent: OpenAgent) -> None:
    one = agent(context_size=10_000)
    room = [
        TurnContext(one.models(), one.settings, inputs=Inputs(options=AnswerOptions(answer_tokens=tokens)))
        .limits()
        .prompt
        for tokens in (None, 2000, 9000)
    ]
    assert room == [10_000 - 1024, 8000, 7500]


def test_a_greeting_is_answered_in_its_role_and_with_the_conversation(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, [1])
    one.store.options.set(own, PIRATE)
    done(say(one, own, "안녕하세요"))
    assert first(one).startswith(PIRATE.system_prompt)
    assert len(prompts(one)[-1]) == 4


def test_what_was_sent_is_shown_after_it_was_changed_and_on_every_branch(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    one.store.options.set(own, PIRATE)
    talk(one, own, [1])
    one.store.options.set(own, AnswerOptions("You are a judge."))
    done(list(one.again(own, 1)))
    assert text(rebuild_exact_prompt(one, own, 1), "instructions") == "You are a judge."
    one.switch(own, 1, 0)
    assert text(rebuild_exact_prompt(one, own, 1), "instructions") == PIRATE.system_prompt
    check(one, own, 1, 0)
    assert one.store.options.of(own) == AnswerOptions("You are a judge."), "it belongs to the conversation"
    copy = one.fork(own, 1)
    done(say(one, copy, "이 재판을 어떻게 시작할까?"))
    assert first(one).startswith("You are a judge.")
    assert text(rebuild_exact_prompt(one, copy, 1), "instructions") == PIRATE.system_prompt


def test_the_preview_and_a_comparison_have_it_too(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    one.store.options.set(own, PIRATE)
    talk(one, own, [1])
    part = preview_next_prompt(one, own).report.part("instructions")
    assert part is not None
    assert part.tokens == one.models().count(PIRATE.system_prompt)
    list(compare.stream_variant_answer(one, own, "같은 질문을 다시 할게", compare.Variant()))
    assert first(one).startswith(PIRATE.system_prompt)
    assert chat_model(one).bound_arguments[-1]["temperature"] == 0.7


def test_its_tokens_are_a_part_of_their_own(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    one.store.options.set(own, PIRATE)
    [built] = only(say(one, own, "배를 어떻게 찾지?"), ContextBuilt)
    report = built.report
    assert report.total_tokens == sum(part.tokens for part in report.parts)
    assert [part.name for part in report.parts[:2]] == ["instructions", "system"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_saved_beginning_is_not_taken_for_that_of_a_conversation_with_a_role_of_its_own(language: str) -> None:
    """It would have the slot restored to text that is not in the prompt (``model.embedded.prefix``)."""
    own = {"messages": [{"role": "system", "content": PIRATE.system_prompt}, {"role": "user", "content": "x"}]}
    assert not any(prefix.begins(own) for prefix in build_bare_prefixes(language))
    usual = {"messages": [{"role": "system", "content": system_prompt(SMALL, language, ()) + "\n\nmore"}]}
    assert build_bare_prefixes(language)[0].begins(usual)


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_one_the_prompt_is_what_it_was(language: str) -> None:
    whole = system_prompt(STRONG, language, TOOLS)
    assert whole.startswith(f"{render_prompt('role', language)}\n\n{render_prompt('rules', language)}\n\n")
    assert system_prompt(STRONG, language, TOOLS, own=True) == whole.removeprefix(
        f"{render_prompt('role', language)}\n\n"
    )
    assert system_prompt(SMALL, language, TOOLS, own=True) == ""
