from __future__ import annotations

import copy
import json
from pathlib import Path

from errors import BadSetting, EmbeddedFailed, FoldRejected, MissingExtra, ModelUnreachable, hide_address_secrets
from graph.turn.finish import plain_error
from tests.table import table


def test_an_error_can_be_sent_from_one_process_to_another() -> None:
    error = MissingExtra(feature="The comparison", package="chromadb")
    arrived = copy.copy(error)
    assert arrived is not error
    assert (type(arrived), arrived.values, str(arrived)) == (MissingExtra, error.values, str(error))


def test_an_errors_values_are_plain_data_whatever_was_given() -> None:
    error = EmbeddedFailed(name="m", reason=OSError("gone"), log=Path("/data/m.log"))
    assert json.loads(json.dumps(plain_error(error)))["values"] == {"name": "m", "reason": "gone", "log": "/data/m.log"}
    assert "/data/m.log" in error.text()
    setting = BadSetting(name="data_dir", value=[Path("a"), {1}, (2, None)], reason="no")
    assert setting.values["value"] == ["a", "{1}", [2, None]]
    cost = {"calls": 2, "exact": True, "seconds": 0.5}
    assert FoldRejected(first=1, last=3, reason="r", cost=cost).values["cost"] == cost


@table(
    ("address", "seen"),
    [
        ("https://host.example:8000/v1", "https://host.example:8000/v1"),
        ("https://user:secret@host.example/v1", "https://host.example/v1"),
        ("https://secret@host.example/v1", "https://host.example/v1"),
        ("https://host.example/v1?api_key=secret", "https://host.example/v1"),
        ("https://host.example/v1#secret", "https://host.example/v1"),
        ("https://user:secret/secret@host.example/v1", "https://host.example/v1"),
        ("https://user:secret@secret@host.example/v1", "https://host.example/v1"),
        ("https://user:secret?secret@host.example/v1", "https://…"),
        ("https://user:secret#secret@host.example/v1", "https://host.example/v1"),
        ("user:secret@host.example/v1", "host.example/v1"),
        ("postgresql+psycopg://user:secret@host.example/db?password=secret", "postgresql+psycopg://host.example/db"),
        ("sqlite:////home/me@work/gieok.db", "sqlite:////home/me@work/gieok.db"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_its_secrets(address: str, seen: str) -> None:
    assert hide_address_secrets(address) == seen
    assert hide_address_secrets(seen) == seen


def test_an_error_keeps_no_secret_of_an_address_whichever_value_holds_it() -> None:
    address = "https://user:secret@host.example/v1?api_key=secret"
    reason = f"the server at {address} lists no chat model"
    error = BadSetting(name="CHAT_MODEL", value=["", {"url": address}], reason=reason, url=address)
    assert "secret" not in json.dumps(plain_error(error))
    assert error.values["reason"] == "the server at https://host.example/v1 lists no chat model"
    assert "host.example/v1" in str(ModelUnreachable(url=address))
    assert "secret" not in str(copy.copy(ModelUnreachable(url=address)))
