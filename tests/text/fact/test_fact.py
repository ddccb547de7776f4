from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.looks import count_looks
from tests.steps import count_lines
from tests.table import table
from text.fact.fact import find_facts, list_lost_facts
from text.fact.note import split_clauses


def found(text: str) -> dict[str, str]:
    return {each.text: each.kind for each in find_facts(text)}


@table(
    ("text", "expected"),
    [
        (
            "저는 김민수이고 팀장은 박지훈 과장님입니다. 예산은 1억 2,000만 원, 3월 5일 오후 3시 30분, 12명, 15%.",
            {
                "김민수": "name",
                "박지훈": "name",
                "1억 2,000만 원": "number",
                "3월 5일": "date",
                "오후 3시 30분": "time",
                "12명": "number",
                "15%": "number",
            },
        ),
        (
            "My name is Sarah Kim of Northwind Traders. Call on March 5, 2026 at 3:30 pm about $1.2 million.",
            {
                "Sarah Kim": "name",
                "Northwind Traders": "name",
                "March 5, 2026": "date",
                "3:30 pm": "time",
                "$1.2 million": "number",
            },
        ),
        (
            "Order ORD-2024-17, flight KE701, a.b@c.com, https://x.org/a?b=1.",
            {
                "ORD-2024-17": "identifier",
                "KE701": "identifier",
                "a.b@c.com": "email",
                "https://x.org/a?b=1": "url",
            },
        ),
        (
            "GitHub에서 이슈 코드 ABC123을 Slack으로 보냈다.",
            {"GitHub": "name", "ABC123": "identifier", "Slack": "name"},
        ),
        (
            "제 이름은 이서연이고 지훈 씨와 《오래된 정원》을 읽어요.",
            {"이서연": "name", "지훈": "name", "오래된 정원": "name"},
        ),
        ("2026-11-21T14:30:00+09:00", {"2026-11-21": "date", "14:30:00+09:00": "time"}),
        ("빵집을 준비하는 한소영이라고 해요. 한소영 님, 반가워요.", {"한소영": "name"}),
        ("회의는 화요일로 옮겼다.", {"화요일": "date"}),
        ("전화는 010-1234-5678", {"010-1234-5678": "identifier"}),
        # digits with letters or dashes are one
        ("My seat is 12A, the gate 22c.", {"12A": "identifier", "22c": "identifier"}),
        ("Call 555-1234, zip 94110-1234.", {"555-1234": "identifier", "94110-1234": "identifier"}),
        ("차는 123가4567, 집은 101동 1203호.", {"123가4567": "identifier", "101동 1203호": "identifier"}),
        (
            "10-15 people for $40-60, 50GB, 12km",
            dict.fromkeys(("10", "15 people", "$40", "60", "50GB", "12km"), "number"),
        ),
        ("30만5000원, 2024-2025", {"30만5000원": "number", "2024": "number", "2025": "number"}),
        ("165+24-185", {}),
    ],
)
def test_facts_are_found_with_their_kind(text: str, expected: dict[str, str]) -> None:
    assert found(text) == expected


@table(
    "text",
    [
        "Thanks! That sounds great. How can I help you today? Please let me know.",
        "네, 고객님. 담당 팀장님과 선생님께 여쭤보고 오늘은 부장님도 오신다고 하면 과장님께 말씀드릴게요.",
        "1. First open it.\n2) Then close it.\n- 하나\n- 둘",
        "I think the one with 2 doors is fine. OK, I'll do it. It's in May, maybe.",
        "날씨가 좋아서 마음씨도 좋아졌어요. 말씀하신 대로 할게요, 여러분.",
        "(45000*3+2)*1.2",
        "(5-24)*1.2",
        "이름은 나중에 정할게요. 이름은 비밀이에요? 소비 전력은 몇 kW인가요?",
        "Best Restaurants In Downtown Area Guide",
        "",
    ],
)
def test_what_is_no_fact_is_not_taken_for_one(text: str) -> None:
    assert found(text) == {}


