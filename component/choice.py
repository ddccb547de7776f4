"""Which models and budgets one open page uses: those of the process, or others that its user chose in the settings.

A choice lives in Streamlit's session state alone: in this process's memory, for one open tab. It is never written to
disk, put in the address or a cookie, or given to another tab, and it is gone when the tab is closed or loaded anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import streamlit as st
from pydantic import SecretStr

import settings
from component import resource
from component.readiness import Readiness
from graph.system import prefixes
from model import default, resolve
from model.resolve import OPENAI
from settings import Settings, is_address, is_key

Kind = Literal["hosted", "local", "embedded"]
KINDS: tuple[Kind, ...] = ("hosted", "local", "embedded")
CHOSEN = "models-chosen"
BUDGETS = "budgets-chosen"
Problem = Literal["url", "url_secret", "key_signs", "key_missing", "name_missing"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What was entered. ``url``: up to and including ``/v1``; empty fields are left to what the settings say.

    ``chat_model`` of an embedded one is its name in the catalogue.
    """

    kind: Kind
    url: str = ""
    key: SecretStr = field(default=SecretStr(""), repr=False)
    chat_model: str = ""
    utility_model: str = ""

    def problem(self, base: Settings) -> Problem | None:
        """What is wrong with it before anybody is asked; ``models.problem.<problem>`` says it in words."""
        if self.url and (found := _url_problem(self.url)):
            return found
        key = self.key.get_secret_value()
        if key and not is_key(key):
            return "key_signs"
        asked = self.applied(base)
        hosted = self.kind == "hosted" and (asked.openai_base_url or OPENAI) == OPENAI
        return "key_missing" if hosted and asked.openai_api_key is None else None

    def applied(self, base: Settings) -> Settings:
        """The settings with this choice in them.

        The key of the settings goes to the address of the settings and to no other: whoever opens the page may name
        an address, and must not be sent somebody else's key.
        """
        if self.kind == "embedded":
            return default.asked(base, self.chat_model)
        fields: dict[str, object] = {"provider": self.kind}
        url = self.url.rstrip("/")
        same = self.kind == "hosted" and url in ("", (base.openai_base_url or OPENAI).rstrip("/"))
        fields |= {
            "chat_model": self.chat_model or (base.chat_model if same else None),
            "utility_model": self.utility_model or (base.utility_model if same and not self.chat_model else None),
        }
        if not same:
            fields |= {"context_size": None, "native_tools": None}
        if self.kind == "local":
            return base.model_copy(update=fields | ({"local_servers": (url,)} if url else {}))
        key = self.key if self.key.get_secret_value() else base.openai_api_key if same else None
        return base.model_copy(update=fields | {"openai_base_url": url or base.openai_base_url, "openai_api_key": key})


@dataclass(frozen=True, eq=False)
class Chosen:
    """The choice of this page and its models."""

    choice: Choice
    readiness: Readiness


def chosen() -> Chosen | None:
    """What this page's user chose, if anything."""
    found: Chosen | None = st.session_state.get(CHOSEN)
    return found


def readiness() -> Readiness:
    """The models of this page."""
    mine = chosen()
    return mine.readiness if mine else resource.readiness()


def choose(choice: Choice | None) -> None:
    """Uses these models from the next message on; None: those of the process again."""
    ready = resource.readiness() if choice is None else _ready(choice)
    ready.start()
    if choice is None or ready is resource.readiness():
        st.session_state.pop(CHOSEN, None)
    else:
        st.session_state[CHOSEN] = Chosen(choice, ready)


def budgets() -> dict[str, int]:
    """The budgets that this page's user chose, in tokens, by the names of their settings."""
    return dict(st.session_state.get(BUDGETS, {}))


def choose_budget(name: str, tokens: int) -> None:
    """Uses this budget from the next turn on. Raises ``BadSetting`` where the setting itself could not be so."""
    settings.load(**{name: tokens})
    changed = {**budgets(), name: tokens}
    st.session_state[BUDGETS] = {each: of for each, of in changed.items() if of != getattr(settings.current(), each)}


def forget_budgets() -> None:
    """Uses the budgets of the process again."""
    st.session_state.pop(BUDGETS, None)


def _ready(choice: Choice) -> Readiness:
    if choice.kind == "embedded":
        return resource.embedded(choice.chat_model)
    asked = choice.applied(settings.current())
    return Readiness(lambda progress: resolve.models(asked, progress=progress, prefixes=prefixes(asked.language)))


def _url_problem(url: str) -> Problem | None:
    if not is_address(url):
        return "url"
    parts = urlsplit(url)
    return "url_secret" if parts.username or parts.password or parts.query or parts.fragment else None
