"""Story worlds in the database: turns as a tree, recognised by their texts, worked off once; on both databases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, select

from errors import Empty, TooLong, WorldTurnRaw, WorldTurnTaken, WorldUnknown
from store import Store
from store.database import world_table as table
from store.world.change import Snapshot
from store.world.record import (
    Changes,
    Character,
    Edit,
    Episode,
    Item,
    LoreEntry,
    LoreMark,
    NewNode,
    Node,
    Relation,
    Wording,
    World,
)
from store.world.turns import SNAPSHOT_TURNS, needs_snapshot
from store.world.worlds import Worlds
from tests.table import table as rows_of
from world.state import State
from world.story import Stories, snapshot_of


@pytest.fixture
def opened(database: str | None, tmp_path: Path) -> Iterator[Store]:
    store = Store(database or f"sqlite:///{tmp_path / 'own' / 'gieok.db'}")
    yield store
    store.close()


@pytest.fixture
def world(opened: Store) -> World:
    return opened.worlds.create("안개 나루", "ko", "나루지기")


def said(store: Store, world: World, parent: Node | None, question: str, *answers: str, **more: Any) -> Node:
    status = more.pop("status", "raw")
    return store.worlds.add(world.id, parent, NewNode(question, answers, answers[0], status, **more))


def story(store: Store, world: World, count: int) -> list[Node]:
    """A line of so many turns, each of which moves the player and has an episode."""
    nodes: list[Node] = []
    stories = Stories(store.worlds)
    for at in range(1, count + 1):
        node = said(store, world, nodes[-1] if nodes else None, f"질문 {at}", f"대답 {at}")
        moved(store, stories, world, node)
        nodes.append(store.worlds.node(node.id))
    return nodes


def moved(store: Store, stories: Stories, world: World, node: Node) -> None:
    changes = Changes(
        characters=(Character("나루지기", f"곳 {node.turn}", 100 - node.turn % 50),),
        items=(Item(f"물건 {node.turn % 7}"),),
        episode=Episode(node.turn, f"곳 {node.turn}", "이동", importance=(node.turn % 10) / 10, node=node.id),
        mood=f"기분 {node.turn}",
    )
    parent = store.worlds.node(node.parent) if node.parent else None
    after = stories.state(parent, world).after(changes, node.turn)
    snapshot = snapshot_of(after, store.worlds.begin_state(world.id)) if needs_snapshot(node) else None
    assert store.worlds.settle(node.id, changes, origin="block", block={"mood": "x"}, snapshot=snapshot)


def pairs(nodes: list[Node]) -> list[tuple[str, str]]:
    return [(node.question, node.answer) for node in nodes]


# --- whose world it is ------------------------------------------------------------------------------


def test_another_users_world_is_unknown_by_every_method(opened: Store, world: World) -> None:
    nodes = story(opened, world, 3)
    entry = opened.worlds.put_lore(world.id, [LoreEntry(0, "등불 탑", "돌탑")])[0]
    finding = opened.worlds.add_finding(nodes[2], "dead_talks", "도윤", "말했다")
    assert finding is not None
    other = opened.of("other").worlds
    refused: list[Callable[[], object]] = [
        lambda: other.world(world.id),
        lambda: other.rename(world.id, "x"),
        lambda: other.set_player(world.id, "x"),
        lambda: other.delete(world.id),
        lambda: other.begin_state(world.id),
        lambda: other.set_begin_state(world.id, Changes()),
        lambda: other.add(world.id, nodes[2], NewNode("a", ("b",), "b", "raw")),
        lambda: other.add(world.id, None, NewNode("a", ("b",), "b", "raw")),
        lambda: other.learn(world.id, [Wording(1, 1, "a", "b")]),
        lambda: other.rebase(nodes[2], [Edit(2, "a", "b")]),
        lambda: other.node(nodes[0].id),
        lambda: other.path(nodes[2]),
        lambda: other.children(world.id, 0),
        lambda: other.leaves(world.id),
        lambda: other.settle(nodes[2].id, Changes(), origin="none"),
        lambda: other.changed(nodes[2], Changes()),
        lambda: other.amend(nodes[2], Changes()),
        lambda: other.has_character(world.id, "아리아"),
        lambda: other.lock_world(world.id),
        lambda: other.settle_given(nodes[2].id, Changes(), origin="light", block=None, refusals=()),
        lambda: other.stored_state(nodes[2]),
        lambda: other.on_path(nodes[2], [nodes[0].id]),
        lambda: other.node_at(nodes[2], 1),
        lambda: together(other, world.id),
        lambda: other.lore(world.id),
        lambda: other.put_lore(world.id, [entry]),
        lambda: other.remove_lore(world.id, [entry.id]),
        lambda: other.revision(world.id),
        lambda: other.vectors(world.id, "lore", "e"),
        lambda: other.put_vectors(world.id, "lore", "e", [(entry.id, 0, b"x")]),
        lambda: other.episodes(world.id, [nodes[0].id]),
        lambda: other.block(nodes[2], "story"),
        lambda: other.put_block(nodes[2], "story", "x"),
        lambda: other.findings(nodes[2]),
        lambda: other.add_finding(nodes[2], "other", "a", "b"),
        lambda: other.set_finding(finding.id, "dismissed"),
    ]
    for call in refused:
        with pytest.raises(WorldUnknown):
            call()
    assert other.all() == []
    assert other.raw() == []
    assert other.by_slug(world.slug) is None
    assert other.known(None, pairs(nodes)).node is None
    assert other.known(world.id, pairs(nodes)).node is None
    assert opened.worlds.world(world.id).name == "안개 나루"
    mine = {name for name in dir(opened.worlds) if not name.startswith("_")}
    assert mine == {
        *("all", "world", "by_slug", "create", "rename", "set_player", "begin_state", "set_begin_state", "delete"),
        *(
            "known",
            "learn",
            "rebase",
            "add",
            "node",
            "path",
            "children",
            "leaves",
            "raw",
            "on_path",
            "node_at",
            "together",
        ),
        *("settle", "settle_given", "changed", "amend", "stored_state", "lore", "put_lore", "remove_lore", "revision"),
        *("has_character", "lock_world"),
        *("vectors", "put_vectors", "episodes", "block", "put_block", "findings", "add_finding", "set_finding"),
    }, "a new method needs its line above"


def together(rows: Worlds, world_id: str) -> int:
    with rows.together() as read:
        return read.revision(world_id)


def test_the_same_words_of_two_users_are_two_stories(opened: Store, world: World) -> None:
    nodes = story(opened, world, 2)
    other = opened.of("other")
    theirs = story(other, other.worlds.create("안개 나루", "ko"), 2)
    known = other.worlds.known(None, pairs(theirs)).node
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
        known = opened.worlds.known(None, pairs(nodes)).node
        assert known is not None
        assert known.id == nodes[0].id
        said(opened, world, nodes[0], f"I sit down at table {number}.", f"Table {number} is free.")


def test_the_first_question_and_one_common_answer_do_not_make_it_this_story(opened: Store, world: World) -> None:
    nodes = story(opened, world, 2)
    waiting = said(opened, world, nodes[-1], "I wait.", "You wait. Nothing happens.")
    told = pairs([nodes[0], waiting])
    foreign = [(told[0][0], "Another tale: a ship leaves the harbour at night, without lights."), told[1]]
    assert opened.worlds.known(None, [*foreign, ("I sing.", "Nobody hears it.")]).node is None


def test_a_history_leads_to_the_turn_where_it_leaves_the_known_path(opened: Store, world: World) -> None:
    nodes = story(opened, world, 6)
    told = pairs(nodes)
    swiped = said(opened, world, nodes[3], "질문 5", "다른 대답")
    histories: list[tuple[list[tuple[str, str]], Node | None, int]] = [
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
        known = opened.worlds.known(None, history)
        assert (known.node and known.node.id, known.count) == (node and node.id, count), history
        assert not known.ambiguous


def test_every_form_of_an_answer_is_recognised(opened: Store, world: World) -> None:
    first = said(opened, world, None, "가자", "강가에 섰다.")
    grown = said(opened, world, None, "가자", "강가에 섰다.\n\n물이 차다.", "강가에 섰다.물이 차다.")
    assert grown.id != first.id
    for form in ("강가에 섰다. 물이 차다.", "강가에 섰다.물이 차다."):
        known = opened.worlds.known(None, [("가자", form)]).node
        assert known is not None
        assert known.id == grown.id


def test_a_greeting_is_turn_zero_and_may_be_regenerated(opened: Store, world: World) -> None:
    greeting = said(opened, world, None, "", "어서 오게.", status="given")
    other = said(opened, world, None, "", "누구냐!", status="given")
    first = said(opened, world, greeting, "안녕", "그래.")
    assert (greeting.turn, other.turn, first.turn) == (0, 0, 1)
    known = opened.worlds.known(None, [("", "누구냐!")]).node
    assert known is not None
    assert known.id == other.id
    assert [node.id for node in opened.worlds.path(first)] == [greeting.id, first.id]
    assert [node.id for node in opened.worlds.path(first, skip=1)] == [greeting.id]


def test_two_stories_that_fit_alike_are_ambiguous_but_a_greeting_is_not(opened: Store, world: World) -> None:
    copy = opened.worlds.create("사본", "ko")
    for one in (world, copy):
        greeting = said(opened, one, None, "", "어서 오게.", status="given")
        said(opened, one, greeting, "안녕", "그래.")
    told = [("", "어서 오게."), ("안녕", "그래.")]
    assert opened.worlds.known(None, told).ambiguous
    assert opened.worlds.known(world.id, told).count == 2
    known = opened.worlds.known(None, told[:1])
    assert known.node is not None
    assert known.node.world == copy.id


def test_what_is_stored_twice_is_there_once(opened: Store, world: World) -> None:
    first = said(opened, world, None, "q", "a")
    assert said(opened, world, None, "q", "a").id == first.id
    assert len(opened.worlds.children(world.id, 0)) == 1


def test_two_threads_store_different_answers_at_one_place(opened: Store, world: World) -> None:
    parent = said(opened, world, None, "q", "a")
    begin, nodes = threading.Barrier(6), list[Node]()

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
    state, whole = Stories(opened.worlds).state(nodes[-1], world), State("나루지기")
    with opened.transaction() as connection:
        snapshots = connection.execute(
            select(func.count()).where(table.node.c.snapshot.is_not(None), table.node.c.world_id == world.id)
        ).scalar()
        from store.world import change

        parts = change.read(connection, {node.id: f"기분 {node.turn}" for node in nodes})
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


def test_reading_a_state_costs_the_same_at_turn_30_and_at_turn_300(opened: Store, world: World) -> None:
    nodes = story(opened, world, 300)
    costs = []
    for node in (nodes[29], nodes[299]):
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
    opened.worlds.changed(nodes[-1], Changes(characters=(Character("나루지기", "탑", 7),), mood="calm"))
    state = stories.state(opened.worlds.node(nodes[-1].id), world)
    assert (state.me.location, state.me.hp, state.mood, len(state.items)) == ("탑", 7, "calm", 7)
    following = said(opened, world, nodes[-1], "그다음", "그래")
    assert stories.state(following, world).me.location == "탑"
    with pytest.raises(WorldTurnTaken):
        opened.worlds.changed(nodes[-1], Changes())


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
    assert change.changes_of(change.plain(changes)) == changes
    whole = Snapshot(changes, (changes.episode,) if changes.episode else (), ())
    assert change.snapshot_of(change.plain_snapshot(whole)) == whole


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
        opened.worlds.changed(first, Changes(mood="bright"))
    assert opened.worlds.settle(first.id, Changes(mood="dark"), origin="block")
    elsewhere = Stories(opened.worlds)
    node = opened.worlds.node(first.id)
    assert elsewhere.state(node, world).mood == "dark"
    opened.worlds.changed(node, Changes(mood="bright"))
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
    known = opened.worlds.known(None, [told[0], *told[5:]])
    assert known.node is not None
    assert (known.node.id, known.count) == (nodes[-1].id, 5)
