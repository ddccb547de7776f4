"""Search over titles and texts: what finds what, in which order, and that it costs the same in a large store."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, insert, text

from store import Finished, Store
from store.database import schema
from store.search.text_search import PER_SESSION, TextHit, _cut_snippet, _split_query_words, cut_head, cut_tail
from tests.table import table


@pytest.fixture(params=["index", "text", "postgresql"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store with the trigram index, one whose database has none, and PostgreSQL."""
    postgres = request.param == "postgresql"
    opened = Store(request.getfixturevalue("postgres") if postgres else f"sqlite:///{tmp_path / 'gieok.db'}")
    opened._indexed = opened._indexed and request.param != "text"
    yield opened
    opened.close()


def tell(store: Store, *turns: tuple[str, str | None], title: str = "") -> str:
    """A session with these questions and answers."""
    own = store.create_session("ko", 0.3).id
    for question, answer in turns:
        number = store.begin_turn(own, question).number
        if answer is not None:
            store.finish_turn(own, number, Finished("done", answer))
    if title:
        store.rename_session(own, title)
    return own


def places(hits: list[TextHit]) -> list[tuple[str, int | None]]:
    return [(hit.session_id, hit.number) for hit in hits]


@pytest.mark.parametrize(
    "query",
    [
        "배송",
        "송조",
        "배송조회는",
        "회는",
        "조회는 어디",
        "어디 배송",
        "DELIVERY",
        "livery to",
        '"delivery to Mapo"',
        "po?",
        "48213",
        "배",
        "%_",
        "C++",
        "🍜",
        '"',
        "é\u0301"[:1],
    ],
)
def test_any_part_of_what_was_said_is_found(kept: Store, query: str) -> None:
    asked = '배송조회는 어디서 하나요? Delivery to Mapo? 48213 %_ C++ 🍜 " é'
    own = tell(kept, ("날씨", "맑음"), (asked, "네"))
    assert (own, 2) in places(kept.search(query))


@pytest.mark.parametrize(
    "query", ["환불", "배송환불", "deliverie", "송배", "%", "뷁", "", "  ", '"어디서 배송조회는"', "_x"]
)
def test_what_was_not_said_is_not_found(kept: Store, query: str) -> None:
    tell(kept, ("배송조회는 어디서 하나요? Delivery to Mapo", "앱에서 하세요"))
    assert kept.search(query) == []


def test_words_are_looked_for_in_one_text(kept: Store) -> None:
    own = tell(kept, ("배송은 언제 오나요", "환불은 내일입니다"), ("배송과 환불", "네"))
    assert places(kept.search("환불 배송")) == [(own, 2)]


def test_decomposed_korean_in_the_query_finds_composed_text(kept: Store) -> None:
    own = tell(kept, ("기억", "네"), title="t")
    assert places(kept.search("\u1100\u1175\u110b\u1165\u11a8")) == [(own, 1)]


@pytest.mark.parametrize("room", range(9))
def test_the_snippet_is_cut_between_words_and_never_inside_a_number(kept: Store, room: int) -> None:
    said = "12월 25일 저녁에 1,250,000원 " * 9
    whole = f"{said} {'나' * room} 표지 {'다' * room} {said}"
    tell(kept, ("x", whole), title="t")
    (hit,) = kept.search("표지")
    for shown in ((hit.before, hit.after), (cut_tail(hit.before, 12), cut_head(hit.after, 40))):
        assert set(" ".join(shown).replace("…", " ").split()) <= set(whole.split())


@table(
    ("text", "most", "shown"),
    [
        ("12월 25일에 만나자", 4, "12월"),
        ("가격은1,250,000원", 6, "가격은"),
        ("가나다라마바사", 3, "가나다"),
        (" https://a.example/b", 9, " https://"),
        ("1,250,000", 4, ""),
        ("짧다", 9, "짧다"),
        ("", 9, ""),
    ],
)
def test_a_long_word_is_cut_but_no_number(text: str, most: int, shown: str) -> None:
    assert cut_head(text, most) == shown
    assert cut_tail(text[::-1], most) == shown[::-1]


def test_the_snippet_marks_the_match_as_it_is_written(kept: Store) -> None:
    tell(kept, ("x", f"{'앞 ' * 100}\n\nThe Delivery\nhas come{' 뒤' * 100}"))
    (hit,) = kept.search("delivery")
    assert (hit.match, hit.before[:2], hit.after[-2:]) == ("Delivery", "… ", " …")
    assert hit.before.endswith("앞 The ")
    assert hit.after.startswith(" has come 뒤")


