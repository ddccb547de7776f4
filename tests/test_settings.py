"""What cannot work is refused when the settings are read, with the name of the variable; never with a key's text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from annotated_types import Le
from pydantic.fields import FieldInfo

from errors import BadSetting
from settings import Settings, load_settings
from tests.table import table


@table(
    ("name", "value", "code"),
    [
        ("openai_api_key", "“sk-secret”", "key_signs"),
        ("openai_api_key", "sk-비밀", "key_signs"),
        ("openai_base_url", "127.0.0.1:1234/v1", "address"),
        ("openai_base_url", "http://[::1/v1", "address"),
        ("openai_base_url", "http://localhost:abc/v1", "address"),
        ("local_servers", "http://127.0.0.1:8080/v1,localhost:11434", "address"),
        ("model_timeout", "inf", "finite_number"),
        ("model_timeout", "1e300", "less_than_equal"),
        ("context_size", "99999999999", "less_than_equal"),
        ("memory_ttl", "1e300", "less_than_equal"),
        ("document_seconds", "1e9", "less_than_equal"),
        ("document_memory", "99999999999999", "less_than_equal"),
        ("budget_memory", "99999999999", "less_than_equal"),
    ],
)
def test_what_cannot_work_is_named(name: str, value: str, code: str) -> None:
    with pytest.raises(BadSetting) as raised:
        load_settings(**{name: value})
    told = raised.value.values
    assert (told["name"].lower().removeprefix("gieok_"), told["reason_code"]) == (name, code)
    assert "sk-" not in str(raised.value)


def test_every_number_has_a_range() -> None:
    numbers = {name: field for name, field in Settings.model_fields.items() if {int, float} & set(_types(field))}
    assert len(numbers) > 30
    open_ended = [name for name, field in numbers.items() if not any(isinstance(each, Le) for each in field.metadata)]
    assert open_ended == []


def _types(field: FieldInfo) -> tuple[Any, ...]:
    return get_args(field.annotation) or (field.annotation,)


def test_a_key_of_the_environment_is_not_told_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "“sk-secret”")
    with pytest.raises(BadSetting, match="OPENAI_API_KEY") as raised:
        load_settings()
    assert "sk-secret" not in str(raised.value)


@pytest.mark.parametrize("encoding", ["cp949", "utf-16"])
def test_a_file_of_settings_that_is_not_utf8_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(Settings.model_config, "env_file", ".env")
    Path(".env").write_text("# 설명\nGIEOK_PORT=9000\n", encoding)
    with pytest.raises(BadSetting) as raised:
        load_settings()
    assert (raised.value.values["name"], raised.value.values["reason_code"]) == (".env", "no_utf8")


def test_the_mark_that_some_editors_put_at_the_start_of_a_file_hides_no_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(Settings.model_config, "env_file", ".env")
    Path(".env").write_text("GIEOK_PORT=9000\n", "utf-8-sig")
    assert load_settings().port == 9000


def test_white_space_around_a_key_and_an_address_is_no_part_of_it() -> None:
    given = load_settings(openai_api_key=" sk-a\n", openai_base_url=" http://127.0.0.1:1/v1 ")
    assert given.openai_api_key is not None
    assert given.openai_api_key.get_secret_value() == "sk-a"
    assert given.openai_base_url == "http://127.0.0.1:1/v1"
