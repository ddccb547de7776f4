"""Memories of earlier releases become rows, once, whatever interrupts it; their exports come in, too."""

from __future__ import annotations

import json
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Column, Engine, Float, Integer, MetaData, Table, Text, insert, inspect, text
from sqlalchemy.types import BigInteger

from errors import BadImport
from memory.export import migration
from memory.export.conversion import convert_memory
from store.database.memory_table import TABLES
from tests.memory.conftest import OpenMemory
from tests.memory.conversation import Conversations

DATA = Path(__file__).parent / "data"
KINDS: dict[str, Any] = {
    "TEXT": Text,
    "VARCHAR": Text,
    "FLOAT": Float(53),
    "INTEGER": Integer,
    "BIGINT": BigInteger,
    "BOOLEAN": Boolean,
}
LEFT = [1, 2, *range(4, 11)]
"""Items of the old session, of which the third was forgotten."""


def talk_before(opened: OpenMemory, **values: object) -> Engine:
    """Tells what the old memories are about; returns the database without the tables of today's memory."""
    talks = opened(**values)
    for name, statements in {
        "strong": [f"My item {number} costs ${number}00." for number in range(1, 13)],
        "small": [f"My shelf {number} holds {number}0 books." for number in range(1, 8)],
        "apart": ["My secret number is 4711."],
    }.items():
        talks.say(*statements, name=name, at=1_780_000_000.0)
    talks.memory.close()
    with talks.store.engine.begin() as connection:
        for table in TABLES[::-1]:
            table.drop(connection)
    return talks.store.engine


def write_old_tables(engine: Engine) -> None:
    """Writes the tables as an earlier release had them, on any database."""
    with sqlite3.connect(":memory:") as old:
        old.executescript((DATA / "before_rows.sql").read_text("utf-8"))
        for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            found = old.execute(f"SELECT * FROM {name}")
            kinds = {row[1]: KINDS[row[2].split("(")[0]] for row in old.execute(f"PRAGMA table_info({name})")}
            table = Table(name, MetaData(), *(Column(column, kind) for column, kind in kinds.items()))
            rows = [dict(zip(kinds, row, strict=True)) for row in found]
            with engine.begin() as connection:
                table.create(connection)
                for row in rows:
                    row |= {"undone": bool(row["undone"])} if "undone" in row else {}
                connection.execute(insert(table), rows) if rows else None
    old.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, opened: OpenMemory) -> OpenMemory:
    """A database with the tables of an earlier release, written by it, and the conversations that they are about; opens
    today's memory on it."""
    is_other = request.param == "postgresql"
    values = {"database_url": request.getfixturevalue("postgres")} if is_other else {}
    engine = talk_before(opened, **values)
    write_old_tables(engine)
    return partial(opened, **values)


def check(talks: Conversations) -> None:
    strong = talks.view("strong", count=lambda text: 0)
    assert strong.whole.splitlines() == [f"User said: My item {number} costs ${number}00." for number in LEFT]
    assert (strong.version, strong.waiting) == (3, (11, 12))
    assert [entity.turn for entity in strong.entities] == [*range(1, 11), 12]
    rows = talks.rows("strong")
    assert {row.session for row in rows} == {"strong"}
    small = talks.view("small", count=lambda text: 0)
    assert small.whole.splitlines()[-1] == "turn 5: My shelf 5 holds 50 books."
    assert "I am allergic to nuts." in talks.profile("new")
    assert "My secret number" not in str(talks.profile("new"))
    assert talks.memory.reader.is_apart("acme", "apart")
    assert talks.view("apart").whole == "I keep a secret."
    past = talks.memory.reader.read_past("acme", "small")
    assert past.others == ("strong",)
    assert past.hides(0.0, ["My item 3 costs $300."])


def test_the_tables_become_rows_and_go(old: OpenMemory) -> None:
    talks = old()
    check(talks)
    names = inspect(talks.store.engine).get_table_names()
    assert not [name for name in names if name in migration.OLD or name.endswith(migration.ASIDE)]
    check(old())
    talks.tell(range(13, 17), name="strong")
    talks.fold(name="strong")
    assert "item 11 costs" in talks.view("strong", count=lambda text: 0).whole


