"""A memory that the model writes anew, because somebody asked for it."""

from __future__ import annotations

from memory import Memory
from model.profile import SMALL
from model.scripted import models as scripted
from tests.memory.models import reply, saying, small
from tests.memory.test_memory import of_user, talk

WORDS = "The user listed prices of seven items, from $100 to $700; $200, $300, $400, $500, $600."
NAMES = {f"item {number}": f"${number}00" for number in range(1, 8)}


def folded(memory: Memory) -> str:
    talk(memory, *range(1, 8))
    assert memory.fold("acme", "s1", models=small(), language="en").status == "folded"
    return memory.context("acme", "s1", "en").whole


def test_it_is_a_version_of_its_own_with_all_that_waits_whatever_the_profile_says(memory: Memory) -> None:
    before = folded(memory)
    models = scripted(utility=[reply(WORDS, entities=NAMES)], profile=SMALL)
    report = memory.rewrite("acme", "s1", models=models, language="en")
    assert (report.status, report.versions) == ("folded", (2,))
    view = memory.context("acme", "s1", "en")
    assert (view.text, view.waiting) == (WORDS, ())
    assert "item 7: $700" in view.entity_text
    assert [each.origin for each in memory.versions("acme", "s1")] == ["fold", "rewritten"]
    assert of_user(memory) == WORDS
    asked = str(models.utility.calls[0][1].content)  # type: ignore[attr-defined]
    assert before.splitlines()[0] in asked
    assert "My item 7 costs $700." in asked
    back = memory.undo("acme", "s1")
    assert (back.whole, back.waiting, back.entities) == (before, (6, 7), ())


def test_later_folds_keep_the_words_of_the_model_first(memory: Memory) -> None:
    folded(memory)
    memory.rewrite("acme", "s1", models=saying(reply(WORDS, entities=NAMES)), language="en")
    talk(memory, *range(8, 14))
    memory.fold("acme", "s1", models=small(), language="en")
    assert memory.context("acme", "s1", "en").whole.startswith(f"{WORDS}\nturns 8-9: My item 8 costs $800")


def test_without_turns_that_wait_it_is_written_from_the_memory_alone(memory: Memory) -> None:
    folded(memory)
    memory.fold("acme", "s1", models=small(), language="en", rest=True)
    talk(memory, *range(11, 17), session="s2")
    memory.fold("acme", "s2", models=small(), language="en")
    report = memory.rewrite("acme", "s1", models=saying(reply(WORDS, entities=NAMES)), language="en")
    assert report.status == "folded"
    assert memory.context("acme", "s1", "en").whole == WORDS
    told = of_user(memory)
    assert WORDS in told
    assert "My item 3 costs" not in told
    assert "My item 14 costs $1400" in told


def test_a_session_may_have_what_it_was_given_written_anew(memory: Memory) -> None:
    folded(memory)
    memory.rewrite("acme", "s2", models=saying(reply(WORDS, entities=NAMES)), language="en")
    assert memory.context("acme", "s2", "en").whole == WORDS
    assert "My item 1 costs" in memory.context("acme", "s1", "en").whole


def test_what_cannot_be_read_changes_nothing(memory: Memory) -> None:
    before = folded(memory)
    report = memory.rewrite("acme", "s1", models=saying("Hm.", "Hm."), language="en")
    assert (report.status, report.versions) == ("rejected", ())
    view = memory.context("acme", "s1", "en")
    assert (view.whole, view.version, view.rejection) == (before, 1, None)


def test_nothing_is_asked_where_there_is_nothing(memory: Memory) -> None:
    assert memory.rewrite("acme", "s1", models=saying()).status == "nothing"
