"""Databases of earlier versions: every step, both databases, and an earlier version that goes on beside this one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, select, text

from store import Finished, Store
from store.database import migration, schema
from store.database.engine import connect_database, parse_database_url
from store.owner import ME
from store.session.history import put_marks
from store.session.options import AnswerOptions
from store.world.record import Alias, Changes, Character, NewNode, StoryTime, UsedItem
from store.world.turns import needs_snapshot
from tests.process import SECONDS, channel, end, start
from tests.process import event as signal
from world.story.story import Stories, build_state_snapshot

TURNS = 2 * migration.BATCH + 3
SESSION = {
    "id": "old",
    "title": "예전 대화",
    "titled": "auto",
    "language": "ko",
    "compression_rate": 0.3,
    "path": "[[0,1]]",
    "turn_count": TURNS,
    "history_tokens": 7,
    "created": 1.0,
    "updated": 2.0,
    "pinned": False,
    "revision": 0,
    "folder": "f1",
}
TURN = {"session_id": "old", "branch": 0, "tokens": 1, "started": 1.0, "finished": 2.0}
ENDED = TURN | {"answer": "답", "status": "done"}


def insert(connection: Connection, table: str, *rows: dict[str, Any]) -> None:
    """Inserts rows as an earlier version does: with its own columns and no other."""
    names = list(rows[0])
    values = ", ".join(f":{name}" for name in names)
    connection.execute(text(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"), list(rows))


def ended(number: int) -> dict[str, Any]:
    status = {1: "stopped", 2: "failed", 3: "running"}.get(number, "done")
    # as of an import, so that the database counts from 1 on
    return ENDED | {"id": number - TURNS - 1, "number": number, "question": f"질문 {number}", "status": status}


def fill(connection: Connection) -> None:
    """What an earlier version has written."""
    insert(connection, "session", SESSION)
    insert(connection, "folder", {"id": "f1", "name": "여행", "created": 1.0})
    insert(connection, "branch", {"session_id": "old", "id": 0, "path": "[[0,1]]", "used": 1.0})
    insert(connection, "preset", {"name": "짧게", "system_prompt": "짧게 답해", "answer_tokens": 50})
    insert(connection, "turn", *(ended(number) for number in range(1, TURNS + 1)))


@pytest.fixture
def url(database: str | None, tmp_path: Path) -> str:
    return database or f"sqlite:///{tmp_path / 'gieok.db'}"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    made = create_engine(parse_database_url(url))
    if made.dialect.name == "sqlite":  # earlier versions have a function of this name, which the index calls

        @event.listens_for(made, "connect")
        def add_function(connection: Any, _: object) -> None:
            connection.create_function("folded", 1, lambda said: said and said.lower(), deterministic=True)

    yield made
    made.dispose()


@pytest.fixture
def old(url: str, engine: Engine) -> str:
    """The address of a database as the last version without steps left it."""
    script = Path(__file__).with_name(f"step_0.{engine.dialect.name}.sql").read_text()
    with engine.begin() as connection:
        for statement in script.split(";\n"):
            if statement.strip():
                connection.execute(text(statement))
        fill(connection)
    return url


def applied(store: Store) -> list[int]:
    with store.transaction() as connection:
        return list(
            connection.execute(select(schema.schema_version.c.step).order_by(schema.schema_version.c.step)).scalars()
        )


def marked(store: Store) -> set[int]:
    """The numbers of the turns that are known by marks."""
    with store.transaction() as connection:
        return set(connection.execute(select(schema.history_mark.c.number)).scalars())


def test_what_was_there_belongs_to_the_user_of_this_machine(old: str) -> None:
    store = Store(old)
    session = store.session("old")
    assert (session.owner, session.alias, session.client_system) == (ME, "", "")
    assert [each.id for each in store.sessions()] == ["old"]
    assert [each.name for each in store.folders.all()] == ["여행"]
    assert store.presets.all() == {"짧게": AnswerOptions("짧게 답해", None, 50)}
    other = store.of("you")
    assert (other.sessions(), other.folders.all(), other.presets.all(), other.find_session("old")) == ([], [], {}, None)
    assert not any(turn.given for turn in store.turns("old"))
    store.close()


PLAIN, PAGE = "한 물음", [{"call": "c", "name": "web", "arguments": {}, "result": "x", "ok": True, "foreign": True}]
TRACES: dict[str, dict[str, Any]] = {
    "tool": {"steps": json.dumps(PAGE, separators=(",", ":"))},
    "documents": {"steps": json.dumps([{"name": "search_documents"}], separators=(",", ":"))},
    "sent": {"question": '<outside name="a.txt">\nnote\n\nx\n</outside>'},
    "image": {"messages": json.dumps([{"data": {"additional_kwargs": {"images": 1}}}], separators=(",", ":"))},
    "file": {"usage": None},
    "none": {},
}


@pytest.mark.parametrize("trace", TRACES)
def test_turns_with_traces_of_others_are_marked_and_those_after_them(old: str, engine: Engine, trace: str) -> None:
    plain = ENDED | {"question": PLAIN, "usage": "{}", "steps": "[]", "messages": "[]"}
    rows = [plain | {"session_id": trace, "number": number, "id": number} for number in (1, 2, 3)]
    rows[1] |= TRACES[trace]
    with engine.begin() as connection:
        insert(connection, "session", SESSION | {"id": trace, "turn_count": 3})
        insert(connection, "turn", *rows)
    store = Store(old)
    found = [(turn.has_foreign, turn.is_imported) for turn in store.turns(trace)]
    is_marked = trace != "none"
    assert found == [(False, False), (is_marked, trace == "file"), (is_marked, False)]
    assert all(turn.is_imported for turn in store.turns("old", limit=9) if turn.status == "done")
    store.close()


def test_system_prompts_of_imported_conversations_are_marked(old: str, engine: Engine) -> None:
    role = {"system_prompt": "해적처럼 말해"}
    with engine.begin() as connection:
        insert(connection, "session", SESSION | {"id": "own", "turn_count": 0})
        insert(connection, "branch", {"session_id": "own", "id": 0, "path": "[[0,1]]", "used": 1.0})
        insert(connection, "session_options", role | {"session_id": "old"}, role | {"session_id": "own"})
    store = Store(old)
    store.tree.begin("old", 1, "다른 질문")
    store.begin_turn("own", "질문")
    assert [store.turns(each)[-1].has_foreign for each in ("old", "own")] == [True, False]
    store.close()


def test_two_users_may_have_presets_of_one_name(old: str) -> None:
    store = Store(old)
    store.of("you").presets.save("짧게", AnswerOptions("shorter"))
    store.of("you").presets.rename("짧게", "short")
    assert store.presets.all() == {"짧게": AnswerOptions("짧게 답해", None, 50)}
    assert store.of("you").presets.all() == {"short": AnswerOptions("shorter")}
    store.close()


def test_every_finished_turn_gets_its_marks_and_is_found(old: str) -> None:
    store = Store(old)
    assert marked(store) == {number for number in range(1, TURNS + 1) if number not in (2, 3)}
    (lead,) = store.histories.find([(f"질문 {number}", "답") for number in range(4, 20)])
    assert lead.home == "old"
    assert {number for _, number in lead.weights} >= set(range(4, 20))
    store.close()


STORY = Path(__file__).with_name("story_8585590.sqlite.gz")
"""What commit 8585590 has left of a story of 200 turns: two greetings, three answers at every tenth turn, turn 7
stopped; a text and a finding of the curator, a vector; a world without a story, and a conversation."""


@pytest.fixture
def told(database: str | None, url: str, tmp_path: Path) -> Iterator[Store]:
    """A store with that story, brought to the present schema."""
    if database is None:
        (tmp_path / "gieok.db").write_bytes(gzip.decompress(STORY.read_bytes()))
    else:
        leave_story(database)
    store = Store(url)
    yield store
    store.close()


def leave_story(database: str) -> None:
    """Leaves the story in a database of PostgreSQL, as at step 5."""
    store = Store(database)
    tell_story(store)
    with store.transaction() as connection:
        part_stories(connection)
        connection.execute(schema.history_mark.delete())
        connection.execute(text("DELETE FROM schema_version WHERE step > 5"))
        connection.execute(text("CREATE INDEX turn_mark ON turn (mark)"))
    store.close()


def tell_story(store: Store) -> None:
    """Tells the story of ``STORY``."""
    worlds, states = store.worlds, Stories(store.worlds)
    world = worlds.create("안개 나루", "ko", "나루지기")
    worlds.set_begin_state(world.id, Changes((Character("도윤", "나루터", 60),)))
    greeting = worlds.add(world.id, None, NewNode("", ("어서 오게.",), "어서 오게.", "given"))
    worlds.add(world.id, None, NewNode("", ("누구냐!",), "누구냐!", "given"))
    node = greeting
    for number in range(1, 201):
        parent = node
        for version in range(3 if number % 10 == 0 else 1):
            told, report = answer_of(number, version), {"stopped": True} if number == 7 else {"turn": number}
            node = worlds.add(
                world.id, parent, NewNode(f"질문 {number}", (told,), told, "raw", {"answer_tokens": 9}, report)
            )
            changes = Changes((Character("나루지기", f"곳 {number}.{version}", 100 - number % 50),))
            after = states.state(worlds.node(parent.id), world).after(changes, number)
            snapshot = build_state_snapshot(after, worlds.begin_state(world.id)) if needs_snapshot(node) else None
            assert worlds.settle(node.id, changes, origin="block", block={"mood": "x"}, snapshot=snapshot)
            node = worlds.node(node.id)
    worlds.put_block(node, "narrative_memory", "기억")
    worlds.add_finding(node, "dead_talks", "도윤", "말했다")
    worlds.put_vectors(world.id, "episode", "e5", [(node.id, 200, b"ab")])
    worlds.create("빈 세계", "ko")
    session = store.create_session("ko", 0.3)
    store.finish_turn(session.id, store.begin_turn(session.id, "대화의 질문").number, Finished("done", "대화의 답"))


def part_stories(connection: Connection) -> None:
    """Puts a database of PostgreSQL back to step 6, where stories had a tree of their own."""
    for statement in (
        "CREATE TABLE world_line (id BIGSERIAL PRIMARY KEY, world_id VARCHAR(64) NOT NULL, path TEXT NOT NULL)",
        "INSERT INTO world_line SELECT branch.id, session_id, branch.path FROM branch JOIN session "
        "ON session.id = session_id WHERE world <> '' AND turn_count > 0",
        "ALTER TABLE world_node ADD COLUMN line BIGINT, ADD COLUMN question TEXT, ADD COLUMN answer TEXT, "
        "ADD COLUMN created FLOAT, DROP CONSTRAINT world_node_session_id_branch_turn_key",
        "UPDATE world_node SET line = turn.branch, question = turn.question, answer = turn.answer, "
        "created = turn.started FROM turn WHERE turn.session_id = world_node.session_id "
        "AND turn.branch = world_node.branch AND turn.number = world_node.turn",
        "DELETE FROM turn WHERE session_id IN (SELECT id FROM session WHERE world <> '')",
        "DELETE FROM branch WHERE session_id IN (SELECT id FROM session WHERE world <> '')",
        "DELETE FROM session WHERE world <> ''",
        "ALTER TABLE world_node DROP COLUMN session_id, DROP COLUMN branch",
        "ALTER TABLE session DROP COLUMN world",
    ):
        connection.execute(text(statement))


def answer_of(number: int, version: int) -> str:
    return f"대답 {number}, 그 {version}번째 판이다."


def last_version(number: int) -> int:
    return 2 if number % 10 == 0 else 0


def test_a_story_becomes_a_conversation_with_all_turns_and_swipes(told: Store) -> None:
    (world,) = [one for one in told.worlds.all() if one.name == "안개 나루"]
    (session,) = told.worlds.stories(world.id)
    assert {one.title for one in told.sessions()} == {"안개 나루", "대화의 질문"}
    assert (session.title, session.turn_count, session.world) == ("안개 나루", 200, world.id)
    turns = told.turns_between(session.id, 0, 200)
    assert [(turn.number, turn.answer) for turn in turns] == [
        (0, "어서 오게."),
        *((number, answer_of(number, last_version(number))) for number in range(1, 201)),
    ]
    assert [turn.number for turn in turns if turn.status == "stopped"] == [7]
    assert (turns[9].usage or {})["answer_tokens"] == 9
    versions = told.tree.alternatives(session.id, range(201))
    assert {number: len(one.branches) for number, one in versions.items()} == {
        0: 2,
        **dict.fromkeys(range(10, 201, 10), 3),
    }
    swiped = {hit.number for hit in told.search("그 1번째 판이다")}
    assert swiped
    assert swiped <= set(range(10, 201, 10))


def test_every_turn_of_a_story_has_its_state_after_the_migration(told: Store) -> None:
    (world,) = [one for one in told.worlds.all() if one.name == "안개 나루"]
    shown = [
        ("", "어서 오게."),
        *((f"질문 {number}", answer_of(number, last_version(number))) for number in range(1, 201)),
    ]
    known, states = told.worlds.find_known_history(None, shown), Stories(told.worlds)
    assert known.node is not None
    assert (known.node.turn, known.count, known.ambiguous) == (200, 201, False)
    for count in (5, 10, 11, 100, 150):
        for version in {0, last_version(count)}:
            told_so_far = [*shown[:count], (f"질문 {count}", answer_of(count, version))]
            node = told.worlds.find_known_history(None, told_so_far).node
            assert node is not None
            state = states.state(node, world)
            assert (node.turn, state.me.location) == (count, f"곳 {count}.{version}")
            assert state.characters["도윤"].location == "나루터"
    assert (block := told.worlds.block(known.node, "narrative_memory")) is not None
    assert block.text == "기억"
    assert [finding.subject for finding in told.worlds.findings(known.node)] == ["도윤"]
    assert told.worlds.vectors(world.id, "episode", "e5") == [(known.node.id, 200, b"ab")]
    following = told.worlds.add(world.id, known.node, NewNode("더", ("그래.",), "그래.", "raw"))
    assert following.id > max(leaf.id for leaf in told.worlds.leaves(world.id)[1:])
    assert told.session(following.session).turn_count == 201
    (empty,) = [one for one in told.worlds.all() if one.name == "빈 세계"]
    assert [story.turn_count for story in told.worlds.stories(empty.id)] == [0]
    told.worlds.add(empty.id, None, NewNode("가자", ("그래.",), "그래.", "raw"))
    assert [story.turn_count for story in told.worlds.stories(empty.id)] == [1]


def test_the_people_of_an_earlier_story_are_there_and_travel_with_nobody(url: str) -> None:
    """A story as a version left it that knew neither companions nor further names."""
    store = Store(url)
    world = store.worlds.create("나루", "ko", "아리아")
    node = store.worlds.add(world.id, None, NewNode("가자", ("그래",), "그래", "raw"))
    assert store.worlds.settle(node.id, Changes((Character("리나", "숲", 30),)), origin="block")
    with store.transaction() as connection:
        for column in ("companion", "sightings"):
            connection.execute(text(f"ALTER TABLE characters DROP COLUMN {column}"))
        connection.execute(text("DROP TABLE world_alias"))
        for name in ("world_left_out", "world_used", "world_time"):
            connection.execute(text(f"DROP TABLE {name}"))
        connection.execute(text("ALTER TABLE world_finding DROP COLUMN mend"))
    store.close()
    store = Store(url)
    node = store.worlds.node(node.id)
    ((_, changes),) = store.worlds.stored_state(node).changes
    assert changes.characters == (Character("리나", "숲", 30, companion=False, sightings=0),)
    merged = Changes(
        (Character("리나", "탑", 30, companion=True),),
        aliases=(Alias("person", "Lina", "리나"),),
        used=(UsedItem("등불"),),
        times=(StoryTime("2일째", "밤"),),
    )
    store.worlds.correct_turn(node, merged)
    ((_, changes),) = store.worlds.stored_state(node).changes
    assert changes == merged
    store.close()


def said(answer_id: str) -> str:
    """The messages of a turn as a row holds them."""
    return json.dumps(
        [
            {"type": "human", "data": {"content": "물음", "type": "human", "id": "u"}},
            {"type": "ai", "data": {"content": "답", "type": "ai", "id": answer_id}},
        ],
        separators=(",", ":"),
    )


def test_imported_turns_count_the_tokens_around_their_messages_once(old: str, engine: Engine) -> None:
    with engine.begin() as connection:
        insert(connection, "session", SESSION | {"id": "brought", "turn_count": 4, "history_tokens": 40})
        own = TURN | {"session_id": "brought", "answer": "답", "status": "done", "tokens": 10, "question": "물음"}
        brought = own | {"messages": said("node-2"), "usage": None}
        insert(
            connection,
            "turn",
            brought | {"id": -9009, "number": 1},
            brought | {"id": -9008, "number": 2, "messages": said("s-0-2-answer")},
            brought | {"id": -9007, "number": 3, "usage": '{"prompt_tokens":1}'},
            brought | {"id": -9006, "number": 4, "branch": 1},
        )
    for _ in range(2):
        store = Store(old)
        with store.transaction() as connection:
            query = select(schema.turn.c.tokens).where(schema.turn.c.session_id == "brought")
            counted = list(connection.execute(query.order_by(schema.turn.c.number)).scalars())
        assert counted == [18, 10, 10, 18]
        assert store.session("brought").history_tokens == 38, "of its path"
        assert store.session("old").history_tokens == 7
        store.close()


def test_the_steps_run_once_and_in_order(old: str) -> None:
    assert [step.number for step in migration.STEPS] == list(range(1, len(migration.STEPS) + 1))
    store = Store(old)
    assert applied(store) == [step.number for step in migration.STEPS]
    changes: list[str] = []

    @event.listens_for(store.engine, "before_cursor_execute")
    def note(_c: object, _k: object, statement: str, _p: object, _x: object, _m: object) -> None:
        if statement.lstrip().upper().startswith(("ALTER", "CREATE", "DROP", "UPDATE", "INSERT")):
            changes.append(statement)

    migration.migrate_schema(store.engine)
    assert changes == []
    store.close()


@pytest.mark.parametrize("after", [0, 1, 4])
def test_a_step_that_a_crash_cut_off_runs_again(
    old: str, engine: Engine, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(connection: Connection, owner: str, home: str, branch: int, turns: Any) -> None:
        if any(question == "질문 900" for _, question, _ in turns):
            raise KeyboardInterrupt
        put_marks(connection, owner, home, branch, turns)

    monkeypatch.setattr(migration, "put_marks", cut_off)
    with pytest.raises(KeyboardInterrupt):
        Store(old)
    monkeypatch.undo()
    with engine.begin() as connection:
        assert connection.execute(text("SELECT max(step) FROM schema_version")).scalar() == 5
        counted = text("SELECT count(DISTINCT number) FROM history_mark")
        assert connection.execute(counted).scalar() == migration.BATCH
        connection.execute(text("DELETE FROM schema_version WHERE step > :after"), {"after": after})
    store = Store(old)
    assert applied(store) == [step.number for step in migration.STEPS]
    assert len(marked(store)) == TURNS - 2
    assert store.presets.all() == {"짧게": AnswerOptions("짧게 답해", None, 50)}
    store.close()


def migrating(url: str, together: Any, said: Any) -> None:
    together.wait(SECONDS)
    store = Store(url)
    said.put((applied(store), len(store.sessions())))
    store.close()


def test_two_processes_may_migrate_at_once(old: str) -> None:
    together, said = signal(), channel()
    openers = [start(migrating, old, together, said) for _ in range(3)]
    together.set()
    assert [end(each) for each in openers] == [0] * 3
    assert [said.get(timeout=60) for _ in openers] == [([step.number for step in migration.STEPS], 1)] * 3
    store = Store(old)
    assert len(marked(store)) == TURNS - 2
    store.close()


def test_an_earlier_version_goes_on_writing(old: str, engine: Engine) -> None:
    store = Store(old)
    with engine.begin() as connection:
        insert(connection, "session", SESSION | {"id": "later", "folder": "f2"})
        insert(connection, "branch", {"session_id": "later", "id": 0, "path": "[[0,1]]", "used": 1.0})
        insert(connection, "folder", {"id": "f2", "name": "일", "created": 2.0})
        insert(connection, "preset", {"name": "길게", "system_prompt": "길게"})
        asked = TURN | {"session_id": "later", "number": TURNS + 1, "question": "새 질문"}
        insert(connection, "turn", asked | {"status": "running", "answer": None})
        connection.execute(text("UPDATE session SET turn_count = turn_count + 1 WHERE id = 'later'"))
        connection.execute(text("UPDATE preset SET answer_tokens = 9 WHERE name = '길게'"))
    session, turn = store.session("later"), store.turn("later", TURNS + 1)
    assert (session.owner, session.alias, session.client_system) == (ME, "", "")
    assert turn is not None
    assert (turn.question, turn.given) == ("새 질문", False)
    assert {each.name for each in store.folders.all()} == {"여행", "일"}
    assert store.presets.all()["길게"].answer_tokens == 9
    store.finish_turn("later", TURNS + 1, Finished("done", "새 답", messages=[]))
    assert [lead.home for lead in store.histories.find([("새 질문", "새 답")])] == ["later"]
    store.close()


def test_a_new_database_needs_no_step_and_names_them_all(url: str) -> None:
    engine, _ = connect_database(url)
    with engine.begin() as connection:
        steps = connection.execute(text("SELECT step FROM schema_version ORDER BY step")).scalars().all()
    assert steps == [step.number for step in migration.STEPS]
    engine.dispose()


def test_the_old_schema_of_this_test_lacks_what_the_steps_add(old: str, engine: Engine) -> None:
    with engine.begin() as connection:
        columns = set(connection.execute(text("SELECT * FROM session")).keys())
        assert json.loads(connection.execute(text("SELECT path FROM session")).scalar() or "") == [[0, 1]]
    assert not columns & {"owner", "alias", "client_system"}
