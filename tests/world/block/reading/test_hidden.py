"""The reader never sees a state block, however it is written and wherever the stream is cut; prose passes at once."""

from __future__ import annotations

import random
import re
from itertools import product
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.steps import count_lines
from tests.table import table
from world.block import read_answer_blocks
from world.block.reading.hidden import WINDOW, HiddenBlock, read_whole_answer

BLOCK = """location: 어둠의 숲
location_moved: true
hp_change: -15
items_gained: [불꽃 검]
npc_met: [고블린왕 크룩]
relationship_changes: [{from: 아리아, to: 크룩, type: hostile, delta: -2}]
mood: tense"""
JSON = '{"location": "어둠의 숲", "hp_change": -15, "items_gained": ["불꽃 검"], "mood": "tense"}'
KOREAN = """위치: 어둠의 숲
위치 이동: 예
HP 변화: -15
획득 아이템:
- 불꽃 검
만난 NPC: 고블린왕 크룩
분위기: 긴장"""
FORMS = {
    "fence": f"```state\n{BLOCK}\n```",
    "fence, more text": f"```state\n{BLOCK}\n```\n\n계속할까요?",
    "yaml": f"```yaml\n{BLOCK}\n```\n",
    "json": f"```json\n{JSON}\n```",
    "json, many lines": '```json\n{\n  "location": "어둠의 숲",\n  "hp_change": -15\n}\n```',
    "unnamed fence": f"```\n{BLOCK}\n```",
    "tildes": f"~~~state\n{BLOCK}\n~~~",
    "tag": f"<state>\n{BLOCK}\n</state>",
    "square tag": f"[state]\n{BLOCK}\n[/state]",
    "bare json": JSON,
    "no fence": BLOCK,
    "Korean names": KOREAN,
    "Korean names in a fence": f"```상태\n{KOREAN}\n```",
    "never closed": f"```state\n{BLOCK}",
    "bold names": "**location**: 어둠의 숲\n**hp_change**: -15\n**mood**: tense",
    "closing fence only": f"{BLOCK}\n```",
    "indented fence": f"  ```state\n{BLOCK}\n  ```",
    "bold title": f"**State Block**\n```state\n{BLOCK}\n```",
    "title and rule": f"---\n### 상태 블록:\n\n{BLOCK}",
    "field on the fence": f"```state {BLOCK}\n```",
    "name inside": "```yaml\nstate:\n  location: 어둠의 숲\n  hp_change: -15\n```",
    "comment inside": f"```yaml\n# state\n{BLOCK}\n```",
    "other name of the fence": f"```state-block\n{BLOCK}\n```",
    "folded": f"<details>\n<summary>State</summary>\n\n```state\n{BLOCK}\n```\n</details>",
    "HTML comment": f"<!-- state\n{BLOCK}\n-->",
    "wide colons": BLOCK.replace(": ", "："),
    "line ends of Windows": f"```state\n{BLOCK}\n```".replace("\n", "\r\n"),
    "no fence, line ends of Windows": BLOCK.replace("\n", "\r\n"),
    "pictures": "📍 location: 어둠의 숲\n❤️ hp_change: -15\n😊 mood: tense",
    "pictures in a fence": "```\n📍 위치: 어둠의 숲\n❤️ HP 변화: -15\n```",
    "list": "- location: 어둠의 숲\n- hp_change: -15",
    "numbers": "1. location: 어둠의 숲\n2. hp_change: -15\n3. mood: tense",
    "quoted fence": "> ```state\n> location: 어둠의 숲\n> hp_change: -15\n> ```",
    "no fence, more text": f"{BLOCK}\n\n계속할까요?",
    "blanks after a tag": f"<state>\n{BLOCK}\n</state> \n",
    "two": "```state\nlocation: 어둠의 숲\n```\n그리고.\n```state\nhp_change: -15\nmood: tense\n```",
}
PROSE = "숲이 어둡다. 당신은 걸음을 멈춘다.\n\n「누구냐!」 고블린이 외친다.\n"


