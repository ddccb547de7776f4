"""The models of this installation: a choice counts once it has answered, for every page, and after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from streamlit.testing.v1 import AppTest

import settings
from component.page.window import OPENED
from component.settings import listing
from component.settings.attempt import TRIED
from component.settings.options import NAME
from component.work import resource
from component.work.in_use import InUse
from component.work.readiness import Readiness
from component.work.side_call import SideCall
from errors import KeyRejected, ModelUnreachable
from model.choice import kept, probe
from model.choice.choice import Choice
from tests.component.test_offer import run
from tests.stub.reply import failed, said
from tests.stub.upstream import Upstream
from tests.test_app import page, say, store, texts
from tests.wait import until

OLD, NEW = "old-model", "new-model"


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """The server of the settings."""
    with Upstream(always=said("Old answer"), models=[OLD]) as upstream:
        monkeypatch.setenv("OPENAI_BASE_URL", upstream.url)
        settings.load_current_settings.cache_clear()
        yield upstream


@pytest.fixture
def new() -> Iterator[Upstream]:
    """Another server, which wants a key."""
    with Upstream(always=said("New answer"), models=["z-model", NEW], key="sk-right") as upstream:
        yield upstream


def name(in_use: InUse) -> str:
    return in_use().name


def tried(in_use: InUse, choice: Choice) -> Any:
    attempt = in_use.begin(choice)
    until(lambda: attempt.readiness.status.is_settled)
    return attempt.readiness.status.error


def hosted(upstream: Upstream, key: str = "sk-right", model: str = NEW) -> Choice:
    return Choice("hosted", upstream.url, SecretStr(key), model)


def test_a_wrong_key_is_never_in_use_and_the_old_model_stays(old: Upstream, new: Upstream) -> None:
    in_use = InUse()
    assert name(in_use) == OLD
    assert isinstance(tried(in_use, hosted(new, "sk-wrong")), KeyRejected)
    assert isinstance(tried(in_use, Choice("hosted", "http://127.0.0.1:9/v1", chat_model="m")), ModelUnreachable)
    assert name(in_use) == OLD
    assert in_use.stored_choices.choice is None
    assert not list(settings.load_current_settings().data_dir.glob("model*"))


def test_a_model_that_answered_is_in_use_everywhere_and_after_a_restart(old: Upstream, new: Upstream) -> None:
    in_use, other = InUse(), InUse()
    assert tried(in_use, hosted(new)) is None
    assert name(in_use) == name(other) == name(InUse()) == NEW
    in_use.reset()
    assert name(in_use) == name(other) == name(InUse()) == OLD
    assert tried(in_use, Choice("hosted", new.url, chat_model=NEW, kept_key=True)) is None, "its key is still there"
    in_use.forget_key()
    assert name(in_use) == name(other) == OLD


def test_a_later_choice_takes_the_place_of_one_that_is_still_being_tried(old: Upstream, new: Upstream) -> None:
    in_use = InUse()
    new.replies.append(said("late").but(silence=5.0))
    first = in_use.begin(hosted(new))
    until(lambda: new.requests)
    assert tried(in_use, hosted(new, model="z-model")) is None
    until(lambda: first.readiness.status.is_settled)
    assert (first.readiness.status.models, first.readiness.status.error) == (None, None)
    assert name(in_use) == "z-model"


def test_a_model_that_cannot_be_used_for_side_work_is_not_taken(old: Upstream, new: Upstream) -> None:
    in_use = InUse()
    new.replies.extend([said("OK"), failed(404, "model_not_found")])
    choice = Choice("hosted", new.url, SecretStr("sk-right"), NEW, "no-such-model")
    assert tried(in_use, choice) is not None
    assert name(in_use) == OLD


def test_a_wrong_key_of_the_settings_is_not_ready_at_the_start(new: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", new.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    monkeypatch.setenv("CHAT_MODEL", NEW)
    settings.load_current_settings.cache_clear()
    ready = InUse().readiness
    until(lambda: ready.status.is_settled)
    assert isinstance(ready.status.error, KeyRejected)
    assert not new.requests, "its check costs nothing"


# --- the page -----------------------------------------------------------------------------------


def window(kind: str) -> AppTest:
    at = page("en-US")
    until(lambda: resource.find_shared_readiness().status.is_settled)
    at.session_state[OPENED] = (NAME, None, None)
    run(at)
    at.segmented_control(key="models-kind").set_value(kind)
    return run(at)


def attempted(at: AppTest) -> Readiness:
    """The choice that the page tried last, once that is over."""
    readiness: Readiness = at.session_state[TRIED].readiness
    until(lambda: readiness.status.is_settled)
    return readiness


def listing_done(at: AppTest) -> AppTest:
    until(lambda: at.session_state[listing.LISTED][1].done)
    return run(at)


@pytest.mark.usefixtures("fresh")
def test_a_hosted_model_is_chosen_from_the_list_tried_and_kept(old: Upstream, new: Upstream) -> None:
    at = window("hosted")
    at.text_input(key="models-url").set_value(new.url)
    at.text_input(key="models-key-0").set_value("sk-wrong")
    at.button(key="models-list").click()
    assert "not valid" in texts(listing_done(run(at)))
    at.text_input(key="models-key-0").set_value("sk-right")
    at.button(key="models-list").click()
    listing_done(run(at))
    assert at.selectbox(key="models-chat").options == [NEW, "z-model"], "sorted"
    at.selectbox(key="models-chat").set_value(NEW)
    at.text_input(key="models-key-0").set_value("sk-wrong")
    at.button(key="models-use").click()
    run(at)
    attempted(at)
    told = texts(run(at))
    assert "not valid" in told
    assert rf"{OLD} is still in use" in told.replace("\\", "")
    at.text_input(key="models-key-0").set_value("sk-right")
    at.button(key="models-use").click()
    run(at)
    assert attempted(at).status.error is None
    assert resource.find_shared_readiness().models().name == NEW
    run(at)
    assert at.text_input(key="models-key-1").value == "", "it is kept elsewhere now"
    assert str(settings.load_current_settings().data_dir / kept.KEY_FILE) in texts(at).replace("\\", "")
    assert "sk-right" not in texts(at)
    at.text_input(key="models-key-1").set_value("sk-wrong")
    at.button(key="models-use").click()
    run(at)
    attempted(at)
    assert "not valid" in texts(run(at)), "a key that is typed after the first was taken is tried too"
    other = say(page("en-US"), "Which model are you?")
    assert "New answer" in texts(other)
    assert b"sk-right" not in (settings.load_current_settings().data_dir / "gieok.db").read_bytes()
    at.button(key="models-key-forget").click()
    run(at)
    assert resource.find_shared_readiness().models().name == OLD
    assert not (settings.load_current_settings().data_dir / kept.KEY_FILE).exists()


@pytest.mark.usefixtures("fresh")
def test_a_choice_that_is_in_use_while_the_window_is_drawn_leaves_no_key_in_its_field(
    old: Upstream, new: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = window("hosted")
    at.text_input(key="models-url").set_value(new.url)
    at.text_input(key="models-key-0").set_value("sk-right")
    begin = InUse.begin

    def settled(in_use: InUse, choice: Choice) -> Any:
        """The fields of this run stand already when the choice is tried, and it is over before its outcome is drawn."""
        attempt = begin(in_use, choice)
        until(lambda: attempt.readiness.status.is_settled)
        return attempt

    monkeypatch.setattr(InUse, "begin", settled)
    at.button(key="models-use").click()
    run(at)
    assert resource.in_use().stored_choices.last("hosted").kept_key
    run(at)  # in a browser the next look of the fragment runs the page
    assert at.text_input(key="models-key-1").value == ""


class EndsWhileDrawn(SideCall):
    """A call that still runs at the first look, and has ended at the second one of the same page run."""

    looks = 0

    @property
    def done(self) -> bool:
        self.looks += 1
        return self.looks > 1

    @done.setter
    def done(self, value: bool) -> None:
        """Every new call sets this."""


@pytest.mark.usefixtures("fresh")
def test_a_press_is_not_lost_where_the_list_of_models_arrives_while_the_window_is_drawn(
    old: Upstream, new: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = window("hosted")
    at.text_input(key="models-url").set_value(new.url)
    at.text_input(key="models-key-0").set_value("sk-right")
    monkeypatch.setattr(listing, "begin_side_call", lambda _: EndsWhileDrawn(result=(NEW,)))
    at.button(key="models-use").click()
    run(at)
    assert attempted(at).status.error is None


@pytest.mark.usefixtures("fresh")
def test_a_server_without_a_list_says_to_type_the_name(old: Upstream, new: Upstream) -> None:
    at = window("hosted")
    at.text_input(key="models-url").set_value(f"{new.url}/nowhere")
    at.button(key="models-list").click()
    listing_done(run(at))
    told = texts(at)
    assert "Type the name of the model" in told or "not valid" in told


@pytest.mark.usefixtures("fresh")
def test_a_key_that_is_withdrawn_is_no_longer_ready(old: Upstream) -> None:
    at = page("en-US")
    until(lambda: resource.find_shared_readiness().status.is_settled)
    old.key = "sk-other"
    say(at, "What is the capital of France?")
    assert isinstance(resource.find_shared_readiness().status.error, KeyRejected)
    assert [turn.status for turn in store().turns(store().sessions()[0].id)] == ["failed"]


# --- what servers list --------------------------------------------------------------------------

SHAPES: dict[str, tuple[dict[str, Any], bool | None]] = {
    "openai": ({"id": "gpt-5-mini", "object": "model", "owned_by": "openai"}, None),
    "mistral": ({"id": "m", "capabilities": {"completion_chat": False}}, False),
    "openrouter": ({"id": "o", "architecture": {"output_modalities": ["image"]}}, False),
    "together": ({"id": "t", "type": "chat"}, True),
    "together image": ({"id": "t", "type": "image"}, False),
    "an unknown type": ({"id": "t", "type": "novel"}, None),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_only_servers_that_say_so_rule_a_model_out(shape: str) -> None:
    entry, chats = SHAPES[shape]
    assert probe._is_chat_model(entry) is chats


def test_a_server_that_is_late_is_told_apart_from_one_that_is_away() -> None:
    with Upstream() as upstream:
        upstream.silent = 60.0
        with pytest.raises(probe.ListingRefusal) as raised:
            probe.list_server_models(upstream.url, "", 0.2)
        assert upstream.others[0].gone.wait(60), "the client left before the answer"
    assert raised.value.late
    with pytest.raises(probe.ListingRefusal) as raised:
        probe.list_server_models("http://127.0.0.1:9/v1", "", 0.2)
    assert not raised.value.late


@pytest.mark.usefixtures("fresh")
def test_a_local_server_gives_a_list_and_takes_a_name_that_is_typed(old: Upstream) -> None:
    with Upstream(always=said("Local answer"), models=["qwen3:4b", "llama3.2:3b"]) as local:
        at = window("local")
        at.text_input(key="models-local-url").set_value(local.url)
        run(at)
        field = at.selectbox(key=f"models-local-model-{local.url}")
        assert field.options == ["qwen3:4b", "llama3.2:3b"]
        field.set_value("llama3.2:3b")
        run(at).button(key="models-use").click()
        run(at)
        attempted(at)
        assert resource.find_shared_readiness().models().name == "llama3.2:3b"
        assert kept.load_model_choices(settings.load_current_settings()).choice == Choice(
            "local", local.url, chat_model="llama3.2:3b"
        )
        assert "in use from the next message on" in run(at).success[0].value
