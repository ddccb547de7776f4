"""Macros in the texts of cards and entries."""

from __future__ import annotations

from datetime import datetime

from tests.table import table
from world.lore.macro import Moment, Names, expand_macros, has_changing, read_macros

NAMES = Names("Mina", "Sera")
MOMENT = Moment("seed", datetime(2026, 3, 4, 15, 30), "en")


@table(
    ("text", "expanded"),
    [
        ("{{user}} and {{char}}", "Mina and Sera"),
        ("{{USER}} {{Char}} {{ user }}", "Mina Sera Mina"),
        ("<USER> <BOT> <char>", "Mina Sera Sera"),
        ("a {{// not this}}b", "a b"),
        ("{{original}}Write.", "Write."),
        ("<START>\n{{char}}: hi", "\nSera: hi"),
        ("{{time}} {{date}} {{weekday}}", "15:30 March 4, 2026 Wednesday"),
        ("{{random:a}} {{pick::b}}", "a b"),
        ("{{roll:1}} {{roll d1}} {{roll:2d1+3}}", "1 1 5"),
        ("{{reverse:abc}}{{newline}}x", "cba\nx"),
        ("{{getvar::x}} {not} $5 100 % { }", "{{getvar::x}} {not} $5 100 % { }"),
        ("{{random:{{user}}}}", "Mina"),
        (r"{{random:one\,two}}", "one,two"),
    ],
)
def test_a_macro_is_expanded(text: str, expanded: str) -> None:
    assert expand_macros(text, NAMES, "1", MOMENT) == expanded


def test_without_a_moment_what_changes_stays_as_it_is() -> None:
    assert expand_macros("{{char}} {{random:a,b}} {{time}}", NAMES, "1") == "Sera {{random:a,b}} {{time}}"


def test_random_is_the_same_for_the_same_answer_and_pick_for_the_same_entry() -> None:
    text = "{{random:a,b,c,d}}{{random:a,b,c,d}}"
    seeds = [Moment(str(at), MOMENT.now, "en") for at in range(200)]
    told = [expand_macros(text, NAMES, "1", seed) for seed in seeds]
    assert told == [expand_macros(text, NAMES, "1", seed) for seed in seeds]
    assert len(set(told)) == 16
    assert len({expand_macros("{{pick:a,b,c,d}}", NAMES, "1", seed) for seed in seeds}) == 1


def test_the_date_is_korean_in_a_korean_world() -> None:
    assert expand_macros("{{date}} {{weekday}}", NAMES, "", Moment("", MOMENT.now, "ko")) == "2026년 3월 4일 수요일"


def test_a_name_that_looks_like_a_macro_stays_text() -> None:
    assert expand_macros("{{user}}", Names("{{char}}", "Sera"), "") == "{{char}}"


def test_the_macros_of_a_text_are_named_once() -> None:
    assert read_macros("{{user}} {{setvar::a::b}} {{SetVar::c::d}} {{// x}}") == ["user", "setvar", "//"]
    risu = "{{#if {{? {{getvar::x}} > 1}}}}a{{:else}}b{{/if}} {{1 + 1}} {{char2}} {{time_UTC+2}} {{사용자}} {{}}"
    assert read_macros(risu) == ["getvar", ":else", "/if", "1 + 1", "char2", "time_utc", "사용자", "?", "#if"]


@table("text", ["{{#if x}}", "{{/if}}", "{{? 1+1}}", "{{char2}}", "{{user_name}}", "{{time_UTC+2}}"])
def test_what_is_not_known_stays_as_it_is(text: str) -> None:
    assert expand_macros(text, NAMES, "1", MOMENT) == text


def test_a_chance_among_other_macros_changes() -> None:
    assert has_changing("{{random:{{user}},{{char}}}}")
    assert not has_changing("{{pick:{{user}},{{char}}}}")


def test_without_a_character_a_stand_in_is_told() -> None:
    nobody = Names("Mina", "", "the character")
    assert expand_macros("{{char}}, <BOT> and {{user}}", nobody, "") == "the character, the character and Mina"
    assert nobody.fill("{{char}}") == "{{char}}", "keys stay"
