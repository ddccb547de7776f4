from __future__ import annotations

from argparse import Namespace

from bench.warning import rows, run


def test_what_the_warning_names_is_nearly_always_a_fact_that_somebody_told() -> None:
    found = run(Namespace(data=None, show=False))
    figures = {name: float(str(value)) for name, value in found.items()}
    assert figures["before"] < 0.8, "the rows hold what a warning must not name"
    for part in ("", "ko.", "en.", "dev."):
        assert figures[f"{part}precision"] >= 0.95
        assert figures[f"{part}recall"] >= 0.75


def test_the_rows_are_of_both_languages_and_their_halves_of_different_dialogues() -> None:
    found = rows()
    assert len(found) >= 150
    assert min(sum(row.language == language for row in found) for language in ("ko", "en")) >= 75
    halves = [{row.source for row in found if row.half == half} for half in ("dev", "held")]
    assert not halves[0] & halves[1]
