"""Usage added up: by day, model, conversation and kind of work, as figures, as plain rows for a plot, and as CSV."""

from __future__ import annotations

import csv
import io
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from store.user.usage import UsageRow

Group = Callable[[UsageRow], str]
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins so is a formula to a spreadsheet."""
COLUMNS = (
    "day",
    "model",
    "conversation",
    "work",
    "calls",
    "prompt_tokens",
    "cached_tokens",
    "answer_tokens",
    "usd",
    "saved_by_summaries_tokens",
    "saved_by_cache_usd",
)


@dataclass(frozen=True, slots=True)
class UsageSum:
    """The sum of rows. ``usd``: of the rows whose price is known; None where there is none. ``unpriced``: rows without
    a known price."""

    count: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    answer_tokens: int = 0
    usd: float | None = None
    unpriced: int = 0
    saved_tokens: int = 0
    cache_usd: float = 0.0

    @property
    def saved_percent(self) -> int:
        """Returns how much shorter the prompts were than with the whole history, in per cent."""
        whole = self.prompt_tokens + self.saved_tokens
        return round(100 * self.saved_tokens / whole) if whole else 0


def add_up(rows: Iterable[UsageRow]) -> UsageSum:
    """Returns the sum of the rows."""
    rows = list(rows)
    prices = [row.usd for row in rows if row.usd is not None]
    return UsageSum(
        len(rows),
        sum(row.prompt_tokens for row in rows),
        sum(row.cached_tokens for row in rows),
        sum(row.answer_tokens for row in rows),
        sum(prices) if prices else None,
        sum(row.usd is None for row in rows),
        sum(row.saved_tokens for row in rows),
        sum(row.cache_usd for row in rows),
    )


def group_rows(rows: Iterable[UsageRow], group: Group) -> dict[str, UsageSum]:
    """Returns the sums by group, the one with most tokens first."""
    groups = defaultdict[str, list[UsageRow]](list)
    for row in rows:
        groups[group(row)].append(row)
    sums = {name: add_up(members) for name, members in groups.items()}
    return dict(sorted(sums.items(), key=lambda each: -(each[1].prompt_tokens + each[1].answer_tokens)))


def label_chats(rows: Iterable[UsageRow], label: Callable[[str], str]) -> dict[str, str]:
    """Returns a label of its own for every conversation, by its id: that of its title, with a number from the second
    conversation on that has the same one. ``label``: makes a label of a title."""
    labels, known = dict[str, str](), set[str]()
    for session_id, title in {row.session_id: row.title for row in rows}.items():
        name = label(title)
        numbered = (f"{name} · {number}" for number in itertools.count(2))
        labels[session_id] = next(each for each in itertools.chain([name], numbered) if each not in known)
        known.add(labels[session_id])
    return labels


def sum_days(
    rows: Sequence[UsageRow], group: Group, days: int, today: date, zone: tzinfo | None
) -> list[tuple[date, Mapping[str, UsageSum]]]:
    """Returns the sums by group of every day of the period, also of days without use. Days are the reader's."""
    by_day = defaultdict[date, list[UsageRow]](list)
    for row in rows:
        by_day[find_day(row, zone)].append(row)
    period = [today - timedelta(days=days - 1 - number) for number in range(days)]
    return [(day, group_rows(by_day[day], group)) for day in period]


def find_day(row: UsageRow, zone: tzinfo | None) -> date:
    """Returns the reader's day of a row."""
    return datetime.fromtimestamp(row.moment, zone).date()


def write_csv(rows: Iterable[UsageRow], zone: tzinfo | None) -> str:
    """Returns the sums by day, model, conversation and kind of work as CSV, for spreadsheets: a title is never a
    formula there."""
    groups = defaultdict[tuple[str, str, str, str, str], list[UsageRow]](list)
    for row in rows:
        groups[find_day(row, zone).isoformat(), row.model, row.session_id, row.title, row.work].append(row)
    file = io.StringIO()
    table = csv.writer(file)
    table.writerow(COLUMNS)
    for (day, model, _, title, work), members in sorted(groups.items()):
        total = add_up(members)
        money = "" if total.unpriced or total.usd is None else f"{total.usd:.6f}"
        counts = (total.count, total.prompt_tokens, total.cached_tokens, total.answer_tokens)
        names = (day, *map(_escape_formula, (model, title)), work)
        table.writerow((*names, *counts, money, total.saved_tokens, f"{total.cache_usd:.6f}"))
    return file.getvalue()


def _escape_formula(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell
