"""Files of a conversation through the whole agent: cited there, unseen elsewhere, gone and kept with it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from graph.answer.documents import find_turn_citations, list_document_tools, look_ups
from graph.context.exact_prompt import rebuild_exact_prompt
from graph.turn.agent import Agent
from graph.turn.session.trash import DAY
from model.profile import SMALL
from store.export.transcript import render_transcript
from tests.graph.conftest import Route
from tests.graph.talk import done, prompts, say, settled
from tests.graph.test_documents import (
    ENOUGH,
    FRUIT,
    MAYBE,
    QUESTION,
    NewSession,
    Reading,
    looking,
    reading,
    searching,
    steps,
)

__all__ = ["reading"]
FILE = ("fruit.md", FRUIT)


def attach(agent: Agent, own: str, *files: tuple[str, bytes]) -> None:
    agent.attach(own, files)
    agent.read_attached(files)


def stored(agent: Agent) -> list[str]:
    """Every document of the library, by name."""
    assert agent.library is not None
    return [each.name for each in agent.library._rows.documents(range(1, 100))]


def test_a_file_is_cited_in_its_conversation_and_its_turn_names_it(reading: Reading, session: NewSession) -> None:
    agent = reading((searching(), "In September [1]."), (ENOUGH,), files=())
    attach(agent, own := session(agent), FILE)
    say(agent, own, QUESTION)
    assert find_turn_citations(steps(agent, own))[1]["label"] == "fruit.md › Pears"
    turn = agent.store.turn(own, 1)
    assert turn is not None
    assert [each["name"] for each in turn.files] == ["fruit.md"]
    assert "> 📎 fruit.md" in render_transcript(agent.store, own, "en")


def test_another_conversation_is_not_even_offered_the_search(reading: Reading, session: NewSession) -> None:
    agent = reading(("I do not know.",), files=())
    attach(agent, session(agent), FILE)
    say(agent, other := session(agent), QUESTION)
    (prompt,) = prompts(agent)
    assert "search_documents" not in str(prompt[0].text)
    assert look_ups(steps(agent, other)) == []
    assert list_document_tools(agent, agent.store.session(other)) == ()


def test_a_small_model_reads_the_file_that_nothing_is_quoted_from(
    reading: Reading, session: NewSession, route: Route
) -> None:
    """With the file's message, and later where the message is about documents."""
    route("sum it up", "search_documents", query="Please sum it up again.")
    agent = reading(("It is about fruit.", "Fruit."), files=(), profile=SMALL)
    assert agent.library is not None
    agent.library._embedder.near = 2.0  # nothing is as near
    attach(agent, own := session(agent), FILE)
    assert done(say(agent, own, "Summarise the file.")).answer == "It is about fruit."
    assert find_turn_citations(steps(agent, own))[1]["document"]
    say(agent, own, "Please sum it up again.")
    assert ["ripen in September" in str(prompt[-2].text) for prompt in prompts(agent)] == [True, True]
    assert str(prompts(agent)[0][-1].text) == "Summarise the file."
    assert rebuild_exact_prompt(agent, own, 1).proven
    (turn,) = agent.store.turns(own, limit=1)
    assert turn.has_foreign, "the answer is made from text of others"


