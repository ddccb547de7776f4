"""A user who wants to say yes first: a fold writes nothing before that."""

from __future__ import annotations

import pytest

from memory.row import rows
from memory.view.proposal import Proposal
from tests.memory.conversation import Conversations
from tests.memory.models import good


def proposal(talks: Conversations) -> Proposal | None:
    return talks.memory.folds.find_proposal(talks.tenant, talks.session())


def answer(talks: Conversations, yes: bool) -> bool:
    return talks.memory.folds.answer_proposal(talks.tenant, talks.session(), yes, models=good(), language="en")


def propose(talks: Conversations) -> Proposal:
    talks.memory.writer.set_asks_first(talks.tenant, True, talks.user)
    talks.tell(range(1, 7))
    assert talks.fold().status == "nothing"
    made = proposal(talks)
    assert made is not None
    return made


def test_nothing_is_written_before_the_yes_and_the_same_as_without_asking_then(talks: Conversations) -> None:
    made = propose(talks)
    assert made.turns == (1, 2, 3, 4, 5)
    assert ("new", "User said: My item 2 costs $200.") in made.changes
    assert talks.view().whole == ""
    assert talks.memory.reader.find_lines(talks.tenant, talks.session(), "item 2") == []
    talks.tell([7])
    assert talks.fold().status == "nothing", "one proposal at a time"
    assert proposal(talks) == made
    assert answer(talks, True)
    assert "User said: My item 2 costs $200." in talks.view().whole
    assert talks.view().waiting == (6, 7)
    [version] = talks.memory.reader.read_versions(talks.tenant, talks.session())
    assert (version.origin, version.first, version.last) == ("fold", 1, 5)
    assert proposal(talks) is None
    assert not answer(talks, True)


def test_no_takes_the_turns_in_without_a_change(talks: Conversations) -> None:
    made = propose(talks)
    assert answer(talks, False)
    [version] = talks.memory.reader.read_versions(talks.tenant, talks.session())
    assert (version.cost["calls"], version.cost["prompt_tokens"]) == (1, made.folded.prompt_tokens)
    assert talks.view().whole == ""
    assert talks.view().entities == ()
    assert talks.view().waiting == (6,)
    assert proposal(talks) is None
    assert talks.session() not in talks.memory.folds.list_due(talks.tenant)


def test_what_is_forgotten_or_edited_meanwhile_drops_it(talks: Conversations) -> None:
    propose(talks)
    talks.forget("My item 2 costs $200.")
    assert proposal(talks) is None
    talks.fold()
    made = proposal(talks)
    assert made is not None
    assert not any("$200" in line for _, line in made.changes)
    talks.memory.writer.edit(talks.tenant, talks.session(), "My own words.", user=talks.user)
    assert proposal(talks) is None
    assert not answer(talks, True)
    assert talks.view().whole == "My own words."


def test_an_edited_turn_drops_it(talks: Conversations) -> None:
    propose(talks)
    talks.edit(3, "My item 3 costs $333.")
    assert proposal(talks) is None


def test_turns_told_again_after_an_edited_one_do_not_bring_it_back(talks: Conversations) -> None:
    propose(talks)
    talks.edit(3, "My item 3 costs $333.")
    talks.tell(range(4, 7))
    assert proposal(talks) is None
    assert not answer(talks, True)
    talks.fold()
    made = proposal(talks)
    assert made is not None
    assert ("new", "User said: My item 3 costs $333.") in made.changes


def test_one_without_an_answer_holds_back_no_turn_for_good(
    talks: Conversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MOST_WAITING", 8)
    made = propose(talks)
    talks.tell(range(7, 20))
    assert talks.fold().status == "nothing"
    assert proposal(talks) == made
    assert talks.view().short[-1].number == 19
    assert answer(talks, True)
    talks.memory.writer.set_asks_first(talks.tenant, False, talks.user)
    talks.fold()
    versions = talks.memory.reader.read_versions(talks.tenant, talks.session())
    assert sorted((version.first, version.last) for version in versions) == [(1, 5), (6, 10), (11, 15)]


def test_switched_off_while_one_waits_folds_go_on(talks: Conversations) -> None:
    propose(talks)
    talks.memory.writer.set_asks_first(talks.tenant, False, talks.user)
    assert proposal(talks) is None
    assert talks.fold().status == "folded"
    assert talks.view().waiting == (6,)


def test_switched_off_again_folds_write_at_once(talks: Conversations) -> None:
    talks.memory.writer.set_asks_first(talks.tenant, True, talks.user)
    assert talks.memory.reader.asks_first(talks.tenant, talks.user)
    talks.memory.writer.set_asks_first(talks.tenant, False, talks.user)
    talks.tell(range(1, 7))
    assert talks.fold().status == "folded"
