"""What a model is trusted with, per role: by the setting, the catalogue, the size that its server tells, its tools."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, get_args

import pytest

import settings
from component.page.catalogue import LANGUAGES, Words
from errors import ToolsRejected
from model.choice import resolve
from model.choice.probe import parse_parameter_count
from model.embedded.catalogue import OFFERED, QWEN3_4B, QWEN25, QWEN25_CODER
from model.profile import SMALL, STRONG, TOOLLESS, Profile, ProfileChoice, Why, choose_model_profile
from server.phrase import PHRASES
from tests.table import table

Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A server as Ollama or llama.cpp is. ``shown``: what Ollama's /api/show says of each model; ``listed``: entries of
    /v1/models."""
    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(*listed: dict[str, Any], shown: dict[str, dict[str, Any]] | None = None) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.say({"object": "list", "data": listed} if self.path == "/v1/models" else None)

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.say((shown or {}).get(asked["model"]) if self.path == "/api/show" else None)

            def say(self, page: object) -> None:
                self.send_response(404 if page is None else 200)
                self.end_headers()
                self.wfile.write(json.dumps(page).encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


def ollama(size: str, *able: str) -> dict[str, Any]:
    return {"details": {"parameter_size": size}, "capabilities": ["completion", "vision", *able]}


def roles(url: str, **more: Any) -> tuple[ProfileChoice, ProfileChoice]:
    found = resolve.find_endpoint(settings.load_settings(local_servers=(url,), **more))
    return found.chat, found.utility


# --- the rule -----------------------------------------------------------------------------------


@table("known", [None, QWEN25.profile, QWEN3_4B.profile])
@table("size", [None, 1e9, 70e9])
def test_the_setting_goes_before_everything_that_is_known(known: Profile | None, size: float | None) -> None:
    for setting, name in (("small", "small"), ("strong", "strong")):
        choice = choose_model_profile(setting, known=known, parameters=size)  # type: ignore[arg-type]
        assert (choice.profile.name, choice.why) == (name, "setting")


def test_a_model_that_is_trusted_otherwise_by_setting_keeps_the_sampling_of_its_card() -> None:
    assert choose_model_profile("strong", known=QWEN25.profile).profile.sampling == QWEN25.profile.sampling


def test_a_model_that_calls_tools_gets_no_grammar() -> None:
    routed, native = (choose_model_profile(setting, known=QWEN25_CODER.profile) for setting in ("small", "strong"))
    assert routed.profile.sampling is not None
    assert native.profile.sampling is not None
    assert "grammar" in routed.profile.sampling.body()
    assert "grammar" not in native.profile.sampling.body()


def test_the_catalogue_knows_its_models() -> None:
    assert [choose_model_profile("auto", known=entry.profile).profile.name for entry in OFFERED] == [
        "strong",
        "small",
        "small",
    ]
    cards = {entry.about: entry.profile.sampling for entry in OFFERED}
    assert cards["general"] is not None
    assert replace(cards["general"], never_first="죄") == cards["coder"]
    for about, penalty in (("general", 1.05), ("large", 1.0)):
        card = cards[about]
        assert card is not None
        assert (card.temperature, card.top_p, card.top_k, card.repeat_penalty) == (0.7, 0.8, 20, penalty)


@table(
    ("size", "number"),
    [("3.2B", 3.2e9), ("494.03M", 494.03e6), (" 8b ", 8e9), ("1T", 1e12), ("big", None), (7, None), ("", None)],
)
def test_a_size_is_read_as_people_write_it(size: object, number: float | None) -> None:
    assert parse_parameter_count(size) == pytest.approx(number) if number else parse_parameter_count(size) is None


# --- what servers tell --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "profile"),
    [("494M", SMALL), ("3.2B", SMALL), ("4.0B", STRONG), ("8.2B", STRONG), ("nobody knows", STRONG)],
)
def test_ollama_tells_the_size(serve: Serve, size: str, profile: Profile) -> None:
    chat, utility = roles(serve({"id": "m"}, shown={"m": ollama(size, "tools")}))
    why: Why = "unknown_size" if "knows" in size else "size"
    assert chat == utility == ProfileChoice(profile, why)


@pytest.mark.parametrize(("count", "profile"), [(1_543_714_304, SMALL), (4_022_468_096, STRONG)])
def test_llama_cpp_tells_the_number_of_parameters(serve: Serve, count: int, profile: Profile) -> None:
    assert roles(serve({"id": "m", "meta": {"n_params": count}}))[0] == ProfileChoice(profile, "size")


def test_ollamas_exact_count_goes_before_its_rounded_size(serve: Serve) -> None:
    page = ollama("4B", "tools") | {"model_info": {"general.parameter_count": 3_212_749_888}}
    assert roles(serve({"id": "m"}, shown={"m": page}))[0].profile == SMALL