def shown(pieces: list[str]) -> str:
    hidden = HiddenBlock()
    out = "".join(map(hidden.feed, pieces)) + hidden.end()
    assert hidden.raw == "".join(pieces)
    assert hidden.visible_text == out
    return out


def cut(text: str, seed: int) -> list[str]:
    chance, pieces = random.Random(seed), list[str]()
    while text:
        size = chance.choice((1, 1, 2, 3, 5, 8, 30))
        pieces.append(text[:size])
        text = text[size:]
    return pieces


@table("form", FORMS)
def test_no_form_of_a_block_is_seen_and_every_one_is_read(form: str) -> None:
    raw = f"{PROSE}\n{FORMS[form]}"
    out = shown([raw])
    assert out.startswith(PROSE)
    for word in ("hp_change", "location", "위치", "```", "~~~", "<state", "[state", "HP 변화"):
        assert word not in out, (word, out)
    fields = {name: value for block in read_answer_blocks(raw) for name, value in block.items()}
    assert fields["location"] == "어둠의 숲"
    assert fields["hp_change"] == -15


@table("form", FORMS)
def test_the_cuts_of_the_stream_change_nothing(form: str) -> None:
    raw = f"{PROSE}\n{FORMS[form]}"
    wanted = shown([raw])
    for seed in range(30):
        assert shown(cut(raw, seed)) == wanted, seed
    assert shown(list(raw)) == wanted


def test_a_block_that_begins_the_answer_is_hidden() -> None:
    for block in (FORMS["fence"], BLOCK):
        assert shown(list(f"{block}\n\n{PROSE}")).strip() == PROSE.strip()


def test_fields_on_one_line_are_hidden_and_left_to_the_light_call() -> None:
    raw = f"{PROSE}```state location: 어둠의 숲, hp_change: -15```"
    assert shown(list(raw)) == PROSE
    assert read_answer_blocks(raw) == []


def test_text_after_a_block_is_shown() -> None:
    assert shown(list(f"{PROSE}```state\n{BLOCK}\n```\n\n계속할까요?")).endswith("계속할까요?")
    assert shown([f"{PROSE}```state\n{BLOCK}\n\n계속할까요?"]).endswith("계속할까요?")


@table(
    "text",
    [
        "```python\nlocation = 1\nprint('{')\n```\n끝.",
        "```\nplain code\n```",
        "위치: 그는 지도를 가리켰다. 그리고 말했다.\n그러자 문이 열렸다.",
        "Location: the old mill.\nShe looked around, and the mill was empty.",
        "Mood: one line is no block",
        "{curly} and [square] and <angle>",
        '{"name": "no field", "x": 1}',
        "[상처] 그가 신음했다.\n<웃음> 하하.",
        "`one` ``two`` and a sentence with ``` in it",
        "lonely ```",
        "- a list\n- of things\n",
        "l\nlo\nloc\nmo\nhp",
        "",
        "\n\n\n",
        "~strike~ ~~struck~~",
        "```\n시간: 밤\n위치: 마을 광장\nHP: 85/100\n소지품: 검\n```\n무엇을 할까?",
        "<details>\n<summary>기록</summary>\n긴 이야기.\n</details>",
        "<!-- a note -->\n끝.",
        "---\n\n***\n다음 날.",
        "**상태**\n그는 지쳐 있었다.",
        "위치: 마을\nHP: 85/100",
        "1. 칼을 든다.\n2. 도망친다.",
    ],
)
def test_what_is_no_block_is_shown_whole(text: str) -> None:
    for pieces in ([text], list(text)):
        assert shown(pieces) == text
    assert read_answer_blocks(text) == []


@table("text", ["Hello wor", "그는 숲으로 ", "Look, ", "**Kael** smiles", '\n\nShe said: "', "위험한 길"])
def test_prose_is_shown_at_once(text: str) -> None:
    hidden = HiddenBlock()
    assert "".join(map(hidden.feed, text)) == text


