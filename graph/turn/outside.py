"""Tools that lead out of the conversation: to the user, and to programs that the user set up (specification 14.1 and
14.2)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool

from graph.choice.named import read_named_tool
from graph.tool.ask_user import AskUser
from graph.turn.process.engine import TurnEngine
from host import McpHost, Utility
from model.call.stream import Stopped, complete_answer
from model.modelset import ModelSet
from store.user.approval import Approvals


def list_outside_tools(
    engine: TurnEngine,
    models: ModelSet,
    question: str = "",
    *,
    session: str = "",
    asks: bool = True,
    stop: threading.Event | None = None,
) -> list[BaseTool]:
    """Returns the tools of one turn that lead outside. ``session``: whose turn it is;
    ``asks``: whether the user can be asked meanwhile. Without
    ``stop``, as for a preview, no server is asked for its tools.

    A model that calls tools itself gets all foreign tools, and ``ask_user``; another model gets only the one that the
    question names.
    """
    native = models.profile.tools == "native"
    wanted = read_named_tool(question)
    if engine.host is None or not (native or wanted):
        foreign = list[BaseTool]()
    else:
        utility = partial(_ask_utility_model, models, stop)
        begin = partial(engine.store.begun_calls.begin, session)
        foreign = _list_foreign_tools(engine.host, engine.store.approvals, stop, utility, begin)
    if native:
        return [*foreign, *([AskUser()] if asks else [])]
    return [tool for tool in foreign if wanted is not None and tool.name == wanted[0]]


def _list_foreign_tools(
    host: McpHost,
    approvals: Approvals,
    stop: threading.Event | None,
    utility: Utility,
    begin: Callable[[str], bool],
) -> list[BaseTool]:
    try:
        return host.tools(approvals, stop, utility, look=stop is not None, begin=begin)
    except Stopped:  # while a server was asked; the turn ends at its next step
        return []


def _ask_utility_model(models: ModelSet, stop: threading.Event | None, system: str, text: str, tokens: int) -> str:
    """Answers what a server asks the utility model."""
    messages: list[AnyMessage] = [*([SystemMessage(system)] if system else []), HumanMessage(text)]
    return str(complete_answer(models.utility, messages, stop=stop, max_tokens=tokens).text)
