"""The endpoint as a process of its own: keys, limits, sessions, clients that leave, its end."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench.server import environment
from settings import load_settings
from store import Store
from tests.door.openai.running import Running, running
from tests.product import launch
from tests.stub.reply import said
from tests.wait import until

LONG = said("one two three four five six seven eight nine ten").but(pause=0.3)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("endpoint")) as opened:
        yield opened


def ask(service: Running, text: str, headers: dict[str, str] | None = None, **fields: Any) -> httpx2.Response:
    body = {"messages": [{"role": "user", "content": text}], **fields}
    return httpx2.post(f"{service.url}/chat/completions", json=body, headers=headers or {}, timeout=60)


def error(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


# --- sessions -----------------------------------------------------------------------------------


def test_a_named_session_goes_on_without_its_history(service: Running) -> None:
    header = {"X-Gieok-Session": "my chat"}
    first = ask(service, "My dog is called Bori.", header)
    second = ask(service, "What is it called?", None, metadata={"gieok_session": "my chat"})
    assert (first.headers["x-gieok-turn"], second.headers["x-gieok-turn"]) == ("1", "2")
    assert first.headers["x-gieok-session"] == second.headers["x-gieok-session"]
    prompt = json.dumps(service.upstream.requests[-1].body["messages"])
    assert "My dog is called Bori." in prompt


def test_the_report_comes_with_the_answer_whole_and_streamed(service: Running) -> None:
    asked = {"metadata": {"gieok_report": "true"}}
    whole = ask(service, "Report to me", **asked).json()["gieok"]
    assert whole["turn"] == 1
    assert {part["name"] for part in whole["context"]["parts"]} >= {"system", "question"}
    stream = ask(service, "Report to me again", stream=True, **asked).text
    chunks = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    assert [chunk["gieok"]["turn"] for chunk in chunks if "gieok" in chunk] == [1]
    assert "gieok" not in ask(service, "No report").json()


def test_a_client_says_in_which_zone_its_user_is(service: Running) -> None:
    told = []
    where: dict[str, Any] = {"user_location": {"type": "approximate", "approximate": {"timezone": "Pacific/Pago_Pago"}}}
    zones: list[dict[str, Any]] = [{"metadata": {"gieok_zone": "Pacific/Kiritimati"}}, {"web_search_options": where}]
    for number, zone in enumerate(zones):
        ask(service, f"What time is it for reader {number}?", **zone)
        prompt = json.dumps(service.upstream.requests[-1].body["messages"], ensure_ascii=False)
        found = re.findall(r"(\d{4}-\d\d-\d\d) \(\w+\) (\d\d:\d\d)", prompt)
        told.append(datetime.fromisoformat("T".join(found[-1])))
    assert timedelta(hours=24) < told[0] - told[1] <= timedelta(hours=25)


def test_a_zone_that_is_none_is_refused(service: Running) -> None:
    response = ask(service, "What time is it?", gieok_zone="Middle/Earth")
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "gieok_zone"
    assert "Asia/Seoul" in response.json()["error"]["message"]


def test_tools_that_only_openai_itself_runs_are_left_out_and_that_is_told(service: Running) -> None:
    response = ask(service, "With tools", tools=[{"type": "web_search"}], functions=[{"name": "look"}])
    assert response.headers["x-gieok-left-out"] == "tools,functions"


def test_limits_of_the_answer_reach_the_model(service: Running) -> None:
    ask(service, "Briefly", max_tokens=7, temperature=0.5, stop=["\n"])
    sent = service.upstream.requests[-1].body
    assert (sent.get("max_completion_tokens") or sent["max_tokens"], sent["temperature"]) == (7, 0.5)


# --- clients that leave -------------------------------------------------------------------------


def test_a_client_that_leaves_cuts_the_model_and_what_was_said_is_kept(service: Running) -> None:
    service.answers["Go on and on"] = LONG
    body = {"messages": [{"role": "user", "content": "Go on and on"}], "stream": True}
    with httpx2.stream("POST", f"{service.url}/chat/completions", json=body, timeout=60) as answer:
        session = answer.headers["x-gieok-session"]
        pieces = answer.iter_lines()
        while "two" not in next(pieces):
            pass
    until(lambda: service.turns(session)[0].status == "stopped")
    kept = service.turns(session)[0].answer or ""
    assert kept.startswith("one two")
    assert "ten" not in kept


def test_sixty_four_streams_at_once_are_all_answered(service: Running) -> None:
    def one(number: int) -> str:
        return ask(service, f"Stream number {number}", stream=True).text

    with ThreadPoolExecutor(64) as clients:
        answers = list(clients.map(one, range(64)))
    assert all(answer.endswith("data: [DONE]\n\n") for answer in answers)
    assert all(f"number {number}" in "".join(_texts(answer)) for number, answer in enumerate(answers))


def _texts(stream: str) -> Iterator[str]:
    for line in stream.splitlines():
        if line.startswith("data: {"):
            yield from (choice["delta"].get("content") or "" for choice in json.loads(line[6:])["choices"])


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{not json", (400, "invalid_json")),
        (b"[1]", (400, "invalid_json")),
        (b'{"messages": [{"role": "assistant", "content": "hi"}]}', (400, "no_user_message")),
        (b'{"messages": [{"role": "user", "content": " "}]}', (400, "empty")),
        (b'{"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}', (400, "invalid_value")),
        (b'{"messages": [{"role": "user", "content": "x"}], "temperature": "hot"}', (400, "invalid_type")),
        (b'{"messages": [{"role": "user", "content": "x"}], "model": "other"}', (404, "model_not_found")),
        (b'{"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_schema"}}',
         (400, "invalid_value")),
    ],
)  # fmt: skip
def test_a_bad_request_says_what_is_wrong(service: Running, body: bytes, code: tuple[int, str]) -> None:
    assert error(httpx2.post(f"{service.url}/chat/completions", content=body, timeout=60)) == code


def test_an_unknown_path_a_foreign_host_and_an_unknown_response_are_refused(service: Running) -> None:
    assert error(httpx2.get(f"{service.url}/nothing")) == (404, "not_found")
    assert httpx2.get(f"{service.url}/models", headers={"Host": "evil.example"}).status_code == 403
    assert httpx2.get(f"{service.url}/models", headers={"Origin": "https://evil.example"}).status_code == 403
    for response in ("resp_0123456789abcdef_0_1", "resp_x", "nonsense"):
        body = {"input": "x", "previous_response_id": response}
        assert error(httpx2.post(f"{service.url}/responses", json=body)) == (400, "previous_response_not_found")


def test_health_and_metrics_name_no_session(service: Running) -> None:
    session = ask(service, "Count me").headers["x-gieok-session"]
    assert httpx2.get(f"{service.root}/healthz").json() == {
        "status": "ok",
        "store": "ok",
        "redis": "off",
        "model": "ok",
    }
    metrics = httpx2.get(f"{service.root}/metrics").text
    assert 'gieok_requests_total{route="/v1/chat/completions",status="200"}' in metrics
    assert session not in metrics
    assert "Count me" not in service.server.log.read_text("utf-8")


def test_limits_of_size_and_rate_are_told(tmp_path: Path) -> None:
    with running(tmp_path, GIEOK_API_BODY_LIMIT="1000", GIEOK_API_RATE="2") as service:
        assert error(ask(service, "x" * 2000)) == (413, "request_too_large")
        assert [ask(service, f"Hello {number}").status_code for number in range(2)] == [200, 200]
        refused = ask(service, "Hello once more")
        assert error(refused) == (429, "rate_limit_exceeded")
        assert 0 < int(refused.headers["retry-after"]) <= 61


def test_a_limit_of_requests_at_once_is_told_and_ends_with_the_request(tmp_path: Path) -> None:
    with running(tmp_path, GIEOK_API_CONCURRENCY="1") as service:
        service.answers["Go on and on"] = LONG
        body = {"messages": [{"role": "user", "content": "Go on and on"}], "stream": True}
        with httpx2.stream("POST", f"{service.url}/chat/completions", json=body, timeout=60) as answer:
            assert answer.status_code == 200
            refused = ask(service, "Meanwhile")
            assert error(refused) == (429, "rate_limit_exceeded")
            assert refused.headers["retry-after"] == "1"
            answer.read()
        until(lambda: ask(service, "Afterwards").status_code == 200)


# --- keys ---------------------------------------------------------------------------------------


def test_keys_open_the_conversations_of_their_user_only(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        keys = service.store.api_keys
        one, other = keys.add("one", "ann"), keys.add("two", "bob")
        named = {"X-Gieok-Session": "diary"}
        assert error(ask(service, "Without a key")) == (401, "invalid_api_key")
        assert error(ask(service, "With a wrong one", {"Authorization": f"Bearer {one}x"})) == (401, "invalid_api_key")
        mine = ask(service, "This is mine.", {**named, "Authorization": f"Bearer {one}"})
        theirs = ask(service, "And this is mine.", {**named, "Authorization": f"Bearer {other}"})
        session = mine.headers["x-gieok-session"]
        assert session != theirs.headers["x-gieok-session"]
        guessed = ask(service, "Guess.", {"X-Gieok-Session": session, "Authorization": f"Bearer {other}"})
        assert guessed.headers["x-gieok-session"] != session
        assert [turn.question for turn in service.turns(session)] == ["This is mine."]
        assert keys.revoke(one.split("-")[1])
        assert [key.user for key in keys.all() if key.revoked] == ["ann"]
        assert error(ask(service, "Revoked", {"Authorization": f"Bearer {one}"})) == (401, "invalid_api_key")
        database = Path(service.database.removeprefix("sqlite:///"))
        secret = other.split("-", 2)[2].encode()
        assert all(secret not in file.read_bytes() for file in database.parent.glob("gieok.db*") if file.is_file())


def test_keys_are_made_listed_and_revoked_in_a_terminal(tmp_path: Path) -> None:
    env = environment(tmp_path, "http://127.0.0.1:9/v1")

    log = tmp_path / "log"

    def cli(*words: str) -> tuple[int, str]:
        """The exit code of a command, and what it wrote."""
        log.write_bytes(b"")
        code = launch(["cli.py", *words, "--lang", "en"], env, log).wait(120)
        return code, log.read_text("utf-8")

    code, refused = cli("serve", "--host", "0.0.0.0")
    assert (code, "key add" in refused) == (1, True)
    _, made = cli("key", "add", "laptop", "--user", "ann", "--no-documents", "--no-memory")
    secret = made.split()[-1]
    assert secret.startswith("gk-")
    _, listed = cli("key", "list")
    assert secret not in listed
    with closing(Store(load_settings(data_dir=tmp_path / "data").database)) as store:
        (key,) = store.api_keys.all()
    assert (key.name, key.user, key.documents, key.memory) == ("laptop", "ann", False, False)
    assert "without documents  without the user's memory" in listed
    assert "cannot be used" in cli("key", "add", "phone", "--user", " ")[1]
    assert cli("key", "revoke", key.id)[0] == 0
    assert "revoked" in cli("key", "list")[1]
    assert cli("key", "revoke", key.id)[0] == 1


# --- its end ------------------------------------------------------------------------------------


def test_a_server_that_ends_lets_its_turn_finish(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        service.answers["Finish this"] = LONG.but(pause=0.1)
        got: list[httpx2.Response] = []
        client = threading.Thread(target=lambda: got.append(ask(service, "Finish this", stream=True)))
        client.start()
        until(lambda: any("Finish this" in json.dumps(call.body) for call in service.upstream.requests))
        service.server.process.send_signal(signal.SIGTERM)
        client.join(60)
        service.server.process.wait(60)
        (session,) = service.sessions()
        assert [(turn.status, turn.answer) for turn in service.turns(session)] == [
            ("done", "one two three four five six seven eight nine ten")
        ]
    assert got[0].text.endswith("data: [DONE]\n\n")
