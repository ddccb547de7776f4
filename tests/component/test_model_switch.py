"""The model of one conversation: chosen in the header, kept with the conversation, what each costs and can."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.page import window
from component.settings.model_switch import ASKED
from component.work import resource
from component.work.side_call import SideCall
from model.choice import resolve
from model.choice.kept import Kept
from model.choice.model_offer import list_offers, read_choice
from model.embedded.catalogue import QWEN25
from model.scripted import build_scripted_models
from tests.component.test_offer import run
from tests.stub.reply import said
from tests.stub.upstream import Upstream
from tests.test_app import page, say, session_of, store, texts
from tests.wait import until

pytestmark = pytest.mark.usefixtures("fresh")
FIRST, SECOND = "first-model", "second-model"


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """A server with two models, each of which says its name."""
    with Upstream(always=lambda body: said(f"It is {body['model']}."), models=[FIRST, SECOND, "text-embed"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("GIEOK_TITLES", "false")
        settings.load_current_settings.cache_clear()
        yield server


def opened(at: AppTest) -> AppTest:
    """The page with the window open and its list there."""
    at.button(key="model-open").click()
    run(at)
    side_call: SideCall = at.session_state[ASKED]
    until(lambda: side_call.done)
    return run(at)


def in_header(at: AppTest) -> str:
    """What the button in the header says."""
    return str(at.button(key="model-open").label).replace("\\", "")


def choose(at: AppTest, session: str, model: str) -> AppTest:
    """Chooses the model of this name in the open window; an empty name means the installation's."""
    radio = at.radio(key=f"switch-choice-{session}")
    (option,) = [option for option in _values(at, session) if option.endswith(f"|{model}") or option == model]
    radio.set_value(option)
    return run(at)


def _values(at: AppTest, session: str) -> list[str]:
    url = settings.load_current_settings().openai_base_url
    return ["", *(f"hosted|{url}|{name}" for name in (FIRST, SECOND))]


def captions(at: AppTest) -> list[str]:
    """What stands under each model of the open list."""
    (radio,) = at.radio
    return [caption.replace("\\", "") for caption in radio.proto.captions]


def answered(at: AppTest, text: str) -> str:
    """Sends a message and returns what the page says once it is answered."""
    say(at, text)
    session = session_of(at)
    until(lambda: resource.find_user_jobs().of(session) is None)
    return texts(run(at))


def test_a_conversation_keeps_its_own_model_and_others_do_not_have_it(upstream: Upstream) -> None:
    at = page("en-US")
    assert "It is first-model." in answered(at, "Who are you?")
    session = session_of(at)
    choose(opened(at), session, SECOND)
    assert store().session(session).model == {"kind": "hosted", "url": upstream.url, "name": SECOND}
    assert "It is second-model." in answered(at, "And now?")

    again = page("en-US", s=session)
    assert SECOND in in_header(again)
    assert "It is first-model." in answered(page("en-US"), "Who answers a new chat?")

    choose(opened(again), session, "")
    assert store().session(session).model is None
    answered(again, "Back again?")
    assert [turn.answer for turn in store().turns(session)] == [f"It is {name}." for name in (FIRST, SECOND, FIRST)]


def test_the_model_of_a_new_chat_is_chosen_before_its_first_message(upstream: Upstream) -> None:
    at = choose(opened(page("en-US")), "new", SECOND)
    assert "It is second-model." in answered(at, "Who are you?")
    assert store().session(session_of(at)).model == {"kind": "hosted", "url": upstream.url, "name": SECOND}
    copy = resource.find_user_agent().fork(session_of(at), 1)
    assert (store().session(copy).model or {})["name"] == SECOND


def test_a_new_chat_begins_with_the_installations_model(upstream: Upstream) -> None:
    at = choose(opened(page("en-US")), "new", SECOND)
    at.button(key="new-chat").click()
    run(at)
    assert FIRST in in_header(at)


def test_models_that_only_embed_are_not_offered(upstream: Upstream) -> None:
    options = opened(page("en-US")).radio(key="switch-choice-new").options
    assert [option.replace("\\", "") for option in options] == ["As everywhere else", SECOND]


def test_a_server_of_this_machine_is_local_in_the_list_as_in_the_state(upstream: Upstream) -> None:
    at = opened(page("en-US"))
    assert all(caption.startswith("Local server") and "price" not in caption for caption in captions(at)[1:])
    assert "Hosted service" not in texts(at)


def test_who_may_not_choose_sees_only_the_model(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    session = store().create_session("en", 0.3).id
    store().set_model(session, {"kind": "hosted", "url": upstream.url, "name": SECOND})
    monkeypatch.setenv("GIEOK_MODEL_CHOICE", "false")
    settings.load_current_settings.cache_clear()
    at = page("en-US", s=session)
    at.button(key="model-open").click()
    run(at)
    assert not at.radio
    assert FIRST in in_header(at), "an earlier choice does not count either"


def test_a_hosted_model_has_its_price_and_a_local_one_none(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    base = settings.load_current_settings()
    local = base.model_copy(update={"openai_base_url": None, "openai_api_key": None, "local_servers": (upstream.url,)})
    offers = list_offers(local, Kept())
    assert {(offer.kind, offer.name, offer.prompt_usd) for offer in offers} == {
        ("local", FIRST, None),
        ("local", SECOND, None),
    }


def test_a_stored_key_goes_to_no_other_address(upstream: Upstream) -> None:
    from model.choice.choice import Choice

    stored = Kept("hosted", {"hosted": Choice("hosted", "https://one.example/v1", kept_key=True)}, "file")
    model = {"kind": "hosted", "url": "https://one.example/v1", "name": "m"}
    own, other = (
        read_choice(settings.load_current_settings(), stored, model | {"url": url})
        for url in ("https://one.example/v1", "https://two.example/v1")
    )
    assert own is not None
    assert other is not None
    assert (own.kept_key, other.kept_key) == (True, False)


def test_a_model_of_the_catalogue_has_its_title_wherever_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    models = replace(build_scripted_models(lambda _: "Yes."), kind="embedded", name=QWEN25.name)
    monkeypatch.setattr(resolve, "resolve_models", lambda *_, **__: models)
    at = say(page("en-US"), "Is this a question?")
    assert in_header(at) == QWEN25.title
    seen = []
    for opener in ("model-open", "open-options-window", "open-usage"):
        at.button(key=opener).click()
        run(at)
        seen.append((texts(at) + "".join(each.proto.body for each in at.get("html"))).replace("\\", ""))
        at.session_state[window.OPENED] = ("", None, None)
        run(at)
    assert [QWEN25.title in one for one in seen] == [True, True, True]
    assert [QWEN25.name in one for one in seen] == [False, False, False]