@pytest.mark.parametrize("at", ["aside", "some"])
def test_it_goes_on_where_a_crash_left_it(old: OpenMemory, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Crash(Exception):
        pass

    done = list[int]()

    def crash(*memory: Any) -> Any:
        if len(done) == (0 if at == "aside" else 2):
            raise Crash
        done.append(1)
        return convert_memory(*memory)

    with monkeypatch.context() as patched:
        patched.setattr("memory.export.migration.convert_memory", crash)
        with pytest.raises(Crash):
            old()
    check(old())


def test_one_memory_that_cannot_be_read_keeps_out_no_other_and_stays(opened: OpenMemory) -> None:
    engine = talk_before(opened)
    write_old_tables(engine)
    with engine.begin() as connection:
        whole = connection.execute(text("SELECT state FROM memory_session WHERE session = 'small'")).scalar_one()
        connection.execute(text("UPDATE memory_session SET state = '[1, 2' WHERE session = 'small'"))
    for _ in range(2):
        talks = opened()
        assert talks.view("small").version == 0
        assert "item 1 costs" in talks.view("strong", count=lambda text: 0).whole
    left = f"memory_session{migration.ASIDE}"
    with engine.begin() as connection:
        assert connection.execute(text(f"SELECT session FROM {left}")).scalars().all() == ["small"]
        connection.execute(text(f"UPDATE {left} SET state = :whole"), {"whole": whole})
    check(opened())


def test_what_others_wrote_into_an_old_memory_is_theirs(opened: OpenMemory) -> None:
    engine = talk_before(opened)
    write_old_tables(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE turn SET has_foreign = true WHERE session_id = 'strong' AND number >= 8"))
        state = json.loads(
            connection.execute(text("SELECT state FROM memory_session WHERE session = 'strong'")).scalar_one()
        )
        state["memory"]["memory"] += "\nThe user pays to account 777-01."
        state["entities"].append({"key": "account", "value": "777-01", "turn": 9})
        connection.execute(
            text("UPDATE memory_session SET state = :state WHERE session = 'strong'"), {"state": json.dumps(state)}
        )
        own = json.loads(connection.execute(text("SELECT state FROM memory_session WHERE session = ''")).scalar_one())
        own["entities"].append({"key": "account", "value": "777-01", "turn": 0})
        connection.execute(
            text("UPDATE memory_session SET state = :state WHERE session = ''"), {"state": json.dumps(own)}
        )
    talks = opened()
    rows = talks.rows("strong")
    foreign = {row.text for row in rows if row.is_foreign}
    assert foreign == {"The user pays to account 777-01.", "777-01", "$850"}, "what no question says, from turn 8 on"
    assert talks.view("strong").foreign
    assert talks.view("new").foreign, "the user's own memory had the account from there"
    assert talks.rows("small")
    assert not any(row.is_foreign for row in talks.rows("small"))


def exported() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((DATA / "before_rows.json").read_text("utf-8"))
    return data


def test_an_export_of_an_earlier_release_comes_in(talks: Conversations) -> None:
    assert talks.memory.import_user("acme", exported()) == 4
    assert talks.memory.import_user("acme", exported()) == 0
    assert "I am allergic to nuts." in talks.profile("new")
    assert talks.memory.reader.find_lines("acme", "strong", "item 5 costs $500") != []


def test_an_export_comes_in_elsewhere_and_is_the_same(talks: Conversations) -> None:
    talks.tell(range(1, 12))
    talks.fold()
    talks.remember("rent", "$800")
    talks.remember("rent", "$850", name="s2")
    talks.forget("User said: My item 3 costs $300.")
    data = json.loads(json.dumps(talks.memory.export_user("acme")))
    before = (talks.view().whole, talks.view().entities, talks.view().version)
    talks.memory.eraser.erase_user("acme")
    assert talks.memory.import_user("acme", data) == 2
    assert (talks.view().whole, talks.view().entities, talks.view().version) == before
    assert "(" in talks.view("s3").profile_text
    assert talks.profile("s3") == ["rent: $850"]
    other = Conversations(talks.memory, talks.store, user="kim")
    assert talks.memory.import_user("acme", data, "kim") == 0, "another user's conversations stay theirs"
    assert other.profile("k1") == []


@pytest.mark.parametrize(
    "damage",
    [
        {"format": "something"},
        {"version": 3},
        {"memories": None},
        {"memories": [{"session": 1, "lines": [], "versions": []}]},
        {"memories": [{"session": "s", "lines": [{"id": 1}], "versions": []}]},
    ],
)
def test_a_file_that_is_no_export_changes_nothing(talks: Conversations, damage: dict[str, Any]) -> None:
    talks.remember("rent", "$850")
    data = {**talks.memory.export_user("acme"), **damage}
    talks.memory.eraser.erase_user("acme")
    with pytest.raises(BadImport):
        talks.memory.import_user("acme", data)
    assert talks.profile() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("turn", -1), ("turn", 10**9), ("kind", "other"), ("origin", "nobody"), ("text", 5), ("at", "now"), ("\ud800", 1)],
)
def test_a_damaged_line_keeps_out_all(talks: Conversations, name: str, value: object) -> None:
    talks.remember("rent", "$850")
    talks.remember("town", "Busan", name="s2")
    data = talks.memory.export_user("acme")
    data["memories"][1]["lines"][0][name] = value
    talks.memory.eraser.erase_user("acme")
    with pytest.raises(BadImport) as caught:
        talks.memory.import_user("acme", data)
    assert str(caught.value).encode()
    assert talks.profile() == []
