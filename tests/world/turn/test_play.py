"""Stories on the page: the engine without a client, on a scripted model and a real database."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from sqlalchemy import func, select

import errors
from model import scripted
from model.call.stream import Stopped
from model.profile import SMALL, STRONG
from prompt import render_prompt
from settings import load_settings
from store import Finished, Store
from store.database import schema
from store.database import world_table as table
from store.session.options import AnswerOptions
from store.world.record import LoreEntry, StoryNode
from tests.stub import reply
from tests.stub.upstream import Upstream
from world.beginning import remove_story_world
from world.engine import WorldEngine
from world.lore.rule import Rule
from world.turn.play import STEP, build_prompt_beginning, find_circle_start, last_sentence, preview_message

BLOCK = "\n\n```state\nlocation: {}\n```"


class Played:
    """A story on the page."""

    def __init__(self, folder: Path, answer: Any, **settings: Any) -> None:
        self.model = scripted.ScriptedModel(answer)
        models = scripted.build_scripted_models(self.model, lambda _: "{}")
        self.settings = load_settings(data_dir=folder, **settings)
        self.store = Store(self.settings.database)
        self.engine = WorldEngine.open(self.settings, self.store, lambda: models)
        self.world = self.store.worlds.create("숲", "ko", "아리아")
        self.stop = threading.Event()
        self.pieces: list[str] = []

    def play(self, parent: StoryNode | None, question: str) -> StoryNode:
        self.pieces.clear()
        return self.engine.play(self.world.id, parent, question, self.stop, self.pieces.append)

    def sent(self) -> list[tuple[str, str]]:
        return [(message.type, str(message.content)) for message in self.model.calls[-1]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def story(folder: Path) -> Iterator[Played]:
    numbers = iter(range(1, 1000))
    played = Played(folder, lambda _: f"장면 {(n := next(numbers))}." + BLOCK.format(f"곳{n}"))
    yield played
    played.engine.close()
    played.store.close()


def test_the_player_sees_the_story_and_not_its_block(story: Played) -> None:
    first = story.play(None, "시작")
    assert ("".join(story.pieces), first.answer, first.turn) == ("장면 1.", "장면 1.", 1)
    assert "```state" in first.raw
    second = story.play(first, "숲으로")
    assert (second.turn, second.parent) == (2, first.id)
    sent = story.sent()
    assert [kind for kind, _ in sent] == ["system", "system", "human", "ai", "system", "human"]
    assert [text for _, text in sent[2:4]] == ["시작", "장면 1."]
    assert "위치: 곳1" in sent[4][1]


def test_going_back_leads_to_the_state_that_was(story: Played) -> None:
    first = story.play(None, "시작")
    story.play(first, "숲으로")
    other = story.play(first, "강으로")
    assert "위치: 곳1" in story.sent()[4][1]
    again = story.play(first, "숲으로")
    assert {other.turn, again.turn} == {2}
    assert len(story.store.worlds.children(story.world.id, first.id)) == 3


def test_a_long_story_is_sent_from_a_step_on(folder: Path) -> None:
    played = Played(folder, lambda _: "긴 장면이 이어진다. " * 20, world_budget_history=3000)
    node, firsts = None, list[str]()
    for at in range(1, 31):
        node = played.play(node, f"말 {at}")
        firsts.append(next(text for kind, text in played.sent() if kind == "human"))
    # the newest call may be the curator's, which looks the story over meanwhile
    moves = list(dict.fromkeys(first for first in firsts if first.startswith("말 ")))
    assert moves[0] == "말 1"
    assert len(moves) <= 1 + 30 // STEP
    played.engine.close()
    played.store.close()


def test_what_happened_is_told_of_the_turns_alone_that_are_not_sent(folder: Path) -> None:
    scene = "긴 장면이 이어진다. " * 20 + BLOCK.format("숲")
    played = Played(folder, lambda _: scene, world_budget_history=1500)
    node, told = None, dict[int, list[int]]()
    for at in range(1, 21):
        node = played.play(node, f"말 {at}")
        sent = played.sent()
        block = next(text for kind, text in reversed(sent) if kind == "system")
        told[at] = [int(turn) for turn in re.findall(r"^Turn (\d+) ", block, re.MULTILINE)]
        first = int(next(text for kind, text in sent if kind == "human" and text.startswith("말 ")).split()[1])
        assert all(turn < first for turn in told[at])
        assert bool(told[at]) == (first > 1)
        played.engine.idle(60)
    assert not told[2]
    assert told[20]
    assert node is not None
    assert node.receipt is not None
    turns = [turn for label, _, turn in node.receipt["parts"]["last"] if label == "history"]
    assert (turns[0], turns[-1]) == (first, 19)
    played.engine.close()
    played.store.close()


def test_another_users_world_does_not_exist(story: Played) -> None:
    other = story.engine.of("bob")
    with pytest.raises(errors.WorldUnknown):
        other.play(story.world.id, None, "시작", story.stop, lambda _: None)
    assert story.model.calls == []


def test_a_stop_keeps_what_was_shown(folder: Path) -> None:
    gate = threading.Event()
    played = Played(folder, lambda _: "")
    played.model = scripted.ScriptedModel(lambda _: "하나 둘 셋 넷", gate=gate)
    models = scripted.build_scripted_models(played.model, lambda _: "{}")
    played.engine.models = lambda: models

    def hear(_: str) -> None:
        played.stop.set()

    node = played.engine.play(played.world.id, None, "시작", played.stop, hear)
    assert node.answer == "하나"
    played.stop.set()
    with pytest.raises(Stopped):
        played.play(node, "더")
    played.engine.close()
    played.store.close()


def test_an_error_of_the_models_server_is_one_of_ours(folder: Path) -> None:
    from model.choice.resolve import resolve_models

    with Upstream(reply.failed(429, "slow_down", retry_after="3"), reply.failed(401, "invalid_api_key")) as upstream:
        played = Played(folder, (), openai_base_url=upstream.url, openai_api_key="none", chat_model="stub-model")
        real = resolve_models(played.settings)
        played.engine.models = lambda: real
        with pytest.raises(errors.ModelPaused):
            played.play(None, "시작")
        with pytest.raises(errors.KeyRejected):
            played.play(None, "시작")
        assert played.store.worlds.children(played.world.id, 0) == []
        played.engine.close()
        played.store.close()


def test_a_story_has_its_own_system_prompt_temperature_and_longest_answer(folder: Path) -> None:
    from model.choice.resolve import resolve_models

    with Upstream(always=reply.said("장면.")) as upstream:
        played = Played(folder, (), openai_base_url=upstream.url, openai_api_key="none", chat_model="stub-model")
        real = resolve_models(played.settings)
        played.engine.models = lambda: real
        first = played.play(None, "시작")
        played.store.options.set(first.session, AnswerOptions("너는 늙은 뱃사공이다.", 0.3, 700))
        played.play(first, "숲으로")
        played.play(None, "다른 시작")  # another story of the world
        assert played.engine.idle(60)
        bodies = [sent.body for sent in upstream.requests if sent.body.get("stream")]
        systems = [[one["content"] for one in body["messages"] if one["role"] == "system"] for body in bodies]
        mine = ["너는 늙은 뱃사공이다." in texts[0] for texts in systems]
        assert mine == [False, True, False]
        role = render_prompt("world_play", "ko")
        assert [role in "".join(texts) for texts in systems] == [True, False, True]
        assert [(body.get("temperature"), body.get("max_tokens")) for body in bodies][1] == (0.3, 700)
        assert all(body.get("temperature") != 0.3 for body in (bodies[0], bodies[2]))
        beginning = build_prompt_beginning(played.engine, played.world.id, first)
        assert beginning is not None
        assert "너는 늙은 뱃사공이다." in "".join(str(one.content) for one in beginning)
        played.engine.close()
        played.store.close()


def test_a_scene_ends_where_it_goes_round_in_circles() -> None:
    lines = [
        '"네, 나루터에서 벌어가자. 불씨가 없다면." 도윤은 걸어간다.',
        '"네, 나루터에서 벌어가자. 불씨가 없는면." 도윤은 걸어간다.',
    ]
    begun = f"당신은 탑으로 간다.\n\n{lines[0]}\n\n{lines[1]}\n\n"
    assert find_circle_start(begun) is None
    at = find_circle_start(f'{begun}"네, 나루터에서 벌어가자.')
    assert at is not None
    assert begun[:at].rstrip().endswith(lines[0])
    assert find_circle_start("- 검\n- 방패\n- 활") is None
    assert find_circle_start("") is None


CUT = '도윤이 노를 젓는다. "탑으로 가죠." 그가 말한다.\n\n안개 속에서 종소리가'


def test_a_scene_that_is_cut_off_ends_with_its_last_whole_sentence(folder: Path) -> None:
    cut = AIMessage(CUT, response_metadata={"finish_reason": "length"})
    for profile, kept in ((SMALL, CUT[: CUT.index("\n")]), (STRONG, CUT)):
        played = Played(folder / profile.name, lambda _: cut)
        models = scripted.build_scripted_models(played.model, lambda _: "{}", profile=profile)
        played.engine.models = lambda models=models: models  # type: ignore[misc]
        node = played.play(None, "시작")
        assert node.answer == kept
        played.engine.close()
        played.store.close()


def test_where_the_last_whole_sentence_ends() -> None:
    assert last_sentence("One. Two is") == 4
    assert last_sentence("하나다. 둘이다.") is None
    assert last_sentence("A first sentence without") is None
    assert last_sentence("") is None


def test_a_scene_ends_where_lines_take_turns() -> None:
    one, other = "도윤은 천천히 다리를 건넌다, 바람이 분다.", '"조심하세요, 아리아." 하고 그가 말한다.'
    begun = f"당신은 탑으로 간다.\n{one}\n{other}\n"
    assert find_circle_start(f"{begun}{one}") is None
    at = find_circle_start(f"{begun}{one}\n{other[:12]}")
    assert at is not None
    assert begun == f"{begun}{one}\n{other}"[:at]
    assert find_circle_start("네.\n아니요.\n네.\n아니요.\n") is None


def test_an_answer_that_is_stored_stays_whatever_fails_behind_it(story: Played) -> None:
    with story.store.transaction() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER full BEFORE UPDATE OF status ON world_node BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    first = story.play(None, "시작")
    second = story.play(first, "숲으로")  # nor does the next turn wait for it
    assert [story.store.worlds.node(node.id).status for node in (first, second)] == ["raw", "raw"]
    with story.store.transaction() as connection:
        connection.exec_driver_sql("DROP TRIGGER full")
    story.engine.work_off(second)
    assert story.engine.state(second).me.location == "곳2"


@pytest.mark.parametrize("of", ["story", "world"])
def test_a_story_that_is_removed_while_its_answer_arrives_leaves_nothing(story: Played, of: str) -> None:
    first = story.play(None, "시작")
    place = story.store.begin_turn(first.session, "숲으로")
    assert story.engine.idle(60)

    def remove(_: str) -> None:
        if of == "world" and story.store.worlds.all():
            remove_story_world(story.engine, story.world)
        elif of == "story" and story.store.worlds.stories(story.world.id):
            story.store.delete_session(first.session)

    with pytest.raises(errors.WorldUnknown):
        story.engine.play(story.world.id, first, "숲으로", story.stop, remove, place)
    assert story.engine.idle(60)
    with story.store.transaction() as connection:
        for rows in (schema.turn, schema.session, *table.BY_NODE, table.node):
            assert connection.execute(select(func.count()).select_from(rows)).scalar() == 0, rows.name
    assert [*(story.settings.data_dir / "world").iterdir()] == [] or of == "story"


def test_a_failed_turn_between_has_a_number_and_is_not_told(story: Played) -> None:
    first = story.play(None, "시작")
    second = story.play(first, "숲으로")
    session = second.session
    failed = story.store.begin_turn(session, "강으로")
    story.store.finish_turn(session, failed.number, Finished("failed", None))
    place = story.store.begin_turn(session, "산으로")
    assert place.number == 4
    node = story.engine.play(story.world.id, second, "산으로", story.stop, story.pieces.append, place)
    assert (node.turn, node.parent) == (4, second.id)
    rows = (node.receipt or {})["parts"]["last"]
    assert [turn for label, _, turn in rows if label == "history"] == [1, 1, 2, 2]


def test_a_message_is_tried_before_it_is_played(story: Played) -> None:
    """Which entries would fire, and why the others would not; nothing is stored, and no model is asked."""
    rows = story.store.worlds
    named, other = rows.put_lore(
        story.world.id,
        [
            LoreEntry(0, "등불 탑", "돌로 된 탑", keys=("등불",), rule=Rule().plain),
            LoreEntry(0, "어둠의 숲", "위험한 숲", keys=("숲",), rule=Rule(chance=0).plain),
        ],
    )
    first = story.play(None, "시작")
    asked = len(story.model.calls)
    report = preview_message(story.engine, story.world.id, first, "등불을 켜고 숲으로 간다")["lore"]
    assert [(row["id"], row["reason"]) for row in report["out"]] == [(other.id, "rule")]
    assert [row["keyword"] for row in report["in"]] == [named.keyword]
    assert preview_message(story.engine, story.world.id, first, "잔다")["lore"]["in"] == []
    assert len(story.model.calls) == asked
    assert rows.children(story.world.id, first.id) == []
