"""The embedded models in the settings window: what each is, fetching it, using it; and the advice for a small one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.page import follow
from component.page.window import OPENED
from component.settings.advice import TOLD
from component.settings.options import NAME
from component.work import resource
from component.work.readiness import ModelStatus
from model.choice import default, resolve
from model.embedded import catalogue, weights
from model.modelset import ModelSet
from model.profile import SMALL, STRONG, Profile
from model.scripted import build_scripted_models as scripted
from settings import Settings
from tests.conftest import Serve
from tests.stub.offered import World, made, offered
from tests.test_app import page, texts, unfollowed
from tests.wait import until

pytestmark = pytest.mark.usefixtures("fresh")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Small files to be fetched; whoever wants the embedded model gets a scripted one with its name and profile, as if
    its server had started. The coder is here."""

    def models(asked: Settings, progress: Any = None, cancel: Any = None, prefixes: Any = ()) -> ModelSet:
        file = weights.ensure_weights(asked, progress or (lambda _: None), cancel)
        entry = catalogue.by_file(file.name)
        assert entry is not None
        return replace(scripted(profile=entry.profile), name=entry.name, kind="embedded", why="catalogue")

    monkeypatch.setattr(resolve, "resolve_models", models)
    with offered(monkeypatch) as world:
        world.put(world.coder)
        yield world


def opened(language: str = "ko-KR") -> AppTest:
    """The page with the settings window open, once its model is ready."""
    at = page(language)
    until(lambda: resource.find_shared_readiness().status.is_settled)
    at.session_state[OPENED] = (NAME, None, None)
    return run(at)


def run(at: AppTest) -> AppTest:
    at.run()
    assert not at.exception
    return at


def keys(at: AppTest) -> set[str]:
    return {each.key for each in at.button if each.key}


def fetched(at: AppTest, name: str) -> None:
    at.button(key=f"models-fetch-{name}").click()
    run(at)
    side_call = resource.open_weights_fetches().of(("weights", name))
    until(lambda: side_call is not None and side_call.done)
    run(at)


def test_every_model_is_told_with_its_size_and_what_to_expect(world: World) -> None:
    at = opened("en-US")
    said = texts(at).replace("\\", "")
    assert "much better Korean" in said
    assert "(not measured)" in said
    for entry in (world.large, world.general, world.coder):
        assert (entry.title or entry.name) in said
    assert {f"models-fetch-{world.large.name}", f"models-fetch-{world.general.name}"} <= keys(at)
    assert f"models-fetch-{world.coder.name}" not in keys(at)
    assert at.button(key=f"models-use-{world.coder.name}").disabled, "it is the one that answers"


def test_a_fetched_model_can_be_used_and_given_back(world: World) -> None:
    world.hub.content = made(world.large)
    at = opened()
    fetched(at, world.large.name)
    assert default.is_here(settings.load_current_settings(), world.large)
    assert resource.find_shared_readiness().models().name == world.coder.name
    at.button(key=f"models-use-{world.large.name}").click()
    run(at)
    until(lambda: resource.find_shared_readiness().models().name == world.large.name)
    assert resource.find_shared_readiness().models().profile == world.large.profile
    assert run(at).button(key=f"models-use-{world.large.name}").disabled
    other = opened()
    assert other.button(key=f"models-use-{world.large.name}").disabled, "every tab uses it"
    other.button(key="models-back").click()
    run(other)
    assert resource.find_shared_readiness().models().name == world.coder.name
    assert run(at).button(key=f"models-use-{world.coder.name}").disabled


def test_a_download_that_fails_is_told_and_can_be_tried_again(world: World) -> None:
    world.hub.content = made(world.general)[:-1] + b"!"
    at = opened("en-US")
    fetched(at, world.general.name)
    assert "not the expected file" in texts(at)
    world.hub.content = made(world.general)
    fetched(at, world.general.name)
    assert f"models-use-{world.general.name}" in keys(at)


