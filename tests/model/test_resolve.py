"""Which model is taken: hosted with a key, else the first local server with a chat model, else the embedded one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI

import settings
from errors import BadSetting, GieokError, KeyRejected, ModelUnreachable
from model.call.stream import complete_answer
from model.choice import resolve
from model.choice.choice import OPENAI
from model.embedded import llama_server, weights
from model.embedded.catalogue import QWEN3_4B, QWEN25_CODER
from model.embedded.llama_server import Embedded
from model.profile import SMALL, STRONG, TOOLLESS, ProfileChoice
from tests.stub.reply import said
from tests.stub.upstream import Upstream

Start = Callable[..., str]
CLOSED = "http://127.0.0.1:9/v1"


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts servers that answer GET with the given pages by path; others are 404. Returns their address with /v1."""
    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def make(pages: dict[str, Any], key: str = "", wait: threading.Event | None = None) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if wait is not None:
                    wait.wait(60)
                refused = bool(key) and self.headers["Authorization"] != f"Bearer {key}"
                self.send_response(401 if refused else 200 if self.path in pages else 404)
                self.end_headers()
                self.wfile.write(json.dumps({} if refused else pages.get(self.path, {})).encode())

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield make
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


def offering(*names: str, **more: object) -> dict[str, Any]:
    return {"/v1/models": {"object": "list", "data": [{"id": name, **more} for name in names]}}


def no_weights(*_: object) -> Path:
    raise AssertionError("the embedded model was taken")


@pytest.fixture
def not_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "ensure_weights", no_weights)


# --- hosted -------------------------------------------------------------------------------------


def test_a_key_alone_means_openai_without_asking_anybody() -> None:
    found = resolve.find_endpoint(settings.load_settings(openai_api_key="sk-1"))
    assert (found.kind, found.url, found.key) == ("hosted", OPENAI, "sk-1")
    assert (found.chat_model, found.utility_model) == ("gpt-5-mini", "gpt-5-nano")
    assert (found.chat, found.utility) == (ProfileChoice(STRONG, "unknown_size"), ProfileChoice(STRONG, "unknown_size"))
    assert found.context_size == 128_000
    assert "sk-1" not in repr(found)


def test_a_base_url_without_a_key_is_hosted_and_asked_for_model_and_context(start: Start) -> None:
    url = start(offering("text-embedding-x", "big-chat", max_model_len=40_000))
    found = resolve.find_endpoint(settings.load_settings(openai_base_url=url + "/"))
    assert (found.kind, found.url, found.key, found.chat_model) == ("hosted", url, "", "big-chat")
    assert found.context_size == 40_000
    assert found.label == f"big-chat ({url[7:-3]})"


def test_settings_go_before_what_the_server_says(start: Start) -> None:
    url = start(offering("a", "b", max_model_len=40_000))
    given = settings.load_settings(
        openai_base_url=url, chat_model="c", utility_model="d", native_tools=False, context_size=5000
    )
    found = resolve.find_endpoint(given)
    assert (found.chat_model, found.utility_model, found.context_size) == ("c", "d", 5000)
    assert found.chat == found.utility == ProfileChoice(TOOLLESS, "no_tools")


def test_a_rejected_key_is_told(start: Start) -> None:
    with pytest.raises(KeyRejected):
        resolve.find_endpoint(
            settings.load_settings(openai_base_url=start(offering("a"), key="right"), openai_api_key="wrong")
        )


def test_a_hosted_server_that_is_away_is_told() -> None:
    with pytest.raises(ModelUnreachable, match="127"):
        resolve.find_endpoint(settings.load_settings(openai_base_url=CLOSED))


def test_a_server_that_lists_nothing_needs_a_model_name(start: Start) -> None:
    url = start({})
    with pytest.raises(BadSetting, match="CHAT_MODEL"):
        resolve.find_endpoint(settings.load_settings(openai_base_url=url))
    assert resolve.find_endpoint(settings.load_settings(openai_base_url=url, chat_model="mine")).chat_model == "mine"


