"""Raw answers become changes: once, in the order of their line, whatever happens in between."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from errors import ModelUnreachable
from model.embedding import Vectors
from model.profile import SMALL
from model.scripted import ScriptedModel
from store.lock import session_lock
from store.world.record import LoreEntry, NewNode, StoryNode
from tests.process import end, start
from tests.table import table
from tests.world import killed
from tests.world.tale import SECONDS, Tale, block, fields
from world.curator.desk import EVERY, is_curation_due
from world.extraction import behind, extract, light_call, queue

OpenTale = Callable[..., Tale]


@pytest.fixture(autouse=True)
def vectors_from_the_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stories of these tests are short: their states carry every episode."""
    monkeypatch.setattr(behind, "CARRIED", 0)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenTale]:
    """Opens stories on one data folder."""
    tales: list[Tale] = []

    def make(light: Any = (), **kinds: Any) -> Tale:
        told = Tale(tmp_path, light, **kinds)
        tales.append(told)
        return told

    yield make
    for told in tales:
        if hasattr(told, "extractor"):
            told.extractor.close()
        told.store.close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed calls are tried again without a pause."""
    monkeypatch.setattr(light_call, "PAUSES", (0.0, 0.0))


def asked(told: Tale) -> list[int]:
    """The numbers of the places in the answers that the utility model was asked about, in order."""
    return [int(re.findall(r"You reach place (\d+)\.", text)[-1]) for text in told.light_calls]


def reach(number: int) -> str:
    return f"You reach place {number}."


# --- one turn -----------------------------------------------------------------------------------


def test_a_block_is_in_effect_at_once_and_asks_no_model(opened: OpenTale) -> None:
    told = opened()
    raw = told.add(None, "Trees." + block(location="the wood", location_moved=True, hp_change=-15, mood="tense"))
    assert told.extractor.work(raw)
    node, state = told.now(raw), told.state(raw)
    assert (node.status, node.origin, node.refusals) == ("done", "block", ())
    assert (state.me.location, state.me.hp, state.mood, state.turn) == ("the wood", 85, "tense", 1)
    assert node.block is not None
    assert node.block["location"] == "the wood"
    assert told.extractor.work(node)
    assert told.state(node).me.hp == 85
    assert told.extractor.wait(node, 0) == 0
    assert told.light_calls == []


def test_fields_that_are_not_kept_are_told_up_to_a_few(opened: OpenTale) -> None:
    told = opened()
    node = told.say(None, "Rain.", mood="calm", weather="rain", quest="find the lamp")
    assert [one.partition(":")[0] for one in node.refusals] == ["weather", "quest"]
    assert "not kept" in node.refusals[0]
    many = told.say(node, "Rain.", mood="calm", **{f"extra_{at}": "x" for at in range(extract.MOST_NAMED + 3)})
    assert len(many.refusals) == extract.MOST_NAMED


def test_an_answer_without_a_block_needs_a_light_call(opened: OpenTale) -> None:
    told = opened([fields(location="the wood", location_moved=True, items_gained=["lamp"])])
    raw = told.add(None, "You walk into the wood and pick up a lamp.")
    assert not told.extractor.work(raw)
    assert told.now(raw).status == "raw"
    assert told.extractor.wait(raw, 0) == 1
    told.extractor.submit(raw)
    assert told.extractor.wait(raw, SECONDS) == 0
    node = told.now(raw)
    assert (node.status, node.origin) == ("done", "light")
    assert "lamp" in told.state(raw).items
    told.idle()
    assert len(told.light_calls) == 1


def test_what_a_light_call_takes_is_usage_of_the_conversation(opened: OpenTale) -> None:
    told = opened([fields(location="the wood", location_moved=True), "no state at all"])
    raw = told.add(None, "You walk into the wood.")
    told.extractor.submit(raw)
    told.idle()
    (row,) = [row for row in told.store.usages.read_since(0) if row.work == "tracker"]
    assert (row.session_id, row.model) == (raw.session, told.models.side_name)
    assert row.prompt_tokens > row.answer_tokens > 0
    told.store.worlds.delete(told.world.id)
    assert told.store.usages.read_since(0) == []


def test_a_small_model_reads_only_what_the_scene_says(opened: OpenTale) -> None:
    told = opened([fields(location="the wood", hp_change=-40, items_gained=["lamp", "crown"])], side=SMALL)
    raw = told.add(None, "You walk into the wood and pick up a lamp.")
    told.extractor.submit(raw)
    told.idle()
    state, node = told.state(raw), told.now(raw)
    assert (state.me.location, state.me.hp, [*state.items]) == ("the wood", 100, ["lamp"])
    assert len(node.refusals) == 2


def test_several_blocks_of_an_answer_apply_in_order(opened: OpenTale) -> None:
    told = opened()
    text = (
        "First."
        + block(location="the wood", location_moved=True, hp_change=-15, items_gained=["lamp"])
        + "\n\nThen."
        + block(location="the cave", location_moved=True, hp_change=-10, items_lost=["lamp"])
    )
    node = told.add(None, text)
    assert told.extractor.work(node)
    state = told.state(node)
    assert (state.me.location, state.me.hp, state.items["lamp"].status) == ("the cave", 75, "lost")
    assert told.now(node).block["hp_change"] == -25  # type: ignore[index]
    assert len(state.recent) == 1


def test_a_block_that_was_cut_off_is_completed_by_a_light_call(opened: OpenTale) -> None:
    told = opened([fields(location="the cave", hp_change=-9, items_gained=["lamp"], mood="calm")])
    node = told.add(None, "A lamp!\n\n```state\nlocation: the wood\nhp_change: -15\nitems_ga")
    assert not told.extractor.work(node)
    told.extractor.submit(node)
    told.idle()
    state = told.state(node)
    assert (told.now(node).origin, state.me.location, state.me.hp, [*state.items]) == (
        "light",
        "the wood",
        85,
        ["lamp"],
    )


def test_what_is_left_of_a_block_counts_when_no_model_answers(opened: OpenTale) -> None:
    told = opened([ModelUnreachable(url="http://x")] * 3)
    node = told.say(None, "A lamp!\n\n```state\nlocation: the wood\nhp_change: -15\nitems_ga")
    assert (node.origin, told.state(node).me.location, told.state(node).me.hp) == ("block", "the wood", 85)
    assert "model_unreachable" in node.refusals[0]


def test_a_wrong_place_does_not_stay_for_ever(opened: OpenTale) -> None:
    told = opened([fields(location="the wall", location_moved=False, npc_met=["Vane"])])
    first = told.say(None, "A smithy.", location="the smithy", location_moved=True)
    read = told.say(first, "You look at the wall.")
    after = told.say(read, "The smith nods.", location="the smithy", location_moved=False)
    assert [told.state(node).me.location for node in (read, after)] == ["the wall", "the smithy"]
    assert told.rows.findings(after) == []
    once = told.say(after, "The harbour.", location="the harbour", location_moved=False)
    twice = told.say(once, "Gulls.", location="the harbour", location_moved=False)
    assert [told.state(node).me.location for node in (once, twice)] == ["the smithy", "the harbour"]
    assert [one.turn for one in told.rows.findings(twice)] == [once.turn]


def test_a_models_misreading_is_no_contradiction(opened: OpenTale) -> None:
    told = opened([fields(npc_met=["Captain Vane"])])
    node = told.say(kill_vane(told), "You stand in the rain.")
    assert node.origin == "light"
    assert told.rows.findings(node) == []


def test_a_model_that_is_away_is_asked_three_times_then_the_story_goes_on(opened: OpenTale) -> None:
    told = opened([ModelUnreachable(url="http://x")] * 3)
    first = told.say(None, "You hear a bell.")
    assert (first.status, first.origin) == ("done", "none")
    assert "model_unreachable" in first.refusals[0]
    assert len(told.light_calls) == 3
    second = told.say(first, "A wood.", location="the wood", location_moved=True)
    assert told.state(second).me.location == "the wood"


def test_a_model_that_comes_back_is_heard(opened: OpenTale) -> None:
    told = opened([ModelUnreachable(url="http://x"), fields(location="the wood", location_moved=True)])
    node = told.say(None, "You enter the wood.")
    assert (node.origin, told.state(node).me.location) == ("light", "the wood")


def test_a_reply_that_nobody_can_read_changes_nothing_and_is_told_in_the_worlds_language(opened: OpenTale) -> None:
    told = opened(lambda _: "Sorry, no.", language="ko")
    node = told.say(None, "종소리가 들린다.")
    assert (node.status, node.origin) == ("done", "none")
    assert "상태 블록" in node.refusals[0]
    assert len(told.light_calls) <= 4


def test_refused_fields_are_told_and_sound_ones_kept(opened: OpenTale) -> None:
    told = opened()
    node = told.say(None, "Trees.", location="the wood", location_moved=True, hp_change="a lot")
    assert node.origin == "block"
    assert node.refusals
    assert told.state(node).me.location == "the wood"


# --- lines --------------------------------------------------------------------------------------


def test_raw_turns_before_it_come_first(opened: OpenTale) -> None:
    told = opened(killed.light)
    nodes: list[StoryNode] = []
    for number in range(1, 6):
        nodes.append(told.add(nodes[-1] if nodes else None, reach(number)))
    last = told.add(nodes[-1], "A wood." + block(location="the wood", location_moved=True))
    assert not told.extractor.work(last)
    assert told.extractor.wait(last, 0) == 6
    told.extractor.submit(last)
    told.idle()
    assert asked(told) == [1, 2, 3, 4, 5]
    assert [told.now(node).status for node in (*nodes, last)] == ["done"] * 6
    assert told.state(last).me.hp == 95
    assert [told.state(node).me.location for node in nodes] == [f"place {number}" for number in range(1, 6)]


def test_what_code_can_read_before_an_unread_turn_is_done_at_once(opened: OpenTale) -> None:
    told = opened()
    first = told.add(None, "A wood." + block(location="the wood", location_moved=True))
    second = told.add(first, reach(2))
    assert not told.extractor.work(second)
    assert [told.now(node).status for node in (first, second)] == ["done", "raw"]


def test_turns_that_a_client_told_stand_between(opened: OpenTale) -> None:
    told = opened(killed.light)
    first = told.add(None, reach(1))
    given = told.rows.add(told.world.id, first, NewNode("Old.", ("Old answer.",), "Old answer.", "given"))
    last = told.add(given, "Ouch." + block(hp_change=-10))
    assert not told.extractor.work(last)
    told.extractor.submit(last)
    told.idle()
    assert [told.now(node).status for node in (first, given, last)] == ["done", "given", "done"]
    assert (told.state(last).me.location, told.state(last).me.hp) == ("place 1", 89)


def test_swipes_have_states_of_their_own(opened: OpenTale) -> None:
    told = opened()
    first = told.say(None, "A wood.", location="the wood", location_moved=True)
    hurt = told.say(first, "A wolf bites you.", hp_change=-30)
    whole = told.say(first, "The wolf runs away.", mood="calm")
    on = told.say(hurt, "You limp.", hp_change=-1)
    assert [told.state(node).me.hp for node in (first, hurt, whole, on)] == [100, 70, 100, 69]


def test_a_long_line_is_read_from_snapshots(opened: OpenTale) -> None:
    told = opened()
    node: StoryNode | None = None
    longest = 0
    for number in range(1, 60):
        node = told.say(node, f"Ouch, {number}.", hp_change=-1)
        longest = max(longest, len(told.rows.stored_state(node).changes))
    assert node is not None
    assert longest <= 16
    assert told.state(node).me.hp == 41


def test_another_world_goes_on_while_one_is_busy_elsewhere(opened: OpenTale) -> None:
    told = opened(killed.light)
    other = told.rows.create("Other", "en", "Aria")
    lock = session_lock(told.store.engine, told.settings.data_dir)
    with lock.hold(f"world:{told.world.id}"):  # before the turns are there: the start looks for raw ones
        here, there = told.add(None, reach(1)), told.add(None, reach(2), world=other)
        for node in (here, there):
            told.extractor.submit(node)
        assert told.extractor.wait(there, SECONDS) == 0
        assert told.now(here).status == "raw"
    assert told.extractor.wait(here, SECONDS) == 0
    told.idle()
    assert asked(told) == [2, 1]


def test_a_deleted_world_stops_nothing(opened: OpenTale) -> None:
    gate = threading.Event()
    told = opened(ScriptedModel(killed.light, gate=gate))
    other = told.rows.create("Other", "en", "Aria")
    here, gone = told.add(None, reach(1)), told.add(None, reach(2), world=other)
    told.extractor.submit(here)
    told.extractor.submit(gone)
    told.rows.delete(other.id)
    gate.set()
    told.idle()
    assert told.now(here).status == "done"


@pytest.mark.parametrize("of", ["story", "world"])
def test_files_that_are_written_while_their_story_is_deleted_go_too(
    opened: OpenTale, of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = opened()
    folder, write = told.settings.data_dir / "world" / told.world.id, told.files.write_story

    def delete_and_write(world: str, story: str, text: str) -> None:
        if of == "world":
            told.rows.delete(world)
            told.files.remove_all(world)
        else:
            told.store.delete_session(story)
            told.files.remove_all(world, story)
        write(world, story, text)

    monkeypatch.setattr(told.files, "write_story", delete_and_write)
    told.extractor.work(told.add(None, "Trees." + block(location="the wood")))
    told.idle()
    assert len(told.rows.all()) == (of == "story")
    assert not [*folder.glob("**/*.md")]
    assert folder.exists() == (of == "story")


def test_a_deleted_story_leaves_the_work_of_the_other_stories_of_its_world(opened: OpenTale) -> None:
    gate = threading.Event()
    told = opened(ScriptedModel(killed.light, gate=gate))
    held = told.rows.create("Held", "en", "Aria")
    told.extractor.submit(told.add(None, reach(1), world=held))  # until the gate opens, the worker is here
    gone = told.add(None, reach(2), question="One story?")
    kept = told.add(None, reach(3), question="Another story?")
    assert gone.session != kept.session
    told.extractor.submit(gone)
    told.extractor.submit(kept)
    told.store.delete_session(gone.session)
    gate.set()
    told.idle()
    assert told.now(kept).status == "done"


def test_nothing_is_held_of_stories_that_are_worked_off(opened: OpenTale, monkeypatch: pytest.MonkeyPatch) -> None:
    told = opened(killed.light)
    curated: list[int] = []
    monkeypatch.setattr(extract, "curate_story_line", lambda rows, world, node, *_: curated.append(node.turn))
    # a curator that has looked leaves a note of it, which this one does not
    monkeypatch.setattr(extract, "is_curation_due", lambda rows, node: not curated and is_curation_due(rows, node))
    for number in range(5):
        world = told.rows.create(f"World {number}", "en", "Aria")
        told.extractor.submit(told.add(None, reach(1), world=world))
    node = None
    for number in range(EVERY):
        node = told.say(node, f"You reach place {number}.", location=f"place {number}", location_moved=True)
    told.idle()
    assert curated == [EVERY]
    held = told.extractor
    assert not any((held._raw, held._newest, held._books, held._curated, held._ahead))


# --- starts and ends ----------------------------------------------------------------------------


def test_what_an_earlier_process_left_is_picked_up(opened: OpenTale) -> None:
    told = opened(killed.light, open_it=False)
    first = told.add(None, reach(1))
    second = told.add(first, reach(2))
    third = told.add(second, "A wood." + block(location="the wood", location_moved=True))
    told.open()
    assert told.extractor.wait(third, SECONDS) == 0
    told.idle()
    assert asked(told) == [1, 2]
    assert told.state(third).me.location == "the wood"


def test_no_vector_is_written_once_the_engine_is_closed(opened: OpenTale, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "CLOSE_SECONDS", 0.0)
    told = opened()
    begun, gate, passages = threading.Event(), threading.Event(), told.embedder.passages

    def wait_and_embed(texts: Sequence[str]) -> Vectors:
        begun.set()
        assert gate.wait(SECONDS)
        return passages(texts)

    monkeypatch.setattr(told.embedder, "passages", wait_and_embed)
    told.rows.put_lore(told.world.id, [LoreEntry(0, "Krug", "A king.")])
    told.extractor.learn(told.world.id)
    assert begun.wait(SECONDS)
    told.extractor.close()
    gate.set()
    worker = told.extractor._queue._thread
    assert worker is not None
    worker.join(SECONDS)
    assert not worker.is_alive()
    assert told.rows.vectors(told.world.id, "lore", "letters") == []


def test_closing_ends_at_once_and_loses_nothing(opened: OpenTale) -> None:
    gate = threading.Event()
    told = opened(ScriptedModel(killed.light, gate=gate))
    first = told.add(None, reach(1))
    second = told.add(first, reach(2))
    told.extractor.submit(second)
    while not told.models.utility.calls:  # type: ignore[attr-defined]
        pass
    told.extractor.close()
    assert [told.now(node).status for node in (first, second)] == ["raw", "raw"]
    again = opened(killed.light)
    assert again.extractor.wait(second, SECONDS) == 0
    assert again.state(second).me.hp == 98


def test_a_call_gives_way_to_a_turn_where_one_model_serves_everything(opened: OpenTale) -> None:
    from dataclasses import replace

    gate = threading.Event()
    told = opened(ScriptedModel(killed.light, gate=gate))
    told.extractor._queue._pause = 0.0
    raw = told.add(None, reach(1))
    told.extractor.submit(raw)

    def called(times: int) -> None:
        while len(told.light_calls) < times:
            pass

    called(1)
    told.extractor.give_way()  # a model of its own: nothing happens
    assert len(told.light_calls) == 1
    told.models = replace(told.models, kind="embedded")
    told.extractor.give_way()
    called(2)
    gate.set()
    assert told.extractor.wait(raw, SECONDS) == 0
    assert told.now(raw).origin == "light"


# --- what follows -------------------------------------------------------------------------------


def test_files_tell_the_newest_turn_of_their_story(opened: OpenTale) -> None:
    told = opened()
    first = told.say(None, "A wood.", location="the wood", location_moved=True)
    told.idle()
    second = told.say(first, "A cave.", location="the cave", location_moved=True)
    told.idle()
    live = told.files.live(told.world.id, first.session)
    assert live is not None
    assert (live.turn, live.node) == (2, second.id)
    assert "the cave" in live.body
    text = told.files.read(told.world.id, "story.md", first.session).body
    assert text.splitlines()[0].startswith("Turn 1 | the wood")
    told.extractor.take_in_edit(first)
    told.idle()
    assert told.files.live(told.world.id, first.session).node == second.id  # type: ignore[union-attr]
    other = told.say(None, "A hill.", "Another story?", location="the hill", location_moved=True)
    told.idle()
    lives = [told.files.live(told.world.id, one.session) for one in (first, other)]
    assert [live and (live.turn, live.node) for live in lives] == [(2, second.id), (1, other.id)]


def test_episodes_get_vectors_and_missing_ones_are_made_up_for(opened: OpenTale) -> None:
    told = opened()
    told.extractor._behind._vectors = lambda *_: None  # type: ignore[method-assign]
    first = told.say(None, "A wood.", "Where does the path lead?", location="the wood", location_moved=True)
    told.idle()
    assert told.rows.vectors(told.world.id, "episode", "letters") == []
    told.extractor.close()
    told.open()
    second = told.say(first, "A cave.", location="the cave", location_moved=True)
    told.idle()
    assert [row[:2] for row in told.rows.vectors(told.world.id, "episode", "letters")] == [
        (first.id, 1),
        (second.id, 2),
    ]
    assert any("the wood" in text and "Where does the path lead?" in text for text in told.embedder.made)


def test_lorebook_entries_get_vectors_behind_an_answer(opened: OpenTale) -> None:
    told = opened()
    told.rows.put_lore(told.world.id, [LoreEntry(0, f"tale {number}", "about it") for number in range(100)])
    told.say(None, "A wood.", location="the wood", location_moved=True)
    told.idle()
    assert len(told.rows.vectors(told.world.id, "lore", "letters")) == 100


def kill_vane(told: Tale) -> StoryNode:
    first = told.say(None, "Captain Vane stands there.", npc_met=["Captain Vane"], location="the mill")
    return told.say(first, "Captain Vane falls dead.", npc_died=["Captain Vane"], location="the mill")


def test_contradictions_are_findings_at_once_and_once(opened: OpenTale) -> None:
    told = opened()
    dead = kill_vane(told)
    node = told.say(dead, 'Captain Vane gets up. "Not yet," says Captain Vane.', npc_met=["Captain Vane"])
    (finding,) = told.rows.findings(node)
    assert (finding.kind, finding.subject, finding.turn, finding.status) == ("dead_talks", "Captain Vane", 3, "open")
    again = told.say(node, '"Still here," says Captain Vane.', npc_met=["Captain Vane"])
    assert len(told.rows.findings(again)) == 1


def test_what_the_user_called_intended_is_not_found_again(opened: OpenTale) -> None:
    told = opened()
    dead = kill_vane(told)
    node = told.say(dead, '"Not yet," says Captain Vane.', npc_met=["Captain Vane"])
    (finding,) = told.rows.findings(node)
    told.rows.set_finding(finding.id, "dismissed")
    for _ in range(20):
        node = told.say(node, '"Still here," says Captain Vane.', npc_met=["Captain Vane"])
    told.idle()
    assert [one.status for one in told.rows.findings(node)] == ["dismissed"]


# --- killed -------------------------------------------------------------------------------------

PLACES = ("before_settle", "after_settle", "before_vector", "in_call")


@table("place", PLACES)
def test_two_processes_and_kills_settle_every_turn_once_in_order(opened: OpenTale, tmp_path: Path, place: str) -> None:
    told = opened(killed.light, open_it=False)
    nodes: list[StoryNode] = []
    for number in range(1, 13):
        text = (
            reach(number)
            if number % 3
            else reach(number) + block(location=f"place {number}", location_moved=True, hp_change=-1)
        )
        nodes.append(told.add(nodes[-1] if nodes else None, text))
    for times in (1, 3):
        workers = [start(killed.main, str(tmp_path), place, times) for _ in range(2)]
        for worker in workers:
            assert end(worker, SECONDS) in (0, -signal.SIGKILL)
        done: list[str] = [told.now(node).status for node in nodes]
        assert done == sorted(done), "a turn was worked off before its ancestor"
    killed.main(str(tmp_path), "nowhere", 1)
    assert [int(line) for line in (tmp_path / "settled").read_text().split()] == [node.id for node in nodes]
    told.open()
    assert [told.now(node).status for node in nodes] == ["done"] * 12
    assert [told.now(node).origin for node in nodes] == ["block" if n % 3 == 0 else "light" for n in range(1, 13)]
    assert [told.state(node).me.hp for node in nodes] == [100 - number for number in range(1, 13)]
    assert [told.state(node).me.location for node in nodes] == [f"place {number}" for number in range(1, 13)]
    follower = told.say(nodes[-1], "Rest.", hp_change=1)
    told.idle()
    refs = [ref for ref, _, _ in told.rows.vectors(told.world.id, "episode", "letters")]
    assert refs == [node.id for node in (*nodes, follower)]


def test_the_harness_reaches_the_end_when_nothing_kills_it(opened: OpenTale, tmp_path: Path) -> None:
    told = opened(killed.light, open_it=False)
    node = told.add(None, reach(1))
    assert end(start(killed.main, str(tmp_path), "nowhere", 1), SECONDS) == 0
    assert told.now(node).status == "done"


def test_a_hundred_lines_at_once(opened: OpenTale) -> None:
    told = opened(killed.light)
    root = told.say(None, "A wood.", location="the wood", location_moved=True)
    nodes = [told.add(root, reach(number)) for number in range(1, 101)]
    threads = [threading.Thread(target=told.extractor.submit, args=(node,)) for node in nodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told.idle()
    assert sorted(asked(told)) == list(range(1, 101))
    assert [told.state(node).me.location for node in nodes] == [f"place {number}" for number in range(1, 101)]
