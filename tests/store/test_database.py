"""What an address of a database means, and what is said when its driver is not there."""

from __future__ import annotations

import sys

import pytest

from errors import BadSetting, MissingExtra
from store.database.engine import connect


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+psycopg2"])
def test_postgresql_without_its_driver_says_what_to_install(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match="psycopg") as raised:
        connect(f"{scheme}://me:secret@localhost/gieok")
    assert "pip install langgraph-checkpoint-postgres psycopg[binary]" in raised.value.text()


@pytest.mark.parametrize("address", ["nonsense://there", "garbage", "postgresql://u:secret@127.0.0.1:port/x"])
def test_an_address_that_cannot_be_read_is_a_bad_setting(address: str) -> None:
    with pytest.raises(BadSetting, match="DATABASE_URL") as raised:
        connect(address)
    assert "secret" not in str(raised.value)