def test_a_strong_model_whose_server_takes_no_tools_is_sent_none(serve: Serve) -> None:
    url = serve({"id": "m"}, shown={"m": ollama("8B")})
    assert roles(url) == (ProfileChoice(TOOLLESS, "no_tools"), ProfileChoice(TOOLLESS, "no_tools"))
    assert roles(url, model_profile="strong")[0] == ProfileChoice(TOOLLESS, "setting")
    assert roles(url, native_tools=True)[0] == ProfileChoice(STRONG, "size")
    assert roles(serve({"id": "m"}), native_tools=False)[0] == ProfileChoice(TOOLLESS, "no_tools")


def test_a_model_takes_images_unless_it_is_small_or_embedded_or_its_server_says_no(serve: Serve) -> None:
    blind = ollama("8B", "tools") | {"capabilities": ["completion", "tools"]}
    assert roles(serve({"id": "m"}, shown={"m": blind}))[0] == ProfileChoice(replace(STRONG, images=False), "size")
    assert roles(serve({"id": "m"}, shown={"m": ollama("8B", "tools")}))[0].profile.images
    assert not roles(serve({"id": "m"}, shown={"m": ollama("1B", "tools")}))[0].profile.images
    for setting in ("auto", "strong", "small"):
        assert not resolve.embedded_roles(settings.load_settings(model_profile=setting), QWEN3_4B)[0].profile.images
        assert not resolve.embedded_roles(settings.load_settings(model_profile=setting), None)[0].profile.images
    assert choose_model_profile("auto").profile.images


def test_a_small_model_is_small_whatever_tools_it_takes(serve: Serve) -> None:
    assert roles(serve({"id": "m"}, shown={"m": ollama("1.5B", "tools")}))[0] == ProfileChoice(SMALL, "size")


def test_each_role_has_the_profile_of_its_own_model(serve: Serve) -> None:
    url = serve({"id": "big"}, {"id": "little"}, shown={"big": ollama("14B", "tools"), "little": ollama("1B", "tools")})
    chat, utility = roles(url, utility_model="little")
    assert (chat, utility) == (ProfileChoice(STRONG, "size"), ProfileChoice(SMALL, "size"))
    chat, utility = roles(url, chat_model="little", utility_model="big")
    assert (chat.profile, utility.profile) == (SMALL, STRONG)


def test_the_setting_for_summaries_changes_the_side_calls_of_a_small_model_alone(serve: Serve) -> None:
    url = serve({"id": "m"}, shown={"m": ollama("1B")})
    chat, utility = roles(url, summaries="model")
    assert (chat.profile, chat.why) == (SMALL, "size")
    assert (utility.profile.summaries, utility.profile.folds, utility.why) == ("model", "model", "summaries_setting")
    assert roles(serve({"id": "x"}), summaries="model")[1] == ProfileChoice(STRONG, "unknown_size")


def test_one_slot_makes_no_side_calls_unless_the_setting_wants_them() -> None:
    for entry in (QWEN25_CODER, QWEN3_4B):
        assert resolve.embedded_roles(settings.load_settings(), entry) == (
            ProfileChoice(entry.profile, "catalogue"),
            ProfileChoice(SMALL, "one_slot"),
        )
    utility = resolve.embedded_roles(settings.load_settings(summaries="model"), QWEN3_4B)[1]
    assert (utility.profile.summaries, utility.why) == ("model", "summaries_setting")
    assert resolve.embedded_roles(settings.load_settings(), None)[0].profile == SMALL


# --- in words -----------------------------------------------------------------------------------


@table("name", [*get_args(Why)])
def test_every_reason_has_words_in_the_page_and_in_the_terminal(name: str) -> None:
    assert f"profile.why.{name}" in PHRASES
    assert all(f"profile.why.{name}" in Words(language) for language in LANGUAGES)


@pytest.mark.parametrize("profile", [SMALL, STRONG, TOOLLESS])
def test_every_profile_has_words_in_the_page_and_in_the_terminal(profile: Profile) -> None:
    assert {f"profile.{profile.name}", f"profile.side.{profile.summaries}"} <= set(PHRASES)
    wanted = (f"profile.{profile.name}", f"profile.{profile.name}.about", f"profile.side.{profile.summaries}")
    assert all(key in Words(language) for language in LANGUAGES for key in wanted)


def test_a_server_that_refuses_tools_is_told_with_the_setting_that_helps() -> None:
    error = ToolsRejected(model="m", url="u")
    assert "GIEOK_NATIVE_TOOLS=false" in error.hint
    for language in LANGUAGES:
        assert "GIEOK_NATIVE_TOOLS=false" in Words(language).error(error.code, error.text(), error.values)[1]
