"""The tool that calculates: exact decimals, no ``eval``."""

from __future__ import annotations

import re

from langchain_core.tools import ToolException, tool
from pydantic import BaseModel, Field, field_validator

from graph.tool import arithmetic

MAX_LENGTH = 300


class CalculateArguments(BaseModel, extra="forbid"):
    """Arguments of ``calculate``."""

    expression: str = Field(max_length=MAX_LENGTH, description='An expression such as "(1200+350)*3" or "15% of 2400"')

    @field_validator("expression")
    @classmethod
    def _has_an_operation(cls, value: str) -> str:
        """Rejects a number alone: it is a statement of the user, not a calculation."""
        if re.fullmatch(r"[\d.]+", arithmetic.understand(value)):
            raise ValueError("a number alone needs no calculation; give an expression with an operation")
        return value


@tool(args_schema=CalculateArguments)
def calculate(expression: str) -> str:
    """Calculate an arithmetic expression exactly."""
    try:
        return arithmetic.solve(expression)
    except arithmetic.CannotCalculate as error:
        raise ToolException(str(error)) from error


calculate.metadata = {
    "about": {"ko": "계산 (사칙연산, 퍼센트, 거듭제곱)", "en": "arithmetic: sums, percentages, powers"}
}
