"""The calibration of a judge: whether it scores memories as expected whose scores are known.

The rows stand in ``calibration.yaml``: the specification's six for relevance and completeness, the others for accuracy
and noise. Rows of one group belong to one query, and a judge must put them in the right order. The result is kept in
the data folder for the model, the language, the prompt and the rows that it was made with.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

import private
from errors import hide_address_secrets
from evaluation.judge.criterion import Criterion
from evaluation.judge.judge import PROMPT, Score, judge_memory
from model.file_lock import hold_file_lock, translate_disk_errors
from model.modelset import ModelSet
from prompt import render_prompt
from text.clean import escape_surrogates
from text.language import Language

ROWS = Path(__file__).with_name("calibration.yaml")
FILE = Path("evaluation", "calibration.json")
"""Where the results are kept, below the data folder."""
MOST_OFF = 2.0
"""A judge whose score is off by more than this fails."""

Standing = Literal["passed", "failed", "unknown"]
"""How a judge did in its calibration; unknown: it was not calibrated, or its calibration broke off."""
Progress = Callable[[int, int], object]
"""Is told how many rows are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """A memory whose score is known, and the score that the judge gave.

    ``group``: the name of the rows with the same query; ``criterion``: the one that ``expected`` and ``given`` belong
    to, 0 to 10. ``given``: None when the judge gave no score; ``reason``: the judge's reason, or why it gave no score.
    """

    group: str
    criterion: Criterion
    query: str
    memory: str
    entities: str
    expected: float
    given: float | None = None
    reason: str = ""

    @property
    def off(self) -> float | None:
        """By how many points the given score is off; None without one."""
        return None if self.given is None else abs(self.given - self.expected)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a judge scored the rows of a language.

    ``model``, ``url``: the judge, the address without its secrets. ``hash_calibration_inputs``: of the prompt and the
    rows. ``date``: in UTC, as ISO 8601. ``broken_off``: the code of the error with which a call failed. The judge can
    do nothing for that, so such a calibration tells nothing: the rows from there on have no score, and
    ``save_calibration`` does not keep it.
    """

    model: str
    url: str
    language: Language
    digest: str
    date: str
    rows: tuple[CalibrationRow, ...]
    broken_off: str = ""

    @property
    def has_passed(self) -> bool:
        """Whether every row has a score, none is off by more than 2, and the order is right in every group."""
        close = all(row.off is not None and row.off <= MOST_OFF for row in self.rows)
        return bool(self.rows) and close and not self.wrong_orders and not self.broken_off

    @property
    def wrong_orders(self) -> tuple[str, ...]:
        """The names of the groups in which two scores have another order than expected, or are equal."""
        pairs = (pair for pair in combinations(self.rows, 2) if pair[0].group == pair[1].group)
        return tuple(dict.fromkeys(first.group for first, second in pairs if _is_order_wrong(first, second)))

    def plain(self) -> dict[str, Any]:
        """Returns the calibration as JSON data."""
        return asdict(self)

    @staticmethod
    def from_plain(value: object) -> Calibration:
        """Returns the calibration that ``plain`` gave. Raises pydantic's ``ValidationError``."""
        return _CALIBRATION.validate_python(value)


_CALIBRATION = TypeAdapter(Calibration)


class _CalibrationModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Memory(_CalibrationModel):
    memory: str
    expected: Score


class _Group(_CalibrationModel):
    """Memories for one query, as the file has them."""

    name: str
    criterion: Criterion
    query: str
    entities: str = ""
    rows: tuple[_Memory, ...]


_GROUPS = TypeAdapter(dict[Language, tuple[_Group, ...]])


