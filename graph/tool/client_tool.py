"""Tools of a client, which the client itself runs: a call of one ends the run, and the client's next request brings the
result (OpenAI's ``tools``).

To the graph such a tool is one that asks while it runs (``store.turn.question``): the turn waits, through a restart,
too, and goes on with what the client answers. Names, descriptions and results are the client's, so they are foreign
text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import Field

from graph.tool.question import guard
from graph.tool.question.asking import answer_in, read_config_call
from store.turn.question import OpenUserQuestions, UserQuestion

KIND: Literal["client"] = "client"
"""The kind of question that a call of such a tool is."""
RESULT_CHARS = 50_000
"""Characters of one result that the model is given."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClientTools:
    """The tools of one request. ``forms``: in OpenAI's form, as they go to the model's server; ``choice``:
    ``tool_choice`` where the client wants a call, else None; ``parallel``: whether several calls at once are wanted,
    None leaves it to the server."""

    forms: tuple[Json, ...] = ()
    choice: str | Json | None = None
    parallel: bool | None = None

    def make(self) -> list[ClientTool]:
        """Returns the tools for a turn."""
        return [ClientTool.of(form, self.choice is not None) for form in self.forms]

    @property
    def only_function(self) -> Json | None:
        """Returns the one function that the client wants called; None where there is a choice left."""
        if self.choice is None:
            return None
        wanted = self.choice["function"]["name"] if isinstance(self.choice, dict) else None
        named = [form["function"] for form in self.forms if wanted in (None, form["function"]["name"])]
        return named[0] if len(named) == 1 else None

    @property
    def fields(self) -> Json:
        """Returns what goes to the model's server beside the forms."""
        wanted = {"tool_choice": self.choice, "parallel_tool_calls": self.parallel}
        return {name: value for name, value in wanted.items() if value is not None} if self.forms else {}


NO_TOOLS = ClientTools()


class ClientTool(BaseTool):
    """A tool of a client. ``form``: as the client described it; ``is_demanded``: the client wants a call in any
    case."""

    form: Json = Field(default_factory=dict)
    is_demanded: bool = False
    metadata: Json | None = Field(default_factory=lambda: {guard.FOREIGN: True, guard.CLIENT: True})

    @classmethod
    def of(cls, form: Mapping[str, Any], is_demanded: bool = False) -> ClientTool:
        """Returns the tool of a form (``{"type": "function", "function": {"name": …}}``)."""
        function = form["function"]
        about = str(function.get("description") or function["name"])
        schema = function.get("parameters") or {}
        return cls(
            name=function["name"],
            description=about,
            args_schema=schema,
            form=dict(form),
            is_demanded=is_demanded,
        )

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Hands the arguments on as one object: a client may name them as it likes, also ``self`` or ``config``."""
        return (tool_input if isinstance(tool_input, dict) else {},), {}

    def _run(self, arguments: dict[str, Any], *, config: RunnableConfig) -> str:
        answer, key = answer_in(config), read_config_call(config)
        if answer is None:
            # the request that brings the result need not bring the tool
            state = {guard.CLIENT: True} | ({guard.DEMANDED: True} if self.is_demanded else {})
            raise OpenUserQuestions([UserQuestion(key, KIND, key, self.name, arguments=dict(arguments), state=state)])
        return str(answer.value or "")


def is_client_call(questions: Sequence[UserQuestion]) -> bool:
    """Returns whether all that a turn waits for are results of its client's tools."""
    return bool(questions) and all(question.kind == KIND for question in questions)
