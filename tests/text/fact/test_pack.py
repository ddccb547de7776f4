from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from text.fact import fact, pack
from text.fact.note import SummaryNote

WORDS = st.text(alphabet="가나다라마바사abcdef", min_size=1, max_size=9)
NOTES = st.lists(st.lists(WORDS, min_size=1, max_size=12).map(" ".join), max_size=12)


def notes(texts: list[str]) -> list[SummaryNote]:
    return [SummaryNote(text, index) for index, text in enumerate(texts)]


@given(NOTES, st.integers(0, 400), st.floats(0.1, 0.5))
def test_what_is_packed_fits_and_consists_of_whole_notes(written: list[str], original: int, rate: float) -> None:
    space = pack.compute_text_room(original, rate)
    text = pack.pack_notes(notes(written), (), space)
    assert len(text) <= space.most <= space.full <= original
    assert set(filter(None, text.split(". "))) <= {note.rstrip(".") for note in written} | {
        f"{note}." for note in written
    }


def test_a_note_with_facts_is_kept_before_one_without() -> None:
    wanted = [pack.WantedFact(each) for each in fact.find_facts("12,000원과 3월 5일")]
    text = pack.pack_notes(
        notes(["사용자가 이것저것 물었고 AI가 친절하게 답했다", "3월 5일에 12,000원을 냈다"]),
        wanted,
        pack.TextRoom(20, 22, 22),
    )
    assert text == "3월 5일에 12,000원을 냈다."


def test_a_sentence_of_the_original_fills_in_for_a_missing_fact() -> None:
    wanted = [pack.WantedFact(each) for each in fact.find_facts("예약번호는 ABC123입니다.")]
    candidates = [*notes(["사용자가 예약함"]), SummaryNote("예약번호는 ABC123입니다.", 9)]
    assert pack.pack_notes(candidates, wanted, pack.TextRoom(30, 33, 33)) == "사용자가 예약함. 예약번호는 ABC123입니다."


def test_notes_stand_in_the_order_of_the_original() -> None:
    late, early = SummaryNote("나중 일", 50), SummaryNote("먼저 한 일", 3)
    assert pack.pack_notes([late, early], (), pack.TextRoom(40, 44, 44)) == "먼저 한 일. 나중 일."


def test_a_note_that_repeats_another_is_left_out() -> None:
    text = pack.pack_notes(notes(["회의는 7층에서 열린다", "회의는 7층에서 열린다고"]), (), pack.TextRoom(60, 66, 66))
    assert text == "회의는 7층에서 열린다고."


def test_a_clause_gives_way_to_the_sentence_that_holds_it() -> None:
    wanted = [pack.WantedFact(each) for each in fact.find_facts("한솔이사는 185만 원, 으뜸이사는 165만 원")]
    clause = SummaryNote("한솔이사는 185만 원", 9)
    whole = SummaryNote("한솔이사는 185만 원, 으뜸이사는 165만 원인데 이전비는 별도래요", 9)
    assert pack.pack_notes([clause, whole], wanted, pack.TextRoom(60, 66, 66)) == whole.text + "."


def test_facts_that_are_still_lost_may_take_more_room_than_the_rest() -> None:
    texts = ["예약번호는 ABC123입니다.", "요금은 12,000원입니다.", "참 좋은 하루였습니다."]
    wanted = [pack.WantedFact(each) for text in texts for each in fact.find_facts(text)]
    candidates = [SummaryNote(text, at) for at, text in enumerate(texts)]
    assert pack.pack_notes(candidates, wanted, pack.TextRoom(22, 24, 35)) == " ".join(texts[:2])
    assert pack.pack_notes(candidates, wanted, pack.TextRoom(22, 24, 24)) in texts[:2]


def test_room_is_the_specified_target_with_a_tenth_more() -> None:
    assert pack.compute_text_room(1500, 0.3) == pack.TextRoom(450, 495, 562)
    assert pack.compute_text_room(400, 0.1) == pack.TextRoom(40, 52, 52)
    assert pack.compute_text_room(10, 0.5) == pack.TextRoom(5, 10, 10, short=True)


def test_facts_of_three_short_turns_have_room_for_a_line_as_far_as_the_rate_lets_them() -> None:
    assert pack.compute_text_room(100, 0.3) == pack.TextRoom(30, 42, 75, short=True)
    assert pack.compute_text_room(100, 0.1) == pack.TextRoom(10, 22, 25, short=True)
    assert pack.compute_text_room(204, 0.3) == pack.TextRoom(61, 67, 76, short=True)
