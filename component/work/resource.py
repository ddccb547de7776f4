"""Objects that the open pages of one process share: some are everybody's, others those of a page's user.

What is a user's (``agent``, ``jobs``, ``side_calls`` and the private chat) raises ``LoggedOut`` when nobody is logged
in on the page (``component.work.user``), and is not for threads without a page.
"""

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
from component.work.user import required
from graph.turn.agent import Agent, open_agent
from retrieval import Added
from retrieval.product_docs import first_run
from store.database.engine import remove_empty
from world.engine import Engine

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
def shared() -> Agent:
    """Returns the agent of this process, whose stores, models, library and memory all users share. Raises what keeps it
    from opening, such as ``StoreUnavailable``."""
    opened = open_agent(settings.current(), in_use=in_use())
    atexit.register(opened.close)
    return opened


@st.cache_resource(show_spinner=False)
def _agent(user: str) -> Agent:
    return shared().of(user)


def agent() -> Agent:
    """Returns the agent of this page's user. Raises what ``shared`` raises, and ``LoggedOut``."""
    return _agent(required().id)


def reopen() -> None:
    """Closes the agents of this process; the next page run opens them again."""
    _agent.clear()
    shared.clear()


def begin_anew() -> None:
    """Makes a new database in place of an empty one with the next page run: the user has said so."""
    remove_empty(settings.current().database)
    reopen()


@st.cache_resource(show_spinner=False)
def _jobs(user: str) -> Jobs:
    return Jobs(_agent(user), readiness(), _agent(user).store)


def jobs() -> Jobs:
    """Returns the running turns of this page's user in this process."""
    return _jobs(required().id)


@st.cache_resource(show_spinner=False, scope="session", on_release=Unkept.close)
def unkept() -> Unkept:
    """Returns this page's private chat; it ends with the page's connection or with ``unkept.clear``."""
    return Unkept(agent(), readiness())


def here() -> Agent:
    """Returns the agent of the conversation on this page: the private one on a private page, else the user's."""
    return unkept().agent if PRIVATE in st.session_state else agent()


@st.cache_resource(show_spinner=False)
def intakes() -> Intakes:
    """Returns the work on documents in this process, which begins with the product's own documents. Work on the files
    of a conversation is listed with its session's id."""
    work = Intakes()
    if shared().library is not None:
        work.start("own", (), partial(_own, work))
    return work


def _own(made: Intakes, intake: Intake) -> Added | None:
    """Indexes the product's own documents; returns the result only if something failed or was cancelled."""
    library = shared().library
    added = first_run(library, progress=partial(made.report, intake), stop=intake.stop) if library else None
    return added if added and (added.failed or added.cancelled) else None


@st.cache_resource(show_spinner=False)
def _side_calls(user: str) -> SideCalls:
    return SideCalls()


def side_calls() -> SideCalls:
    """Returns the model calls of this page's user that run beside conversations."""
    return _side_calls(required().id)


@st.cache_resource(show_spinner=False, on_release=Engine.close)
def worlds() -> Engine:
    """Returns the engine of story worlds of this process, which all users share."""
    engine = Engine.open(settings.current(), shared().store, in_use())
    atexit.register(engine.close)
    return engine


def engine() -> Engine:
    """Returns the engine as this page's user. Raises what ``shared`` raises, and ``LoggedOut``."""
    return worlds().using(agent().store)


@st.cache_resource(show_spinner=False)
def fetches() -> SideCalls:
    """Returns the downloads of models, which are this installation's."""
    return SideCalls()
