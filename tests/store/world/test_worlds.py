"""Story worlds in the database: turns as a tree, recognised by their texts, worked off once; on both databases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, select, text

from errors import Empty, TooLong, WorldTurnRaw, WorldTurnTaken, WorldUnknown
from store import Store
from store.database import schema
from store.database import world_table as table
from store.session.opening import TurnPlace
from store.session.removal import BY_SESSION, remove_session
from store.user.usage import SideUsage
from store.world.change import Snapshot
from store.world.record import (
    Changes,
    Character,
    Edit,
    Episode,
    LoreEntry,
    LoreMark,
    NewNode,
    PlayerItem,
    Relation,
    StoryNode,
    Wording,
    World,
)
from store.world.turns import SNAPSHOT_TURNS, needs_snapshot
from store.world.worlds import Worlds
from tests.steps import count_lines
from tests.store.second_writer import second_writer
from tests.table import table as rows_of
from tests.wait import until
from world.story.state import StoryState
from world.story.story import Stories, build_state_snapshot


@pytest.fixture
def opened(database: str | None, tmp_path: Path) -> Iterator[Store]:
    store = Store(database or f"sqlite:///{tmp_path / 'own' / 'gieok.db'}")
    yield store
    store.close()


@pytest.fixture
def world(opened: Store) -> World:
    return opened.worlds.create("안개 나루", "ko", "나루지기")


def said(store: Store, world: World, parent: StoryNode | None, question: str, *answers: str, **more: Any) -> StoryNode:
    status = more.pop("status", "raw")
    return store.worlds.add(world.id, parent, NewNode(question, answers, answers[0], status, **more))


def story(store: Store, world: World, count: int) -> list[StoryNode]:
    """A line of so many turns, each of which moves the player and has an episode."""
    nodes: list[StoryNode] = []
    stories = Stories(store.worlds)
    for at in range(1, count + 1):
        node = said(store, world, nodes[-1] if nodes else None, f"질문 {at}", f"대답 {at}")
        moved(store, stories, world, node)
        nodes.append(store.worlds.node(node.id))
    return nodes


def moved(store: Store, stories: Stories, world: World, node: StoryNode) -> None:
    changes = Changes(
        characters=(Character("나루지기", f"곳 {node.turn}", 100 - node.turn % 50),),
        items=(PlayerItem(f"물건 {node.turn % 7}"),),
        episode=Episode(node.turn, f"곳 {node.turn}", "이동", importance=(node.turn % 10) / 10, node=node.id),
        mood=f"기분 {node.turn}",
    )
    parent = store.worlds.node(node.parent) if node.parent else None
    after = stories.state(parent, world).after(changes, node.turn)
    snapshot = build_state_snapshot(after, store.worlds.begin_state(world.id)) if needs_snapshot(node) else None
    assert store.worlds.settle(node.id, changes, origin="block", block={"mood": "x"}, snapshot=snapshot)


def pairs(nodes: list[StoryNode]) -> list[tuple[str, str]]:
    return [(node.question, node.answer) for node in nodes]


# --- whose world it is ------------------------------------------------------------------------------


def list_calls(
    rows: Worlds, world: World, nodes: list[StoryNode], entry: LoreEntry, finding: int
) -> list[Callable[[], object]]:
    """A call of every method that names a world."""
    return [
        lambda: rows.world(world.id),
        lambda: rows.rename(world.id, "x"),
        lambda: rows.set_player(world.id, "x"),
        lambda: rows.delete(world.id),
        lambda: rows.begin_state(world.id),
        lambda: rows.set_begin_state(world.id, Changes()),
        lambda: rows.add(world.id, nodes[2], NewNode("a", ("b",), "b", "raw")),
        lambda: rows.add(world.id, None, NewNode("a", ("b",), "b", "raw")),
        lambda: rows.begin_after(nodes[2], "a", 0.0),
        lambda: rows.stories(world.id),
        lambda: rows.begin(world.id),
        lambda: rows.learn(nodes[2], [Wording(1, 1, "a", "b")]),
        lambda: rows.rebase(nodes[2], [Edit(2, "a", "b")]),
        lambda: rows.node(nodes[0].id),
        lambda: rows.path(nodes[2]),
        lambda: rows.children(world.id, 0),
        lambda: rows.leaves(world.id),
        lambda: rows.settle(nodes[2].id, Changes(), origin="none"),
        lambda: rows.correct_turn(nodes[2], Changes()),
        lambda: rows.amend(nodes[2], Changes()),
        lambda: rows.has_character(world.id, "아리아"),
        lambda: rows.lock_world(world.id),
        lambda: rows.settle_given(nodes[2].id, Changes(), origin="light", block=None, refusals=()),
        lambda: rows.changes_at(nodes[2]),
        lambda: rows.stored_state(nodes[2]),
        lambda: rows.on_path(nodes[2], [nodes[0].id]),
        lambda: rows.node_at(nodes[2], 1),
        lambda: together(rows, world.id),
        lambda: rows.lore(world.id),
        lambda: rows.put_lore(world.id, [entry]),
        lambda: rows.remove_lore(world.id, [entry.id]),
        lambda: rows.revision(world.id),
        lambda: rows.vectors(world.id, "lore", "e"),
        lambda: rows.put_vectors(world.id, "lore", "e", [(entry.id, 0, b"x")]),
        lambda: rows.episodes(world.id, [nodes[0].id]),
        lambda: rows.block(nodes[2], "story"),
        lambda: rows.put_block(nodes[2], "story", "x"),
        lambda: rows.findings(nodes[2]),
        lambda: rows.add_finding(nodes[2], "other", "a", "b"),
        lambda: rows.set_finding(finding, "dismissed"),
        lambda: rows.note_side_usage(nodes[2], SideUsage("tracker", "m", 1, 0, 1, None)),
    ]


def test_another_users_world_is_unknown_by_every_method(opened: Store, world: World) -> None:
    nodes = story(opened, world, 3)
    entry = opened.worlds.put_lore(world.id, [LoreEntry(0, "등불 탑", "돌탑")])[0]
    finding = opened.worlds.add_finding(nodes[2], "dead_talks", "도윤", "말했다")
    assert finding is not None
    other = opened.of("other").worlds
    for call in list_calls(other, world, nodes, entry, finding.id):
        with pytest.raises(WorldUnknown):
            call()
    assert other.all() == []
    assert other.raw() == []
    assert other.by_slug(world.slug) is None
    assert other.find_known_history(None, pairs(nodes)).node is None
    assert other.find_known_history(world.id, pairs(nodes)).node is None
    assert opened.worlds.world(world.id).name == "안개 나루"
    mine = {name for name in dir(opened.worlds) if not name.startswith("_")}
    assert mine == {
        *(
            "all",
            "world",
            "by_slug",
            "create",
            "stories",
            "begin",
            "rename",
            "set_player",
            "begin_state",
            "set_begin_state",
            "delete",
        ),
        *(
            "find_known_history",
            "learn",
            "rebase",
            "changes_at",
            "add",
            "node",
            "last_before",
            "path",
            "children",
            "leaves",
            "raw",
            "on_path",
            "node_at",
            "together",
        ),
        *(
            "settle",
            "begin_after",
            "settle_given",
            "correct_turn",
            "amend",
            "stored_state",
            "lore",
            "put_lore",
            "remove_lore",
            "revision",
        ),
        *("has_character", "lock_world", "create_in"),
        *("vectors", "put_vectors", "episodes", "block", "put_block", "findings", "add_finding", "set_finding"),
        "note_side_usage",
    }, "a new method needs its line above"


def test_a_write_of_another_process_hinders_no_method(tmp_path: Path) -> None:
    file = tmp_path / "gieok.db"
    store = Store(f"sqlite:///{file}")
    made = store.worlds.create("안개 나루", "ko", "나루지기")
    greeting = said(store, made, None, "", "배가 흔들린다.", status="given")
    first = story(store, made, 3)
    nodes = [said(store, made, greeting, "누구야?", f"{number}.") for number in range(3)]
    entry = store.worlds.put_lore(made.id, [LoreEntry(0, "등불 탑", "돌탑")])[0]
    finding = store.worlds.add_finding(first[2], "dead_talks", "도윤", "말했다")
    assert len(nodes) == 3
    assert finding is not None
    calls = list_calls(store.worlds, made, first, entry, finding.id)
    with second_writer(store, file) as before:
        for call in [*calls[4:], *calls[:3]]:  # the world is deleted last
            with suppress(WorldTurnRaw, WorldTurnTaken):
                call()
    assert len(before) > 9
    store.close()


def together(rows: Worlds, world_id: str) -> int:
    with rows.together() as read:
        return read.revision(world_id)


def test_the_same_words_of_two_users_are_two_stories(opened: Store, world: World) -> None:
    nodes = story(opened, world, 2)
    other = opened.of("other")
    theirs = story(other, other.worlds.create("안개 나루", "ko"), 2)
    known = other.worlds.find_known_history(None, pairs(theirs)).node
    assert known is not None
    assert known.id == theirs[1].id != nodes[1].id


def test_names_and_short_names(opened: Store, world: World) -> None:
    again = opened.worlds.create("  안개   나루 ", "ko")
    assert (world.slug, again.slug, again.name, again.player) == ("안개-나루", "안개-나루-2", "안개 나루", "주인공")
    assert opened.worlds.create("!!", "en").slug == "world"
    opened.worlds.rename(world.id, "새 이름")
    assert opened.worlds.by_slug("안개-나루") == replace(world, name="새 이름")
    with pytest.raises(Empty):
        opened.worlds.create("  ", "ko")
    with pytest.raises(TooLong):
        opened.worlds.create("x" * 81, "ko")


def test_a_deleted_world_leaves_nothing(opened: Store, world: World) -> None:
    nodes = story(opened, world, 3)
    opened.worlds.put_lore(world.id, [LoreEntry(0, "a", "b")])
    opened.worlds.put_vectors(world.id, "episode", "e", [(nodes[0].id, 1, b"ab")])
    opened.worlds.put_block(nodes[1], "story", "…")
    opened.worlds.add_finding(nodes[1], "other", "a", "b")
    opened.worlds.delete(world.id)
    with opened.transaction() as connection:
        for rows in (table.world, *table.BY_NODE, *table.BY_WORLD):
            assert connection.execute(select(func.count()).select_from(rows)).scalar() == 0, rows.name


# --- which story is this ----------------------------------------------------------------------------


def test_of_many_stories_that_begin_alike_the_last_one_goes_on(opened: Store) -> None:
    for number in range(20):
        world = opened.worlds.create(f"world {number}", "en")
        nodes = [said(opened, world, None, "Begin.", "The inn is warm. Welcome, traveller.")]
        known = opened.worlds.find_known_history(None, pairs(nodes)).node
        assert known is not None
        assert known.id == nodes[0].id
        said(opened, world, nodes[0], f"I sit down at table {number}.", f"Table {number} is free.")


def test_the_first_question_and_one_common_answer_do_not_make_it_this_story(opened: Store, world: World) -> None:
    nodes = story(opened, world, 2)
    waiting = said(opened, world, nodes[-1], "I wait.", "You wait. Nothing happens.")
    told = pairs([nodes[0], waiting])
    foreign = [(told[0][0], "Another tale: a ship leaves the harbour at night, without lights."), told[1]]
    assert opened.worlds.find_known_history(None, [*foreign, ("I sing.", "Nobody hears it.")]).node is None


def test_a_history_leads_to_the_turn_where_it_leaves_the_known_path(opened: Store, world: World) -> None:
    nodes = story(opened, world, 6)
    told = pairs(nodes)
    swiped = said(opened, world, nodes[3], "질문 5", "다른 대답")
    histories: list[tuple[list[tuple[str, str]], StoryNode | None, int]] = [
        (told, nodes[5], 6),
        (told[:3], nodes[2], 3),
        ([*told[:4], ("질문 5", "다른 대답")], swiped, 5),
        ([*told[:4], ("질문 5", "unknown")], nodes[3], 4),
        ([*told[:2], ("edited", "대답 3"), *told[3:]], nodes[5], 6),
        ([("  질문\n1 ", "대답  1\n")], nodes[0], 1),
        (told[2:], nodes[5], 4),
        ([("", "a summary of the client's"), *told[3:]], nodes[5], 4),
        ([told[5]], nodes[5], 1),
        ([("what", "ever"), told[5]], None, 0),
        ([("nothing", "known")], None, 0),
        ([], None, 0),
    ]
    for history, node, count in histories:
        known = opened.worlds.find_known_history(None, history)
        assert (known.node and known.node.id, known.count) == (node and node.id, count), history
        assert not known.ambiguous


def test_every_form_of_an_answer_is_recognised(opened: Store, world: World) -> None:
    first = said(opened, world, None, "가자", "강가에 섰다.")
    grown = said(opened, world, None, "가자", "강가에 섰다.\n\n물이 차다.", "강가에 섰다.물이 차다.")
    assert grown.id != first.id
    for form in ("강가에 섰다. 물이 차다.", "강가에 섰다.물이 차다."):
        known = opened.worlds.find_known_history(None, [("가자", form)]).node
        assert known is not None
        assert known.id == grown.id


def test_a_greeting_is_turn_zero_and_may_be_regenerated(opened: Store, world: World) -> None:
    greeting = said(opened, world, None, "", "어서 오게.", status="given")
    other = said(opened, world, None, "", "누구냐!", status="given")
    first = said(opened, world, greeting, "안녕", "그래.")
    assert (greeting.turn, other.turn, first.turn) == (0, 0, 1)
    known = opened.worlds.find_known_history(None, [("", "누구냐!")]).node
    assert known is not None
    assert known.id == other.id
    assert [node.id for node in opened.worlds.path(first)] == [greeting.id, first.id]
    assert [node.id for node in opened.worlds.path(first, skip=1)] == [greeting.id]


def test_a_new_chat_of_a_world_is_a_story_of_its_own_and_a_swipe_stays_in_its_story(
    opened: Store, world: World
) -> None:
    greeting = said(opened, world, None, "", "어서 오게.", status="given")
    first = said(opened, world, greeting, "안녕", "그래.")
    second = said(opened, world, first, "가자", "가세.")
    other = said(opened, world, greeting, "누구시오?", "나루지기라네.")
    assert (other.session != first.session, other.turn) == (True, 1)
    assert [node.answer for node in opened.worlds.path(other)] == ["어서 오게.", "나루지기라네."]
    again = said(opened, world, greeting, "안녕", "왔는가.")
    assert (again.session, again.parent) == (first.session, greeting.id)
    counts = {story.id: story.turn_count for story in opened.worlds.stories(world.id)}
    assert counts == {first.session: 1, other.session: 1}
    opened.tree.switch(first.session, 1, first.branch)
    assert opened.session(first.session).turn_count == 2
    known = opened.worlds.find_known_history(None, [("", "어서 오게."), ("안녕", "그래."), ("가자", "가세.")])
    assert known.node is not None
    assert known.node.id == second.id


def test_a_deleted_story_leaves_its_world_and_the_other_stories(opened: Store, world: World) -> None:
    nodes = story(opened, world, 3)
    copy = opened.tree.copy(world.id, 2)
    opened.worlds.put_block(nodes[0], "story", "…")
    opened.delete_session(world.id)
    assert [one.id for one in opened.worlds.stories(world.id)] == [copy]
    last = opened.worlds.last_before(copy, 3)
    assert last is not None
    assert (last.turn, last.question) == (2, "질문 2")
    assert Stories(opened.worlds).state(last, world).me.location == "곳 2"
    assert [leaf.id for leaf in opened.worlds.leaves(world.id)] == [last.id]


def test_a_copy_has_the_state_of_every_turn_and_whole_states_too(opened: Store, world: World) -> None:
    nodes = story(opened, world, 40)
    opened.worlds.add_finding(nodes[9], "dead_talks", "도윤", "말했다")
    copy = opened.tree.copy(world.id, 36)
    last = opened.worlds.last_before(copy, 99)
    assert last is not None
    mine, theirs = (Stories(opened.worlds).state(one, world) for one in (nodes[35], last))
    assert (mine.characters, mine.items, mine.mood) == (theirs.characters, theirs.items, theirs.mood)
    assert [one.description for one in mine.important] == [one.description for one in theirs.important]
    assert {one.node for one in theirs.recent} & {node.id for node in nodes} == set()
    assert [one.subject for one in opened.worlds.findings(last)] == ["도윤"]


def test_two_stories_that_fit_alike_are_ambiguous_but_a_greeting_is_not(opened: Store, world: World) -> None:
    copy = opened.worlds.create("사본", "ko")
    for one in (world, copy):
        greeting = said(opened, one, None, "", "어서 오게.", status="given")
        said(opened, one, greeting, "안녕", "그래.")
    told = [("", "어서 오게."), ("안녕", "그래.")]
    assert opened.worlds.find_known_history(None, told).ambiguous
    assert opened.worlds.find_known_history(world.id, told).count == 2
    known = opened.worlds.find_known_history(None, told[:1])
    assert known.node is not None
    assert known.node.world == copy.id


def test_what_is_stored_twice_is_there_once(opened: Store, world: World) -> None:
    first = said(opened, world, None, "q", "a")
    assert said(opened, world, None, "q", "a").id == first.id
    assert len(opened.worlds.children(world.id, 0)) == 1


def test_two_threads_store_different_answers_at_one_place(opened: Store, world: World) -> None:
    parent = said(opened, world, None, "q", "a")
    begin, nodes = threading.Barrier(6), list[StoryNode]()

    def add(at: int) -> None:
        begin.wait()
        nodes.append(said(opened, world, parent, "next", f"answer {at % 3}"))

    threads = [threading.Thread(target=add, args=(at,)) for at in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(nodes) == 6
    assert len({node.id for node in nodes}) == len(opened.worlds.children(world.id, parent.id)) == 3
    for node in nodes:
        assert [one.id for one in opened.worlds.path(node)] == [parent.id, node.id]


def test_the_leaves_are_the_ends_of_all_lines(opened: Store, world: World) -> None:
    nodes = story(opened, world, 3)
    branch = said(opened, world, nodes[0], "other", "way")
    assert [node.id for node in opened.worlds.leaves(world.id)] == [branch.id, nodes[2].id]
    assert opened.worlds.on_path(branch, [node.id for node in nodes]) == {nodes[0].id}
    assert opened.worlds.on_path(nodes[2], [nodes[0].id, nodes[2].id, branch.id]) == {nodes[0].id, nodes[2].id}
    for leaf, path in ((nodes[2], nodes), (branch, [nodes[0], branch])):
        assert [opened.worlds.node_at(leaf, turn) for turn in (0, 1, 2, 3, 4)] == [
            None,
            *(node.id for node in path),
            *[None] * (4 - len(path)),
        ]


# --- worked off once --------------------------------------------------------------------------------


def test_a_turn_is_settled_once_and_after_the_one_before(opened: Store, world: World) -> None:
    first = said(opened, world, None, "1", "a")
    second = said(opened, world, first, "2", "b")
    assert [node.id for node in opened.worlds.raw()] == [first.id, second.id]
    assert not opened.worlds.settle(second.id, Changes(mood="x"), origin="block")
    assert opened.worlds.settle(first.id, Changes(mood="x"), origin="block", refusals=["zu viel"])
    assert not opened.worlds.settle(first.id, Changes(mood="y"), origin="light")
    assert opened.worlds.settle(second.id, Changes(), origin="none")
    assert opened.worlds.raw() == []
    assert opened.worlds.node(first.id).refusals == ("zu viel",)
    assert Stories(opened.worlds).state(second, world).mood == "x"


def test_a_state_is_the_same_by_snapshots_and_from_the_beginning(opened: Store, world: World) -> None:
    nodes = story(opened, world, 40)
    state, whole = Stories(opened.worlds).state(nodes[-1], world), StoryState("나루지기")
    with opened.transaction() as connection:
        snapshots = connection.execute(
            select(func.count()).where(table.node.c.snapshot.is_not(None), table.node.c.world_id == world.id)
        ).scalar()
        from store.world import change

        parts = change.load_changes(connection, {node.id: f"기분 {node.turn}" for node in nodes})
    for node in nodes:
        whole = whole.after(parts[node.id], node.turn)
    assert state == whole
    assert snapshots == 40 // SNAPSHOT_TURNS
    assert state.me.location == "곳 40"
    assert len(state.items) == 7


@contextmanager
def listening(store: Store, statements: list[str]) -> Iterator[None]:
    def listener(*args: Any) -> None:
        statements.append(args[2])

    event.listen(store.engine, "before_cursor_execute", listener)
    yield
    event.remove(store.engine, "before_cursor_execute", listener)


def test_reading_a_state_costs_the_same_at_turn_30_and_at_turn_110(opened: Store, world: World) -> None:
    nodes = story(opened, world, 110)  # five snapshots later, as far from the last of them
    costs = []
    for node in (nodes[29], nodes[109]):
        fetched = list[str]()
        with listening(opened, fetched):
            changes = opened.worlds.stored_state(node).changes
        costs.append((len(fetched), len(changes) <= SNAPSHOT_TURNS))
    assert costs[0] == costs[1]
    assert costs[0][1]


def test_a_swipe_has_a_state_of_its_own(opened: Store, world: World) -> None:
    nodes = story(opened, world, 4)
    other = said(opened, world, nodes[2], "질문 4", "죽었다")
    changes = Changes(characters=(Character("도윤", hp=0, status="dead"),))
    assert opened.worlds.settle(other.id, changes, origin="block")
    stories = Stories(opened.worlds)
    assert stories.state(other, world).characters["도윤"].dead
    assert "도윤" not in stories.state(nodes[3], world).characters
    assert stories.state(other, world).me.location == "곳 3"


def test_what_the_beginning_says_is_there_and_may_be_added_to(opened: Store, world: World) -> None:
    opened.worlds.set_begin_state(world.id, Changes(characters=(Character("도윤", "나루터", 60),)))
    nodes, stories = story(opened, world, 20), Stories(opened.worlds)
    assert stories.state(nodes[-1], world).characters["도윤"].location == "나루터"
    later = Changes(characters=(Character("도윤", "나루터", 60), Character("세라", "버들 숲")))
    opened.worlds.set_begin_state(world.id, later)
    assert stories.state(nodes[-1], world).characters["세라"].location == "버들 숲"
    assert opened.worlds.begin_state(world.id) == later


def test_a_correction_by_hand_counts_from_the_last_turn_on(opened: Store, world: World) -> None:
    nodes, stories = story(opened, world, 16), Stories(opened.worlds)
    opened.worlds.correct_turn(nodes[-1], Changes(characters=(Character("나루지기", "탑", 7),), mood="calm"))
    state = stories.state(opened.worlds.node(nodes[-1].id), world)
    assert (state.me.location, state.me.hp, state.mood, len(state.items)) == ("탑", 7, "calm", 7)
    following = said(opened, world, nodes[-1], "그다음", "그래")
    assert stories.state(following, world).me.location == "탑"
    with pytest.raises(WorldTurnTaken):
        opened.worlds.correct_turn(nodes[-1], Changes())


def test_a_correction_and_the_curator_wait_for_each_other_in_one_order(postgres: str) -> None:
    store = Store(postgres)
    world = store.worlds.create("안개 나루", "ko", "나루지기")
    nodes = story(store, world, SNAPSHOT_TURNS)
    tower, hill = (Changes(characters=(Character("나루지기", place, 7),)) for place in ("탑", "언덕"))
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with ThreadPoolExecutor(1) as pool:
        with store.worlds.together() as rows:
            rows.lock_world(world.id)
            corrected = pool.submit(store.worlds.correct_turn, nodes[-1], tower)
            with store.engine.connect() as connection:
                until(lambda: connection.execute(waiting).scalar_one())
            rows.amend(nodes[-1], hill)
        corrected.result()
    assert Stories(store.worlds).state(store.worlds.node(nodes[-1].id), world).me.location == "탑"
    store.close()


def count_side_calls(store: Store) -> int:
    with store.transaction() as connection:
        return int(connection.execute(select(func.count()).select_from(schema.side_call)).scalar_one())


def test_a_story_that_is_removed_takes_the_usage_with_it_that_comes_at_this_moment(opened: Store, world: World) -> None:
    (node,) = story(opened, world, 1)
    used = SideUsage("tracker", "m", 1, 0, 1, None)
    opened.worlds.note_side_usage(node, used)
    assert count_side_calls(opened) == 1
    remaining = [node.session]

    with closing(Store(opened.engine.url.render_as_string(hide_password=False))) as other:

        def remove(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            if remaining and statement.startswith(("INSERT", "UPDATE")):  # the story was read before
                other.delete_session(remaining.pop())

        event.listen(opened.engine, "before_cursor_execute", remove)
        opened.worlds.note_side_usage(node, used)
    assert not remaining
    assert count_side_calls(opened) == 0


def list_late_writes(rows: Worlds, node: StoryNode, entry: int) -> list[Callable[[], object]]:
    """What is written about a turn while its answer ends, or behind it."""
    place = TurnPlace(node.session, "", node.branch, node.turn + 1, "그다음", "running", False, False)
    following = NewNode("그다음", ("그래",), "그래", "raw")
    changes = Changes(characters=(Character("나루지기", "탑", 7),))
    mend: dict[str, Any] = {"old": {}, "new": {}}
    return [
        lambda: rows.add(node.world, node, following),
        lambda: rows.add(node.world, node, following, place),
        lambda: rows.add(node.world, None, following, place),
        lambda: rows.learn(node, [Wording(1, node.branch, "a", "b")]),
        lambda: rows.rebase(node, [Edit(node.turn, "a", "b")]),
        lambda: rows.settle(node.id, changes, origin="light"),
        lambda: rows.settle_given(node.id, changes, origin="light", block={"mood": "x"}, refusals=()),
        lambda: rows.amend(node, changes),
        lambda: rows.correct_turn(node, changes),
        lambda: rows.put_block(node, "story", "x"),
        lambda: rows.add_finding(node, "other", "a", "b"),
        lambda: rows.add_finding(node, "mended", "a", "b", mend),
        lambda: rows.note_side_usage(node, SideUsage("tracker", "m", 1, 0, 1, None)),
        lambda: rows.put_vectors(node.world, "episode", "e", [(node.id, node.turn, b"ab")]),
        lambda: rows.put_vectors(node.world, "lore", "e", [(entry, 0, b"ab")]),
    ]


def count_story_rows(store: Store) -> dict[str, int]:
    """The rows of all tables that hold anything of conversations and worlds; a removal is noted once."""
    tables = [*BY_SESSION, schema.session, schema.history_mark, table.world, *table.BY_NODE, *table.BY_WORLD]
    with store.transaction() as connection:
        return {one.name: int(connection.execute(select(func.count()).select_from(one)).scalar_one()) for one in tables}


@pytest.mark.parametrize("of", ["story", "world"])
def test_what_comes_for_a_story_that_is_removed_leaves_nothing(opened: Store, of: str) -> None:
    left = dict[int, object]()
    for at in range(15):
        world = opened.worlds.create("안개 나루", "ko", "나루지기")
        said(opened, world, None, "시작", "장면")
        gone = said(opened, world, None, "다른 시작", "다른 장면")
        entry = opened.worlds.put_lore(world.id, [LoreEntry(0, "a", "b")])[0].id
        write = list_late_writes(opened.worlds, gone, entry)[at]
        if of == "story":
            opened.delete_session(gone.session)
        else:
            opened.worlds.delete(world.id)
        before = count_story_rows(opened)
        try:
            write()
        except WorldUnknown:
            pass
        except Exception as error:
            left[at] = error
        after = count_story_rows(opened)
        if after != before:
            left[at] = {name: (before[name], count) for name, count in after.items() if count != before[name]}
    assert left == ({14: {"world_vector": (0, 1)}} if of == "story" else {})  # the entry is the world's


def test_usage_waits_for_a_removal_that_has_begun(postgres: str) -> None:
    store = Store(postgres)
    (node,) = story(store, store.worlds.create("안개 나루", "ko", "나루지기"), 1)
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with closing(store), ThreadPoolExecutor(1) as pool:
        with store.transaction() as removing:
            assert remove_session(removing, node.session)
            noted = pool.submit(store.worlds.note_side_usage, node, SideUsage("tracker", "m", 1, 0, 1, None))
            with store.engine.connect() as connection:
                until(lambda: noted.done() or connection.execute(waiting).scalar_one())
            assert not noted.done()
        noted.result()
        assert count_side_calls(store) == 0


# --- lorebook, vectors, curator ---------------------------------------------------------------------


def test_lore_is_kept_changed_and_removed(opened: Store, world: World) -> None:
    entries = [LoreEntry(0, "등불 탑", "돌탑", "place", "A1", ("탑",), "등불 탑", extra={"entry": {"uid": 1}})]
    stored = opened.worlds.put_lore(world.id, [*entries, LoreEntry(0, "은방울", "방울")])
    assert opened.worlds.lore(world.id) == stored
    assert stored[0] == replace(entries[0], id=stored[0].id)
    before = opened.worlds.revision(world.id)
    opened.worlds.put_vectors(
        world.id, "lore", "e5", [(stored[0].id, 1, b"ab"), (stored[1].id, 2, b"cd"), (99, 3, b"")]
    )
    assert opened.worlds.vectors(world.id, "lore", "e5") == [(stored[0].id, 1, b"ab"), (stored[1].id, 2, b"cd")]
    assert opened.worlds.revision(world.id) == before
    opened.worlds.put_lore(world.id, [replace(stored[0], content="무너진 돌탑")])
    assert opened.worlds.vectors(world.id, "lore", "e5") == [(stored[1].id, 2, b"cd")]
    middle = opened.worlds.revision(world.id)
    opened.worlds.put_vectors(world.id, "lore", "e5", [(stored[0].id, 4, b"ef")])
    assert opened.worlds.revision(world.id) > middle > before
    opened.worlds.remove_lore(world.id, [stored[0].id])
    assert opened.worlds.lore(world.id) == stored[1:]
    assert opened.worlds.vectors(world.id, "lore", "e5") == [(stored[1].id, 2, b"cd")]


def test_an_entry_of_another_world_is_not_overwritten(opened: Store, world: World) -> None:
    entry = opened.worlds.put_lore(world.id, [LoreEntry(0, "a", "b")])[0]
    other = opened.worlds.create("other", "en")
    assert opened.worlds.put_lore(other.id, [replace(entry, content="c")])[0].id != entry.id
    assert opened.worlds.lore(world.id) == [entry]


def test_the_newest_text_of_the_curator_on_the_path_counts(opened: Store, world: World) -> None:
    nodes = story(opened, world, 4)
    branch = said(opened, world, nodes[1], "other", "way")
    opened.worlds.put_block(nodes[1], "narrative_memory", "one")
    opened.worlds.put_block(nodes[1], "narrative_memory", "two")
    opened.worlds.put_block(nodes[3], "narrative_memory", "three")
    texts = [
        block and block.text for block in (opened.worlds.block(one, "narrative_memory") for one in (*nodes, branch))
    ]
    assert texts == [None, "two", "two", "three", "two"]
    assert opened.worlds.block(nodes[3], "story") is None


def test_an_intended_contradiction_is_not_told_again_on_its_path(opened: Store, world: World) -> None:
    nodes = story(opened, world, 4)
    first = opened.worlds.add_finding(nodes[1], "dead_talks", "도윤", "말했다")
    assert first is not None
    assert opened.worlds.add_finding(nodes[2], "dead_talks", "도윤", "또") is None
    opened.worlds.set_finding(first.id, "dismissed")
    assert opened.worlds.add_finding(nodes[3], "dead_talks", "도윤", "또") is None
    assert opened.worlds.add_finding(nodes[3], "dead_talks", "세라", "말했다") is not None
    assert opened.worlds.add_finding(nodes[0], "dead_talks", "도윤", "말했다") is not None
    assert [finding.subject for finding in opened.worlds.findings(nodes[3], "open")] == ["도윤", "세라"]


def test_changes_survive_as_plain_data() -> None:
    from store.world import change

    changes = Changes(
        characters=(Character("a", "b", 3, "dead"),),
        relations=(Relation("a", "b", "hostile", -2),),
        lore=(LoreMark(1, "text", None, 4),),
        mood="",
        episode=Episode(3, "place", "met", ("a", "b"), 0.7, 9),
    )
    assert change.changes_of(change.build_plain_changes(changes)) == changes
    whole = Snapshot(changes, (changes.episode,) if changes.episode else (), ())
    assert change.parse_snapshot(change.plain_snapshot(whole)) == whole


@rows_of("text", ["NUL \x00", "half \ud800 pair", "", "x" * 100_000])
def test_any_text_comes_back_as_it_was(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('text') / 'gieok.db'}")
    world = store.worlds.create("w", "en")
    node = store.worlds.add(world.id, None, NewNode(f"q{text}", (text,), text, "raw"))
    assert (node.question, node.answer, node.raw) == (f"q{text}", text, text)
    store.close()


# --- what a review has found ------------------------------------------------------------------------


def test_ids_are_never_used_again(opened: Store, world: World) -> None:
    """A state or a lorebook entry that somebody still keeps must not become another user's."""
    node = said(opened, world, None, "q", "a")
    entry = opened.worlds.put_lore(world.id, [LoreEntry(0, "에르겐", "약초상")])[0]
    opened.worlds.remove_lore(world.id, [entry.id])
    assert opened.worlds.put_lore(world.id, [LoreEntry(0, "항구", "배")])[0].id > entry.id
    opened.worlds.delete(world.id)
    other = opened.of("other")
    assert said(other, other.worlds.create("w", "en"), None, "q", "a").id > node.id


