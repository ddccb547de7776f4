"""The page of somebody who is not logged in, and the line in the sidebar of somebody who is."""

from __future__ import annotations

import streamlit as st

import settings
from component.page.catalogue import Words
from component.page.frame import mark_address
from component.page.view import View
from component.settings.options import draw_language
from component.widget.markdown import escape_markdown, shorten_text
from component.work import user
from memory import USER

NAME_CHARS = 30


def draw_login(words: Words) -> None:
    """Draws the product's name and a button for every identity provider, or why a login names nobody."""
    with st.container(key="login", horizontal_alignment="center", gap="small"):
        st.html(f'<div class="gieok-hero"><img alt="" width="56" height="56" src="{mark_address()}"></div>')
        st.markdown(f"# {words('app.name')}", anchors=False, text_alignment="center")
        if settings.load_current_settings().user_header:  # the proxy logs in, and its name alone was refused
            st.warning(escape_markdown(words("login.reserved", name=USER)), icon=":material/person_off:")
        elif user.is_logged_in():
            st.warning(words("login.nobody"), icon=":material/person_off:")
            st.button(words("login.leave"), key="login-leave", icon=":material/logout:", on_click=st.logout)
        else:
            st.markdown(words("login.welcome"), text_alignment="center")
            _draw_providers(words)
        draw_language(words, "login-language", label_visibility="collapsed")


def _draw_providers(words: Words) -> None:
    for name in user.list_login_providers():
        label = words("login.enter") if name == "default" else words("login.enter.with", name=escape_markdown(name))
        st.button(label, key=f"login-{name}", type="primary", icon=":material/login:", on_click=st.login, args=(name,))


def draw_user(view: View) -> None:
    """Draws who is logged in and, for Streamlit's own login, the button that logs out; a proxy has its own."""
    now = user.find_page_user()
    if now is None or not user.has_login():
        return
    words = view.words
    with st.container(key="user", horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
        name, about = escape_markdown(shorten_text(now.name, NAME_CHARS)), words("login.as", name=now.name, id=now.id)
        st.markdown(f":gray[:material/person:] {name}", help=escape_markdown(about), width="stretch")
        if not settings.load_current_settings().user_header:
            label = words("login.leave")
            st.button(label, key="log-out", type="tertiary", icon=":material/logout:", on_click=st.logout)
