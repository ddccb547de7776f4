"""How prompts begin is read once: it stands in the slot at every start, and no file of it can fail one."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

import settings
from model.choice import resolve
from model.embedded import llama_server, prefix, slot
from model.embedded.llama_server import Embedded
from model.embedded.prefix import Prefix, Prefixes
from model.file_lock import is_lock_held
from tests.model_server import release_servers

pytestmark = pytest.mark.small_model

RIVERS = Prefix("You tell of rivers, and never of anything else. " * 8)
HILLS = Prefix("You tell of hills, and never of anything else. " * 8)
TOOL = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}

Make = Callable[..., Prefixes]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data folder that the tests of this file share, and so the server."""
    yield tmp_path_factory.mktemp("prefix")
    release_servers()


@pytest.fixture
def given(small_model: Path, data: Path) -> settings.Settings:
    return settings.load_settings(
        embedded_path=small_model, data_dir=data, embedded_context=2048, embedded_threads=1, provider="embedded"
    )


@pytest.fixture
def make(given: settings.Settings, small_model: Path, tmp_path: Path) -> Make:
    """Prefixes on a server that has just started, with an empty folder of files."""
    server = llama_server.connect_embedded_server(given, small_model)
    died(server, given)
    for file in llama_server.locate_slot_states(given).iterdir():
        file.unlink()

    def made(*prefixes: Prefix) -> Prefixes:
        return Prefixes(
            prefixes,
            lambda: llama_server.connect_embedded_server(given, small_model),
            small_model,
            llama_server.locate_slot_states(given),
        )

    return made


def died(server: Embedded, given: settings.Settings) -> None:
    """End the server as a crash would, and wait until the system has taken back all that it held."""
    os.kill(server.pid, signal.SIGKILL)
    for lock in given.data_dir.glob("embedded/*/server.lock"):
        while is_lock_held(lock):
            pass


def again(given: settings.Settings, small_model: Path) -> Embedded:
    """The server, started anew."""
    died(llama_server.connect_embedded_server(given, small_model), given)
    return llama_server.connect_embedded_server(given, small_model)


def request(beginning: Prefix, question: str = "How long is it?") -> dict[str, Any]:
    body = beginning.body()
    return {**body, "messages": [body["messages"][0], {"role": "user", "content": question}]}


