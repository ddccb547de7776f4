"""What one process has once, whatever the number of open pages: the agent, its models, the running turns."""

from __future__ import annotations

import atexit
from collections.abc import Callable

import streamlit as st

import settings
from component.errand import Errands
from component.job import Jobs
from component.readiness import Readiness
from graph import documents
from graph.agent import Agent, open_agent
from model import resolve
from model.modelset import ModelSet
from model.weights import Progress


@st.cache_resource(show_spinner=False)
def readiness() -> Readiness:
    """The models of this process; the search for them begins with the first page."""
    now = settings.current()
    ready = embedded() if now.provider == "embedded" else _readiness(now)
    ready.start()
    return ready


@st.cache_resource(show_spinner=False)
def embedded() -> Readiness:
    """The embedded model, shared by all pages that choose it; nothing is fetched before one does."""
    return _readiness(settings.current().model_copy(update={"provider": "embedded"}))


def _readiness(of: settings.Settings) -> Readiness:
    ready: Readiness

    def look(progress: Callable[[Progress], None]) -> ModelSet:
        return resolve.models(of, progress=progress, cancel=ready.cancelled)

    ready = Readiness(look)
    return ready


@st.cache_resource(show_spinner=False, on_release=Agent.close)
def agent() -> Agent:
    """The agent of this process. Raises what keeps it from opening, such as ``StoreUnavailable``."""
    opened = open_agent(settings.current(), models=readiness().models)
    atexit.register(opened.close)
    documents.begin(opened)
    return opened


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The running turns of this process."""
    return Jobs(agent(), readiness(), lambda session: agent().store.session(session).turn_count)


@st.cache_resource(show_spinner=False)
def errands() -> Errands:
    """The model calls beside conversations."""
    return Errands()
