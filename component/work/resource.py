"""Objects that all open pages of one process share: the agent, its models, the running turns."""

from __future__ import annotations

import atexit
from functools import partial

import streamlit as st

import settings
from component.work.in_use import InUse
from component.work.intake import Intake, Intakes
from component.work.job import Jobs
from component.work.private_chat import Unkept
from component.work.readiness import Readiness
from component.work.side_call import SideCalls
from graph.turn.agent import Agent, open_agent
from retrieval import Added
from retrieval.product_docs import first_run

PRIVATE = "private"
"""Session state key of a private page: the id of its conversation, empty before the first message."""


@st.cache_resource(show_spinner=False)
def in_use() -> InUse:
    """Returns the models that this installation uses; the first page starts the search for them."""
    return InUse()


def readiness() -> Readiness:
    """Returns the readiness of the models in use."""
    return in_use().readiness


@st.cache_resource(show_spinner=False, on_release=Agent.close)
def agent() -> Agent:
    """Returns the agent of this process. Raises what keeps it from opening, such as ``StoreUnavailable``."""
    opened = open_agent(settings.current(), in_use=in_use())
    atexit.register(opened.close)
    return opened


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """Returns the running turns of this process."""
    return Jobs(agent(), readiness(), agent().store)


@st.cache_resource(show_spinner=False, scope="session", on_release=Unkept.close)
def unkept() -> Unkept:
    """Returns this page's private chat; it ends with the page's connection or with ``unkept.clear``."""
    return Unkept(agent(), readiness())


def here() -> Agent:
    """Returns the agent of the conversation on this page: the private one on a private page, else the shared one."""
    return unkept().agent if PRIVATE in st.session_state else agent()


@st.cache_resource(show_spinner=False)
def intakes() -> Intakes:
    """Returns the work on documents in this process, which begins with the product's own documents."""
    work = Intakes()
    if agent().library is not None:
        work.start("own", (), partial(_own, work))
    return work


def _own(made: Intakes, intake: Intake) -> Added | None:
    """Indexes the product's own documents; returns the result only if something failed or was cancelled."""
    library = agent().library
    added = first_run(library, progress=partial(made.report, intake), stop=intake.stop) if library else None
    return added if added and (added.failed or added.cancelled) else None


@st.cache_resource(show_spinner=False)
def side_calls() -> SideCalls:
    """Returns the model calls that run beside conversations."""
    return SideCalls()