def test_a_story_that_is_swiped_at_every_turn_stays_readable(opened: Store, world: World) -> None:
    stories, parent, costs = Stories(opened.worlds), None, list[int]()
    for number in range(1, 121):
        said(opened, world, parent, f"q{number}", "swiped away", status="given")
        parent = said(opened, world, parent, f"q{number}", f"a{number}")
        moved(opened, stories, world, parent)
        if number in (40, 120):
            statements = list[str]()
            with listening(opened, statements):
                Stories(opened.worlds).state(parent, world)
                opened.worlds.path(parent, 10)
                opened.worlds.findings(parent)
                opened.worlds.block(parent, "story")
            costs.append(max(map(len, statements)))
    assert parent is not None
    assert costs[1] <= costs[0] * 1.2
    assert [node.turn for node in opened.worlds.path(parent, 5)] == [116, 117, 118, 119, 120]
    assert stories.state(parent, world).me.location == "곳 120"


def test_a_turn_that_a_client_told_waits_for_the_one_before(opened: Store, world: World) -> None:
    first = said(opened, world, None, "1", "a")
    told = said(opened, world, first, "2", "b", status="given")
    after = said(opened, world, told, "3", "c")
    stories = Stories(opened.worlds)
    assert stories.state(told, world).mood == ""
    assert not opened.worlds.settle(after.id, Changes(), origin="none")
    assert opened.worlds.settle(first.id, Changes(mood="dark"), origin="block")
    assert stories.state(told, world).mood == "dark"
    assert opened.worlds.settle(after.id, Changes(), origin="none")


