"""Whose session is it: every method of the store, found by looking, called by another user and with a guessed id.

A new method must say here, by the names of its parameters, how it names sessions; else ``test_every_method_has_a_rule``
fails.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from sqlalchemy import select

import store.export.portable
import store.export.transcript
from errors import FolderUnknown, PresetUnknown, SessionUnknown, StoreUnavailable, TooLong
from memory import USER
from store import Finished, Folder, GivenTurn, Session, Store, Turn
from store.database import schema
from store.database.engine import IN_MEMORY
from store.history import mark_of
from store.options import Options
from store.owner import EVERYONE, ME
from store.turn_index import PastTurn, TurnKey

Call = Callable[[], object]
GUESSED = "0123456789abcdef"
PRIVATE = "geheim"
NAMING = frozenset({"session_id", "session"})
"""Parameters that name one session: its owner gets an answer, anybody else ``SessionUnknown``."""
FINDING = frozenset({"sessions", "session_ids", "within", "key", "turn_key", "message_id", "ids", "marks", "before"})
"""Parameters that name something of sessions: nobody else finds, gets or changes anything."""
NEUTRAL = {
    "close": "ends the connections",
    "of": "another user's store; who may ask for it is the doors' question",
    "transaction": "a connection, which says whose it is",
    "create_session": "makes a session; test_nobody_takes_over_a_session_by_its_id",
    "wordings.keep": "Gieok's own system prompts hold no data of a user",
    "wordings.text": "Gieok's own system prompts hold no data of a user",
    "folders.create": "makes a folder of the user's own",
    "folders.restore": "makes a folder of the user's own; test_another_user_puts_no_session_into_a_folder",
    "presets.save": "makes a preset of the user's own",
    "approvals.allow": "keeps an approval of the user's own",
    "approvals.allows": "test_another_user_has_allowed_nothing",
    "approvals.forget": "test_another_user_has_allowed_nothing",
    "api_keys.add": "keys belong to the installation",
    "api_keys.all": "keys belong to the installation",
    "api_keys.any": "keys belong to the installation",
    "api_keys.of": "keys belong to the installation",
    "api_keys.revoke": "keys belong to the installation",
    "secrets.of": "secrets belong to the installation",
}
LISTING = frozenset(
    {
        "sessions",
        "named",
        "search",
        "put_away_sessions",
        "put_away_before",
        "last_used",
        "folders.all",
        "folders.delete",
        "presets.all",
        "approvals.all",
        "presets.delete",
        "attachments.abandoned",
    }
)
"""Methods that name no session: another user gets nothing and changes nothing."""
REFUSING = {"folders.rename": FolderUnknown, "presets.rename": PresetUnknown}


@dataclass(frozen=True)
class World:
    """A session of the first user with all that a session may have."""

    store: Store
    session: Session
    folder: Folder
    message: int
    summary: int
    past: PastTurn


def said(number: int) -> list[dict[str, Any]]:
    question = HumanMessage(f"{PRIVATE} {number}", id=f"q{number}", additional_kwargs={"turn": number})
    return messages_to_dict([question, AIMessage(f"{PRIVATE} answer", id=f"a{number}")])


@pytest.fixture
def world() -> Iterator[World]:
    owner = Store(IN_MEMORY).of("first")
    own = owner.create_session("ko", 0.3, alias="mine").id
    for number in (1, 2, 3):
        owner.attachments.add(own, [(f"{number}.pdf", f"key-{number}")])
        owner.accept_turn(own, f"{PRIVATE} {number}")
        owner.finish_turn(own, number, Finished("done", f"{PRIVATE} answer", messages=said(number), tokens=3))
    (past, *_) = owner.turn_index.missing([own], "rules", 1)
    owner.turn_index.put(past, "rules", b"v", b"w")
    owner.options.set(own, Options(PRIVATE))
    owner.presets.save(PRIVATE, Options(PRIVATE))
    record = {"turns": [1, 2, 3], "turn_length": 3, "original_chars": 9, "summary_chars": 3, "compression_rate": 0.3}
    summary = owner.ledger.add(own, [1, 2, 3], 0.3, "active", record=record | {"summary": PRIVATE})
    message = owner.outbox.add(own, PRIVATE)
    owner.partials.keep(own, 3, PRIVATE)
    owner.stops.ask(own)
    owner.set_client_system(own, PRIVATE)
    folder = owner.folders.create(PRIVATE)
    assert folder is not None
    owner.folders.move([own], folder.id)
    yield World(owner, owner.session(own), folder, message, summary, past)
    owner.close()


def methods() -> list[str]:
    """Every public method of the store and its parts, and every function of an export that takes a store."""
    opened = Store(IN_MEMORY)
    parts = {name: part for name, part in vars(opened).items() if not name.startswith("_")}
    found = [name for name, _ in _public(type(opened))]
    found += [f"{name}.{of_part}" for name, part in parts.items() for of_part, _ in _public(type(part))]
    opened.close()
    return found


def _public(kind: type) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]


def exports() -> list[Callable[..., object]]:
    return [
        function
        for module in (store.export.portable, store.export.transcript)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and function.__module__ == module.__name__ and _names(function) & NAMING
    ]


def _names(function: Callable[..., object]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def method(opened: Store, name: str) -> Callable[..., Any]:
    found: Any = opened
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def arguments(world: World, function: Callable[..., object], session_id: str) -> dict[str, Any]:
    """A value for every parameter that needs one, and for all that name something of a session."""
    guessed = session_id != world.session.id
    key = TurnKey(session_id, 0, 1)
    values: dict[str, Any] = {
        "session_id": session_id,
        "session": world.session if not guessed else _like(world.session, session_id),
        "sessions": [session_id],
        "session_ids": [session_id],
        "within": session_id,
        "key": key,
        "turn": PastTurn(key, world.past.at, world.past.question, world.past.answer),
        "message_id": world.message + (1000 if guessed else 0),
        "ids": [world.summary + (1000 if guessed else 0)],
        "marks": [mark_of(world.past.question, world.past.answer)],
        "before": {session_id: world.folder.id},
        "path": world.session.path,
        "number": 2,
        "numbers": [1, 2],
        "first": 1,
        "last": 3,
        "first_turn": 1,
        "last_turn": 3,
        "before_turn": 9,
        "version": 1,
        "branch": 0,
        "turns": [1, 2, 3],
        "rate": 0.4,
        "status": "superseded",
        "error": {"code": "x", "message": "x", "values": {}, "retryable": False, "hopeless": True},
        "language": "en",
        "compression_rate": 0.4,
        "collections": ["mine"],
        "title": "taken",
        "text": "taken",
        "question": "taken",
        "pinned": True,
        "end": Finished("done", "taken", messages=[]),
        "thumb": "up",
        "change": lambda steps: [*steps, {"taken": True}],
        "files": [("1.pdf", "taken")],
        "options": Options("taken"),
        "mark": "0" * 16,
        "made_by": "rules",
        "vector": b"x",
        "words": b"x",
        "limit": 50,
        "moment": 1e12,
        "at": 5.0,
        "since": 0.0,
        "query": PRIVATE,
        "folder_id": world.folder.id,
        "folder": Folder("new", "taken"),
        "name": world.session.alias,
        "to": "taken",
        "user": "first",
    }
    special: dict[str, dict[str, Any]] = {
        "give": {"turns": [GivenTurn("taken", "taken", 1)]},
        "remove": {"name": "1.pdf"},
        "rename": {"name": PRIVATE},
        "delete": {"name": PRIVATE},
        "move": {"folder_id": ""},
        "abandoned": {"before": 1e12},
        "rows": {"before": 9},
        "turns": {"before": None},
        "search": {"query": PRIVATE},
    }
    known = values | special.get(function.__name__, {})
    wanted = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self" or parameter.kind is parameter.VAR_KEYWORD:
            continue
        required = parameter.default is parameter.empty
        if required or parameter.name in NAMING | FINDING:
            assert parameter.name in known, f"{function.__qualname__}: a value for {parameter.name}?"
            wanted[parameter.name] = known[parameter.name]
    return wanted


def _like(session: Session, session_id: str) -> Session:
    values = {name: getattr(session, name) for name in Session.__slots__}
    return Session(**values | {"id": session_id})


def content(opened: Store) -> dict[str, list[str]]:
    """Every row of every table."""
    with opened.transaction() as connection:
        return {
            table.name: sorted(repr(row) for row in connection.execute(select(table)))
            for table in schema.metadata.sorted_tables
            if connection.dialect.has_table(connection, table.name)
        }


def parameters(name: str) -> frozenset[str]:
    opened = Store(IN_MEMORY)
    found = _names(method(opened, name))
    opened.close()
    return found


METHODS = [name for name in methods() if not name.startswith(("worlds.", "tasks.", "pushes."))]
"""Those of worlds are called by another user, one by one, in tests/store/world/test_worlds.py, and those of tasks in
tests/store/test_task.py."""
SEARCHING = ("turn_index.rows", "turn_index.put")
NAMED = [name for name in METHODS if name not in (*NEUTRAL, *SEARCHING) and parameters(name) & NAMING]
FOUND = [name for name in METHODS if name not in (*NEUTRAL, *NAMED, *LISTING, *REFUSING) and parameters(name) & FINDING]
FOUND += [name for name in SEARCHING if name not in FOUND]


def test_every_method_has_a_rule() -> None:
    ruled = [*NAMED, *FOUND, *LISTING, *REFUSING, *NEUTRAL]
    assert set(METHODS) - set(ruled) == set(), "whose sessions does it touch? Give it a rule here"
    assert set(LISTING) <= set(METHODS)
    assert len(NAMED) > 40


@pytest.mark.parametrize("session", ["real", "guessed"])
@pytest.mark.parametrize("name", NAMED)
def test_another_users_session_is_unknown(world: World, name: str, session: str) -> None:
    session_id = world.session.id if session == "real" else GUESSED
    other = world.store.of("other")
    called, before = method(other, name), content(world.store)
    with pytest.raises(SessionUnknown) as raised:
        called(**arguments(world, called, session_id))
    assert raised.value.values == {"session": session_id}
    assert content(world.store) == before


@pytest.mark.parametrize("name", [name for name in NAMED if name not in ("tree.begin",)])
def test_the_owner_and_the_maintenance_get_an_answer(world: World, name: str) -> None:
    for opened in (world.store, world.store.everyone):
        called = method(opened, name)
        if name == "tree.copy" or (opened.user is EVERYONE and name in ("delete_session",)):
            continue
        called(**arguments(world, called, world.session.id))
        if name == "delete_session":
            break


@pytest.mark.parametrize("name", [*FOUND, *sorted(LISTING)])
def test_another_user_finds_and_changes_nothing(world: World, name: str) -> None:
    other = world.store.of("other")
    called, before = method(other, name), content(world.store)
    values = arguments(world, called, world.session.id)
    assert not called(**values), "nothing is found"
    assert content(world.store) == before


def test_another_user_has_allowed_nothing(store: Store) -> None:
    one, other = store.of("one"), store.of("other")
    one.approvals.allow("files", "delete", "a" * 64)
    assert one.approvals.allows("files", "delete", "a" * 64)
    assert not one.approvals.allows("files", "delete", "b" * 64)
    assert not other.approvals.allows("files", "delete", "a" * 64)
    other.approvals.forget("files")
    assert one.approvals.all() == [("files", "delete")]
    one.approvals.allow("files", "delete", "b" * 64)
    assert not one.approvals.allows("files", "delete", "a" * 64)
    one.approvals.forget("files")
    assert one.approvals.all() == []


@pytest.mark.parametrize("name", ["sessions", "named", "search", "folders.all", "presets.all", "histories.runs"])
def test_the_owner_finds_it(world: World, name: str) -> None:
    called = method(world.store, name)
    assert called(**arguments(world, called, world.session.id))


@pytest.mark.parametrize("name", REFUSING)
def test_another_users_folder_and_preset_are_unknown(world: World, name: str) -> None:
    called, before = method(world.store.of("other"), name), content(world.store)
    with pytest.raises(REFUSING[name]):
        called(**arguments(world, called, world.session.id))
    assert content(world.store) == before


def test_another_user_puts_no_session_into_a_folder(world: World) -> None:
    other = world.store.of("other")
    folder = other.folders.create("theirs")
    assert folder is not None
    assert other.folders.move([world.session.id], folder.id) == {}
    other.folders.restore(Folder("more", "theirs"), [world.session.id])
    other.folders.move_back({world.session.id: folder.id})
    with pytest.raises(FolderUnknown):
        other.folders.move([], world.folder.id)
    assert world.store.session(world.session.id).folder == world.folder.id


@pytest.mark.parametrize("function", exports(), ids=lambda function: function.__qualname__)
@pytest.mark.parametrize("session", ["real", "guessed"])
def test_another_users_session_is_not_exported(world: World, function: Any, session: str) -> None:
    session_id = world.session.id if session == "real" else GUESSED
    values = {"store": world.store.of("other"), "session_id": session_id, "language": "en"}
    given = {name: values[name] for name in inspect.signature(function).parameters if name in values}
    with pytest.raises(SessionUnknown):
        function(**given)


def test_nobody_takes_over_a_session_by_its_id(world: World) -> None:
    before = content(world.store)
    with pytest.raises(StoreUnavailable):
        world.store.of("other").create_session("en", 0.3, session_id=world.session.id)
    assert content(world.store) == before


def test_a_name_is_unique_for_its_user_only(world: World) -> None:
    other = world.store.of("other").create_session("en", 0.3, alias="mine")
    assert other.id != world.session.id
    assert world.store.of("other").named("mine") == world.store.of("other").session(other.id)
    again = world.store.create_session("en", 0.3, alias="mine")
    assert again.id == world.session.id, "another process was first"
    assert world.store.named("mine") == world.store.named(world.session.id)
    assert (world.store.named("other"), world.store.named("")) == (None, None)
    with pytest.raises(TooLong):
        world.store.create_session("en", 0.3, alias="x" * 201)
    with pytest.raises(TooLong):
        world.store.of("x" * 201)


def test_many_sessions_have_no_name(world: World) -> None:
    assert {world.store.create_session("en", 0.3).alias for _ in range(3)} == {""}


def test_a_copy_has_no_name_but_its_owner_and_what_the_client_told(world: World) -> None:
    copy = world.store.session(world.store.tree.copy(world.session.id, 2))
    assert (copy.owner, copy.alias, copy.client_system) == ("first", "", PRIVATE)


def test_the_client_system_text_stays_with_the_session(world: World) -> None:
    world.store.set_client_system(world.session.id, "역할: 등대지기")
    assert world.store.session(world.session.id).client_system == "역할: 등대지기"
    world.store.set_client_system(world.session.id, "")
    assert world.store.session(world.session.id).client_system == ""


def test_everyones_store_creates_nothing(world: World) -> None:
    everyone = world.store.everyone
    assert everyone.user is EVERYONE
    for call in (lambda: everyone.create_session("ko", 0.3), lambda: everyone.folders.create("x")):
        with pytest.raises(ValueError, match="everyone"):
            call()


def test_everyones_store_sees_all_users(world: World) -> None:
    other = world.store.of("other")
    own = other.create_session("ko", 0.3).id
    other.accept_turn(own, "hello")
    assert {each.id for each in world.store.everyone.sessions()} == {own, world.session.id}
    assert world.store.everyone.session(own).owner == "other"
    for opened in (other, world.store):
        opened.put_away(opened.sessions()[0].id)
    assert set(world.store.everyone.put_away_before(1e12)) == {own, world.session.id}


def test_a_connection_that_is_nobodys_reaches_no_session(world: World) -> None:
    from store.ledger import path_of

    with world.store.engine.begin() as connection, pytest.raises(KeyError):
        path_of(connection, world.session.id)


def test_the_user_of_the_machine_is_the_one_that_memory_knows() -> None:
    assert ME == USER


def test_an_import_belongs_to_its_user(world: World) -> None:
    data = store.export.portable.export(world.store, world.session.id).encode()
    other = world.store.of("other")
    (made,) = store.export.portable.import_(other, data, 10**6, len).sessions
    assert (other.session(made).owner, other.session(made).alias) == ("other", "")
    turns: list[Turn] = other.turns(made)
    assert [turn.question for turn in turns] == [f"{PRIVATE} {number}" for number in (1, 2, 3)]
    with pytest.raises(SessionUnknown):
        world.store.session(made)
    runs = other.histories.runs([mark_of(f"{PRIVATE} {number}", f"{PRIVATE} answer") for number in (1, 2, 3)])
    assert [(run.session_id, run.first, run.last) for run in runs] == [(made, 1, 3)]
