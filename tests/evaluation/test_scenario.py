"""The scenarios that come with Gieok, and what a mistake in one says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from errors import BadScenario, BadTextFile, UnknownChoice
from evaluation import scenario
from evaluation.play import play_scenario
from evaluation.probe import compute_recall, count_leaks, is_value_held, probe_context, stale_share
from evaluation.scenario import (
    Expectations,
    RecordedTurn,
    Scenario,
    find_scenarios,
    list_scenario_names,
    load_scenario,
    parse_scenario,
)
from model import scripted
from model.profile import SMALL
from tests.table import table

KINDS = {
    "continuous",
    "topic_change",
    "update",
    "names",
    "dates",
    "table",
    "tools",
    "contradiction",
    "quote",
    "code",
    "reference",
    "two_users",
}
SPECIFIED = {
    ("continuous_ko", 1): "AWS 비용이 1.2억이에요",
    ("continuous_ko", 2): "예산은 1억이에요",
    ("continuous_ko", 3): "RI 커버리지는 60%예요",
    ("continuous_ko", 10): "아까 말한 예산 초과 상황 다시 설명해줘",
    ("topic_change_ko", 1): "AWS 비용이 1.2억이에요",
    ("topic_change_ko", 11): "처음에 말한 AWS 비용이 얼마였지?",
    ("update_ko", 1): "예산이 1억이에요",
    ("update_ko", 5): "예산이 1.5억으로 늘었어요",
    ("update_ko", 10): "현재 예산이 얼마야?",
    ("continuous_en", 1): "AWS costs us 120,000 dollars",
    ("continuous_en", 2): "Our budget is 100,000 dollars",
    ("continuous_en", 3): "Our RI coverage is 60%",
    ("continuous_en", 10): "Explain the budget overrun I mentioned earlier again",
    ("topic_change_en", 1): "AWS costs us 120,000 dollars",
    ("topic_change_en", 11): "How much was the AWS cost that I mentioned at the beginning?",
    ("update_en", 1): "Our budget is 100,000 dollars",
    ("update_en", 5): "The budget went up to 150,000 dollars",
    ("update_en", 10): "What is our budget now?",
}
GOOD = """\
language: en
kind: shop
about: A shop changes its rent.
turns:
  - user: The rent is 900 pounds.
    answer: Noted.
  - user: Now it is 950 pounds.
    answer: |-
      That is
      a bit more.
    tools:
      - {name: look_up, arguments: {of: rent}, result: 950 pounds}
query:
  turn: 3
  text: What is the rent?
expect:
  current:
    - {value: 950 pounds, old: [900 pounds]}