def test_a_correction_reaches_other_processes_and_waits_for_the_reading(opened: Store, world: World) -> None:
    first = said(opened, world, None, "1", "a")
    with pytest.raises(WorldTurnRaw):
        opened.worlds.correct_turn(first, Changes(mood="bright"))
    assert opened.worlds.settle(first.id, Changes(mood="dark"), origin="block")
    elsewhere = Stories(opened.worlds)
    node = opened.worlds.node(first.id)
    assert elsewhere.state(node, world).mood == "dark"
    opened.worlds.correct_turn(node, Changes(mood="bright"))
    assert elsewhere.state(node, world).mood == "bright"


def test_a_beginning_that_is_edited_counts_where_no_turn_has_changed_it(opened: Store, world: World) -> None:
    opened.worlds.set_begin_state(
        world.id, Changes(characters=(Character("도윤", "나루터", 60), Character("세라", "숲")))
    )
    nodes = story(opened, world, 20)
    opened.worlds.set_begin_state(world.id, Changes(characters=(Character("도윤", "탑", 90),)))
    stories = Stories(opened.worlds)
    for node in (nodes[14], nodes[19]):
        state = stories.state(node, world)
        assert state.characters["도윤"] == Character("도윤", "탑", 90)
        assert "세라" not in state.characters


