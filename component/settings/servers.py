"""The tab of the settings window with the foreign servers (MCP) and their tools: add, test, enable, permit, remove."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any

import streamlit as st

from component.page.catalogue import Words
from component.page.view import View
from component.widget.failure import draw_error, render_raised_error
from component.widget.markdown import escape_markdown, shorten_text
from component.widget.moment import format_reader_moment
from component.work import resource
from component.work.user import is_admin
from errors import GieokError, ServerEntryWrong
from host import McpHost, ServerState, ServerTool
from host.entry import Permission
from host.tool import model_name

PERMISSIONS: tuple[Permission, ...] = ("ask", "allow", "off")
ABOUT_CHARS = 300
FIELDS = ("servers-name", "servers-way", "servers-secrets")


def draw_servers(view: View) -> None:
    """Draws the tab. Who may not change the installation sees what there is."""
    words, host = view.words, resource.find_user_agent().host
    if host is None:
        return
    st.caption(words("servers.about"))
    try:
        states = host.states()
    except GieokError as error:
        draw_error(words, error)
        return
    for state in states:
        _draw_server(view, host, state)
    if not states:
        st.caption(words("servers.none"))
    if is_admin():
        _draw_adding(words, host)
    else:
        st.caption(words("servers.fixed"))


def _draw_server(view: View, host: McpHost, state: ServerState) -> None:
    words, name = view.words, state.name
    with st.container(border=True, gap="xsmall", key=f"server-{name}"):
        st.markdown(f"**{escape_markdown(name)}** {_format_server_badge(words, state)}")
        if state.error:
            st.caption(escape_markdown(shorten_text(state.error, ABOUT_CHARS)))
            if state.away_since:
                st.caption(escape_markdown(words("servers.away", since=format_reader_moment(state.away_since))))
        elif state.looked:
            st.caption(escape_markdown(words("servers.seen", title=state.title or name, protocol=state.protocol)))
        if state.left_out:
            st.caption(
                escape_markdown(words("servers.left_out", tools=shorten_text(", ".join(state.left_out), ABOUT_CHARS)))
            )
        if is_admin():
            _render_server_actions(view, host, state)
        if state.tools and state.entry is not None:
            with st.expander(words("servers.tools", count=len(state.tools)), key=f"server-tools-{name}"):
                for tool in state.tools:
                    _draw_tool(words, host, state, tool)


def _format_server_badge(words: Words, state: ServerState) -> str:
    if state.entry is None or state.error:
        return f":orange-badge[:material/error: {escape_markdown(words('servers.wrong'))}]"
    if state.entry.disabled:
        return f":gray-badge[{escape_markdown(words('servers.off'))}]"
    if not state.looked:
        return f":gray-badge[{escape_markdown(words('servers.unseen'))}]"
    return f":green-badge[:material/check_circle: {escape_markdown(words('servers.ready'))}]"


def _render_server_actions(view: View, host: McpHost, state: ServerState) -> None:
    words, name = view.words, state.name
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        if state.entry is not None:
            if st.button(words("servers.test"), key=f"server-test-{name}", icon=":material/network_check:"):
                with render_raised_error(words), st.spinner(words("servers.testing")):
                    host.test(name)
                st.rerun()
            label = words("servers.enable" if state.entry.disabled else "servers.disable")
            change = partial(host.servers.change, name, disabled=not state.entry.disabled)
            st.button(label, key=f"server-able-{name}", on_click=_run_server_action, args=(words, change))
        forget = partial(_forget_server, host, name)
        st.button(
            words("servers.remove"), key=f"server-remove-{name}", on_click=_run_server_action, args=(words, forget)
        )
    if state.entry is not None:
        key = f"server-sampling-{name}"
        st.session_state[key] = state.entry.sampling
        st.toggle(words("servers.sampling"), key=key, on_change=_set_sampling, args=(words, host, name, key))


def _forget_server(host: McpHost, name: str) -> None:
    """Removes a server and what the user has allowed of it: another server of this name is asked about anew."""
    host.servers.remove(name)
    resource.find_page_agent().store.approvals.forget(name)


def _set_sampling(words: Words, host: McpHost, name: str, key: str) -> None:
    _run_server_action(words, partial(host.servers.change, name, sampling=bool(st.session_state[key])))


def _draw_tool(words: Words, host: McpHost, state: ServerState, tool: ServerTool) -> None:
    assert state.entry is not None
    with st.container(gap="xsmall"):
        st.markdown(f"**{escape_markdown(tool.name)}** :gray[`/tool {model_name(state.name, tool.name)}`]")
        if tool.description:
            st.caption(escape_markdown(shorten_text(tool.description, ABOUT_CHARS)))
        key = f"server-permission-{state.name}-{tool.name}"
        st.session_state[key] = state.entry.permission(tool.name)
        st.segmented_control(
            words("servers.permission"),
            PERMISSIONS,
            format_func=lambda permission: words(f"servers.permit.{permission}"),
            key=key,
            required=True,
            disabled=not is_admin(),
            label_visibility="collapsed",
            on_change=_set_tool_permission,
            args=(words, host, state, tool.name, key),
        )


def _set_tool_permission(words: Words, host: McpHost, state: ServerState, tool: str, key: str) -> None:
    assert state.entry is not None
    tools = {**state.entry.tools, tool: st.session_state[key]}
    _run_server_action(words, partial(host.servers.change, state.name, tools=tools))


def _draw_adding(words: Words, host: McpHost) -> None:
    with st.container(border=True, gap="xsmall", key="servers-adding"):
        st.markdown(f"**{escape_markdown(words('servers.add'))}**")
        name = st.text_input(words("servers.name"), key=FIELDS[0], max_chars=32, placeholder="files")
        way = st.text_input(
            words("servers.way"),
            key=FIELDS[1],
            placeholder=words("servers.way.example"),
            help=words("servers.way.help"),
        )
        secrets = st.text_area(
            words("servers.secrets"),
            key=FIELDS[2],
            height=68,
            placeholder="API_KEY=…",
            help=words("servers.secrets.help"),
        )
        ready = bool(name.strip() and way.strip())
        if st.button(words("servers.add.do"), key="servers-add", type="primary", disabled=not ready):
            with render_raised_error(words):
                host.servers.put(name.strip(), entry_of(name.strip(), way, secrets))
                with st.spinner(words("servers.testing")):
                    host.test(name.strip())
                for field in FIELDS:
                    st.session_state.pop(field, None)
                st.rerun()


def entry_of(name: str, way: str, secrets: str) -> dict[str, Any]:
    """Returns a server's entry from the typed fields: an address, or a command with its arguments; and lines of
    ``NAME=value``, which are headers of an address and the environment of a command. Raises ``ServerEntryWrong``."""
    values = dict[str, str]()
    for line in filter(None, map(str.strip, secrets.splitlines())):
        key, equals, value = line.partition("=")
        if not (equals and key.strip()):
            raise ServerEntryWrong(server=name, field="env", reason="each line is NAME=value")
        values[key.strip()] = value.strip()
    way = way.strip()
    if way.lower().startswith(("http://", "https://")):
        return {"url": way, **({"headers": values} if values else {})}
    try:
        command, *arguments = shlex.split(way)
    except ValueError:
        raise ServerEntryWrong(server=name, field="command", reason="a quote is not closed") from None
    return {
        "command": command,
        **({"args": arguments} if arguments else {}),
        **({"env": values} if values else {}),
    }


def _run_server_action(words: Words, action: Any) -> None:
    with render_raised_error(words):
        action()