def read(server: Embedded, body: dict[str, Any]) -> int:
    """How many tokens of the prompt are not in the slot."""
    headers = {"Authorization": f"Bearer {server.key}"}
    url = server.url + "/chat/completions"
    answer = httpx2.post(url, json={**body, **slot.CALL, "max_tokens": 1}, headers=headers, timeout=60)
    usage = answer.raise_for_status().json()["usage"]
    return int(usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"])


def files(given: settings.Settings) -> list[Path]:
    return sorted(llama_server.locate_slot_states(given).iterdir())


def test_the_first_prefix_stands_and_each_has_a_file(make: Make, given: settings.Settings, small_model: Path) -> None:
    make(RIVERS, HILLS).prepare()
    assert len(files(given)) == 2
    assert read(llama_server.connect_embedded_server(given, small_model), request(RIVERS)) < 20


def test_a_new_server_is_given_what_was_saved(
    make: Make, given: settings.Settings, small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(RIVERS).prepare()
    server = again(given, small_model)
    monkeypatch.setattr(slot, "read_into_slot", lambda *_: pytest.fail("it was read again"))
    make(RIVERS).prepare()
    assert read(server, request(RIVERS)) < 20


def test_a_prefix_with_tools_is_one_of_its_own(make: Make, given: settings.Settings, small_model: Path) -> None:
    tooled = Prefix(RIVERS.text, (TOOL,))
    make(tooled, RIVERS).prepare()
    assert len(files(given)) == 2
    assert read(llama_server.connect_embedded_server(given, small_model), request(tooled)) < 20


def test_a_request_in_the_other_language_finds_its_prefix_standing(
    make: Make, given: settings.Settings, small_model: Path
) -> None:
    made, server = make(RIVERS, HILLS), llama_server.connect_embedded_server(given, small_model)
    made.prepare()
    for beginning in (HILLS, RIVERS, HILLS):
        made.before(json.dumps(request(beginning)).encode())
        assert read(server, request(beginning)) < 20


def test_a_conversation_that_goes_on_keeps_all_that_the_slot_holds(
    make: Make, given: settings.Settings, small_model: Path
) -> None:
    made, server = make(RIVERS), llama_server.connect_embedded_server(given, small_model)
    made.prepare()
    long = "How long is the Rhine? " * 20
    for question in (long, long + "And the Han?"):
        made.before(json.dumps(request(RIVERS, question)).encode())
        last = read(server, request(RIVERS, question))
    assert last < 20


def test_after_another_kind_of_call_it_is_put_back(make: Make, given: settings.Settings, small_model: Path) -> None:
    made, server = make(RIVERS), llama_server.connect_embedded_server(given, small_model)
    made.prepare()
    title = {"messages": [{"role": "user", "content": "A title for this talk, please."}]}
    made.before(json.dumps(title).encode())
    read(server, title)
    made.before(json.dumps(request(RIVERS)).encode())
    assert read(server, request(RIVERS)) < 20


def test_a_slot_that_another_process_uses_is_left_alone(
    make: Make, given: settings.Settings, small_model: Path
) -> None:
    server = llama_server.connect_embedded_server(given, small_model)
    talk = {"messages": [{"role": "user", "content": "A long talk of another process. " * 20}]}
    read(server, talk)
    make(RIVERS).prepare()
    assert read(server, talk) < 20


def cut(path: Path) -> None:
    """Half of it is gone: llama.cpp itself aborts on such a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def foreign(path: Path) -> None:
    """Another program's, under the right name: only llama.cpp can tell."""
    content = os.urandom(5000)
    path.unlink()
    key = path.stem.split("-")[0]
    path.with_name(f"{key}-{hashlib.sha256(content).hexdigest()[:32]}.state").write_bytes(content)


def missing(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("harm", [cut, foreign, missing])
def test_a_file_that_is_no_good_is_made_again(
    harm: Callable[[Path], None], make: Make, given: settings.Settings, small_model: Path
) -> None:
    make(RIVERS).prepare()
    again(given, small_model)
    harm(files(given)[0])
    make(RIVERS).prepare()
    assert read(llama_server.connect_embedded_server(given, small_model), request(RIVERS)) < 20
    again(given, small_model)
    make(RIVERS).prepare()
    assert read(llama_server.connect_embedded_server(given, small_model), request(RIVERS)) < 20
    assert len(files(given)) == 1


def test_what_has_long_not_been_used_goes(make: Make, given: settings.Settings) -> None:
    make(*(Prefix(f"Hill {number}.") for number in range(prefix.KEPT + 2))).prepare()
    assert len(files(given)) == prefix.KEPT


def test_where_nothing_can_be_saved_it_is_read_at_every_start(
    make: Make, given: settings.Settings, small_model: Path
) -> None:
    folder = llama_server.locate_slot_states(given)
    folder.rmdir()
    folder.write_text("a file stands in the way")
    try:
        server = again(given, small_model)
        make(RIVERS).prepare()
        assert read(server, request(RIVERS)) < 20
    finally:
        folder.unlink()
        again(given, small_model)


def test_models_are_ready_when_their_prompt_has_been_read(
    make: Make, given: settings.Settings, small_model: Path
) -> None:
    chat: BaseChatModel = resolve.resolve_models(given, prefixes=[RIVERS, HILLS]).chat
    for beginning in (RIVERS, HILLS):
        answer = chat.invoke([SystemMessage(beginning.text), HumanMessage("How long is it?")], max_tokens=2)
        told = answer.usage_metadata
        assert told is not None
        assert told["input_tokens"] - told["input_token_details"]["cache_read"] < 20
