"""Calculates arithmetic as people write it, in Korean and English, in exact decimals on ``simpleeval``.

``normalize_expression`` turns the written form into a plain expression («8만의 15%» → ``80000*(15/100)``);
``solve_expression`` also calculates the expression and returns both. Characters, digits, exponents and factorials are
limited.
"""

from __future__ import annotations

import ast
import decimal
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from simpleeval import InvalidExpression, SimpleEval

MAX_LENGTH = 300
MAX_FACTORIAL = 200
SHOWN_DIGITS = 15

_CONTEXT = decimal.Context(
    prec=60, Emax=400, Emin=-400, traps=[decimal.DivisionByZero, decimal.Overflow, decimal.InvalidOperation]
)
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
_E = Decimal("2.71828182845904523536028747135266249775724709369995957496697")
_BIG = {"만": 10**4, "억": 10**8, "조": 10**12}
_SMALL = {"십": 10, "백": 100, "천": 1000}
_ENGLISH = {"k": 10**3, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORDS = (
    (r"곱하기|\btimes\b|\bmultiplied by\b|[×·∙⋅✕✖]", "*"),
    (r"나누기|\bdivided by\b|\bover\b|[÷∕⁄]", "/"),
    (r"더하기|\bplus\b", "+"),
    (r"빼기|\bminus\b|[−–—]", "-"),
    (r"\^|\bto the power of\b", "**"),
    (r"√|\bsquare root of\b", "sqrt "),
    (r"π", "pi"),
    (r"퍼센트|프로|\bpercent\b", "%"),
    (r"[₩$€£¥]|(?<=[\d만억천백십 ])(?:원|달러|유로|엔|개|명|won\b|dollars?\b)", ""),
)
# A percentage that is added or subtracted, and is not a factor itself
_RELATIVE = re.compile(r"([+-])\s*(\d+(?:\.\d+)?)\s*%(?=\s*(?:[-+),]|$))")


class CannotCalculate(ValueError):
    """The error of an expression that cannot be calculated; the text tells the model why."""


def solve_expression(expression: str) -> str:
    """Returns ``understood = value``, with ``≈`` when the value was rounded. Raises ``CannotCalculate``."""
    if len(expression) > MAX_LENGTH:
        raise CannotCalculate(f"The expression has {len(expression)} characters; the limit is {MAX_LENGTH}.")
    understood = normalize_expression(expression)
    foreign = not re.fullmatch(r"[\da-z.,+\-*/%()]+", understood) or re.search(r"\d(?!e[+-]?\d)[a-z]", understood)
    if foreign or re.search(r"\d[%％]\s*\(|[₀-₉]", expression):  # «20%(50)» may mean a share or a remainder
        raise CannotCalculate(_explain_failed_expression(expression))
    value, exact = evaluate_expression(understood)
    shown, whole = _format_decimal_value(value)
    return f"{understood} {'=' if exact and whole else '≈'} {shown}"


def normalize_expression(expression: str) -> str:
    """Returns the expression in plain signs: operators, units, percentages and separators become explicit."""
    text = re.sub(r"[⁺⁻]?[⁰¹²³⁴-⁹]+", r"**\g<0>", expression)
    text = unicodedata.normalize("NFKC", re.sub(r"(\d+)?\s*([¼-¾⅐-⅞])", _expand_fraction, text))
    text = re.sub(r"[=?\s]+$", "", text.strip()).casefold()
    for pattern, sign in _WORDS:
        text = re.sub(pattern, sign, text)
    if not re.search(r"\b(?:min|max|round|log)\s*\(", text):
        text = _join_digit_groups(text)
    text = re.sub(r"(?<![\d.])\d{1,3}(?: \d{3})+(?!\d)", lambda match: match[0].replace(" ", ""), text)
    text = re.sub(r"(?<![\d.])(\d+) +((\d+)/(\d+))(?![\d.])", _expand_fraction, text)
    text = _expand_number_scales(text)
    text = re.sub(r"sqrt (\d+(?:\.\d+)?)", r"sqrt(\1)", text)
    text = re.sub(r"(?<=\d)\s*x\s*(?=[\d(])", "*", text)
    text = re.sub(r"(\d+)\s*!", r"factorial(\1)", re.sub(r"(?<=\d)_(?=\d)", "", text))
    return re.sub(r"(?<![\d.])\s+|\s+(?![\d.])", "", _expand_percentages(text))  # a space between two numbers stays


def evaluate_expression(expression: str) -> tuple[Decimal, bool]:
    """Returns the value of a plain expression, and whether the value is exact. Raises ``CannotCalculate``."""
    with decimal.localcontext(_CONTEXT) as context:
        context.clear_flags()
        try:
            value = _Exact().eval(expression)
        except decimal.DivisionByZero:
            raise CannotCalculate(f"{expression!r} divides by zero.") from None
        except decimal.Overflow:
            raise CannotCalculate(f"The value of {expression!r} is too large (limit 10^{_CONTEXT.Emax}).") from None
        except (InvalidExpression, SyntaxError, ArithmeticError, ValueError, TypeError, KeyError) as error:
            raise CannotCalculate(_explain_failed_expression(expression, error)) from error
        except (RecursionError, MemoryError):
            raise CannotCalculate(f"{expression[:40]!r} … is nested too deeply.") from None
        return +value, not context.flags[decimal.Inexact]


class _Exact(SimpleEval):  # type: ignore[misc]
    """A ``simpleeval`` with decimals only: numbers, + - * / // % **, a few functions, pi and e. Nothing else."""

    def __init__(self) -> None:
        self.nodes: dict[type[ast.AST], Callable[[Any], Any]]
        super().__init__(operators=_OPERATORS, functions=_FUNCTIONS, names={"pi": _PI, "e": _E})
        self.nodes = {kind: self.nodes[kind] for kind in (ast.Expr, ast.UnaryOp, ast.BinOp, ast.Name)}
        self.nodes |= {ast.Constant: self._number, ast.Call: self._call}

    def _number(self, node: ast.Constant) -> Decimal:
        if type(node.value) not in (int, float):
            raise InvalidExpression("only numbers can be calculated")
        return +Decimal(ast.get_source_segment(self.expr, node) or "")

    def _call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise InvalidExpression(f"known functions are {', '.join(_FUNCTIONS)}")
        return self._eval_call(node)


def _explain_failed_expression(expression: str, error: Exception | None = None) -> str:
    reason = f" ({str(error)[:120]})" if isinstance(error, InvalidExpression | ValueError) else ""
    advice = 'Give one expression of numbers and operators, such as "(1200+350)*3" or "15% of 2400".'
    return f"{expression[:80]!r} cannot be calculated{reason}. {advice}"


def _floor_decimal(value: Decimal) -> Decimal:
    return value.to_integral_value(decimal.ROUND_FLOOR)


def _compute_modulo(value: Decimal, divisor: Decimal) -> Decimal:
    """Returns the remainder with the sign of the divisor, as Python does for whole numbers."""
    rest = value % divisor
    return rest + divisor if rest and (rest < 0) != (divisor < 0) else rest


def _compute_factorial(value: Decimal) -> Decimal:
    if value != _floor_decimal(value) or not 0 <= value <= MAX_FACTORIAL:
        raise CannotCalculate(f"factorial takes whole numbers from 0 to {MAX_FACTORIAL}, not {value}.")
    product = Decimal(1)
    for factor in range(2, int(value) + 1):
        product *= factor
    return product


def _round_decimal(value: Decimal, digits: Decimal = Decimal(0)) -> Decimal:
    if digits != _floor_decimal(digits) or not -30 <= digits <= 30:
        raise CannotCalculate(f"round takes -30 to 30 digits, not {digits}.")
    return value.quantize(Decimal(1).scaleb(-int(digits)), decimal.ROUND_HALF_UP, context=_CONTEXT.copy())


def _compute_logarithm(value: Decimal, base: Decimal = Decimal(10)) -> Decimal:
    return _check_positive(value).log10() / _check_positive(base).log10()


def _check_positive(value: Decimal) -> Decimal:
    if value <= 0:
        raise CannotCalculate(f"A logarithm takes numbers above 0, not {value}.")
    return value


_OPERATORS: dict[type[ast.AST], Callable[..., Decimal]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: (a - _compute_modulo(a, b)) / b,
    ast.Mod: lambda a, b: _compute_modulo(a, b),
    ast.Pow: lambda a, b: a**b,
    ast.USub: lambda a: -a,
    ast.UAdd: lambda a: +a,
}
_FUNCTIONS: dict[str, Callable[..., Decimal]] = {
    "sqrt": lambda a: a.sqrt(),
    "abs": lambda a: abs(a),
    "round": _round_decimal,
    "floor": _floor_decimal,
    "ceil": lambda a: -_floor_decimal(-a),
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "ln": lambda a: _check_positive(a).ln(),
    "log": _compute_logarithm,
    "exp": lambda a: a.exp(),
    "factorial": _compute_factorial,
}


def write_numbers_in_digits(text: str) -> str:
    """Returns the text with its numbers in digits: «3만 5천원» becomes «35000원», «1,200» becomes «1200»."""
    return _expand_number_scales(_join_digit_groups(text))


def _join_digit_groups(text: str) -> str:
    return re.sub(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?!,?\d)", lambda match: match[0].replace(",", ""), text)


def _expand_number_scales(text: str) -> str:
    text = re.sub(r"(?:\d+(?:\.\d+)?\s*[십백천만억조]+\s*)+(?:\d+(?![\d.]*\s*%))?", _expand_korean_number, text)
    return re.sub(r"(\d+(?:\.\d+)?)\s*(thousand|million|billion|trillion|k)\b", _expand_english_number, text)


def _expand_korean_number(found: re.Match[str]) -> str:
    """Converts «3만 5천» to 35000 and «1억 2천만» to 120000000."""
    total = section = Decimal(0)
    current: Decimal | None = None
    for part in re.findall(r"\d+(?:\.\d+)?|[십백천만억조]", found[0]):
        if part in _SMALL:
            section += (1 if current is None else current) * _SMALL[part]
            current = None
        elif part in _BIG:
            total += (section + (current or 0) or 1) * _BIG[part]
            section, current = Decimal(0), None
        else:
            current = Decimal(part)
    return f"{total + section + (current or 0):f}".removesuffix(".0")


def _expand_english_number(found: re.Match[str]) -> str:
    """Converts a match of a number and its scale («350k», «1.5 million») to plain digits."""
    return f"{(Decimal(found[1]) * _ENGLISH[found[2].lower()]).normalize():f}"


def _expand_fraction(found: re.Match[str]) -> str:
    """Converts «½» to (1/2), «2½» and «2 1/2» to (2+1/2)."""
    whole, part, *parts = found.groups()
    if parts and int(parts[0]) >= int(parts[1]):
        return found[0]
    return f"({whole}+{part})" if whole else f"({part})"


def _expand_percentages(text: str) -> str:
    """Makes percentages explicit. The B% of «A ± B%» is taken of everything before it in its brackets, from left to
    right; elsewhere B% is B/100; «of» and «의» multiply."""
    at = 0
    while match := _RELATIVE.search(text, at):
        start, at = _find_bracket_start(text, match.start()), match.end()
        base = text[start : match.start()].strip()
        if base[-1:].isdigit() or base.endswith(")"):
            base = base if re.fullmatch(r"[\d.]+|\([^()]*\)", base) else f"({base})"
            changed = f"{base}*(1{match[1]}{match[2]}/100)"
            text, at = f"{text[:start]}{changed}{text[at:]}", start + len(changed)
    text = re.sub(r"^\s*(\d\d?)\s*%\s*(?=\d{3,}(?:\.\d+)?\s*$)", r"(\1/100)*", text)
    text = re.sub(r"(\d+(?:\.\d+)?)\s*%(?!\s*[\d(])", r"(\1/100)", text)
    return re.sub(r"(?<=[\d)])\s*(?:\bof\b|의)\s*(?=[\d(])", "*", text)


def _find_bracket_start(text: str, at: int) -> int:
    """Returns where the innermost brackets, or the function argument, around position ``at`` begin."""
    depth = 0
    for place in range(at - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[place], 0)
        if depth < 0 or (depth == 0 and re.match(r",(?!\d{3})", text[place:])):
            return place + 1
    return 0


def _format_decimal_value(value: Decimal) -> tuple[str, bool]:
    """Returns the value with separators, and whether no digit was cut."""
    whole = value.to_integral_value()
    if value == whole and abs(value) < Decimal(10) ** 40:
        return f"{whole or Decimal(0):,f}", True
    short = decimal.Context(prec=SHOWN_DIGITS, Emax=400, Emin=-400).create_decimal(value).normalize()
    shown = f"{short:,f}" if -7 <= short.adjusted() < 40 else f"{short:e}"
    return shown, short == value