def calibrate_judge(
    models: ModelSet,
    language: Language,
    stop: threading.Event | None = None,
    progress: Progress = lambda done, steps: None,
) -> Calibration:
    """Has the utility model judge all rows of a language and returns how it did.

    Tells ``progress`` before the first row and after every row. Ends with ``broken_off`` at the first call that fails.
    Raises ``Stopped``.
    """
    asked = load_calibration_rows(language)
    judged, broken_off = list[CalibrationRow](), ""
    progress(0, len(asked))
    for row in asked:
        rating = judge_memory(models, row.query, row.memory, row.entities, language=language, stop=stop)
        if rating.failed:
            broken_off = rating.why
            break
        given = rating.scores.get(row.criterion)
        judged.append(replace(row, given=given, reason=rating.why or rating.reasons.get(row.criterion, "")))
        progress(len(judged), len(asked))
    return Calibration(
        model=models.side_name,
        url=_choose_calibration_address(models),
        language=language,
        digest=hash_calibration_inputs(language),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        rows=(*judged, *asked[len(judged) :]),
        broken_off=broken_off,
    )


def classify_judge_standing(calibration: Calibration | None) -> Standing:
    """Returns how the judge stands: whoever shows a score shows this beside it."""
    if calibration is None or calibration.broken_off:
        return "unknown"
    return "passed" if calibration.has_passed else "failed"


def load_calibration(data_dir: Path, models: ModelSet, language: Language) -> Calibration | None:
    """Returns the kept calibration of the utility model in a language.

    None when there is none, when it was made with another prompt or other rows, or when the file is damaged.
    """
    place = (models.side_name, _choose_calibration_address(models), language)
    found = next((item for item in _read_calibrations(data_dir / FILE) if _build_calibration_key(item) == place), None)
    return found if found is not None and found.digest == hash_calibration_inputs(language) else None


def save_calibration(data_dir: Path, calibration: Calibration) -> None:
    """Keeps a calibration in place of an earlier one of the same model and language; one that broke off is not kept.

    Raises ``DiskFull`` and ``StoreUnavailable``; what was kept before then stays.
    """
    if calibration.broken_off:
        return
    path = data_dir / FILE
    with translate_disk_errors(path), hold_file_lock(path.with_suffix(".lock")):
        others = [
            item
            for item in _read_calibrations(path)
            if _build_calibration_key(item) != _build_calibration_key(calibration)
        ]
        plain = [item.plain() for item in (*others, calibration)]
        private.write_private_file(path, escape_surrogates(json.dumps(plain, ensure_ascii=False, indent=1)))


@cache
def load_calibration_rows(language: Language) -> tuple[CalibrationRow, ...]:
    """Returns the rows of a language, without scores of a judge."""
    groups = _GROUPS.validate_python(yaml.safe_load(ROWS.read_text("utf-8")))[language]
    return tuple(
        CalibrationRow(group.name, group.criterion, group.query, row.memory, group.entities, row.expected)
        for group in groups
        for row in group.rows
    )


def hash_calibration_inputs(language: Language) -> str:
    """Returns the SHA-256 of the judge's prompt and the rows: after a change of either, a judge must be calibrated
    again."""
    text = render_prompt(PROMPT, language, query="", memory="", entities="")
    return hashlib.sha256(
        json.dumps([text, [asdict(row) for row in load_calibration_rows(language)]]).encode()
    ).hexdigest()


def _choose_calibration_address(models: ModelSet) -> str:
    """Returns the address that belongs to a calibration; none for a model of this machine, whose port changes."""
    return "" if models.alone else hide_address_secrets(models.url)


def _is_order_wrong(first: CalibrationRow, second: CalibrationRow) -> bool:
    """Returns whether two rows whose expected scores differ were given equal scores, or scores in the other order."""
    if first.given is None or second.given is None or first.expected == second.expected:
        return False
    return (first.given - second.given) * (first.expected - second.expected) <= 0


def _build_calibration_key(calibration: Calibration) -> tuple[str, str, str]:
    return calibration.model, calibration.url, calibration.language


def _read_calibrations(path: Path) -> list[Calibration]:
    """Returns the kept calibrations; none when the file is missing or damaged."""
    try:
        return [Calibration.from_plain(value) for value in json.loads(path.read_text("utf-8"))]
    except (OSError, ValueError, TypeError, RecursionError):  # pydantic's error is a ValueError
        return []
