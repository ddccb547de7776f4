"""The model of one conversation: chosen in the header, kept with the conversation, what each costs and can."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pydantic import SecretStr
from streamlit.testing.v1 import AppTest

import settings
from component.page import window
from component.settings.model_switch import ASKED
from component.widget.moment import format_reader_moment
from component.work import resource
from component.work.side_call import SideCall
from model.choice import kept, resolve
from model.choice.choice import OPENAI, Choice
from model.choice.kept import Kept
from model.choice.model_offer import list_offers, read_choice
from model.embedded.catalogue import QWEN25
from model.scripted import build_scripted_models
from model.sight import keep_image_refusal
from tests.component.test_offer import run
from tests.model.test_resolve import Start, offering, start
from tests.stub.reply import said
from tests.stub.upstream import Upstream
from tests.test_app import page, say, session_of, store, texts
from tests.wait import until

pytestmark = pytest.mark.usefixtures("fresh")
__all__ = ["start"]
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


def test_the_window_says_when_the_model_was_looked_for(upstream: Upstream) -> None:
    at = opened(page("en-US"))
    looked = format_reader_moment(resource.find_shared_readiness().status.looked)
    assert f"Looked at {looked}." in texts(at)


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


@pytest.fixture
def openai_away(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for OpenAI that was entered in the page and is not in use; its list of models cannot be reached."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    base = settings.load_current_settings()
    kept.save_model_choice(base, Choice("hosted", OPENAI, key=SecretStr("sk-of-a-test"), chat_model="gpt-5-mini"))
    kept.restore_settings_model(base)


def test_a_hosted_model_shows_its_price_and_its_context(openai_away: None, upstream: Upstream) -> None:
    offers = list_offers(settings.load_current_settings(), kept.load_model_choices(settings.load_current_settings()))
    (mini,) = [offer for offer in offers if offer.name == "gpt-5-mini"]
    assert mini.pricing == "known"
    assert mini.prompt_usd == pytest.approx(0.25)
    assert mini.answer_usd == pytest.approx(2.0)
    (caption,) = [each for each in captions(opened(page("en-US"))) if "api.openai.com" in each]
    assert "$0.25 in, $2.00 out per million tokens" in caption
    assert "400,000 tokens of context" in caption


def test_the_list_says_what_each_model_can_where_its_server_tells(upstream: Upstream) -> None:
    upstream.facts = {
        FIRST: {},
        SECOND: {
            "architecture": {"input_modalities": ["text", "image"]},
            "supported_parameters": ["tools", "reasoning"],
        },
    }
    assert captions(opened(page("en-US")))[1].endswith("sees images · calls tools · can think first")
    upstream.facts[SECOND] = {"capabilities": {"vision": False, "function_calling": False, "reasoning": False}}
    assert captions(opened(page("ko-KR")))[1].endswith("이미지를 못 봄 · 도구를 직접 쓰지 못함")
    upstream.facts[SECOND] = {}
    assert captions(opened(page("en-US")))[1].endswith(upstream.url[7:-3])


def test_a_local_server_s_own_pages_say_what_its_models_can(start: Start) -> None:
    pages = {
        **offering("seeing", "plain"),
        "/api/v0/models": {
            "data": [
                {"id": "seeing", "type": "vlm", "capabilities": ["tool_use"], "max_context_length": 9000},
                {"id": "plain", "type": "llm", "max_context_length": 8000},
            ]
        },
    }
    found = list_offers(settings.load_settings(local_servers=(start(pages),)), Kept())
    assert [(offer.name, offer.context, offer.takes_images, offer.takes_tools) for offer in found] == [
        ("seeing", 9000, True, True),
        ("plain", 8000, False, None),
    ]


def test_a_model_that_refused_an_image_is_offered_as_one_that_sees_none(upstream: Upstream) -> None:
    base = settings.load_current_settings()
    keep_image_refusal(base.data_dir, upstream.url, SECOND)
    assert {offer.name: offer.takes_images for offer in list_offers(base, Kept())} == {FIRST: None, SECOND: False}


def test_a_stored_key_goes_to_no_other_address(upstream: Upstream) -> None:
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
