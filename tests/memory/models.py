"""Scripted models for folds: a function of what was asked, so that a fold may run any number of times."""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage, BaseMessage

from model import scripted
from model.modelset import ModelSet


def faithful(messages: list[BaseMessage]) -> str:
    """Rewrites the memory as a good model does: the old lines and one for each thing the user said, with a value."""
    material = str(messages[1].content)
    memory = _between(material, "memory")
    said = re.findall(r"\[(?:User|사용자)\] (.+)", _between(material, "dialogue"))
    lines = [line for line in memory.splitlines() if line != "–"] + [f"User said: {each}" for each in said]
    values = [
        f"item {number}: {price}" for each in said for number, price in re.findall(r"item (\d+) costs (\S+\d)", each)
    ]
    return "\n".join([*lines[-20:], "---", *values])


def _between(text: str, tag: str) -> str:
    return text.split(f"<{tag}>")[1].split(f"</{tag}>")[0].strip()


def good() -> ModelSet:
    return scripted.models(utility=faithful)


def saying(*answers: str | AIMessage) -> ModelSet:
    """A model that writes freely and says these things."""
    return scripted.models(utility=answers)


def constrained(*answers: str) -> ModelSet:
    """A model that needs help and says these things."""
    return scripted.models(utility=answers, decide=())
