"""The tool that calculates: sums in exact decimals, days and times by the calendar; no ``eval``."""

from __future__ import annotations

import re

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import ToolException, tool
from pydantic import BaseModel, Field, field_validator

from graph.tool.calculation import arithmetic
from graph.tool.calculation.expression import reckon_expression
from graph.tool.time import read_clock

MAX_LENGTH = 300


class CalculateArguments(BaseModel, extra="forbid"):
    """Arguments of ``calculate``."""

    expression: str = Field(
        max_length=MAX_LENGTH,
        description='An expression such as "(1200+350)*3" or "15% of 2400"; about days "days(today, 2026-12-25)", '
        '"workdays(today, 2026-12-25)", "today + 10 working days", "weekday(nth(2, tuesday, 2027-03))"; about times '
        '"time(15:00, New York, Seoul)", "time(Tokyo) + 3 hours"',
    )

    @field_validator("expression")
    @classmethod
    def _has_an_operation(cls, value: str) -> str:
        """Rejects a number alone: it is a statement of the user, not a calculation."""
        if re.fullmatch(r"[\d.]+", arithmetic.normalize_expression(value)):
            raise ValueError("a number alone needs no calculation; give an expression with an operation")
        return value


@tool(args_schema=CalculateArguments, response_format="content_and_artifact")
def calculate(config: RunnableConfig, expression: str) -> tuple[str, dict[str, str] | None]:
    """Calculate an arithmetic expression exactly, days between two dates, a date some days on, a time elsewhere."""
    try:
        reckoning = reckon_expression(expression, read_clock(config))
    except arithmetic.CannotCalculate as error:
        raise ToolException(str(error)) from error
    return reckoning.text, reckoning.facts or None


calculate.metadata = {
    "about": {
        "ko": "계산 (사칙연산, 퍼센트, 거듭제곱, 날짜 사이의 일수, 며칠 뒤의 날짜, 다른 곳의 시각)",
        "en": "arithmetic: sums, percentages, powers; days between dates, days ahead, times elsewhere",
    }
}
