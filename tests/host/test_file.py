"""The file of the servers: the common shape, wrong entries told by field, and nothing lost."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from errors import ServerEntryWrong, ServersUnreadable
from host import Servers
from tests.table import table


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path / "data" / "mcp.json")


def test_an_entry_comes_back_as_it_was_and_for_the_user_alone(servers: Servers) -> None:
    entry = {"command": "npx", "args": ["-y", "x"], "env": {"KEY": "geheim"}, "tools": {"a": "allow"}}
    servers.put("files", entry)
    assert json.loads(servers.path.read_text("utf-8")) == {"mcpServers": {"files": entry}}
    assert stat.S_IMODE(servers.path.stat().st_mode) == 0o600
    servers.change("files", disabled=True)
    assert servers.read().entries["files"].disabled
    servers.remove("files")
    assert servers.read().entries == {}


def test_other_fields_of_the_file_stay(servers: Servers) -> None:
    servers.path.parent.mkdir()
    servers.path.write_text('{"theme": "dark", "mcpServers": {"bad": {"url": 3}}}')
    servers.put("good", {"url": "https://a.example/mcp"})
    whole = json.loads(servers.path.read_text("utf-8"))
    assert whole["theme"] == "dark"
    assert whole["mcpServers"]["bad"] == {"url": 3}
    read = servers.read()
    assert list(read.entries) == ["good"]
    assert "'bad'" in read.wrong["bad"]


@table(
    ("name", "entry", "field"),
    [
        ("a b", {"command": "x"}, "name"),
        ("", {"command": "x"}, "name"),
        ("a", 3, "entry"),
        ("a", {}, "entry"),
        ("a", {"command": "x", "url": "https://a.example"}, "entry"),
        ("a", {"url": "file:///etc"}, "url"),
        ("a", {"command": "x", "args": "y"}, "args"),
        ("a", {"command": "x", "env": {"A": 1}}, "env.A"),
        ("a", {"command": "x", "tools": {"t": "maybe"}}, "tools.t"),
        ("a", {"command": "x", "secret": "geheim"}, "secret"),
        ("a", {"command": "x", "type": "http"}, "entry"),
    ],
)
def test_a_wrong_entry_names_its_field_and_repeats_no_value(name: str, entry: Any, field: str, tmp_path: Path) -> None:
    servers = Servers(tmp_path / f"{abs(hash((name, str(entry))))}.json")
    with pytest.raises(ServerEntryWrong) as wrong:
        servers.put(name, entry)
    assert wrong.value.values["field"] == field
    assert "geheim" not in str(wrong.value)
    assert not servers.path.exists()


UNREADABLE = [
    "{",
    "[]",
    '{"mcpServers": []}',
    "\udcff",
    "[" * 100_000,
    '{"a":' * 100_000,
    '{"mcpServers": ' + "9" * 5_000 + "}",
]


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_file_that_cannot_be_read_is_told_and_kept(servers: Servers, text: str) -> None:
    servers.path.parent.mkdir()
    servers.path.write_text(text, "utf-8", "surrogateescape")
    before = servers.path.read_bytes()
    with pytest.raises(ServersUnreadable):
        servers.read()
    with pytest.raises(ServersUnreadable):
        servers.put("a", {"command": "x"})
    assert servers.path.read_bytes() == before