def test_a_message_that_only_may_mean_documents_brings_a_small_model_no_file(
    reading: Reading, session: NewSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = reading(("It is about fruit.", "Hello.", "It is."), files=(), profile=SMALL)
    asked = looking(agent, 2.0, monkeypatch)
    attach(agent, own := session(agent), FILE)
    for text in ("Summarise the file.", "Good morning to you!", MAYBE):
        say(agent, own, text)
    assert asked == ["Summarise the file.", MAYBE], "it was looked up, and nothing was near"
    assert steps(agent, own, 3) == []
    assert not any("September" in str(message.text) for message in prompts(agent)[-1])


def test_a_file_that_could_not_be_read_changes_nothing_for_later_questions(
    reading: Reading, session: NewSession, route: Route
) -> None:
    route("pears", "search_documents", query=QUESTION)
    agent = reading(("Yes.",), profile=SMALL)
    assert agent.library is not None
    agent.library._embedder.near = 0.1
    attach(agent, own := session(agent), ("broken.pdf", b"no PDF"))
    say(agent, own, "Here it is.")
    assert "ripen in September" in done(say(agent, own, QUESTION)).answer


def test_what_the_conversation_leaves_out_is_not_searched(reading: Reading, session: NewSession) -> None:
    agent = reading((searching(), "Nothing."), (ENOUGH,), files=(("mine.md", b"# Mine\n\nPears are mine."),))
    attach(agent, own := session(agent), FILE)
    agent.store.set_collections(own, ["mine"])
    say(agent, own, QUESTION)
    (found,) = look_ups(steps(agent, own))
    assert {hit["label"] for step in found["trace"] for hit in step["hits"]} == {"mine.md"}
    agent.store.set_collections(own, [])
    assert list_document_tools(agent, agent.store.session(own)) == ()


def test_a_continued_conversation_keeps_the_file_when_the_first_is_erased(
    reading: Reading, session: NewSession
) -> None:
    agent = reading((searching(), "In September [1].", searching(), "Still [1]."), (ENOUGH, ENOUGH), files=())
    attach(agent, own := session(agent), FILE)
    say(agent, own, QUESTION)
    attach(agent, own, ("later.md", b"# Later\n\nPears are eaten later."))
    fork = agent.fork(own, 1)
    agent.delete_session(own)
    assert stored(agent) == ["fruit.md"], "the file of a later turn goes with the first conversation"
    say(agent, fork, QUESTION)
    assert find_turn_citations(steps(agent, fork, 2))[1]["label"] == "fruit.md › Pears"
    agent.delete_session(fork)
    assert stored(agent) == []


def test_a_deleted_conversation_is_restored_with_its_file_and_erased_with_it(
    reading: Reading, session: NewSession
) -> None:
    agent = reading((searching(), "In September [1].") * 2, (ENOUGH, ENOUGH), files=())
    attach(agent, own := session(agent), FILE)
    say(agent, own, QUESTION)
    agent.store.put_away(own)
    assert stored(agent) == ["fruit.md"]
    agent.store.put_away(own, away=False)
    say(agent, own, QUESTION)
    assert find_turn_citations(steps(agent, own, 2))[1]["label"] == "fruit.md › Pears"
    agent.delete_session(own)
    assert stored(agent) == []


def test_another_version_of_the_question_has_the_file_too(reading: Reading, session: NewSession) -> None:
    agent = reading((searching(), "In September [1].") * 2, (ENOUGH, ENOUGH), files=())
    attach(agent, own := session(agent), FILE)
    say(agent, own, QUESTION)
    done(list(agent.again(own, 1, "And when do pears ripen here?")))
    turn = agent.store.turn(own, 1)
    assert turn is not None
    assert (turn.branch, [each["name"] for each in turn.files]) == (1, ["fruit.md"])
    assert find_turn_citations(turn.steps)[1]["label"] == "fruit.md › Pears"


def test_an_export_has_the_name_alone_and_an_import_reaches_no_file(reading: Reading, session: NewSession) -> None:
    agent = reading((searching(), "In September [1]."), (ENOUGH,), files=())
    attach(agent, own := session(agent), FILE)
    agent.store.set_collections(own, ["session"])
    say(agent, own, QUESTION)
    exported = json.loads(agent.export_session(own))
    assert [turn["files"] for turn in exported["turns"]] == [[{"name": "fruit.md"}]]
    assert agent.store.attachments.of(own)[0].key not in json.dumps(exported)
    (copy,) = agent.import_sessions(json.dumps(exported).encode()).sessions
    assert json.loads(agent.export_session(copy)) == {**exported, "session": {**exported["session"], "id": copy}}
    assert agent.library is not None
    assert agent.library.find_attached_documents(copy) == {}


def test_a_file_that_goes_is_found_no_more(reading: Reading, session: NewSession) -> None:
    agent = reading((), files=())
    attach(agent, own := session(agent), FILE)
    agent.detach(own, "fruit.md")
    assert stored(agent) == []
    assert agent.store.attachments.of(own) == []


def test_what_a_crash_left_goes_at_the_next_start(reading: Reading, session: NewSession, agent: Any) -> None:
    first = reading((), files=())
    attach(first, own := session(first), FILE)
    attach(first, never := session(first), ("never.md", b"# Never\n\nNever asked."))
    say_nothing = first.store.session(never)
    first.store.delete_session(own)  # and the process ends before the file goes
    assert sorted(stored(first)) == ["fruit.md", "never.md"]
    again = agent(retrieval=True)
    settled(again)
    assert stored(again) == ["never.md"]
    yesterday = time.time() - DAY
    assert again.store.attachments.find_abandoned_sessions(yesterday) == []
    assert again.store.attachments.find_abandoned_sessions(say_nothing.created + 1) == [never]


def test_a_small_model_quotes_the_file_that_came_with_the_question(
    reading: Reading, session: NewSession, route: Route
) -> None:
    route("never", "calculate")  # the router sees no need of a tool
    agent = reading((), files=(("mine.md", FRUIT),), profile=SMALL)
    attach(agent, own := session(agent), FILE)
    events = say(agent, own, QUESTION)
    assert "Pears are green and ripen in September." in done(events).answer
    assert find_turn_citations(steps(agent, own))[1]["label"] == "fruit.md › Pears"