"""


@pytest.fixture(scope="module")
def shipped() -> dict[str, Scenario]:
    return {item.name: item for item in find_scenarios([])}


def told(turns: tuple[RecordedTurn, ...]) -> str:
    """What the user said and what tools returned."""
    return "\n".join(text for turn in turns for text in (turn.user, *(call.result for call in turn.tools)))


def values(expect: Expectations) -> Iterator[str]:
    """All values and names that the recording must hold."""
    yield from expect.present
    for item in expect.current:
        yield from (item.value, *item.old)
    for named in expect.under:
        yield named.value


def written(folder: Path, text: str | bytes, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def replaced(before: str, after: str) -> str:
    assert GOOD.count(before) == 1
    return GOOD.replace(before, after)


def test_both_languages_have_every_kind(shipped: dict[str, Scenario]) -> None:
    assert set(shipped) == {f"{kind}_{language}" for kind in KINDS for language in ("ko", "en")}
    assert all(name == f"{item.kind}_{item.language}" for name, item in shipped.items())


def test_every_scenario_has_ten_to_twenty_turns_and_asks_for_three_values_or_more(shipped: dict[str, Scenario]) -> None:
    assert {name for name, item in shipped.items() if not 10 <= item.query.turn <= 20} == set()
    assert {name for name, item in shipped.items() if len(probe_context(item.expect, [])) < 3} == set()


def test_the_scenarios_of_the_specification_have_its_lines_at_their_turns(shipped: dict[str, Scenario]) -> None:
    for (name, turn), line in SPECIFIED.items():
        item = shipped[name]
        text = item.query.text if turn == item.query.turn else item.turns[turn - 1].user
        assert (name, turn, text) == (name, turn, line)
    for name in ("update_ko", "update_en"):
        (budget,) = shipped[name].expect.current
        assert (budget.value, budget.old) in (("1.5억", ("1억",)), ("150,000 dollars", ("100,000 dollars",)))


def test_expected_values_were_told_and_absent_ones_were_not(shipped: dict[str, Scenario]) -> None:
    untold = [
        (name, value)
        for name, item in shipped.items()
        for value in values(item.expect)
        if not is_value_held(told(item.turns), value)
    ]
    assert untold == []
    foreign = "\n".join(told(other.turns) for item in shipped.values() for other in item.others)
    for name, item in shipped.items():
        everything = "\n".join((told(item.turns), item.query.text, *(turn.answer for turn in item.turns)))
        assert [value for value in item.expect.absent if is_value_held(everything, value)] == [], name
        assert [value for value in item.expect.absent if not is_value_held(foreign, value)] == [], name


def test_the_whole_recording_holds_all_that_is_expected(shipped: dict[str, Scenario]) -> None:
    for name, item in shipped.items():
        probes = probe_context(item.expect, [text for turn in item.turns for text in (told((turn,)), turn.answer)])
        assert [one for one in probes if not one.ok] == [], name


def test_kinds_have_what_they_are_about(shipped: dict[str, Scenario]) -> None:
    for language in ("ko", "en"):
        assert all(turn.at for turn in shipped[f"dates_{language}"].turns)
        assert shipped[f"dates_{language}"].query.at
        assert sum(bool(turn.tools) for turn in shipped[f"tools_{language}"].turns) >= 5
        assert max(len(turn.user) for turn in shipped[f"quote_{language}"].turns) > 700
        assert shipped[f"two_users_{language}"].others
        assert shipped[f"two_users_{language}"].expect.absent
        assert len(shipped[f"contradiction_{language}"].expect.current) >= 2


def test_a_scenario_is_played_to_its_end_and_another_persons_values_stay_away(shipped: dict[str, Scenario]) -> None:
    item = shipped["two_users_ko"]
    with play_scenario(item, scripted.build_scripted_models(profile=SMALL), 0.3) as play:
        found = {
            form: probe_context(item.expect, play.context(form).lines) for form in ("full", "all", "recursive", "none")
        }
    assert compute_recall(found["full"]) == 1.0
    assert compute_recall(found["none"]) == 0.0
    assert stale_share(found["full"]) is None
    assert {form: count_leaks(probes) for form, probes in found.items()} == dict.fromkeys(found, 0)


def test_scenarios_are_found_by_name_kind_path_and_language(tmp_path: Path) -> None:
    path = str(written(tmp_path, GOOD))
    assert [item.name for item in find_scenarios(["update_ko"])] == ["update_ko"]
    assert [item.name for item in find_scenarios(["update"])] == ["update_en", "update_ko"]
    assert [item.name for item in find_scenarios(["topic_change"], "ko")] == ["topic_change_ko"]
    assert [item.name for item in find_scenarios([path])] == ["mine"]
    assert [item.name for item in find_scenarios([path, "update_ko", "update"])] == ["mine", "update_ko", "update_en"]
    assert [item.name for item in find_scenarios([], "en")] == [
        name for name in list_scenario_names() if name.endswith("_en")
    ]


def test_a_name_that_is_unknown_lists_those_that_exist() -> None:
    with pytest.raises(UnknownChoice) as caught:
        find_scenarios(["update_ko", "updates"])
    assert caught.value.values["value"] == "updates"
    assert all(name in str(caught.value) for name in list_scenario_names())


@table(
    "text, line, field, reason",
    [
        (replaced("language: en", "language: fr"), 1, "language", "'ko' or 'en'"),
        (replaced("about: A shop changes its rent.", "about: 12"), 3, "about", "valid string"),
        (replaced("about: A shop changes its rent.", ""), 1, "about", "required"),
        (replaced("kind: shop", "kind: Two Words"), 2, "kind", "pattern"),
        (replaced("    answer: Noted.\n", ""), 5, "turns.0.answer", "required"),
        (replaced("answer: Noted.", "answer: ''"), 6, "turns.0.answer", "at least 1 character"),
        (replaced("answer: Noted.", "anwser: Noted."), 5, "turns.0.answer", "required"),
        (replaced("answer: Noted.", "answer: Noted.\n    reply: No."), 7, "turns.0.reply", "not permitted"),
        (replaced("answer: Noted.", f"answer: {'a' * 20_001}"), 6, "turns.0.answer", "at most 20000 characters"),
        (replaced("answer: Noted.", "answer: Noted.\n    at: 2025-02-30T10:00:00"), 7, "turns.0.at", "day"),
        (replaced("answer: Noted.", "answer: Noted.\n    tools: 3"), 7, "turns.0.tools", "valid tuple"),
        (replaced("name: look_up", "name: look up"), 12, "turns.1.tools.0.name", "pattern"),
        (replaced("turn: 3", "turn: three"), 14, "query.turn", "valid integer"),
        (replaced("turn: 3", "turn: 1"), 14, "query.turn", "greater than or equal to 2"),
        (replaced("turn: 3", "turn: 10"), 13, "query", "query.turn is 10, but 2 turns stand before it"),
        (
            replaced("  current:\n    - {value: 950 pounds, old: [900 pounds]}", "  absent: []"),
            16,
            "expect",
            "no value",
        ),
        (replaced("old: [900 pounds]", "old: []"), 18, "expect.current.0.old", "at least 1 item"),
        (replaced("value: 950 pounds", "value: 950"), 18, "expect.current.0.value", "valid string"),
        (replaced("kind: shop", "kind: shop\nuser: a b"), 3, "user", "pattern"),
        (GOOD + "others:\n  - user: me\n    turns: []\n", 21, "others.0.turns", "at least 1 item"),
        (GOOD + "others:\n  - {user: me, turns: [{user: a, answer: b}]}\n", 19, "others", "'me' is the user"),
        (replaced("kind: shop", "kind: shop\nkind: house"), 3, "", "'kind' stands twice"),
        (replaced("kind: shop", "kind: [shop"), 3, "", "expected ',' or ']'"),
        (replaced("kind: shop", "\tkind: shop"), 2, "", "cannot start any token"),
        (replaced("kind: shop", "kind: sh\x00op"), 2, "", "not allowed"),
        (replaced("kind: shop", "kind: !!python/name:os.system shop"), 2, "", "could not determine a constructor"),
        (replaced("kind: shop", f"kind: {'9' * 5000}"), 0, "", "digits"),
        (replaced("kind: shop", f"kind: {'[' * 5000}"), 0, "", "nested too deeply"),
        ("- one\n- two\n", 1, "", "no mapping"),
        ("", 1, "", "no mapping"),
        (GOOD + "---\n" + GOOD, 19, "", "another document"),
        ("3: 4\n" + GOOD, 1, "3", "strings"),
    ],
)
def test_a_mistake_names_file_line_and_field(text: str, line: int, field: str, reason: str) -> None:
    with pytest.raises(BadScenario) as caught:
        parse_scenario(text, "mine.yaml")
    found = caught.value.values
    assert (found["file"], found["line"], found["field"]) == ("mine.yaml", line, field)
    assert reason in str(found["reason"])


def test_aliases_are_a_mistake_before_they_fill_the_memory() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    with pytest.raises(BadScenario, match="aliases are not allowed") as caught:
        parse_scenario("\n".join(levels), "bomb.yaml")
    assert caught.value.values["line"] == 2


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(BadTextFile, match=r"absent\.yaml"):
        load_scenario(tmp_path / "absent.yaml")
    with pytest.raises(BadTextFile, match=r"folder\.yaml"):
        load_scenario(tmp_path / "folder.yaml")
    with pytest.raises(BadTextFile, match="UTF-8"):
        load_scenario(written(tmp_path, GOOD.replace("shop", "가게").encode("cp949")))
    monkeypatch.setattr(scenario, "SIZE_LIMIT", 100)
    with pytest.raises(BadScenario, match="more than 100 bytes"):
        load_scenario(written(tmp_path, GOOD))


def test_a_mistake_in_one_file_stops_all(tmp_path: Path) -> None:
    good, bad = written(tmp_path, GOOD), written(tmp_path, replaced("turn: 3", "turn: 4"), "bad.yml")
    with pytest.raises(BadScenario, match=r"bad\.yml"):
        find_scenarios([str(good), str(bad)])


def test_a_good_file_is_read_whole(tmp_path: Path) -> None:
    text = replaced("answer: Noted.", "answer: Noted.\n    at: 2025-03-04T09:10:00")
    item = load_scenario(written(tmp_path, b"\xef\xbb\xbf" + text.encode()))
    assert item.name == "mine"
    assert item.turns[0].at == datetime(2025, 3, 4, 9, 10)
    assert item.turns[1].answer == "That is\na bit more."
    assert item.turns[1].tools[0].arguments == {"of": "rent"}
    assert item.expect.current[0].old == ("900 pounds",)