def read_examples(name: str) -> dict[str, str]:
    """Returns the texts of a file beside this one by their titles."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return {head: body for head, _, body in (one.partition("\n") for one in text.split("=== ")[1:])}


WINDOWS, DAMAGED = read_examples("windows.txt"), read_examples("damaged.txt")
OURS = "```state\nlocation: tower\nhp_change: -2\nmood: calm\n```\n"
BEHIND = {
    "a line": "\nShe looks up.\n\n",
    "nothing": "\n",
    "a paragraph": "\n" + "그는 오래 걸었다. " * 60 + "\n\n",
    "a second window": f"\nShe waits.\n\n{WINDOWS['everyday names only in a fence, ko']}\n",
}


@table("title, behind", product(WINDOWS, BEHIND))
def test_a_window_of_the_author_is_shown_before_our_block(title: str, behind: str) -> None:
    story = f"He opens the door.\n\n{WINDOWS[title]}{BEHIND[behind]}"
    for pieces in ([story + OURS], list(story + OURS)):
        assert shown(pieces).strip() == story.strip()
    assert [set(fields) for fields in read_answer_blocks(story + OURS)] == [{"location", "hp_change", "mood"}]


@table("title", WINDOWS)
def test_a_window_of_the_author_is_shown_without_our_block(title: str) -> None:
    for story in (WINDOWS[title], f"He opens the door.\n\n{WINDOWS[title]}\n무엇을 할까?\n"):
        assert shown([story]) == shown(list(story)) == story


@table("title", DAMAGED)
def test_a_damaged_block_of_ours_is_hidden(title: str) -> None:
    assert len(WINDOWS) == len(DAMAGED) == 60
    for before in ("He opens the door.\n\n", "He opens the door.\n", ""):
        for pieces in ([before + DAMAGED[title]], list(before + DAMAGED[title])):
            assert not re.search(r"location|mood|hp_change|위치|분위기|`|tower|calm|state", shown(pieces), re.I)


def test_the_end_of_a_fence_is_no_beginning_of_another() -> None:
    window = "```\n[ HP 20 | Lv 3 ]\n```\n\nMore prose.\n\n"
    for text in (window, f"```python\nprint(1)\n```\n{window}", f"{window}```\n위치: 탑\n시간: 밤\n```\n"):
        for pieces in ([text + OURS], list(text + OURS)):
            assert shown(pieces) == text


def test_what_is_ours_likely_is_held_no_longer_than_the_end_of_an_answer() -> None:
    window, prose = "```\nlocation: tower\nmood: calm\n```\n", "The rain goes on. " * 20
    hidden = HiddenBlock()
    assert hidden.feed(window + prose[:200]) == ""
    assert hidden.feed(prose[200:]) == window + prose


def test_an_unclosed_tag_of_the_author_holds_up_nothing() -> None:
    hidden = HiddenBlock()
    text = "[상태] 그는 지쳐 있었다.\n문이 열렸다.\n[상태]\n이름: 하린\n레벨: 3\n"
    assert "".join(map(hidden.feed, text)) == text


PIECES = st.sampled_from(
    [
        *FORMS.values(),
        *WINDOWS.values(),
        *DAMAGED.values(),
        PROSE,
        "```",
        "`",
        "{",
        "}",
        "location",
        ":",
        " ",
        "\n",
        "위치",
        "state",
        "<",
        ">",
        "mood: x\n",
        "a",
        "```state\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=8), st.integers(0, 1000))
def test_whatever_comes_is_cut_alike_and_nothing_is_lost(parts: list[str], seed: int) -> None:
    raw = "".join(parts)
    wanted = read_whole_answer(raw)
    assert shown(cut(raw, seed)) == wanted.visible_text
    rest = raw
    for block in wanted.blocks:
        assert block in rest
    assert len(wanted.visible_text) + sum(map(len, wanted.blocks)) <= len(raw)
    read_answer_blocks(raw)


WORDS = st.text(alphabet="abc가나다 .,!?\"'()—…\n", max_size=80)


@settings(max_examples=200, deadline=None)
@given(WORDS, st.integers(0, 1000))
def test_prose_without_signs_of_a_block_is_never_touched(text: str, seed: int) -> None:
    assert shown(cut(text, seed)) == text


def test_a_long_answer_costs_little() -> None:
    text = PROSE * 20 + f"```state\n{BLOCK}\n```"
    pieces = [text[at : at + len(text) // 49] for at in range(0, len(text), len(text) // 49)]
    assert 50 <= len(pieces) <= 51
    longer = [text[at : at + len(text) // 99] for at in range(0, len(text), len(text) // 99)]
    assert count_lines(lambda: shown(longer)) < 4 * count_lines(lambda: shown(pieces)), "twice as many pieces"


UNREAD = {
    "poem": "```state\nThe moon is a coin\nthat nobody spends.\n```",
    "code": "```state\nfn main() {}\n```",
    "tag": "<state>\nThe State of Ohio has 88 counties.\n</state>",
    "square tag": "[state]\nsolid, liquid or gas\n[/state]",
    "object": '```state\n{"colour": "red", "size": 3}\n```',
    "other names": "```상태\n날씨가 맑다\n```",
    "never closed": "```state\nOnce upon a time",
}


@table("name", list(UNREAD))
def test_a_block_in_which_no_field_can_be_read_is_shown(name: str) -> None:
    for answer in (UNREAD[name], f"He nods.\n\n{UNREAD[name]}\n\nThen he leaves."):
        assert shown_whole(answer) == answer
        assert read_answer_blocks(answer) == []
        assert "".join(in_pieces(answer, 3)) == answer


@table("block", ["```state\n```", "<state></state>", '```state\n{"state": {"mood": "calm"}}\n```', "```state\n{}\n```"])
def test_a_block_that_says_nothing_or_a_field_is_hidden(block: str) -> None:
    assert shown_whole(f"He nods.\n\n{block}").strip() == "He nods."


def shown_whole(answer: str) -> str:
    return read_whole_answer(answer).visible_text


def in_pieces(answer: str, size: int) -> list[str]:
    hidden = HiddenBlock()
    return [*(hidden.feed(answer[at : at + size]) for at in range(0, len(answer), size)), hidden.end()]


@table(
    "shown",
    [
        "편지에는 이렇게 적혀 있었다.\n\n장소: 등불 탑\n분위기: 쓸쓸함",
        "그가 창을 연다.\n\n```\n[상태창]\n이름: 하린\n레벨: 3\n장소: 탑\n체력: 20\n```",
        "<details>\n<summary>상태창</summary>\n이름: 하린\n장소: 탑\n소지금: 3\n</details>",
    ],
)
def test_what_the_author_wrote_is_shown(shown: str) -> None:
    assert read_whole_answer(shown).visible_text.strip() == shown.strip()


def test_the_end_of_a_folded_block_is_hidden_letter_by_letter_too() -> None:
    fenced = f"```state\n{BLOCK}\n```"
    raw = f"{fenced}\n\n계속할까요?<details>\n<summary>State</summary>\n\n{fenced}\n</details>\n"
    by_letter = HiddenBlock()
    for letter in raw:
        by_letter.feed(letter)
    by_letter.end()
    assert by_letter.visible_text == read_whole_answer(raw).visible_text
    assert "</details>" not in by_letter.visible_text


HARD = ["```\n", "mood: a\n", "mood: a\n- x\n", "<details>\n", "---\n", "- state\n", "{\n"]
HARD += [f"{begun}\n\nprose\n" for begun in ("```state", "<state>", '{"mood":', '{"mood": "')]


@table("piece", HARD)
def test_an_answer_of_broken_blocks_is_read_once(piece: str) -> None:
    def count_reading_steps(times: int) -> int:
        return count_lines(lambda: read_whole_answer(f"He nods.\n\n{piece * times}And so on.\n"))

    assert count_reading_steps(800) < 2.5 * count_reading_steps(400), "a square would be four times as much"


def test_a_part_that_is_longer_than_any_block_is_decided() -> None:
    """As it came, in pieces of any size; what is open for so long is no block."""
    prose = f"{PROSE}\n" * (2 * WINDOW // len(PROSE))
    for text in (
        f"```state\n{prose}",
        f'{{"mood": "{prose}',
        f'{{"mood":\n{prose}',
        " " * 3 * WINDOW,
        "-" * 3 * WINDOW,
    ):
        assert shown_whole(text) == text
        assert "".join(in_pieces(text, WINDOW // 3)) == text
