from __future__ import annotations

import json
from collections.abc import Callable

from langchain_core.messages import HumanMessage

from component.widget.markdown import shorten_text
from graph.summary.extracted import extract_text
from graph.summary.original import Original
from graph.tool.wish import fit_pin_text
from retrieval.calculation.query import name_columns
from retrieval.read.load import clean_document_name, load_file
from store.export.program.chat import ProgramChat, ProgramMessage, build_conversation
from store.search.text_search import cut_head, cut_tail
from store.session.title import first_line
from store.world.record import LoreEntry
from tests.table import table
from text.cut import cut_graphemes, cut_graphemes_before, cut_text
from text.fence import frame_outside_text
from world.book.read import read_book
from world.curator.notebook import shorten_memory_text


def test_a_short_text_stays() -> None:
    assert cut_text("abc", 3) == "abc"
    assert cut_text("", 0) == ""


def test_what_is_missing_is_counted_from_the_whole_however_often_it_is_cut() -> None:
    once = cut_text("x" * 2_000_000, 1_000_000)
    assert once.endswith("\n… (1,000,000 more characters were left out)")
    twice = cut_text(once, 20_000)
    assert twice == "x" * 20_000 + "\n… (1,980,000 more characters were left out)"
    assert cut_text(twice, 20_000) == twice
    assert cut_text(twice, 5).endswith("(1,999,995 more characters were left out)")


FAMILY = "👨\u200d👩\u200d👧\u200d👦"
FLAG, ACCENT, HAND, JAMO = "🇰🇷", "e\u0301", "👍🏽", "\u1112\u1161\u11ab"
WHOLE = [FAMILY, FLAG, ACCENT, HAND, JAMO]


@table("one", WHOLE)
def test_no_character_that_a_reader_sees_is_cut_in_two(one: str) -> None:
    for before in range(12):
        text = "a" * before + one * 3
        for limit in range(len(one), len(text) + 2):
            assert set(cut_graphemes(text, limit).lstrip("a").split(one)) == {""}
            assert len(cut_graphemes(text, limit)) <= limit
        text = one * 3 + "a" * before
        for limit in range(len(one), len(text) + 2):
            assert set(cut_graphemes_before(text, limit).rstrip("a").split(one)) == {""}
            assert len(cut_graphemes_before(text, limit)) <= limit


def test_a_character_without_end_is_cut_all_the_same() -> None:
    assert len(cut_graphemes("e" + "\u0301" * 10_000, 60)) == 60
    assert len(cut_graphemes_before("e" + "\u0301" * 10_000, 60)) <= 60


def test_a_long_text_is_cut_at_a_whole_character_too() -> None:
    for text in ("a " * 10_000 + FAMILY * 2, "x" * 20_000 + FAMILY * 2):
        for more in range(8):
            cut = cut_text(text, 20_000 + more)
            whole = 20_000 + len(FAMILY) * (more // len(FAMILY))
            assert cut == f"{text[:whole]}\n… ({len(text) - whole} more characters were left out)"


def _read_entry(content: str) -> LoreEntry:
    (entry,) = read_book(json.dumps({"entries": {"0": {"content": content}}}).encode(), "a.json").entries
    return entry


def _name_world(name: str) -> str:
    message = ProgramMessage("", True, "Hello", 1.0)
    made = build_conversation(ProgramChat("", {"a": message}, "a", world=(name, name)), len)
    assert made is not None
    assert made.world is not None
    assert made.world.name == made.world.player
    return made.world.name


CUTTERS: dict[str, Callable[[str], str]] = {
    "name of a file": lambda text: clean_document_name(text).partition("…")[0],
    "title of a file": lambda text: load_file("a.html", f"<title>{text}</title><p>Yes.".encode(), 10**6).title,
    "pin": lambda text: fit_pin_text(text).removesuffix("…"),
    "column of a table": lambda text: name_columns([text])[0],
    "name of what was sent along": lambda text: frame_outside_text(text, "", "").partition('"')[2].partition('"')[0],
    "memory of the curator": shorten_memory_text,
    "summary": lambda text: extract_text(Original((HumanMessage(text),), (1, 2, 3), 0.3, "en")),
    "title of an entry": lambda text: _read_entry(text).keyword,
    "name of a world": _name_world,
}


@table("cutter", CUTTERS)
def test_nothing_that_is_cut_ends_in_half_a_character(cutter: str) -> None:
    cut = CUTTERS[cutter]
    for before in range(9):
        made = cut("a" * before + FLAG * 4_000)
        assert 0 < len(made) < 8_000
        assert set(made.lstrip("a").split(FLAG)) == {""}


@table("one", WHOLE)
def test_titles_names_and_snippets_have_whole_characters(one: str) -> None:
    for before in range(12):
        text = "a" * (50 + before) + one * 5
        for made in (first_line(text), shorten_text(text, 60).removesuffix("…"), cut_head(text, 60)):
            assert set(made.lstrip("a").split(one)) == {""}
        assert set(cut_tail(one * 5 + "a" * (50 + before), 60).rstrip("a").split(one)) == {""}
