"""What people write is text wherever it meets a template: signs of ours and of other programs mean nothing in it."""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import errors
import prompt
from component.page.catalogue import LANGUAGES, Words, _load_catalogue
from graph.answer.stop_word import StopWords
from graph.turn.agent import Agent
from server import phrase as phrases
from store.session.options import AnswerOptions
from tests.graph.conftest import OpenAgent, agent, patient, session  # noqa: F401
from tests.graph.talk import done, prompts, say
from text.clean import clean_text
from text.fence import frame_outside_text, list_frames, remove_frames
from world.lore.mention import Matcher

SIGNS = [
    *("$", "$$", "$x", "${turn}", "{", "}", "{{ }}", "{{x}}", "{0}", "{turn}", "{turn!r:>9}", "%", "%s", "%(a)s", "%%"),
    *(
        "<think>",
        "</think>",
        "<tool_call>",
        ":)",
        ":red[a]",
        ":smile:",
        r"\1",
        r"\g<0>",
        "\\",
        "{% raw %}",
        "#{x}",
        "`",
    ),
]
TEXTS = (
    st.lists(st.sampled_from([*SIGNS, "가", "a", " "]), min_size=1, max_size=8).map("".join).map(str.strip).filter(bool)
)
NASTY = " ".join(SIGNS)
few = settings(max_examples=25, deadline=None)


def fields(template: str) -> dict[str, str]:
    """The placeholders of a sentence, with how each is formatted."""
    return {name: form or "" for _, name, form, _ in string.Formatter().parse(template) if name}


def fill(template: str, said: str) -> tuple[dict[str, object], int]:
    """Values for a sentence: the text where a text may stand, else a number; and how often the text stands in it."""
    texts = [name for name, form in fields(template).items() if not form]
    values: dict[str, object] = {name: said if name in texts else 7 for name in fields(template)}
    if "last" in texts:
        values["last"] = f"{said}…"  # turns from one to the same one are told as one
    return values, sum(f"{{{name}}}" in template for name in texts)


@few
@given(TEXTS)
def test_in_every_prompt(said: str) -> None:
    for language in prompt.LANGUAGES:
        for name in prompt.list_prompt_names(language):
            names = prompt._load_prompt_template(name, language).get_identifiers()
            made = prompt.render_prompt(name, language, **dict.fromkeys(names, said))
            assert made.count(said) >= len(names), name


@few
@given(TEXTS)
def test_in_every_sentence_of_the_page_the_doors_and_the_errors(said: str) -> None:
    for language in LANGUAGES:
        for key, template in _load_catalogue(language).items():
            values, times = fill(template, said)
            assert Words(language)._fill_template(template, values).count(said) >= times, key
    for key, both in phrases.PHRASES.items():
        for spoken, template in zip(LANGUAGES, both, strict=True):
            values, times = fill(template, said)
            assert phrases.render_phrase(spoken, key, **values).count(said) >= times, key
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.GieokError):
            values, times = fill(f"{kind.message} {kind.hint}", said)
            assert kind(**values).text().count(said) >= times, kind


@few
@given(TEXTS, TEXTS)
def test_in_the_frame_of_what_is_sent_along(name: str, said: str) -> None:
    message = f"Look: {said}\n\n{frame_outside_text(name, said, 'note')}"
    ((_, inner),) = list_frames(message)
    assert inner == f"note\n\n{clean_text(said)}"
    assert remove_frames(message) == f"Look: {said}".strip()


@few
@given(TEXTS, TEXTS)
def test_in_stop_words_and_names_of_a_lorebook(word: str, said: str) -> None:
    stops = StopWords([word])
    answer = "".join(map(stops.feed, f"before {word}{said}")) + stops.end()
    assert answer == f"before {word}{said}"[: f"before {word}{said}".index(word)]
    if word.strip():
        assert Matcher({word: [1]}).find(f"( {word} )") == {1}


@pytest.mark.parametrize("language", ["ko", "en"])
def test_in_a_turn_with_a_role_a_document_and_an_answer(
    agent: OpenAgent,  # noqa: F811
    session: Callable[[Agent], str],  # noqa: F811
    language: str,
    tmp_path: Path,
) -> None:
    bot = agent(lambda _: f"Answer: {NASTY}", ahead=False)
    own = bot.store.create_session(language, 0.3, options=AnswerOptions(f"Role: {NASTY}")).id  # type: ignore[arg-type]
    sent = frame_outside_text("list.txt", f"File: {NASTY}", "note")
    for number in range(1, 6):
        assert done(say(bot, own, f"Question {number}: {NASTY}\n\n{sent}")).answer == f"Answer: {NASTY}"
        shown = prompts(bot)[-1]
        assert str(shown[0].text).startswith(f"Role: {NASTY}")
        assert f"Question {number}: {NASTY}" in str(shown[-1].text)
        assert f"File: {NASTY}" in str(shown[-1].text)
    turn = bot.store.turn(own, 5)
    assert turn is not None
    assert (turn.question.startswith(f"Question 5: {NASTY}"), turn.answer) == (True, f"Answer: {NASTY}")
    assert bot.store.search("Question 5")[0].number == 5
    for sign in SIGNS:
        assert bot.store.search(f'"{sign}"'), sign