def test_newest_first_titles_among_them(kept: Store) -> None:
    first = tell(kept, ("사과", "빨강"), title="과일")
    second = tell(kept, ("사과", "초록"), title="사과")
    assert places(kept.search("사과")) == [(second, None), (second, 1), (first, 1)]


def test_a_running_turn_is_found_by_its_question(kept: Store) -> None:
    own = tell(kept, ("무지개", None))
    assert (own, 1) in places(kept.search("무지개"))


def test_a_question_and_its_answer_are_one_hit(kept: Store) -> None:
    tell(kept, ("오로라는 무엇인가요", "오로라는 빛입니다"), title="t")
    assert len(kept.search("오로라")) == 1


def test_a_long_session_leaves_room_for_others_unless_it_is_asked_for_alone(kept: Store) -> None:
    early = tell(kept, ("용기", "네"), title="t")
    long = tell(kept, *[("용기", "네")] * 9, title="t")
    assert places(kept.search("용기")) == [*((long, number) for number in range(9, 9 - PER_SESSION, -1)), (early, 1)]
    assert places(kept.search("용기", within=long)) == [(long, number) for number in range(9, 0, -1)]
    assert len(kept.search("용기", limit=2)) == 2


def test_sessions_that_were_put_away_are_not_found_until_they_are_back(kept: Store) -> None:
    own = tell(kept, ("비밀번호", "네"), title="비밀")
    kept.put_away(own)
    assert kept.search("비밀") == []
    kept.put_away(own, False)
    assert len(kept.search("비밀")) == 2
    kept.delete_session(own)
    assert kept.search("비밀") == []


def test_an_answer_given_anew_is_found_and_the_old_one_said_to_lie_elsewhere(kept: Store) -> None:
    own = tell(kept, ("좋아하는 색", "보라색입니다"), title="t")
    kept.tree.begin(own, 1, "좋아하는 색")
    kept.finish_turn(own, 1, Finished("done", "주황색입니다"))
    assert [(hit.branch, hit.current) for hit in kept.search("주황색")] == [(1, True)]
    assert [(hit.branch, hit.current) for hit in kept.search("보라색")] == [(0, False)]
    assert len(kept.search("좋아하는")) == 1


def test_an_answer_that_is_written_twice_is_indexed_as_it_is_now(kept: Store) -> None:
    own = tell(kept, ("q", "옛날이야기"), title="t")
    kept.finish_turn(own, 1, Finished("done", "새이야기"))
    assert kept.search("옛날") == []
    assert len(kept.search("새이")) == 1


@pytest.mark.parametrize("odd", ["\x00", "\ud800", "\ue0f0", "a\x00b"])
def test_characters_that_databases_refuse_are_found(kept: Store, odd: str) -> None:
    own = tell(kept, (f"앞{odd}뒤", "네"), title="t")
    assert places(kept.search(f"앞{odd}뒤")) == [(own, 1)]


def test_a_database_from_before_the_index_is_taken_in(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'gieok.db'}"
    old = Store(url)
    with old.transaction() as connection:
        names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
        for name in names:
            connection.execute(text(f"DROP TRIGGER {name}"))
        connection.execute(text("DROP TABLE turn_search_term"))
        connection.execute(text("DROP TABLE turn_search"))
    tell(old, ("오래된 질문", "오래된 답"), title="t")
    old.close()
    new = Store(url)
    assert [hit.number for hit in new.search("오래된")] == [1]
    new.delete_session(new.sessions()[0].id)
    assert new.search("오래된") == []
    new.close()


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_text_is_found_however_its_letters_are_written(kept: Store, form: Any) -> None:
    said = unicodedata.normalize(form, "배송조회는 １４일에 Ｃafé에서")
    own = tell(kept, ("날씨", "맑음"), (said, "네"), title=unicodedata.normalize(form, "여행 계획"))
    for other in ("NFC", "NFD"):
        for word in ("배송조회", "송조", "조", "14일", "１４", "cafe\u0301", "CAFÉ"):
            assert (own, 2) in places(kept.search(unicodedata.normalize(other, word))), (other, word)
        assert (own, None) in places(kept.search(unicodedata.normalize(other, "여행")))


