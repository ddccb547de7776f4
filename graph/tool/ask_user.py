"""The tool with which a model asks the user something it needs to know before it answers (``store.turn.question``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, Field, ValidationError

from graph.tool.question.asking import answer_in
from store.turn.question import Action, UserQuestion
from text.cut import cut_graphemes

QUESTION_CHARS, CHOICE_CHARS, MOST_CHOICES = 1_000, 200, 8
ABOUT = {"ko": "꼭 필요한 것을 사용자에게 묻기", "en": "ask the user for something that the answer depends on"}


class AskArguments(BaseModel, extra="forbid"):
    """Arguments of ``ask_user``."""

    question: str = Field(min_length=1, max_length=QUESTION_CHARS, description="The question, in the user's language")
    choices: list[str] = Field(
        default_factory=list,
        max_length=MOST_CHOICES,
        description="Answers to choose from, if there are a few; the user may also answer in other words",
    )


class AskUser(BaseTool):
    """``ask_user``: the turn waits for the user's answer, which is the tool's result."""

    name: str = "ask_user"
    description: str = (
        "Ask the user one question and wait for the answer. Only when you cannot answer well without it, and nothing "
        "that you were given tells it."
    )
    args_schema: type[BaseModel] = AskArguments
    metadata: dict[str, Any] | None = Field(default_factory=lambda: {"about": ABOUT})

    def question(self, key: str, arguments: Mapping[str, Any]) -> UserQuestion | None:
        """Returns the model's question; None for arguments that the call itself will refuse."""
        try:
            asked = AskArguments.model_validate(arguments)
        except ValidationError:
            return None
        choices = dict.fromkeys(cut_graphemes(choice, CHOICE_CHARS) for choice in asked.choices if choice.strip())
        return UserQuestion(key, "choose", key, self.name, asked.question, choices=tuple(choices))

    def allow(self, action: Action) -> None:
        """Keeps nothing: every question is a new one."""

    def _run(self, question: str, config: RunnableConfig, choices: list[str] | None = None) -> str:
        answer = answer_in(config)
        if answer is None or answer.action != "answer" or not str(answer.value or "").strip():
            raise ToolException("The user did not answer. Answer as well as you can without it.")
        return str(answer.value)