def test_a_client_that_keeps_the_greeting_and_drops_the_middle_stays_in_its_story(opened: Store, world: World) -> None:
    nodes = [said(opened, world, None, "", "어서 오게.", status="given")]
    for number in range(1, 9):
        nodes.append(said(opened, world, nodes[-1], f"질문 {number}", f"대답 {number}"))
    told = pairs(nodes)
    known = opened.worlds.find_known_history(None, [told[0], *told[5:]])
    assert known.node is not None
    assert (known.node.id, known.count) == (nodes[-1].id, 5)


def test_words_of_a_story_in_the_trash_begin_a_story_of_their_own(opened: Store, world: World) -> None:
    greeting = said(opened, world, None, "", "어서 와", status="given")
    first = said(opened, world, greeting, "앉는다", "자리가 있다")
    opened.put_away(first.session)
    told = said(opened, world, None, "", "어서 와", status="given")
    again = said(opened, world, told, "앉는다", "자리가 있다")
    assert first.session not in (told.session, again.session)
    assert [one.id for one in opened.worlds.stories(world.id)] == [again.session] == [told.session]


def test_a_turn_that_is_answered_once_more_leaves_nothing_of_its_first_answer(opened: Store, world: World) -> None:
    session = opened.worlds.stories(world.id)[0].id
    first = said(opened, world, None, "시작", "장면 1")
    place = opened.begin_turn(session, "숲으로")
    node = opened.worlds.add(world.id, first, NewNode("숲으로", ("장면 2",), "장면 2", "raw"), place)
    opened.worlds.add_finding(node, "two_places", "소라", "소라는 두 곳에 있다.")
    opened.restart_turn(session, 2)
    with pytest.raises(WorldUnknown):
        opened.worlds.node(node.id)
    again = opened.worlds.add(world.id, first, NewNode("숲으로", ("장면 3",), "장면 3", "raw"), place)
    assert (again.turn, again.parent, again.answer) == (2, first.id, "장면 3")
    assert opened.worlds.findings(again) == []
    assert opened.worlds.node(first.id).answer == "장면 1"


