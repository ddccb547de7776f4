"""Tables of examples: one test for all rows, which lists every row that does not hold.

Written like ``pytest.mark.parametrize``, for rules whose rows need nothing made anew for each of them. A thousand rows
are then one case, and a change that breaks twenty of them shows all twenty.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

Test = Callable[..., None]


def table(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: Iterable[str] | Callable[[Any], str] | None = None
) -> Callable[[Test], Test]:
    """Calls the test with every row, one argument for each of ``names``; the other arguments are fixtures that all
    rows share. ``ids`` are the names of the rows, or what makes one of the row's value."""
    named = [names] if isinstance(names, str) and "," not in names else _split(names)
    values = [_values(row, len(named)) for row in rows]
    if callable(ids):
        labels = [" ".join(map(ids, row)) for row in values]
    else:
        labels = list(ids) if ids is not None else [" ".join(map(_short, row)) for row in values]
    assert values, "a table without rows holds nothing"
    assert len(labels) == len(values)

    def over(test: Test) -> Test:
        given = inspect.signature(test).parameters
        assert set(named) <= set(given), f"{test.__name__} does not take {set(named) - set(given)}"
        own = [each for name, each in given.items() if name not in named]
        if "subtests" not in given:  # a table over a table has it already
            own.append(inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD))

        @wraps(test)
        def whole(**fixtures: Any) -> None:
            subtests = fixtures["subtests"] if "subtests" in given else fixtures.pop("subtests")
            for label, row in zip(labels, values, strict=True):
                with subtests.test(label):
                    test(**dict(zip(named, row, strict=True)), **fixtures)

        whole.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
        return whole

    return over


def _split(names: str | Sequence[str]) -> list[str]:
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _values(row: Any, count: int) -> tuple[Any, ...]:
    return (row,) if count == 1 else tuple(row)


def _short(value: object) -> str:
    return repr(value)[:40]