def test_hosted_without_key_or_address_is_a_bad_setting() -> None:
    with pytest.raises(BadSetting, match="OPENAI_API_KEY"):
        resolve.find_endpoint(settings.load_settings(provider="hosted"))


# --- local --------------------------------------------------------------------------------------


def test_the_first_server_in_order_with_a_chat_model_is_taken(start: Start, not_embedded: None) -> None:
    only_embeddings = start(offering("nomic-embed-text", "BAAI/bge-m3"))
    good, later = start(offering("nomic-embed-text", "llama3.2:3b")), start(offering("other"))
    found = resolve.find_endpoint(settings.load_settings(local_servers=(CLOSED, only_embeddings, good, later)))
    assert (found.kind, found.url, found.chat_model) == ("local", good, "llama3.2:3b")


def test_a_server_with_the_chosen_model_goes_before_others(start: Start, not_embedded: None) -> None:
    first, second = start(offering("a")), start(offering("b", "c"))
    found = resolve.find_endpoint(settings.load_settings(local_servers=(first, second), chat_model="c"))
    assert (found.url, found.chat_model) == (second, "c")


def test_servers_are_asked_at_once_and_a_silent_one_costs_one_timeout(start: Start, not_embedded: None) -> None:
    answer = threading.Event()
    silent = [start(offering("slow"), wait=answer) for _ in range(4)]
    good = start(offering("a", meta={"n_ctx": 4096}))
    try:
        found = resolve.find_endpoint(settings.load_settings(local_servers=(*silent, good)))
    finally:
        answer.set()
    assert (found.url, found.context_size) == (good, 4096)


@pytest.mark.parametrize(
    "pages",
    [
        {"/props": {"default_generation_settings": {"n_ctx": 8192}}},
        {"/api/v0/models": {"data": [{"id": "x"}, {"id": "a", "loaded_context_length": 8192}]}},
        {"/api/ps": {"models": [{"name": "a", "context_length": 8192}]}},
    ],
    ids=["llama.cpp", "LM Studio", "Ollama"],
)
def test_the_context_size_is_found_where_each_server_keeps_it(start: Start, pages: dict[str, Any]) -> None:
    url = start(offering("a") | pages)
    assert resolve.find_endpoint(settings.load_settings(local_servers=(url,))).context_size == 8192


SEEING = {"architecture": {"input_modalities": ["text", "image"]}}


@pytest.mark.parametrize(
    ("pages", "sees"),
    [
        (offering("a"), True),  # nobody knows: the server is asked
        (offering("a", **SEEING), True),
        (offering("a", architecture={"input_modalities": ["text"]}), False),
        (offering("a", capabilities={"completion_chat": True, "vision": False}), False),
        (offering("a", capabilities={"completion_chat": True, "vision": True}), True),
        (offering("a", max_model_len=9000) | {"/props": {"modalities": {"vision": False, "audio": False}}}, False),
        (
            offering("a") | {"/props": {"modalities": {"vision": True}, "default_generation_settings": {"n_ctx": 9}}},
            True,
        ),
        (offering("a") | {"/api/v0/models": {"data": [{"id": "a", "type": "llm", "max_context_length": 9}]}}, False),
        (offering("a") | {"/api/v0/models": {"data": [{"id": "b", "type": "llm"}, {"id": "a", "type": "vlm"}]}}, True),
        (
            offering("a") | {"/props": {"modalities": "vision"}, "/api/v0/models": {"data": [{"id": "a", "type": 3}]}},
            True,
        ),
    ],
)
@pytest.mark.parametrize("kind", ["local", "hosted"])
def test_a_server_tells_whether_its_model_takes_images(
    start: Start, not_embedded: None, pages: dict[str, Any], sees: bool, kind: str
) -> None:
    url = start(pages)
    at = {"local_servers": (url,)} if kind == "local" else {"openai_base_url": url}
    found = resolve.find_endpoint(settings.load_settings(**at))
    # a hosted server that lists the context is asked for nothing else
    assert found.chat.profile.images is (sees or (kind == "hosted" and found.context_size == 9000))


def test_a_prompt_is_kept_short_for_a_model_that_ollama_has_yet_to_load(start: Start) -> None:
    url = start(offering("a") | {"/api/ps": {"models": []}})
    assert resolve.find_endpoint(settings.load_settings(local_servers=(url,))).context_size == 4096


@pytest.mark.parametrize(
    ("able", "native"), [(["completion", "tools"], True), (["completion"], False), (None, True), ("tools", True)]
)
def test_a_local_model_that_takes_no_tools_is_sent_none(start: Start, able: object, native: bool) -> None:
    url = start(offering("a") | {"/api/show": {"capabilities": able}})
    by_itself, told_so = ("native", "routed") if native else ("routed", "native")
    assert resolve.find_endpoint(settings.load_settings(local_servers=(url,))).chat.profile.tools == by_itself
    assert (
        resolve.find_endpoint(settings.load_settings(local_servers=(url,), native_tools=not native)).chat.profile.tools
        == told_so
    )


@pytest.mark.parametrize("page", [[], "no", {"data": None}, {"data": [1, {"name": "x"}]}])
def test_something_else_on_that_port_is_no_model_server(start: Start, page: object) -> None:
    given = settings.load_settings(local_servers=(start({"/v1/models": page}),), provider="local")
    with pytest.raises(ModelUnreachable):
        resolve.find_endpoint(given)


# --- embedded -----------------------------------------------------------------------------------


