"""What a user enters for the models of a page: checked before anybody is asked, and no key goes astray."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from model.choice.choice import Choice
from settings import Settings, load_settings
from tests.table import table

KEYED = {"openai_api_key": "sk-of-the-server", "openai_base_url": None}


def base(**fields: object) -> Settings:
    return load_settings(**fields)


def key_of(asked: Settings) -> str:
    return asked.openai_api_key.get_secret_value() if asked.openai_api_key else ""


def hosted(url: str = "", key: str = "", **names: Any) -> Choice:
    return Choice("hosted", url, SecretStr(key), **names)


def test_the_key_of_the_settings_goes_to_no_other_address() -> None:
    now = base(**KEYED)
    assert key_of(hosted().apply_to_settings(now)) == "sk-of-the-server"
    assert key_of(hosted("https://api.openai.com/v1/").apply_to_settings(now)) == "sk-of-the-server"
    assert key_of(hosted("https://elsewhere.example/v1").apply_to_settings(now)) == ""
    assert key_of(hosted("https://elsewhere.example/v1", "sk-mine").apply_to_settings(now)) == "sk-mine"
    assert key_of(hosted("https://api.openai.com.elsewhere.example/v1").apply_to_settings(now)) == ""


def test_names_and_sizes_of_the_settings_are_those_of_their_own_server() -> None:
    now = base(**KEYED, chat_model="big", utility_model="small", context_size=9000, native_tools=False)
    same = hosted(key="sk-mine").apply_to_settings(now)
    assert (same.chat_model, same.utility_model, same.context_size, same.native_tools) == ("big", "small", 9000, False)
    named = hosted(chat_model="other").apply_to_settings(now)
    assert (named.chat_model, named.utility_model) == ("other", None)
    away = hosted("http://127.0.0.1:8000/v1").apply_to_settings(now)
    assert (away.chat_model, away.utility_model, away.context_size, away.native_tools) == (None, None, None, None)
    assert (away.provider, away.openai_base_url) == ("hosted", "http://127.0.0.1:8000/v1")


def test_a_local_server_is_the_one_that_was_named_else_those_of_the_settings() -> None:
    now = base(local_servers="http://127.0.0.1:1/v1,http://127.0.0.1:2/v1")
    assert Choice("local").apply_to_settings(now).local_servers == now.local_servers
    named = Choice("local", "http://127.0.0.1:3/v1", chat_model="qwen3").apply_to_settings(now)
    assert (named.local_servers, named.chat_model, named.provider) == (("http://127.0.0.1:3/v1",), "qwen3", "local")


@table(
    ("choice", "problem"),
    [
        (hosted(), "key_missing"),
        (hosted(key="sk-mine"), None),
        (hosted("http://127.0.0.1:8000/v1"), None),
        (hosted("127.0.0.1:8000"), "url"),
        (hosted("file:///etc/passwd"), "url"),
        (hosted("http://[::1/v1"), "url"),
        (hosted("http://a b/v1"), "url"),
        (hosted("https://me:secret@example.org/v1"), "url_secret"),
        (hosted("https://example.org/v1?key=secret"), "url_secret"),
        (hosted(key="sk 열쇠"), "key_signs"),
        (hosted(key="sk-\x00"), "key_signs"),
        (Choice("local"), None),
        (Choice("embedded"), None),
    ],
)
def test_what_cannot_work_is_said_before_anybody_is_asked(choice: Choice, problem: str | None) -> None:
    assert choice.problem(base()) == problem


def test_a_choice_does_not_show_its_key() -> None:
    assert "sk-mine" not in repr(hosted("http://127.0.0.1:8000/v1", "sk-mine"))
    assert "sk-mine" not in repr(hosted(key="sk-mine").apply_to_settings(base()))
