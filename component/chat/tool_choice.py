"""The choice of a foreign tool for the next message, for a model that does not call tools itself (specification 14.1).

A message that begins with ``/tool NAME`` does the same; the choice saves the user from typing the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import streamlit as st

from component.page.view import View
from component.widget.markdown import escape_markdown
from component.widget.overflow import MenuItem, render_icon_menu
from component.work import resource
from errors import GieokError
from graph.choice.named import read_named_tool
from host import ServerState
from host.tool import model_name

CHOSEN = "tool-chosen"


def draw_menu_of_tools(view: View) -> None:
    """Draws a button beside the input; it opens the list of tools. Draws nothing where the model calls tools itself, or
    where no server is enabled."""
    choices = dict(_list_tool_items(view))
    if choices:
        label = view.words("tool_choice.title")  # for screen readers
        render_icon_menu("tool-choice", choices, "handyman", label, help=label)


def draw_chosen(view: View) -> None:
    """Draws the tool that the next message goes to, with a button that drops it."""
    chosen, label = _find_chosen_tool(view), view.words("tool_choice.drop")
    if chosen is None:
        return
    _, name = chosen
    with st.container(key="next-tool", horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(f":gray-badge[:material/handyman: {name}]", width="content")
        drop = partial(_store_tool_choice, view, None)
        st.button(label, key="drop-tool", icon=":material/close:", type="tertiary", help=label, on_click=drop)


def prefix_chosen_tool(view: View, text: str) -> str:
    """Returns the message with the chosen tool before it, and forgets the choice. A message that names a tool itself
    stays as it is."""
    chosen = _find_chosen_tool(view)
    st.session_state.pop(CHOSEN, None)
    return text if chosen is None or read_named_tool(text) else f"/tool {chosen[0]} {text}"


def _list_tool_items(view: View) -> Iterator[tuple[str, MenuItem]]:
    """Yields the tools by their names, and for every server whose tools are not known an action that asks it."""
    host = resource.find_user_agent().host
    for state in _list_routed_servers(view):
        for tool, label in _label_server_tools(state).items():
            yield tool, MenuItem(label, "build", partial(_store_tool_choice, view, tool))
        if host is not None and (state.error or not state.looked):
            label = view.words("tool_choice.look", server=escape_markdown(state.name))
            yield f"look {state.name}", MenuItem(label, "network_check", partial(host.test, state.name))


def _find_chosen_tool(view: View) -> tuple[str, str] | None:
    """Returns the tool that was chosen in this conversation, as long as it is offered: the model's name of it, and what
    to show."""
    session, tool = st.session_state.get(CHOSEN, (None, None))
    if tool is None or session != view.session_id:
        return None
    return next(
        ((tool, tools[tool]) for state in _list_routed_servers(view) if tool in (tools := _label_server_tools(state))),
        None,
    )


def _store_tool_choice(view: View, tool: str | None) -> None:
    st.session_state[CHOSEN] = (view.session_id, tool)


def _list_routed_servers(view: View) -> Sequence[ServerState]:
    """Returns the enabled servers, where the model in use does not call their tools itself."""
    host, models = resource.find_user_agent().host, view.status.models
    if host is None or models is None or models.profile.tools != "routed":
        return ()
    try:
        return [state for state in host.states() if state.entry is not None and not state.entry.disabled]
    except GieokError:  # the settings window says what is wrong
        return ()


def _label_server_tools(state: ServerState) -> dict[str, str]:
    """Returns the server's tools that are not turned off: what to show of each, by the model's name of it."""
    return {
        model_name(state.name, tool.name): escape_markdown(f"{state.name} · {tool.name}")
        for tool in state.offered_tools
    }