@table(
    ("original", "summary"),
    [
        ("1,200,000원", "120만 원"),
        ("120만원을 냈다", "1200000원을 냄"),
        ("$1.2 million", "USD 1,200,000"),
        ("1,200,000 won", "₩1.2 million"),
        ("３월 ５일", "3월 5일"),
        ("3월 5일", "03-05"),
        ("2026년 3월 5일", "2026-03-05"),
        ("March 5, 2026", "2026. 3. 5."),
        ("on March 5", "5 March"),
        ("오후 7시", "19:00"),
        ("7시 30분", "일곱 시 반"),
        ("at 3 pm", "15:00"),
        ("30%", "30퍼센트"),
        ("3명이 참석", "세 명이 참석"),
        ("Twelve? No, 12 people", "twelve people"),
        ("we met Sarah Kim there", "SARAH KIM came"),
        ("we met Sarah Kim there", "Sarah came"),
        ("https://www.example.com/a/", "example.com/a"),
        ("금요일", "Friday"),
        ("KE701편", "ke701"),
        ("aged 20-30", "20 to 30"),
        ("12-25", "12월 25일"),
        ("3시간", "3 hours"),
    ],
)
def test_one_value_in_two_forms_is_kept(original: str, summary: str) -> None:
    assert find_facts(original), original
    assert list_lost_facts(original, summary) == ()


@table(
    ("original", "summary", "missing"),
    [
        ("예산은 120만 원", "예산은 12만 원", ("120만 원",)),
        ("30% 할인", "30분 동안", ("30%",)),
        ("3월 5일과 4월 5일", "3월 5일", ("4월 5일",)),
        ("오전 7시", "19:00", ("오전 7시",)),
        ("7:30", "7:45", ("7:30",)),
        ("we met Sarah Kim in Lisbon", "someone in Lisbon", ("Sarah Kim",)),
        ("박지훈 과장님과 이영희 씨", "박지훈 과장", ("이영희",)),
        ("ORD-2024-17", "ORD-2024-18", ("ORD-2024-17",)),
        ("2026년 3월 5일", "2025년 3월 5일", ("2026년 3월 5일",)),
        ("a.b@c.com", "", ("a.b@c.com",)),
        ("seat 12A", "seat 12C", ("12A",)),
        ("call 555-1234", "call 555", ("555-1234",)),
    ],
)
def test_another_value_is_lost(original: str, summary: str, missing: tuple[str, ...]) -> None:
    assert list_lost_facts(original, summary) == missing


def test_each_value_counts_once_however_it_is_written() -> None:
    assert len(find_facts("120만 원, 1,200,000원, 그리고 김민수 님. 김민수 씨는 3월 5일(2026-03-05)에 낸다.")) == 3


@given(st.text(max_size=200))
def test_a_text_loses_nothing_of_itself(text: str) -> None:
    assert list_lost_facts(text, text) == ()


@given(st.integers(1, 9999), st.sampled_from(["만 원", "억 원", "천 원"]))
def test_korean_amounts_equal_their_digits(count: int, unit: str) -> None:
    scale = {"만 원": 10**4, "억 원": 10**8, "천 원": 10**3}[unit]
    assert list_lost_facts(f"{count}{unit}", f"{count * scale:,}원") == ()


def test_a_long_text_is_read_in_reasonable_time() -> None:
    assert len(find_facts("값은 1,234원이고 " * 5000)) == 1


@table("sign", ["1", "a", "A", "가", " ", "\n", "\t", "a@", "1.", "# "])
def test_no_run_of_signs_takes_the_square_of_its_length(sign: str) -> None:
    """Nothing can interrupt a regular expression: one that takes the length squared stops everybody."""

    def read(length: int) -> None:
        text = f"a{sign * length} b"[:length]
        find_facts.__wrapped__(text)
        split_clauses(text)

    few, many = partial(read, 100), partial(read, 200)
    assert count_looks(many, "text") < 3 * count_looks(few, "text")
    assert count_lines(many) < 3 * count_lines(few)


@pytest.mark.parametrize("line", ["ORD-{0:06}\n", "http://a.co/{0}\n", "n{0}@b.co\n", "『책 x{0}』\n", "1. {0}원\n"])
def test_many_different_facts_take_no_more_steps_each(line: str) -> None:
    few, many = (partial(read_facts, line, count) for count in (100, 1000))
    assert count_lines(many) < 20 * count_lines(few)
    assert count_looks(many, "text") < 20 * count_looks(few, "text")


def read_facts(line: str, count: int) -> None:
    """Reads as many different facts, for the first time."""
    assert len(find_facts.__wrapped__("".join(map(line.format, range(10_000, 10_000 + count))))) == count


def test_the_longest_form_of_a_name_stays() -> None:
    text = "I met Sarah, and then Sarah Kim of Acme. Later Sarah Kim and Kim came."
    assert [each.text for each in find_facts(text) if each.kind == "name"] == ["Sarah Kim", "Acme"]