@pytest.fixture
def running(start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Embedded:
    """An embedded server that needs no weights: a stub stands where it would listen."""
    server = Embedded(start({"/props": {"default_generation_settings": {"n_ctx": 24_576}}}, key="k"), "k", 1, tmp_path)
    monkeypatch.setattr(weights, "ensure_weights", lambda *_: tmp_path / QWEN25_CODER.file)
    monkeypatch.setattr(llama_server, "connect_embedded_server", lambda *_: server)
    monkeypatch.setattr(llama_server, "make_server_lookup", lambda *_: lambda: server)
    return server


def test_without_key_and_local_server_it_is_the_embedded_one(running: Embedded) -> None:
    found = resolve.find_endpoint(settings.load_settings())
    assert (found.kind, found.url, found.key) == ("embedded", running.url, "k")
    assert (found.chat, found.utility) == (
        ProfileChoice(QWEN25_CODER.profile, "catalogue"),
        ProfileChoice(SMALL, "one_slot"),
    )
    assert (found.chat_model, found.context_size) == (QWEN25_CODER.name, 24_576)


def test_the_weights_say_what_the_embedded_model_is_trusted_with(
    running: Embedded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted: list[settings.Settings] = []
    monkeypatch.setattr(weights, "ensure_weights", lambda *_: tmp_path / QWEN3_4B.file)

    def connect(given: settings.Settings, _: Path) -> Embedded:
        wanted.append(given)
        return running

    monkeypatch.setattr(llama_server, "connect_embedded_server", connect)
    found = resolve.find_endpoint(settings.load_settings())
    assert (found.chat_model, found.chat.profile.name, found.utility.profile) == (QWEN3_4B.name, "strong", SMALL)
    assert (wanted[0].embedded_model, wanted[0].embedded_context) == (QWEN3_4B.name, 16_384)


def test_a_model_in_use_stays_the_same_when_a_better_one_has_come(
    running: Embedded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = resolve.resolve_models(settings.load_settings())
    asked: list[str] = []

    def ensure(given: settings.Settings, *_: object) -> Path:
        asked.append(given.embedded_model)
        return tmp_path

    monkeypatch.setattr(weights, "ensure_weights", ensure)
    with pytest.raises(GieokError):
        complete_answer(made.chat, [HumanMessage("안녕?")])
    assert set(asked) == {QWEN25_CODER.name}


def test_embedded_on_demand_passes_local_servers_over(start: Start, running: Embedded) -> None:
    given = settings.load_settings(provider="embedded", local_servers=(start(offering("a")),), openai_api_key="sk-1")
    assert resolve.find_endpoint(given).kind == "embedded"


def body(model: object) -> dict[str, Any]:
    assert isinstance(model, ChatOpenAI)
    return dict(model.extra_body or {})


def test_the_embedded_model_answers_as_its_card_says_and_side_work_is_deterministic(running: Embedded) -> None:
    made = resolve.resolve_models(settings.load_settings(answer_tokens=77))
    assert isinstance(made.chat, ChatOpenAI)
    assert isinstance(made.utility, ChatOpenAI)
    assert all(body(model)["id_slot"] == 0 and body(model)["cache_prompt"] for model in (made.chat, made.utility))
    card = {name: body(made.chat)[name] for name in ("top_p", "top_k", "repeat_penalty")}
    assert (card, made.chat.temperature) == ({"top_p": 0.8, "top_k": 20, "repeat_penalty": 1.05}, 0.7)
    assert (made.chat.max_tokens, made.utility.max_tokens, made.utility.temperature) == (77, None, 0.0)
    assert (made.profile, made.side, made.why, made.side_why) == (QWEN25_CODER.profile, SMALL, "catalogue", "one_slot")


def test_an_embedded_server_that_came_back_elsewhere_is_found_there(
    running: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = resolve.resolve_models(settings.load_settings())
    with Upstream(said("다시 왔습니다"), key="new") as moved:
        monkeypatch.setattr(
            llama_server, "connect_embedded_server", lambda *_: replace(running, url=moved.url, key="new")
        )
        assert complete_answer(made.chat, [HumanMessage("왔어?")]).text == "다시 왔습니다"
    assert moved.requests[0].headers["host"] in moved.url


def test_the_settings_may_name_a_model_for_the_curator() -> None:
    same = resolve.resolve_models(settings.load_settings(openai_api_key="sk-1", chat_model="gpt-4.1"))
    assert (same.curator, same.curator_profile) == (None, same.profile)
    other = resolve.resolve_models(
        settings.load_settings(openai_api_key="sk-1", chat_model="gpt-4.1", curator_model="gpt-4.1-mini")
    )
    assert other.curator is not None
    assert other.curator.model_dump()["model_name"] == "gpt-4.1-mini"
    assert other.chat.model_dump()["model_name"] == "gpt-4.1"
    assert other.curator_profile is not None
    assert other.curator_profile.tools == "native"


def test_hosted_models_are_strong_and_get_nothing_but_openai_fields() -> None:
    made = resolve.resolve_models(
        settings.load_settings(openai_api_key="sk-1", chat_model="gpt-4.1", utility_model="gpt-4.1-nano")
    )
    assert made.profile == made.side == STRONG
    assert body(made.chat) == body(made.utility) == {}
    assert isinstance(made.chat, ChatOpenAI)
    assert isinstance(made.utility, ChatOpenAI)
    assert (made.chat.model_name, made.utility.model_name) == ("gpt-4.1", "gpt-4.1-nano")
    assert (made.chat.temperature, made.utility.temperature, made.chat.max_tokens) == (None, None, None)


def test_a_model_of_another_server_is_told_a_length_only_when_one_is_set(start: Start) -> None:
    local = (start(offering("thinker")),)
    for chosen, told in (({}, None), ({"answer_tokens": 77}, 77)):
        made = resolve.resolve_models(settings.load_settings(local_servers=local, **chosen))
        assert isinstance(made.chat, ChatOpenAI)
        assert (made.kind, made.chat.max_tokens) == ("local", told)


# --- weights ------------------------------------------------------------------------------------


def test_weights_are_needed_only_when_nothing_else_answers(start: Start, tmp_path: Path) -> None:
    local = (start(offering("a")),)
    assert resolve.needs_weights(settings.load_settings())
    assert resolve.needs_weights(settings.load_settings(provider="embedded", local_servers=local))
    assert not resolve.needs_weights(settings.load_settings(local_servers=local))
    assert not resolve.needs_weights(settings.load_settings(provider="local"))
    assert not resolve.needs_weights(settings.load_settings(openai_api_key="sk-1"))
    assert not resolve.needs_weights(settings.load_settings(embedded_path=tmp_path / "own.gguf"))
