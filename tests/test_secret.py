"""A key inside an address goes to its server, and to no page, row, export, log or terminal."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from sqlalchemy import update
from streamlit.testing.v1 import AppTest

from component.page.window import OPENED
from component.settings.options import NAME
from component.work import resource
from door.terminal.doctor import run_all_checks
from errors import BadSetting, ModelUnreachable
from graph.turn.agent import Agent, open_agent
from graph.turn.event import Failed
from model import scripted
from model.call.stream import complete_answer
from model.choice import probe, resolve
from settings import load_settings
from store.database.schema import turn
from tests.component.test_offer import run
from tests.conftest import Serve
from tests.stub.reply import said
from tests.stub.upstream import Upstream
from tests.table import table
from tests.test_app import page, texts
from tests.wait import until

ADDRESS = "http://me:sk-secret@127.0.0.1:9/v1?api_key=sk-secret"
OLD = {
    "code": "model_unreachable",
    "message": f"The model at {ADDRESS}.",
    "values": {"url": ADDRESS},
    "retryable": True,
}


def failing(folder: Path) -> tuple[Agent, str, Failed]:
    """An agent whose model at such an address is away, its conversation and how that ended."""
    agent = open_agent(
        load_settings(data_dir=folder, titles=False), lambda: scripted.build_scripted_models(_away, lambda _: "")
    )
    session = agent.store.create_session("en", 0.3).id
    *_, last = agent.run(session, "Hello")
    assert isinstance(last, Failed)
    return agent, session, last


def _away(_messages: object) -> str:
    raise ModelUnreachable(url=ADDRESS)


def test_a_failed_turn_keeps_none(tmp_path: Path) -> None:
    agent, session, last = failing(tmp_path)
    assert "127.0.0.1:9/v1" in last.message
    everything = f"{last} {agent.store.turn(session, 1)} {agent.export_session(session)}"
    agent.close()
    assert "sk-secret" not in everything
    assert "sk-secret" not in "".join(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*.db*"))


def test_a_row_of_an_earlier_version_is_read_and_exported_without_it(tmp_path: Path) -> None:
    agent, session, _ = failing(tmp_path)
    with agent.store.transaction() as connection:
        connection.execute(update(turn).values(error=OLD))
    kept, exported = agent.store.turn(session, 1), agent.export_session(session)
    agent.close()
    assert kept is not None
    assert kept.error == {
        **OLD,
        "message": "The model at http://127.0.0.1:9/v1",
        "values": {"url": "http://127.0.0.1:9/v1"},
    }
    assert "http://127.0.0.1:9/v1" in exported
    assert "sk-secret" not in exported


def test_doctor_tells_none(tmp_path: Path) -> None:
    given = {"openai_base_url": ADDRESS, "database_url": "postgresql://me:sk-secret@127.0.0.1:9/x?password=sk-secret"}
    chosen = load_settings(data_dir=tmp_path, **given)
    found = run_all_checks(chosen, "en", lambda code, message, values: (f"{code} {message}", json.dumps(values)))
    assert "sk-secret" not in json.dumps([finding.plain() for finding in found], default=str)


@table("name", ["openai_base_url", "local_servers"])
@table("address", ["ftp://me:sk-secret@host/v1", "me:sk-secret@host/v1", "http://me:sk secret@host/v1"])
def test_an_address_that_cannot_be_used_is_told_without_it(name: str, address: str) -> None:
    with pytest.raises(BadSetting) as raised:
        load_settings(**{name: address})
    assert "secret" not in f"{raised.value} {raised.value.__cause__} {raised.value.values}"


def test_the_log_of_requests_has_none(caplog: pytest.LogCaptureFixture) -> None:
    with Upstream(said("Hello")) as upstream, caplog.at_level(logging.DEBUG):
        address = upstream.url.replace("http://", "http://me:sk-secret@")
        models = resolve.resolve_models(load_settings(openai_base_url=address, openai_api_key="k", chat_model="m"))
        complete_answer(models.chat, "Hello")
        probe.list_server_models(address, "k", 5)
    assert "HTTP Request" in caplog.text
    assert "sk-secret" not in caplog.text
    assert "sk-secret" not in repr(
        resolve.find_endpoint(load_settings(openai_base_url=ADDRESS, chat_model="m", context_size=9000)).label
    )


@pytest.mark.usefixtures("fresh")
def test_the_page_shows_none(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(_away)
    monkeypatch.setenv("OPENAI_BASE_URL", ADDRESS)
    monkeypatch.setenv("GIEOK_LOCAL_SERVERS", ADDRESS)
    at = page("en-US")
    at.chat_input(key="ask").set_value("Hello").run()
    assert "127.0.0.1:9/v1" in texts(at)
    assert "sk-secret" not in everything(at)
    until(lambda: resource.find_shared_readiness().status.is_settled)
    at = page("en-US")
    at.session_state[OPENED] = (NAME, None, None)
    run(at)
    at.segmented_control(key="models-kind").set_value("hosted")
    run(at)
    field = at.text_input(key="models-url")
    assert (field.value, field.placeholder) == ("", "http://127.0.0.1:9/v1")
    assert "sk-secret" not in everything(at)
    at.segmented_control(key="models-kind").set_value("local")
    run(at)
    assert "http://127.0.0.1:9/v1" in texts(at)
    assert "sk-secret" not in everything(at)


def everything(at: AppTest) -> str:
    """All that the page sent to the browser."""
    return str([element.proto for element in at.main if hasattr(element, "proto")]) + texts(at)
