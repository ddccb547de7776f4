"""The settings of one conversation in the page, before its first message and after; and presets."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from component.work import resource
from model.scripted import ScriptedModel
from store.session.options import DEFAULT, AnswerOptions
from tests.component.test_offer import run
from tests.conftest import Serve
from tests.test_app import page, say, session_of, store, texts

pytestmark = pytest.mark.usefixtures("fresh")


def opened(**query: str) -> AppTest:
    at = page("en-US", **query)
    at.session_state["options-open"] = "chat"
    at.button(key="open-options-window").click()
    return run(at)


def fill(at: AppTest, prompt: str, temperature: float | None = None, tokens: int | None = None) -> AppTest:
    session = at.query_params.get("s", ["new"])
    own = session if isinstance(session, str) else session[0]
    at.text_area(key=f"own-system_prompt-{own}").set_value(prompt)
    at.number_input(key=f"own-temperature-{own}").set_value(temperature)
    at.number_input(key=f"own-answer_tokens-{own}").set_value(tokens)
    return at


def sent() -> Any:
    model = resource.find_shared_readiness().models().chat
    assert isinstance(model, ScriptedModel)
    return model


def test_a_new_chat_begins_with_what_was_set_and_the_next_one_does_not(serve: Serve) -> None:
    serve()
    at = fill(opened(), "You are a pirate.", 0.5, 300)
    at.button(key="own-save").click()
    run(at)
    assert "own system prompt · temperature 0\\.5 · up to 300 tokens" in texts(at)
    assert store().sessions() == []
    say(at, "Where is the treasure?")
    own = session_of(at)
    assert store().options.of(own) == AnswerOptions("You are a pirate.", 0.5, 300)
    assert str(sent().calls[-1][0].text).startswith("You are a pirate.")
    assert (sent().bound_arguments[-1]["temperature"], sent().bound_arguments[-1]["max_tokens"]) == (0.5, 300)
    other = opened(s=own)
    assert other.text_area(key=f"own-system_prompt-{own}").value == "You are a pirate."
    other.button(key="own-reset").click()
    run(other)
    assert store().options.of(own) == DEFAULT
    assert other.text_area(key=f"own-system_prompt-{own}").value == ""
    at.button(key="new-chat").click()
    assert "own system prompt" not in texts(run(at))


def test_a_preset_is_saved_used_in_another_chat_renamed_and_deleted(serve: Serve) -> None:
    serve()
    at = fill(opened(), "You are a judge.", 0.0)
    at.text_input(key="own-preset-name").set_value("Judge")
    at.button(key="own-preset-save").click()
    run(at)
    assert store().presets.all() == {"Judge": AnswerOptions("You are a judge.", 0.0)}
    own = session_of(say(page("en-US"), "Who is right, and why?"))
    other = opened(s=own)
    other.selectbox(key="own-preset").set_value("Judge")
    run(other).button(key="own-preset-apply").click()
    run(other)
    assert store().options.of(own) == AnswerOptions("You are a judge.", 0.0)
    assert other.text_area(key=f"own-system_prompt-{own}").value == "You are a judge."
    other.text_input(key="own-preset-new-Judge").set_value("판사")
    other.button(key="own-preset-go").click()
    run(other)
    assert list(store().presets.all()) == ["판사"]
    other.selectbox(key="own-preset").set_value("판사")
    run(other).button(key="own-preset-delete").click()
    run(other)
    assert store().presets.all() == {}
    assert store().options.of(own) == AnswerOptions("You are a judge.", 0.0), "a chat keeps what it has"


def test_the_preset_that_is_chosen_together_with_the_press_is_the_one_that_is_deleted(serve: Serve) -> None:
    serve()
    page()
    for name in ("Judge", "Pirate"):
        store().presets.save(name, AnswerOptions(f"You are a {name}."))
    at = opened()
    at.selectbox(key="own-preset").set_value("Judge")
    run(at).selectbox(key="own-preset").set_value("Pirate")
    at.button(key="own-preset-delete").click()
    run(at)
    assert list(store().presets.all()) == ["Judge"]


def test_a_preset_without_a_name_is_told(serve: Serve) -> None:
    serve()
    at = fill(opened(), "You are a judge.")
    at.button(key="own-preset-save").click()
    assert "name is empty" in run(at).error[0].value


def test_two_tabs_change_what_was_changed_in_each_of_them(serve: Serve) -> None:
    serve()
    own = session_of(say(page("en-US"), "Where is the treasure?"))
    store().options.set(own, AnswerOptions("You are a pirate.", 0.5, 300))
    stale, other = opened(s=own), opened(s=own)
    other.text_area(key=f"own-system_prompt-{own}").set_value("You are a judge.")
    other.button(key="own-save").click()
    run(other)
    store().rename_session(own, "A title of the second tab")
    stale.number_input(key=f"own-temperature-{own}").set_value(0.9)
    stale.button(key="own-save").click()
    run(stale)
    assert store().options.of(own) == AnswerOptions("You are a judge.", 0.9, 300)
    assert store().session(own).title == "A title of the second tab"
    stale.button(key="open-options-window").click()
    assert run(stale).text_area(key=f"own-system_prompt-{own}").value == "You are a judge."
