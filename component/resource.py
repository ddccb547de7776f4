"""What one process has once, whatever the number of open pages: the agent, its models, the running turns."""

from __future__ import annotations

import atexit

import streamlit as st

import settings
from component.errand import Errands
from component.job import Jobs
from component.readiness import Readiness
from graph import documents
from graph.agent import Agent, open_agent
from model import resolve


@st.cache_resource(show_spinner=False)
def readiness() -> Readiness:
    """The models of this process; the search for them begins with the first page."""
    ready = Readiness(lambda progress: resolve.models(settings.current(), progress=progress))
    ready.start()
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
