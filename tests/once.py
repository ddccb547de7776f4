"""What costs many tests time and tells them nothing, done once per process."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from sqlalchemy import Engine

import private
from tests import memory_disk

NOBODY = Path(__file__).parent / "stub" / "authority.pem"
"""The certificate of an authority that has signed nothing."""
TRUSTED = "SSL_CERT_FILE"
"""OpenSSL's variable: the file of the authorities that clients trust."""
_before: str | None = None


def use() -> None:
    """Has clients trust one authority, not 150, which takes 25 ms of each client, because no test goes beyond this
    machine; makes the tables of an empty SQLite file once: a new database is a copy of it; and has the libraries
    find out once what is the same for every page and every graph of a test."""
    global _before
    _draw_pages_quickly()
    _copy_new_databases()
    _look_into_nodes_once()
    _before = os.environ.get(TRUSTED)
    os.environ[TRUSTED] = str(NOBODY)


def _draw_pages_quickly() -> None:
    """Has Streamlit look for components among the installed packages once (half a second), not for each page of a
    test, and compile the script of the page once, not at every run of it (a sixth of a run); what waits for a run
    sleeps until it ends, and does not look every thousandth of a second."""
    from streamlit.components.v2 import manifest_scanner
    from streamlit.runtime.scriptrunner.script_cache import ScriptCache
    from streamlit.testing.v1 import local_script_runner

    manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
    whole = vars(ScriptCache())
    ScriptCache.__init__ = lambda self: vars(self).update(whole)  # type: ignore[method-assign]
    look = local_script_runner.require_widgets_deltas

    def wait(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
        assert runner._script_thread is not None
        runner._script_thread.join(timeout)
        if not runner.script_stopped():
            look(runner, 0)  # ends it and says so

    local_script_runner.require_widgets_deltas = wait


def _look_into_nodes_once() -> None:
    """Has LangGraph read the code of a node once, not at every making of the graph (half of that)."""
    from langgraph.pregel import _utils

    find = _utils.get_function_nonlocals
    known = cache(find)

    def find_once(func: Callable[..., Any]) -> list[Any]:
        has_own = not isinstance(func, FunctionType) or func.__closure__
        return find(func) if has_own else known(func)

    _utils.get_function_nonlocals = find_once


def _copy_new_databases() -> None:
    from store.database import engine as product

    make, complete = product._create_database_file, product._complete_tables
    copies = set[str | None]()  # that nobody has opened yet

    @cache
    def empty() -> bytes:
        with tempfile.TemporaryDirectory(dir=memory_disk.place()) as folder:
            path = Path(folder) / "empty.db"
            private.make_file(path)
            product.connect_database(f"sqlite:///{path}")[0].dispose()
            assert not path.with_name("empty.db-wal").exists(), "all of it is in the file"
            return path.read_bytes()

    def copied(file: Path) -> None:
        if not file.exists():
            content = empty()
            with suppress(OSError):  # the product itself says why a file cannot be made
                _write_new(file, content)
                copies.add(str(file))
        make(file)

    def complete_others(engine: Engine) -> None:
        if engine.url.database in copies:
            copies.remove(engine.url.database)
        else:
            complete(engine)

    product._create_database_file, product._complete_tables = copied, complete_others


def _write_new(path: Path, content: bytes) -> None:
    """Writes a file that is whole as soon as it is there, unless there is one already."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    private.make_file(fresh)
    fresh.write_bytes(content)
    try:
        os.link(fresh, path)
    finally:
        fresh.unlink()


@contextmanager
def outside() -> Iterator[None]:
    """Trusts what the machine trusts: for a download."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(TRUSTED)
        if _before is not None:
            patch.setenv(TRUSTED, _before)
        yield
