"""A client's system text: it stays with the session, stands behind ours, and is shown with the prompt."""

from __future__ import annotations

import pytest

from errors import SystemTextTooLong, TooLong
from graph.context import compare
from graph.context.exact_prompt import rebuild_exact_prompt
from graph.context.preview import preview_next_prompt
from graph.turn.event import ContextBuilt
from model.profile import SMALL, STRONG, TOOLLESS, Profile
from prompt import render_prompt
from store.export import portable
from store.session.options import SYSTEM_CHARS, AnswerOptions
from tests.graph.asking import ask
from tests.graph.conftest import OpenAgent
from tests.graph.talk import done, failed, only, prompts, question, say, talk
from tests.graph.test_exact import NewSession, check, text
from tests.graph.test_own_prompt import first, role

CARD = "You are Mira, a lighthouse keeper. $name never leaves the island."
OTHER = "You are Jun, a fisherman."


@pytest.mark.parametrize("profile", [STRONG, TOOLLESS, SMALL], ids=lambda profile: profile.name)
def test_it_stands_behind_our_rules_in_place_of_our_role_and_is_shown_word_for_word(
    agent: OpenAgent, session: NewSession, profile: Profile
) -> None:
    one = agent(profile=profile, side=STRONG)
    own = session(one)
    done(ask(one, own, question(1), system=CARD))
    talk(one, own, range(2, 6))
    for call in range(5):
        sent = first(one, call)
        assert role(profile) not in sent
        assert CARD in sent
        if profile.prompt == "full":
            assert sent.index(render_prompt("rules", "ko")) < sent.index(CARD)
        check(one, own, call + 1, call)
    if profile.tools == "native":
        assert "calculate" in first(one).partition(CARD)[0], "the tools' descriptions stay"
    if profile.prompt == "full":
        assert first(one).index(CARD) < first(one).index("[1-3턴]")
    assert text(rebuild_exact_prompt(one, own, 5), "client_system") == CARD
    assert one.store.session(own).client_system == CARD


def test_it_stands_behind_the_conversations_own_prompt(agent: OpenAgent, session: NewSession) -> None:
    one = agent(profile=SMALL)
    own = session(one)
    one.store.options.set(own, AnswerOptions("Speak like a pirate."))
    done(ask(one, own, question(1), system=CARD))
    assert first(one) == f"Speak like a pirate.\n\n{CARD}"
    check(one, own, 1)


def test_it_stays_until_it_is_told_anew_and_every_answer_shows_its_own(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    done(ask(one, own, question(1), system=CARD))
    done(say(one, own, question(2)))
    assert CARD in first(one)
    done(ask(one, own, question(3), system=OTHER))
    assert CARD not in first(one)
    done(ask(one, own, kind="again", number=3, system=f" {CARD}\n"))
    done(ask(one, own, "다른 물음을 하나 할게", kind="edited", number=3, system=""))
    assert role(STRONG) in first(one)
    assert not any("client_system" in part["name"] for part in (one.store.turn(own, 3).report or {})["parts"])  # type: ignore[union-attr]
    one.switch(own, 3, 0)
    assert text(rebuild_exact_prompt(one, own, 3), "client_system") == OTHER
    assert text(rebuild_exact_prompt(one, own, 2), "client_system") == CARD
    check(one, own, 2, 1)


def test_the_same_text_is_not_written_again(
    agent: OpenAgent, session: NewSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = agent()
    own = session(one)
    done(ask(one, own, question(1), system=CARD))
    monkeypatch.setattr(type(one.store), "set_client_system", lambda *_: pytest.fail("written again"))
    done(ask(one, own, question(2), system=f"{CARD}\n"))
    done(ask(one, own, question(3)))


def test_its_tokens_are_a_part_of_their_own(agent: OpenAgent, session: NewSession) -> None:
    for profile in (STRONG, SMALL):
        one = agent(profile=profile, side=STRONG)
        own = session(one)
        [built] = only(ask(one, own, question(1), system=CARD), ContextBuilt)
        part = built.report.part("client_system")
        assert part is not None
        alone = 0 if built.report.part("system").tokens else 4  # type: ignore[union-attr]
        assert part.tokens == one.models().count(CARD) + alone
        assert built.report.total_tokens == sum(each.tokens for each in built.report.parts)


def test_the_preview_a_comparison_and_a_copy_have_it_too(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    done(ask(one, own, question(1), system=CARD))
    assert preview_next_prompt(one, own).report.part("client_system") is not None
    list(compare.stream_variant_answer(one, own, "같은 질문을 다시 할게", compare.Variant()))
    assert CARD in first(one)
    copy = one.fork(own, 1)
    assert text(rebuild_exact_prompt(one, copy, 1), "client_system") == CARD
    done(say(one, copy, question(2)))
    assert CARD in first(one)


def test_an_export_takes_it_along_however_long_it_is(agent: OpenAgent, session: NewSession) -> None:
    one = agent(context_size=1_000_000)
    own = session(one)
    long = f"{CARD} {'x' * (SYSTEM_CHARS - len(CARD) - 1)}"
    done(ask(one, own, question(1), system=long))
    [made] = portable.import_conversations(one.store, one.export_session(own).encode(), portable.LIMIT, len).sessions
    assert one.store.session(made).client_system == long
    assert one.store.options.prompt(made, _mark(one.store.turn(own, 1))) == long


def _mark(turn: object) -> str:
    parts = turn.report["parts"]  # type: ignore[attr-defined]
    return next(str(part["mark"]) for part in parts if part["name"] == "client_system")


def test_a_greeting_is_answered_in_its_role(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    done(ask(one, own, "안녕하세요", system=CARD))
    assert CARD in first(one)


def test_a_text_over_the_limit_is_refused_before_the_turn(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    with pytest.raises(TooLong) as caught:
        ask(one, own, question(1), system="x" * (SYSTEM_CHARS + 1))
    assert caught.value.values == {"what": "system text", "size": SYSTEM_CHARS + 1, "limit": SYSTEM_CHARS}
    assert one.store.session(own).turn_count == 0
    assert one.store.session(own).client_system == ""


@pytest.mark.parametrize("profile", [STRONG, TOOLLESS, SMALL], ids=lambda profile: profile.name)
def test_a_text_that_crowds_the_prompt_out_is_named(agent: OpenAgent, session: NewSession, profile: Profile) -> None:
    one = agent(profile=profile, side=STRONG, context_size=4000)
    own = session(one)
    end = failed(ask(one, own, question(1), system="lighthouse " * 2000))
    assert end.code == SystemTextTooLong.code
    assert end.values["tokens"] >= one.models().count("lighthouse " * 2000)
    assert prompts(one) == []
    question_too = failed(ask(one, session(one), "등대 " * 20_000, system=CARD))
    assert question_too.code == "context_too_long", "the question is what is too long"
    done(ask(one, own, question(1), system=CARD))
