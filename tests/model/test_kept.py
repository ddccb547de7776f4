"""The chosen model outlives the page, and its key is where only its user finds it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from errors import KeyLocked
from model.choice import kept
from model.choice.choice import OPENAI, Choice
from model.choice.kept import Kept
from settings import Settings, load_settings
from tests.stub.ring import Ring, ring

ELSEWHERE = "https://models.example.com/v1"


def hosted(url: str = "", key: str = "sk-secret", **names: str) -> Choice:
    return Choice("hosted", url, SecretStr(key), **names)  # type: ignore[arg-type]


def base() -> Settings:
    return load_settings()


def key_of(settings: Settings) -> str:
    return settings.openai_api_key.get_secret_value() if settings.openai_api_key else ""


def files() -> dict[str, str]:
    return {path.name: path.read_text() for path in base().data_dir.iterdir()}


@pytest.fixture
def system() -> Iterator[Ring]:
    with ring() as made:
        yield made


def test_without_a_keyring_the_key_is_in_a_private_file_of_its_own() -> None:
    kept.save_model_choice(base(), hosted(chat_model="big", utility_model="small"))
    assert kept.load_model_choices(base()).place == kept.choose_key_place(base()) == "file"
    file = base().data_dir / kept.KEY_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert kept.name_key_place(base(), "file") == str(file)
    assert "sk-secret" not in files()[kept.FILE]
    found = kept.apply_stored_choice(base())
    assert (found.chat_model, found.utility_model, key_of(found)) == ("big", "small", "sk-secret")


def test_with_a_keyring_the_key_is_in_no_file(system: Ring) -> None:
    kept.save_model_choice(base(), hosted())
    assert kept.load_model_choices(base()).place == "keyring"
    assert "sk-secret" not in "".join(files().values())
    assert key_of(kept.apply_stored_choice(base())) == "sk-secret"


def test_another_installation_on_this_machine_has_a_key_of_its_own(system: Ring, tmp_path: Path) -> None:
    kept.save_model_choice(base(), hosted())
    for other in (load_settings(data_dir=tmp_path / "other"), load_settings(tenant="other")):
        kept.save_model_choice(other, hosted(key="sk-other"))
    assert len(system.held) == 3
    assert key_of(kept.apply_stored_choice(base())) == "sk-secret"


def test_a_keyring_that_refuses_is_passed_over_and_one_that_is_locked_later_is_told(system: Ring) -> None:
    system.locked = True
    kept.save_model_choice(base(), hosted())
    assert kept.load_model_choices(base()).place == "file"
    system.locked = False
    kept.save_model_choice(base(), hosted())
    assert kept.KEY_FILE not in files(), "it is in one place only"
    system.locked = True
    with pytest.raises(KeyLocked) as raised:
        kept.apply_stored_choice(base())
    assert "sk-secret" not in str(raised.value)


def test_a_keyring_that_never_answers_is_not_waited_for(system: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    monkeypatch.setattr(kept, "RING_SECONDS", 0.05)
    monkeypatch.setattr(system, "set_password", lambda *_: threading.Event().wait(5))
    kept.save_model_choice(base(), hosted())
    assert kept.load_model_choices(base()).place == "file"


def test_the_key_goes_to_its_own_address_only() -> None:
    kept.save_model_choice(base(), hosted(ELSEWHERE))
    asked = Choice("hosted", ELSEWHERE, kept_key=True)
    assert kept.with_key(base(), asked).key.get_secret_value() == "sk-secret"
    with pytest.raises(KeyLocked):
        kept.with_key(base(), Choice("hosted", OPENAI, kept_key=True))
    kept.save_model_choice(base(), hosted("http://127.0.0.1:8000/v1", key=""))
    assert kept.KEY_FILE not in files(), "the key of an address that is given up goes"
    assert kept.load_model_choices(base()).place is None


def test_each_kind_is_remembered_and_a_key_survives_a_change_to_another_kind() -> None:
    kept.save_model_choice(base(), hosted(chat_model="big"))
    kept.save_model_choice(base(), Choice("local", "http://127.0.0.1:11434/v1", chat_model="qwen3"))
    now = kept.load_model_choices(base())
    assert now.current == "local"
    assert now.last("hosted") == Choice("hosted", chat_model="big", kept_key=True)
    kept.save_model_choice(base(), now.last("hosted"))
    assert key_of(kept.apply_stored_choice(base())) == "sk-secret"


def test_what_is_dropped_is_not_in_use_and_what_is_forgotten_is_nowhere(system: Ring) -> None:
    kept.save_model_choice(base(), hosted(chat_model="big"))
    kept.restore_settings_model(base())
    assert kept.apply_stored_choice(base()) == base()
    assert kept.load_model_choices(base()).last("hosted").kept_key
    kept.save_model_choice(base(), kept.load_model_choices(base()).last("hosted"))
    kept.forget_key(base())
    assert kept.load_model_choices(base()) == Kept(None, {"hosted": Choice("hosted", chat_model="big")})
    assert not system.held


def test_the_stamp_tells_of_changes() -> None:
    assert kept.read_choices_stamp(base()) is None
    kept.save_model_choice(base(), Choice("embedded", chat_model="a"))
    before = kept.read_choices_stamp(base())
    kept.save_model_choice(base(), Choice("embedded", chat_model="b"))
    assert kept.read_choices_stamp(base()) != before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"current": "magic"}', '{"current": "hosted"}', "\xff"])
def test_a_file_that_cannot_be_read_counts_as_none(text: str) -> None:
    base().data_dir.mkdir(parents=True)
    (base().data_dir / kept.FILE).write_text(text, "latin-1")
    assert kept.load_model_choices(base()).choice is None
    kept.save_model_choice(base(), Choice("embedded", chat_model="a"))
    assert kept.load_model_choices(base()).current == "embedded"


def test_where_the_model_cannot_be_chosen_nothing_kept_counts() -> None:
    kept.save_model_choice(base(), Choice("embedded", chat_model="a"))
    fixed = load_settings(model_choice=False)
    assert kept.apply_stored_choice(fixed) == fixed


def test_weights_are_not_fetched_for_whoever_chose_a_hosted_model() -> None:
    from model.choice import resolve

    kept.save_model_choice(base(), hosted())
    (base().data_dir / kept.KEY_FILE).unlink()  # a keyring would not have to be unlocked for it either
    assert not resolve.needs_weights(kept.apply_stored_choice(base(), key=False))