def test_a_running_download_can_be_cancelled_and_taken_up_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = weights.ensure_weights

    def slow(asked: Settings, progress: Any, cancel: Any) -> Any:
        progress(weights.FetchProgress("huggingface", 5, 10))
        cancel.wait(60)
        return real(asked, progress, cancel)

    at = opened()
    monkeypatch.setattr(weights, "ensure_weights", slow)
    world.hub.content = made(world.general)
    at.button(key=f"models-fetch-{world.general.name}").click()
    run(at)
    side_call = resource.open_weights_fetches().of(("weights", world.general.name))
    assert side_call is not None
    until(lambda: side_call.at is not None)
    run(at)
    at.button(key=f"models-cancel-{world.general.name}").click()
    run(at)
    until(lambda: side_call.done)
    run(at)
    assert at.button(key=f"models-fetch-{world.general.name}").label == "이어서 받기"
    monkeypatch.setattr(weights, "ensure_weights", real)
    fetched(at, world.general.name)
    assert f"models-use-{world.general.name}" in keys(at)


def test_what_no_allowed_source_has_cannot_be_fetched(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_WEIGHTS_SOURCES", "package")
    settings.load_current_settings.cache_clear()
    at = opened()
    assert at.button(key=f"models-fetch-{world.large.name}").disabled


def test_the_window_says_what_each_role_is_trusted_with_and_why(world: World) -> None:
    said = texts(opened("en-US"))
    assert "it only writes" in said
    assert "set in the catalogue of models" in said
    assert "made by code from sentences of the conversation" in said


def test_before_anything_is_here_the_first_page_says_how_much_will_come(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (default.locate_weights_folder(settings.load_current_settings()) / world.coder.file).unlink()
    unfollowed(monkeypatch)
    monkeypatch.setattr(resolve, "resolve_models", lambda asked, **_: time.sleep(5))
    assert "1.1 to 2.5 GB" in texts(page("en-US"))


def test_the_page_is_drawn_anew_as_soon_as_it_is_known_what_comes() -> None:
    """Else the first page would tell neither its size nor how to cancel it."""

    class Coming:
        asked = 0

        @property
        def status(self) -> ModelStatus:
            self.asked += 1
            return ModelStatus("fetching") if self.asked < 5 else ModelStatus("ready")

    coming = Coming()
    view: Any = SimpleNamespace(status=ModelStatus("looking"), readiness=coming, words=None)
    follow._follow_model(view, [])
    assert coming.asked == 1
    view.status = ModelStatus("fetching")
    follow._follow_model(view, [])
    assert coming.asked == 5


# --- the advice ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "said"), [("ko-KR", "훨씬 잘 답합니다"), ("en-US", "answers much better")])
def test_the_user_of_a_small_model_is_told_once(world: World, language: str, said: str) -> None:
    at = page(language)
    until(lambda: resource.find_shared_readiness().status.is_settled)
    assert said in texts(run(at))
    at.button(key="advice-dismiss").click()
    run(at)
    assert said not in texts(at)
    assert (settings.load_current_settings().data_dir / TOLD).exists()
    assert said not in texts(run(page(language))), "nor in another page or after a restart"


def test_the_advice_leads_to_the_models(world: World) -> None:
    at = page()
    until(lambda: resource.find_shared_readiness().status.is_settled)
    run(at).button(key="advice-look").click()
    assert f"models-fetch-{world.large.name}" in keys(run(at))


@pytest.mark.parametrize(("profile", "why"), [(STRONG, "size"), (SMALL, "setting")])
def test_nobody_else_is_told(serve: Serve, monkeypatch: pytest.MonkeyPatch, profile: Profile, why: Any) -> None:
    monkeypatch.setattr(resolve, "resolve_models", lambda *_, **__: replace(scripted(profile=profile), why=why))
    at = page()
    until(lambda: resource.find_shared_readiness().status.is_settled)
    assert "advice-dismiss" not in keys(run(at))