def count_path_tokens(store: Store, session_id: str) -> int:
    """The tokens of the turns that a conversation shows, read one by one."""
    return sum(turn.tokens for turn in store.turns(session_id, limit=500))


def test_the_tokens_of_a_story_are_those_of_the_turns_that_it_shows(opened: Store, world: World) -> None:
    greeting = said(opened, world, None, "", "어서 와", status="given", tokens=3)
    first = said(opened, world, greeting, "시작", "장면 1", tokens=10)
    second = said(opened, world, first, "둘", "장면 2", tokens=20)
    session = first.session

    def agrees() -> bool:
        return opened.session(session).history_tokens == count_path_tokens(opened, session)

    assert agrees()
    said(opened, world, first, "둘", "다른 장면 2", tokens=40)
    assert agrees(), "a swipe"
    third = said(opened, world, second, "셋", "장면 3", tokens=5)
    assert agrees(), "back on the first way"
    opened.worlds.rebase(third, [Edit(1, "시작", "장면 1, 고쳐서")])
    assert agrees()
    assert opened.session(session).history_tokens == 3 + 10 + 20 + 5
    place = opened.begin_turn(session, "넷")
    end = opened.worlds.last_before(session, place.number, place.branch)
    opened.worlds.add(world.id, end, NewNode("넷", ("장면 4",), "장면 4", "raw", tokens=7), place)
    opened.restart_turn(session, place.number)
    opened.worlds.add(world.id, end, NewNode("넷", ("장면 5",), "장면 5", "raw", tokens=9), place)
    assert agrees(), "answered once more"
    fork = said(opened, world, greeting, "다른 시작", "다른 이야기", tokens=100)
    assert fork.session != session
    assert opened.session(fork.session).history_tokens == 103


def test_storing_a_turn_costs_the_same_in_a_long_story(opened: Store, world: World) -> None:
    lines, parent = list[int](), None
    for number in range(1, 202):
        new = NewNode(f"질문 {number}", (f"대답 {number}",), "", "raw", tokens=1)
        if number in (20, 200):
            lines.append(count_lines(lambda: opened.worlds.add(world.id, parent, new)))  # noqa: B023
        parent = opened.worlds.add(world.id, parent, new)
    assert lines[1] < 1.1 * lines[0]
    assert opened.session(parent.session if parent else "").history_tokens == 201


def test_the_turn_before_is_found_on_the_way_of_the_new_turn_whatever_the_page_shows(
    opened: Store, world: World
) -> None:
    nodes = story(opened, world, 3)
    place = opened.begin_turn(nodes[0].session, "넷")
    said(opened, world, nodes[0], "질문 2", "다른 대답")
    assert opened.worlds.last_before(place.session_id, place.number) != nodes[2]
    before = opened.worlds.last_before(place.session_id, place.number, place.branch)
    assert before is not None
    assert before.id == nodes[2].id