@table(
    ("said", "query", "match"),
    [
        (unicodedata.normalize("NFD", "어제 배송조회를 했다"), "배송", unicodedata.normalize("NFD", "배송")),
        ("어제 배송을 봤다", unicodedata.normalize("NFD", "배송"), "배송"),
        ("만나는 날은 １４일이다", "14일", "１４일"),
        ("In der Straße 5", "strasse", "Straße"),
        ("Zoe\u0308 kommt", "zoë", "Zoe\u0308"),
        ("İstanbul and office", "and", "and"),
        ("the oﬃce is far", "office", "oﬃce"),
    ],
)
def test_what_is_shown_as_found_is_what_was_written(said: str, query: str, match: str) -> None:
    (word,) = _split_query_words(query)
    before, found, after = _cut_snippet(said, [word])
    assert found == match
    assert f"{before}{found}{after}" == said


def test_the_index_of_an_earlier_version_is_made_anew(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'gieok.db'}"
    old = Store(url)
    tell(old, (unicodedata.normalize("NFD", "오래된 질문"), "오래된 답"), title="t")
    with old.transaction() as connection:
        triggers = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")).all()
        for name, sql in triggers:
            connection.exec_driver_sql(f"DROP TRIGGER {name}")
            connection.exec_driver_sql(re.sub(r"folded\((\w+\.\w+)\)", r"\1", sql))
        connection.exec_driver_sql("INSERT INTO turn_search(turn_search) VALUES ('delete-all')")
        raw = "SELECT id * 2, question || '\ue0f1\ue0f1' FROM turn"
        connection.exec_driver_sql(f"INSERT INTO turn_search(rowid, said) {raw}")
    assert old.search("오래된 질문") == []
    old.close()
    new = Store(url)
    assert [hit.number for hit in new.search("오래된 질문")] == [1]
    tell(new, (unicodedata.normalize("NFD", "새로운 질문"), "답"), title="t")
    assert len(new.search("질문")) == 2
    new.delete_session(new.sessions()[0].id)
    assert len(new.search("질문")) == 1
    new.close()


# --- cost: counted, not timed -------------------------------------------------------------------


def fill(store: Store, sessions: int, turns: int = 2) -> None:
    """Sessions whose texts are all alike, except one word each."""
    with store.transaction() as connection:
        for first in range(sessions):
            own, moment = f"s{first:06}", 1e9 + first
            row = {"id": own, "title": f"이야기 {first}", "language": "ko", "compression_rate": 0.3, "path": [(0, 1)]}
            row |= {"turn_count": turns, "created": moment, "updated": moment, "pinned": first % 100 == 0}
            connection.execute(insert(schema.session), row)
            said = {"session_id": own, "branch": 0, "status": "done", "answer": "네, 알겠습니다", "started": moment}
            numbered = [
                {**said, "number": number, "question": f"주문번호{first:06} 언제 오나요"}
                for number in range(1, turns + 1)
            ]
            connection.execute(insert(schema.turn), numbered)


def plan(store: Store, statement: str) -> str:
    with store.transaction() as connection:
        return "\n".join(row.detail for row in connection.execute(text(f"EXPLAIN QUERY PLAN {statement}")))


def last_statement(store: Store, said: list[str]) -> None:
    @event.listens_for(store.engine, "before_cursor_execute")
    def note(_c: object, _k: object, statement: str, parameters: object, _x: object, _m: object) -> None:
        said.append(statement)


def test_the_list_is_read_from_its_index_without_sorting(store: Store) -> None:
    fill(store, 20)
    said: list[str] = []
    last_statement(store, said)
    store.sessions(limit=5)
    how = plan(store, said[-1].replace("?", "5"))
    assert "USING INDEX session_of_owner" in how
    assert "TEMP B-TREE" not in how


def test_what_was_put_away_is_found_by_its_index(store: Store) -> None:
    said: list[str] = []
    last_statement(store, said)
    store.put_away_before(0.0)
    assert "session_put_away" in plan(store, said[-1].replace("?", "5"))


def steps(store: Store, query: str) -> int:
    """How much SQLite does for a search within the texts, in hundreds of steps of its virtual machine."""
    count = 0

    def tick() -> int:
        nonlocal count
        count += 1
        return 0

    with store.transaction() as connection:
        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(tick, 100)
    assert len(store.search(query, within="s000150")) == 2
    driver.set_progress_handler(None, 0)
    return count


@pytest.mark.parametrize("query", ["번호000150", "000150 언제"])
def test_a_rare_word_costs_the_same_in_a_store_ten_times_as_large(store: Store, tmp_path: Path, query: str) -> None:
    large = Store(f"sqlite:///{tmp_path / 'large.db'}")
    fill(store, 300)
    fill(large, 3000)
    assert steps(large, query) <= 2 * steps(store, query)
    store._indexed = large._indexed = False
    assert steps(large, query) > 5 * steps(store, query), "without the index it would grow"
    large.close()
