"""Objects that the open pages of one process share: some are everybody's, others those of a page's user.

What is a user's (``find_user_agent``, ``find_user_jobs``, ``side_calls`` and the private chat) raises ``LoggedOut``
when nobody is logged in on the page (``component.work.user``), and is not for threads without a page.
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
from component.work.user import require_page_user
from graph.turn.agent import Agent, open_agent
from retrieval import Added
from retrieval.product_docs import first_run
from store.database.engine import remove_empty
from world.engine import WorldEngine

PRIVATE = "private"
"""Session state key of a private page: the id of its conversation, empty before the first message."""


@st.cache_resource(show_spinner=False)
def in_use() -> InUse:
    """Returns the models that this installation uses; the first page starts the search for them."""
    return InUse()


def find_shared_readiness() -> Readiness:
    """Returns the readiness of the models in use."""
    return in_use().readiness


@st.cache_resource(show_spinner=False, on_release=Agent.close)
def open_shared_agent() -> Agent:
    """Returns the agent of this process, whose stores, models, library and memory all users share. Raises what keeps it
    from opening, such as ``StoreUnavailable``."""
    opened = open_agent(settings.load_current_settings(), in_use=in_use())
    atexit.register(opened.close)
    return opened


@st.cache_resource(show_spinner=False)
def _open_user_agent(user: str) -> Agent:
    return open_shared_agent().of(user)


def find_user_agent() -> Agent:
    """Returns the agent of this page's user. Raises what ``open_shared_agent`` raises, and ``LoggedOut``."""
    return _open_user_agent(require_page_user().id)


def close_shared_agents() -> None:
    """Closes the agents of this process; the next page run opens them again."""
    _open_user_agent.clear()
    open_shared_agent.clear()


def begin_anew() -> None:
    """Makes a new database in place of an empty one with the next page run: the user has said so."""
    remove_empty(settings.load_current_settings().database)
    close_shared_agents()


@st.cache_resource(show_spinner=False)
def _open_user_jobs(user: str) -> Jobs:
    return Jobs(_open_user_agent(user), find_shared_readiness(), _open_user_agent(user).store)


def find_user_jobs() -> Jobs:
    """Returns the running turns of this page's user in this process."""
    return _open_user_jobs(require_page_user().id)


@st.cache_resource(show_spinner=False, scope="session", on_release=Unkept.close)
def open_private_chat() -> Unkept:
    """Returns this page's private chat; it ends with the page's connection or with ``unkept.clear``."""
    return Unkept(find_user_agent(), find_shared_readiness())


def find_page_agent() -> Agent:
    """Returns the agent of the conversation on this page: the private one on a private page, else the user's."""
    return open_private_chat().agent if PRIVATE in st.session_state else find_user_agent()


@st.cache_resource(show_spinner=False)
def open_intakes() -> Intakes:
    """Returns the work on documents in this process, which begins with the product's own documents. Work on the files
    of a conversation is listed with its session's id."""
    work = Intakes()
    if open_shared_agent().library is not None:
        work.start("own", (), partial(_index_product_documents, work))
    return work


def _index_product_documents(made: Intakes, intake: Intake) -> Added | None:
    """Indexes the product's own documents; returns the result only if something failed or was cancelled."""
    library = open_shared_agent().library
    added = first_run(library, progress=partial(made.report, intake), stop=intake.stop) if library else None
    return added if added and (added.failed or added.cancelled) else None


@st.cache_resource(show_spinner=False)
def _side_calls(user: str) -> SideCalls:
    return SideCalls()


def side_calls() -> SideCalls:
    """Returns the model calls that run beside conversations: of this page's private chat, which end with it, else of
    the page's user."""
    return open_private_chat().side_calls if PRIVATE in st.session_state else _side_calls(require_page_user().id)


def find_user_engine() -> WorldEngine:
    """Returns the engine of story worlds as this page's user. Raises what ``open_shared_agent`` raises, and
    ``LoggedOut``."""
    return find_user_agent().open_worlds()


@st.cache_resource(show_spinner=False)
def open_weights_fetches() -> SideCalls:
    """Returns the downloads of models, which are this installation's."""
    return SideCalls()
