"""What the next prompt will hold is what it then holds."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest

from errors import ModelOverloaded
from graph.context.preview import Preview, preview_next_prompt
from graph.turn.agent import Agent
from model.profile import SMALL, STRONG, Profile
from model.scripted import ScriptedModel
from store import Store
from store.export.portable import import_conversations, render_session_json
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import fact, folding, noting, ready, tell
from tests.graph.talk import done, hurry, question, say, summarising, summary_calls, talk

NewSession = Callable[[Agent], str]
Held = dict[str, tuple[int, list[str]]]


def held(parts: list[dict[str, object]]) -> Held:
    """Tokens and items by part, the question's aside."""
    return {
        str(each["name"]): (int(str(each["tokens"])), list(each["items"]))  # type: ignore[call-overload]
        for each in parts
        if each["name"] not in ("question", "turns")  # past turns depend on the question
    }


def coming(agent: Agent, session: str) -> Held:
    return held(preview_next_prompt(agent, session).report.plain()["parts"])


def sent(agent: Agent, session: str, number: int) -> Held:
    turn = agent.store.turn(session, number)
    assert turn is not None
    assert turn.report is not None
    return held(turn.report["parts"])


@pytest.mark.parametrize("profile", [STRONG, SMALL], ids=["strong", "small"])
def test_it_is_what_the_next_prompt_holds(agent: OpenAgent, session: NewSession, profile: Profile) -> None:
    one = agent(profile=profile)
    own = session(one)
    talk(one, own, [1])
    for number in range(2, 12):
        expected = coming(one, own)
        talk(one, own, [number])
        assert sent(one, own, number) == expected, number


def test_memory_and_entities_are_in_it(agent: OpenAgent) -> None:
    one = ready(agent(noting, folding, memory=True, changing=lambda *_: ()))
    own = one.store.create_session("en", 0.3).id
    tell(one, own, range(1, 8))
    expected = coming(one, own)
    assert {"memory", "entities"} <= set(expected)
    done(say(one, own, fact(8)))
    assert sent(one, own, 8) == expected


@pytest.mark.parametrize("profile", [STRONG, SMALL], ids=["strong", "small"])
def test_a_chat_that_lacks_summaries_gets_all_of_them_with_the_next_turn(
    agent: OpenAgent, session: NewSession, profile: Profile
) -> None:
    one = agent(profile=profile)
    own = session(one)
    talk(one, own, range(1, 9))
    copy = imported(one.store, own)
    seen = preview_next_prompt(one, copy)
    assert seen.making == ("1-3", "4-6")
    assert ranges(seen) == ["1-3", "4-6"]
    done(say(one, copy, question(9)))
    items = {name: items for name, (_, items) in sent(one, copy, 9).items()}
    assert items == {part.name: list(part.items) for part in seen.report.parts if part.name != "question"}


@pytest.mark.parametrize(("ahead", "making"), [(True, ("1-3",)), (False, ("1-3", "4-6"))])
def test_after_a_summary_failed_its_turns_are_due_again(
    agent: OpenAgent, session: NewSession, ahead: bool, making: tuple[str, ...]
) -> None:
    one = agent(utility=lambda messages: ModelOverloaded(url="http://model"), ahead=ahead)
    own = session(one)
    talk(one, own, range(1, 7))
    assert preview_next_prompt(one, own).making == making


def test_turns_whose_summary_a_model_still_writes_are_raw(agent: OpenAgent, session: NewSession) -> None:
    held = threading.Event()
    one = agent(utility=ScriptedModel(summarising, gate=held))
    own = session(one)
    hurry(one, own, range(1, 4))
    expected = coming(one, own)
    assert preview_next_prompt(one, own).making == ("1-3",)
    assert expected["recent"][1] == ["1", "2", "3"]
    hurry(one, own, [4])
    assert sent(one, own, 4) == expected
    held.set()


def test_it_calls_no_model_and_writes_nothing(agent: OpenAgent, session: NewSession) -> None:
    one = agent(ahead=False)
    own = session(one)
    talk(one, own, range(1, 4))
    before = (one.store.session(own), one.state(own), one.store.ledger.summaries(own), summary_calls(one))
    assert preview_next_prompt(one, own).making == ("1-3",)
    assert (one.store.session(own), one.state(own), one.store.ledger.summaries(own), summary_calls(one)) == before


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_a_summary_that_is_still_to_be_made_counts_at_its_length(
    agent: OpenAgent, session: NewSession, rate: float
) -> None:
    one = agent(ahead=False)
    own = session(one)
    talk(one, own, range(1, 4))
    one.store.set_rate(own, rate)
    expected, _ = coming(one, own)["summaries"]
    talk(one, own, [4])
    actual, _ = sent(one, own, 4)["summaries"]
    assert abs(actual - expected) < 0.4 * actual


def imported(store: Store, session: str) -> str:
    """A copy without summaries, as an import from elsewhere."""
    data = json.loads(render_session_json(store, session))
    data["summaries"] = []
    (made,) = import_conversations(store, json.dumps(data).encode(), 10_000_000, len).sessions
    return made


def ranges(seen: Preview) -> list[str]:
    return [item for part in seen.report.parts if part.name == "summaries" for item in part.items]
