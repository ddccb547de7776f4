"""Corrects the sums that a small model writes in its answer, by code, while the answer streams (design 9.5).

A model of 1.5 billion parameters finds the right numbers and signs far more often than the right result. Where the
model writes «42 × 86 = 3,592», code calculates the left side exactly and writes «3,612»; code also replaces the same
wrong number later in the answer. Code changes only text that reads as one plain sum.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from graph.tool.calculation import arithmetic

LOOK_BACK = 200
"""Characters before an equals sign that are searched for the left side of the sum."""
LEAST_DIGITS = 3
"""A wrong result of fewer digits is not replaced later in the answer: the same number may mean something else there."""
_UNIT = r"(?:\s?(?![xX]\s?\d)(?:euros?|dollars?|pounds?|[^\W\d_]{1,12}))"
_NUMBER = r"[₩$€£¥]?\s?\d[\d,]*(?:\.\d+)?(?:\s?[십백천만억조]+(?:\s?\d[\d,]*)?)?\s?%?"
_TERM = rf"\(?\s*{_NUMBER}{_UNIT}{{0,2}}\s*\)?"
_SIGN = r"(?:[-+*/×÷·−–]|[xX](?=\s?[\d(₩$€£¥]))"
_LEFT = re.compile(rf"(?:(?<![^\s(])-)?{_TERM}(?:\s*{_SIGN}\s*{_TERM})+\s*$")
_NAMED = re.compile(r"\d[^\s\d]{0,3}\s*$")
"""Matches a value right before the left side: it belongs to the sum («3시간 30분 + 45분»), so the sum stays."""
_RESULT = re.compile(
    r"[=≈]\s*(?:약\s|about\s)?[₩$€£¥]?\s?(?P<value>-?\d[\d,]*(?:\.\d+)?)(?P<scale>\s?[십백천만억조]+)?"
)
_OPEN = re.compile(r"(?:[=≈][^\n=≈]{0,24}|[\d,.₩$€£¥-]+)\Z")
"""Matches the end of a text that the next piece may turn into a result or a longer number."""
_AFTER = re.compile(rf"{_UNIT}?\s*(?:{_SIGN}\s*[\d(₩$€£¥]|\d|[:/]\d)")
"""Matches the text behind a result when the sum goes on, or when the value has a second part."""
ENOUGH = 16
"""Characters behind a result that suffice to tell whether the sum goes on."""


@dataclass
class Equations:
    """The corrector of the sums of one answer. ``told``: called with the plain sum and its value after every
    correction."""

    told: Callable[[str, str], None]
    _seen: str = ""
    _held: str = ""
    _wrong: dict[str, str] = field(default_factory=dict)

    def feed(self, text: str) -> str:
        """Takes the next piece of the answer; returns the text, corrected, that can be shown now."""
        self._held += text
        return self._let_go(len(self._held) - self._count_held_chars())

    def end(self) -> str:
        """Returns the text that is still held back, corrected."""
        return self._let_go(len(self._held))

    def _count_held_chars(self) -> int:
        """Returns how many characters at the end must wait for the next piece."""
        result = max(_RESULT.finditer(self._held), key=lambda match: match.start(), default=None)
        if result is not None and len(self._held) - result.end() < ENOUGH and "\n" not in self._held[result.end() :]:
            return len(self._held) - result.start()
        unfinished = _OPEN.search(self._held)
        return len(unfinished[0]) if unfinished else 0

    def _let_go(self, upto: int) -> str:
        ready, self._held = self._held[:upto], self._held[upto:]
        shown = self._replace_wrong_values(self._put_right(ready))
        self._seen += shown
        return shown

    def _put_right(self, text: str) -> str:
        corrected, at = "", 0
        for result in _RESULT.finditer(text):
            corrected += text[at : result.start("value")]
            before = f"{self._seen}{corrected}"[: -len(text[result.start() : result.start("value")])]
            right = None if _AFTER.match(text[result.end() :]) else self._find_right_value(before, result)
            corrected += right if right is not None else text[result.start("value") : result.end()]
            at = result.end()
        return corrected + text[at:]

    def _find_right_value(self, before: str, result: re.Match[str]) -> str | None:
        """Returns the right value of a sum when the answer has another value; None when there is nothing to correct."""
        if before.count("```") % 2:
            return None
        line = before.rpartition("\n")[2][-LOOK_BACK:]
        left = _LEFT.search(line)
        if left is None or _NAMED.search(line[: left.start()]):
            return None
        plain = _read_equation_side(left[0])
        try:
            value, _ = arithmetic.evaluate_expression(plain)
            written, _ = arithmetic.evaluate_expression(
                _read_equation_side(f"{result['value']}{result['scale'] or ''}")
            )
        except arithmetic.CannotCalculate:
            return None
        if _is_written_value_right(value, written, result["value"]):
            return None
        shown = _format_corrected_value(value, "," in result["value"] or abs(value) >= 10_000)
        self.told(plain, shown)
        if sum(letter.isdigit() for letter in result["value"]) >= LEAST_DIGITS and not result["scale"]:
            self._wrong[result["value"]] = shown
        return shown

    def _replace_wrong_values(self, text: str) -> str:
        for wrong, right in self._wrong.items():
            text = re.sub(rf"(?<![\d.,]){re.escape(wrong)}(?![\d]|[.,]\d)", right, text)
        return text


def _read_equation_side(text: str) -> str:
    """Returns one side of an equation as a plain expression, without its units."""
    text = arithmetic.normalize_expression(re.sub(r"(?<=[\d\s)])[xX](?=\s?[\d(₩$€£¥])", "*", text))
    return re.sub(r"[^\d.+\-*/()%]", "", re.sub(r"[^\W\d_]+", "", text))


def _is_written_value_right(value: Decimal, written: Decimal, text: str) -> bool:
    """Returns whether the written value is ``value``, exactly or cut or rounded to the decimals that ``text`` shows."""
    unit = Decimal(1).scaleb(-len(text.partition(".")[2]))
    return value == written or (value % unit != 0 and abs(value - written) < unit)


def _format_corrected_value(value: Decimal, grouped: bool) -> str:
    rounded = value.quantize(Decimal("0.01")) if value != value.to_integral_value() else value.to_integral_value()
    return f"{rounded:,f}" if grouped else f"{rounded:f}"
