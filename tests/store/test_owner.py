"""Whose session is it: every method of the store, found by looking, called by another user and with a guessed id.

A new method must say here, by the names of its parameters, how it names sessions; else ``test_every_method_has_a_rule``
fails.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from sqlalchemy import select

import store.export.portable
import store.export.transcript
from errors import FolderUnknown, PresetUnknown, SessionUnknown, StoreUnavailable, TooLong
from memory import USER
from store import Finished, Folder, GivenTurn, Session, Store, TurnRow
from store.database import schema
from store.database.engine import IN_MEMORY
from store.owner import EVERYONE, ME
from store.search.turn_index import NewRow, PastTurn, Revision, TurnKey
from store.session.options import AnswerOptions
from store.turn.image import StoredImage
from store.user.usage import SideUsage
from tests.store.second_writer import second_writer

Call = Callable[[], object]
GUESSED = "0123456789abcdef"
PRIVATE = "geheim"
NAMING = frozenset({"session_id", "session"})
"""Parameters that name one session: its owner gets an answer, anybody else ``SessionUnknown``."""
FINDING = frozenset(
    {"sessions", "session_ids", "within", "key", "turn_key", "message_id", "ids", "told", "before", "keys"}
)
"""Parameters that name something of sessions: nobody else finds, gets or changes anything."""
NEUTRAL = {
    "close": "ends the connections",
    "narrow": "the same user's store; test_a_narrowed_key_knows_what_it_made_and_its_user_knows_all",
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
    "api_keys.look_up": "keys belong to the installation",
    "api_keys.revoke": "keys belong to the installation",
    "user_settings.write": "keeps a setting of the user's own; tests/store/test_user_setting.py",
    "user_settings.remove": "removes settings of the user's own; tests/store/test_user_setting.py",
    "secrets.of": "secrets belong to the installation",
}
LISTING = frozenset(
    {
        "sessions",
        "find_session",
        "search",
        "put_away_sessions",
        "put_away_before",
        "last_used",
        "undelivered.find",
        "folders.all",
        "folders.delete",
        "presets.all",
        "approvals.all",
        "presets.delete",
        "attachments.find_abandoned_sessions",
        "turn_index.read_changes",
        "usages.read_since",
        "user_settings.read",
    }
)
"""Methods that name no session: another user gets nothing and changes nothing."""
REFUSING = {
    "folders.rename": FolderUnknown,
    "presets.rename": PresetUnknown,
}


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


@contextmanager
def opened_world(database: str = IN_MEMORY) -> Iterator[World]:
    owner = Store(database).of("first")
    own = owner.create_session("ko", 0.3, alias="mine").id
    owner.undelivered.note(own, "0" * 16)
    for number in (1, 2, 3):
        owner.attachments.add(own, [(f"{number}.pdf", f"key-{number}")])
        owner.begin_turn(own, f"{PRIVATE} {number}")
        owner.finish_turn(own, number, Finished("done", f"{PRIVATE} answer", messages=said(number), tokens=3))
    (past, *_) = owner.turn_index.missing([own], "rules", 1)
    owner.turn_index.put([NewRow(past, b"v", b"w")], "rules")
    owner.options.set(own, AnswerOptions(PRIVATE))
    owner.presets.save(PRIVATE, AnswerOptions(PRIVATE))
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


@pytest.fixture
def world() -> Iterator[World]:
    with opened_world() as opened:
        yield opened


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """One world for all tests that change nothing in it."""
    with opened_world() as opened:
        yield opened


@pytest.fixture(scope="module")
def at_first(shared: World) -> dict[str, list[str]]:
    """What the shared world holds from its beginning to its end."""
    return content(shared.store)


def methods() -> dict[str, frozenset[str]]:
    """Every public method of the store and its parts, with the names of its parameters."""
    opened = Store(IN_MEMORY)
    parts = {name: part for name, part in vars(opened).items() if not name.startswith("_")}
    found = [name for name, _ in _public(type(opened))]
    found += [f"{name}.{of_part}" for name, part in parts.items() for of_part, _ in _public(type(part))]
    named = {name: _names(method(opened, name)) for name in found}
    opened.close()
    return named


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
        "keys": [key],
        "message_id": world.message + (1000 if guessed else 0),
        "ids": [world.summary + (1000 if guessed else 0)],
        "told": [(world.past.question, world.past.answer)],
        "before": {session_id: world.folder.id},
        "path": world.session.path,
        "number": 2,
        "numbers": [1, 2],
        "names": ["1.pdf"],
        "message": 1,
        "following": 3,
        "chunks": [[1, 2, 3]],
        "size": 3,
        "model": {"kind": "taken"},
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
        "remembers": True,
        "end": Finished("done", "taken", messages=[]),
        "thumb": "up",
        "change": lambda steps: [*steps, {"taken": True}],
        "files": [("1.pdf", "taken")],
        "images": [("taken.png", StoredImage("image/png", b"taken"))],
        "options": AnswerOptions("taken"),
        "seen": AnswerOptions(PRIVATE),
        "wanted": AnswerOptions("taken"),
        "mark": "0" * 16,
        "call": "1.taken",
        "made_by": "rules",
        "rows": [NewRow(PastTurn(key, world.past.at, world.past.question, world.past.answer), b"x", b"x")],
        "known": Revision(),
        "unused": True,
        "choice": "never",
        "made": [([1, 2, 3], {"turns": [1, 2, 3], "record": {"summary": "taken"}, "origin": "model"})],
        "limit": 50,
        "chars": 9,
        "used": SideUsage("aside", "m", 1, 0, 1, None),
        "moment": 1e12,
        "at": 5.0,
        "since": 0.0,
        "query": PRIVATE,
        "folder_id": world.folder.id,
        "folder": Folder("new", "taken"),
        "name": world.session.alias,
        "to": "taken",
        "user": "first",
        "answer": "taken",
    }
    special: dict[str, dict[str, Any]] = {
        "give": {"turns": [GivenTurn("taken", "taken", 1)]},
        "remove": {"name": "1.pdf"},
        "detach": {"name": "1.pdf"},
        "load": {"keys": ["image-1"]},
        "rename": {"name": PRIVATE},
        "delete": {"name": PRIVATE},
        "move": {"folder_id": ""},
        "find_abandoned_sessions": {"before": 1e12},
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


METHODS = {name: found for name, found in methods().items() if not name.startswith(("worlds.", "tasks.", "pushes."))}
"""Those of worlds are called by another user, one by one, in tests/store/world/test_worlds.py, and those of tasks in
tests/store/task/test_task.py."""
SEARCHING = ("turn_index.put",)
NAMED = [name for name, found in METHODS.items() if name not in (*NEUTRAL, *SEARCHING) and found & NAMING]
OTHERS = (*NEUTRAL, *NAMED, *LISTING, *REFUSING)
FOUND = [name for name, found in METHODS.items() if name not in OTHERS and found & FINDING]
FOUND += [name for name in SEARCHING if name not in FOUND]


def test_every_method_has_a_rule() -> None:
    ruled = [*NAMED, *FOUND, *LISTING, *REFUSING, *NEUTRAL]
    assert set(METHODS) - set(ruled) == set(), "whose sessions does it touch? Give it a rule here"
    assert set(LISTING) <= set(METHODS)
    assert len(NAMED) > 40


SHARED_BY_KEYS = ("folders.", "presets.", "approvals.", "turn_index.read_changes")
"""What is the user's and holds no word of a conversation; a process keeps one copy of a user's index for all keys."""


def stranger(world: World, who: str) -> Store:
    """The store of somebody whom the session is none of the business of: another user, or a key of the same user that
    opens nothing but what was made with it."""
    return world.store.of("other") if who == "user" else world.store.narrow("key")


@pytest.mark.parametrize("who", ["user", "key"])
@pytest.mark.parametrize("session", ["real", "guessed"])
@pytest.mark.parametrize("name", NAMED)
def test_a_strangers_session_is_unknown(
    shared: World, at_first: dict[str, list[str]], name: str, session: str, who: str
) -> None:
    session_id = shared.session.id if session == "real" else GUESSED
    called = method(stranger(shared, who), name)
    with pytest.raises(SessionUnknown) as raised:
        called(**arguments(shared, called, session_id))
    assert raised.value.values == {"session": session_id}
    assert content(shared.store) == at_first


@pytest.mark.parametrize("name", [name for name in NAMED if name not in ("tree.begin", "tree.cut")])
def test_the_owner_and_the_maintenance_get_an_answer(world: World, name: str) -> None:
    for opened in (world.store, world.store.everyone):
        called = method(opened, name)
        if name == "tree.copy" or (opened.user is EVERYONE and name in ("delete_session",)):
            continue
        called(**arguments(world, called, world.session.id))
        if name == "delete_session":
            break


@pytest.mark.parametrize("name", NAMED)
def test_a_write_of_another_process_hinders_none(tmp_path: Path, name: str) -> None:
    file = tmp_path / "gieok.db"
    with opened_world(f"sqlite:///{file}") as world:
        for _ in range(3):  # branches, for queries with several rows
            world.store.tree.begin(world.session.id, 3, "taken")
            world.store.finish_turn(world.session.id, 3, Finished("done", "taken", messages=said(3), tokens=3))
        world = replace(world, session=world.store.session(world.session.id))
        called = method(world.store, name)
        values = arguments(world, called, world.session.id)
        with second_writer(world.store, file) as before:
            called(**values)
        if name in ("tree.cut", "tree.switch", "tree.begin", "tree.give", "finish_turn"):
            assert before


@pytest.mark.parametrize("who", ["user", "key"])
@pytest.mark.parametrize("name", [*FOUND, *sorted(LISTING)])
def test_a_stranger_finds_and_changes_nothing(
    shared: World, at_first: dict[str, list[str]], name: str, who: str
) -> None:
    if who == "key" and name.startswith(SHARED_BY_KEYS):
        return
    called = method(stranger(shared, who), name)
    found = called(**arguments(shared, called, shared.session.id))
    assert not getattr(found, "sessions", found), "nothing is found"
    assert content(shared.store) == at_first


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


@pytest.mark.parametrize("name", ["sessions", "find_session", "search", "folders.all", "presets.all", "histories.find"])
def test_the_owner_finds_it(shared: World, name: str) -> None:
    called = method(shared.store, name)
    assert called(**arguments(shared, called, shared.session.id))


@pytest.mark.parametrize("name", REFUSING)
def test_another_users_folder_preset_and_history_are_unknown(
    shared: World, at_first: dict[str, list[str]], name: str
) -> None:
    called = method(shared.store.of("other"), name)
    with pytest.raises(REFUSING[name]):
        called(**arguments(shared, called, shared.session.id))
    assert content(shared.store) == at_first


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
@pytest.mark.parametrize("who", ["user", "key"])
@pytest.mark.parametrize("session", ["real", "guessed"])
def test_a_strangers_session_is_not_exported(shared: World, function: Any, session: str, who: str) -> None:
    session_id = shared.session.id if session == "real" else GUESSED
    values = {"store": stranger(shared, who), "session_id": session_id, "language": "en"}
    given = {name: values[name] for name in inspect.signature(function).parameters if name in values}
    with pytest.raises(SessionUnknown):
        function(**given)


def test_nobody_takes_over_a_session_by_its_id(shared: World, at_first: dict[str, list[str]]) -> None:
    with pytest.raises(StoreUnavailable):
        shared.store.of("other").create_session("en", 0.3, session_id=shared.session.id)
    assert content(shared.store) == at_first


def test_a_name_is_unique_for_its_user_only(world: World) -> None:
    other = world.store.of("other").create_session("en", 0.3, alias="mine")
    assert other.id != world.session.id
    assert world.store.of("other").find_session("mine") == world.store.of("other").session(other.id)
    again = world.store.create_session("en", 0.3, alias="mine")
    assert again.id == world.session.id, "another process was first"
    assert world.store.find_session("mine") == world.store.find_session(world.session.id)
    assert (world.store.find_session("other"), world.store.find_session("")) == (None, None)
    with pytest.raises(TooLong):
        world.store.create_session("en", 0.3, alias="x" * 201)
    with pytest.raises(TooLong):
        world.store.of("x" * 201)


def test_a_narrowed_key_knows_what_it_made_and_its_user_knows_all(world: World) -> None:
    narrow = world.store.narrow("key")
    own = narrow.create_session("en", 0.3, alias="mine")
    narrow.begin_turn(own.id, "Hello")
    assert [session.id for session in narrow.sessions()] == [own.id]
    assert narrow.find_session("mine") == narrow.session(own.id)
    assert world.store.narrow("other").find_session("mine") is None
    assert {session.id for session in world.store.sessions()} == {own.id, world.session.id}
    assert world.store.find_session("mine") == world.store.session(world.session.id), "a name is the key's own"
    assert world.store.find_session(own.id) == world.store.session(own.id)
    copy = world.store.tree.copy(own.id, 1)
    assert narrow.find_session(copy) is None, "the user made it"
    assert (narrow.everyone.key, narrow.of("first").key) == ("", "")


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
    other.begin_turn(own, "hello")
    assert {each.id for each in world.store.everyone.sessions()} == {own, world.session.id}
    assert world.store.everyone.session(own).owner == "other"
    for opened in (other, world.store):
        opened.put_away(opened.sessions()[0].id)
    assert set(world.store.everyone.put_away_before(1e12)) == {own, world.session.id}


def test_a_connection_that_is_nobodys_reaches_no_session(world: World) -> None:
    from store.turn.ledger import path_of

    with world.store.engine.begin() as connection, pytest.raises(KeyError):
        path_of(connection, world.session.id)


def test_the_user_of_the_machine_is_the_one_that_memory_knows() -> None:
    assert ME == USER


def test_an_import_belongs_to_its_user(world: World) -> None:
    data = store.export.portable.render_session_json(world.store, world.session.id).encode()
    other = world.store.of("other")
    (made,) = store.export.portable.import_conversations(other, data, 10**6, len).sessions
    assert (other.session(made).owner, other.session(made).alias) == ("other", "")
    turns: list[TurnRow] = other.turns(made)
    assert [turn.question for turn in turns] == [f"{PRIVATE} {number}" for number in (1, 2, 3)]
    with pytest.raises(SessionUnknown):
        world.store.session(made)
    leads = other.histories.find([(f"{PRIVATE} {number}", f"{PRIVATE} answer") for number in (1, 2, 3)])
    assert [(lead.home, set(lead.weights) >= {(0, 1), (1, 2), (2, 3)}) for lead in leads] == [(made, True)]
