"""Tools that lead out of the conversation: to the user, and to programs that the user set up (specification 14.1)."""

from __future__ import annotations

from langchain_core.tools import BaseTool

from graph.tool.ask_user import AskUser
from model.profile import Profile


def tools(profile: Profile, asks: bool = True) -> list[BaseTool]:
    """Returns the tools of one turn that lead outside. ``asks``: whether the user can be asked meanwhile."""
    return [AskUser()] if profile.tools == "native" and asks else []
