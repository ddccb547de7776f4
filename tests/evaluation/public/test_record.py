"""Rows of a measurement survive a crash."""

from __future__ import annotations

from pathlib import Path

from evaluation.judge.judge import Rating
from evaluation.public.answer import PublicAnswer
from evaluation.public.evidence import GoldEvidence
from evaluation.public.measure import Row
from evaluation.public.record import RowRecord, create_row_record, find_newest_record, hash_measurement


def row(question: str, **fields: object) -> Row:
    values = {"evidence": GoldEvidence(2, 1, 1, 1), "tokens": 9, "seconds": 0.5, **fields}
    return Row("locomo", "talk-1", question, "temporal", False, "all", 4, **values)  # type: ignore[arg-type]


def test_rows_are_there_again_and_what_was_cut_off_is_not(tmp_path: Path) -> None:
    record = create_row_record(tmp_path, "mark")
    judged = row("0", answer=PublicAnswer("840", 1.0, Rating("scored", scores={"noise": 1.0}, overall=90.0)))
    record.keep(judged)
    record.keep(row("1"))
    record.keep(row("2", answer=PublicAnswer(why="model_unreachable")))
    record.close()
    with record.path.open("ab") as file:
        file.write(b'{"damaged": 1}\n{"dataset": "locomo", "conv')
    again = find_newest_record(tmp_path, "mark")
    assert again is not None
    assert list(again.rows.values()) == [judged, row("1")]
    again.keep(row("3"))
    again.close()
    third = RowRecord(again.path)
    assert [kept.question for kept in third.rows.values()] == ["0", "1", "3"]
    third.close()


def test_only_the_same_measurement_goes_on(tmp_path: Path) -> None:
    create_row_record(tmp_path, hash_measurement([], 0.3)).close()
    assert find_newest_record(tmp_path, hash_measurement([], 0.1)) is None
    again = find_newest_record(tmp_path, hash_measurement([], 0.3))
    assert again is not None
    again.close()
