"""The doctor: what it finds, what it advises, and that it changes and tells nothing it should not."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from door.terminal import doctor
from door.terminal.doctor import CheckFinding, can_chat, run_all_checks
from model.embedded.catalogue import QWEN3_4B, QWEN25_CODER
from model.embedded.machine import MachineResources
from server.network.reach import free_port
from server.phrase import render_phrase
from settings import Settings, load_settings
from store import Store
from tests.stub.upstream import Upstream

Found = dict[str, CheckFinding]


def english(code: str, message: str, values: Any) -> tuple[str, str]:
    return f"{code}: {message}", "do something"


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., Found]:
    """The findings by name, for settings on a fresh data folder."""

    def examined(**settings: Any) -> Found:
        chosen: Settings = load_settings(**{"data_dir": tmp_path / "data", **settings})
        return {finding.name: finding for finding in run_all_checks(chosen, "en", english)}

    return examined


def test_a_fresh_machine_can_chat_after_fetching_the_weights(look: Callable[..., Found]) -> None:
    found = look()
    assert found["model"].data["kind"] == "embedded"
    assert found["weights"].mark == "warn"
    assert "make run" in found["weights"].do
    assert can_chat(list(found.values()))


def test_the_weights_that_would_be_fetched_are_named_with_what_they_are_trusted_with(
    look: Callable[..., Found], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = look()
    assert found["model"].data["name"] == QWEN25_CODER.name
    assert found["profile"].data == {
        "chat": "small",
        "why": "catalogue",
        "utility": "small",
        "utility_why": "one_slot",
    }
    assert "it only writes" in found["profile"].found
    strong = look(embedded_model=QWEN3_4B.name, summaries="model")
    assert (strong["profile"].data["chat"], strong["profile"].data["utility_why"]) == ("strong", "summaries_setting")
    assert strong["weights"].data["bytes"] == QWEN3_4B.size
    monkeypatch.setattr(doctor, "measure_machine_resources", lambda: MachineResources(8, 3_000_000_000))
    assert "5.5 GB" in look(embedded_model=QWEN3_4B.name)["machine"].do
    assert look()["machine"].mark == "ok"


def test_what_a_server_tells_of_its_model_is_told(look: Callable[..., Found]) -> None:
    with Upstream(models=("qwen",)) as upstream:
        found = look(local_servers=(upstream.url,), native_tools=False)
    assert (found["profile"].data["chat"], found["profile"].data["why"]) == ("toolless", "no_tools")


def test_looking_leaves_nothing_behind(look: Callable[..., Found], tmp_path: Path) -> None:
    look()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["garbage", "postgresql://u:p@127.0.0.1:port/x"])
def test_an_address_of_a_database_that_cannot_be_read_is_named(look: Callable[..., Found], address: str) -> None:
    found = look(database_url=address, memory=True, retrieval=True)
    for name in ("store", "documents", "remembering"):
        assert found[name].found.startswith("bad_setting: The setting DATABASE_URL")


def test_a_hosted_model_is_named_and_its_key_is_not(look: Callable[..., Found]) -> None:
    with Upstream() as upstream:
        address = upstream.url.replace("http://", "http://user:sk-secret@")
        found = look(openai_api_key="sk-secret", openai_base_url=address, chat_model="big")
    assert found["model"].mark == "ok"
    assert found["model"].data == {"kind": "hosted", "name": "big", "url": upstream.url}
    assert found["weights"].mark == "info"
    assert "sk-secret" not in json.dumps([finding.plain() for finding in found.values()])


def test_a_rejected_key_stands_in_the_way(look: Callable[..., Found]) -> None:
    with Upstream(key="right") as upstream:
        found = look(openai_api_key="wrong", openai_base_url=upstream.url, chat_model="big")
    assert found["model"].mark == "problem"
    assert found["model"].data["code"] == "key_rejected"
    assert not can_chat(list(found.values()))


def test_a_local_server_is_found(look: Callable[..., Found]) -> None:
    with Upstream(models=("qwen",)) as upstream:
        found = look(local_servers=(upstream.url,))
    assert found["model"].data == {"kind": "local", "name": "qwen", "url": upstream.url}


def test_a_local_server_that_is_asked_for_and_away_is_a_problem(look: Callable[..., Found]) -> None:
    found = look(provider="local", local_servers=("http://127.0.0.1:9/v1",))
    assert found["model"].data["code"] == "model_unreachable"
    assert found["weights"].mark == "problem"
    assert found["profile"].mark == "info"


def test_a_file_of_ones_own_must_be_a_gguf(look: Callable[..., Found], tmp_path: Path) -> None:
    path = tmp_path / "own.gguf"
    path.write_bytes(b"GGUF1234")
    assert look(embedded_path=path)["weights"].data["bytes"] == 8
    path.write_bytes(b"<html>")
    assert look(embedded_path=path)["weights"].mark == "problem"


def test_the_store_counts_its_sessions(look: Callable[..., Found], tmp_path: Path) -> None:
    store = Store(load_settings(data_dir=tmp_path / "data").database)
    store.begin_turn(store.create_session("ko", 0.3).id, "안녕")
    store.close()
    assert look()["store"].data["sessions"] == 1


def test_a_menu_that_is_wrong_is_told(look: Callable[..., Found], tmp_path: Path) -> None:
    (tmp_path / "menu.json").write_text('[{"title": {"en": "A"}, "url": null}]')
    found = look(retrieval=True, menu=tmp_path / "menu.json")["documents"]
    assert (found.mark, found.found.partition(":")[0]) == ("problem", "bad_setting")
    assert "0.url" in found.found


def test_a_folder_that_cannot_be_written_is_a_problem(
    look: Callable[..., Found], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
    found = look()["store"]
    assert found.mark == "problem"
    assert "GIEOK_DATA_DIR" in found.do


@pytest.mark.parametrize("folder", ["/dev/null/x", "/dev/null"])
def test_a_file_in_the_way_of_the_data_folder_is_a_problem(look: Callable[..., Found], folder: str) -> None:
    assert look(data_dir=folder)["store"].mark == "problem"


def test_a_check_that_fails_as_nobody_foresaw_hides_no_other(
    look: Callable[..., Found], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> CheckFinding:
        raise ImportError("no such thing")

    monkeypatch.setitem(doctor.CHECKS, "model", broken)
    found = look()
    assert (found["model"].mark, found["model"].data) == ("problem", {"code": "unexpected"})
    assert found["python"].mark == "ok"


def test_a_proxy_that_cannot_be_one_is_a_finding(look: Callable[..., Found], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:9")
    found = look(openai_api_key="k", openai_base_url="http://models.invalid/v1", chat_model="m")
    assert found["model"].data == {"code": "model_unreachable"}


def test_too_little_space_for_the_weights_is_a_problem(
    look: Callable[..., Found], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1_000_000_000}))
    found = look()["disk"]
    assert found.mark == "problem"
    assert "617 MB" in found.do


def test_missing_and_differing_packages_are_told_apart(
    look: Callable[..., Found], monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {"streamlit": "0.1", "faiss-cpu": None}
    real = doctor._find_package_version
    monkeypatch.setattr(doctor, "_find_package_version", lambda name: versions.get(name, real(name)))
    found = look()["packages"]
    assert found.mark == "problem"
    assert found.data["missing"] == ["faiss-cpu"]
    assert found.data["differing"] == ["streamlit 0.1"]


def test_a_taken_port_is_stepped_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) > port


def test_a_taken_port_of_the_page_and_of_the_endpoint_is_told(look: Callable[..., Found]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for name, do in (("port", "next free one"), ("api_port", "GIEOK_API_PORT")):
            found = look(**{name: port})[name]
            assert (found.mark, found.data) == ("warn", {"port": port, "free": False})
            assert str(port) in found.found
            assert do in found.do


@pytest.mark.parametrize("language", ["ko", "en"])
def test_every_finding_has_words_in_both_languages(language: Any, tmp_path: Path) -> None:
    for finding in run_all_checks(load_settings(data_dir=tmp_path), language, english):
        assert finding.found
        assert render_phrase(language, finding.name)


def test_the_memory_is_looked_at_and_nothing_is_started(look: Callable[..., Found], tmp_path: Path) -> None:
    assert look()["remembering"].data == {"on": False}
    found = look(memory=True)["remembering"]
    assert (found.mark, found.data["embedded"], found.data["memories"]) == ("ok", True, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_redis_that_is_away_is_a_warning_and_its_password_is_not_told(look: Callable[..., Found]) -> None:
    found = look(memory=True, redis_url="redis://:sk-secret@127.0.0.1:1/0")
    assert found["remembering"].mark == "warn"
    assert "nothing is lost" in found["remembering"].do
    assert can_chat(list(found.values()))
    assert "sk-secret" not in json.dumps([finding.plain() for finding in found.values()])
    bad = look(memory=True, redis_url="http://127.0.0.1")
    assert bad["remembering"].mark == "problem"


def test_a_damaged_database_and_an_empty_one_beside_data_are_problems(
    look: Callable[..., Found], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    Store(load_settings(data_dir=folder).database).close()
    database = folder / "gieok.db"
    database.write_bytes(b"\xa5" * database.stat().st_size)
    assert (look()["store"].mark, look()["store"].found.split(":")[0]) == ("problem", "store_damaged")
    database.write_bytes(b"")
    (folder / "checkpoint.db").write_bytes(b"data")
    assert (look()["store"].mark, look()["store"].found.split(":")[0]) == ("problem", "store_emptied")
    assert database.stat().st_size == 0
