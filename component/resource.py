"""What one process has once, whatever the number of open pages: the agent, its models, the running turns."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from functools import partial

import streamlit as st

import settings
from component.errand import Errands
from component.intake import Intake, Intakes
from component.job import Jobs
from component.readiness import Readiness
from graph.agent import Agent, open_agent
from graph.system import prefixes
from model import default, resolve
from model.modelset import ModelSet
from model.weights import Progress
from retrieval import Added
from retrieval.own import first_run


@st.cache_resource(show_spinner=False)
def readiness() -> Readiness:
    """The models of this process; the search for them begins with the first page."""
    ready = _readiness(settings.current())
    ready.start()
    return ready


def embedded(name: str) -> Readiness:
    """An embedded model by its name in the catalogue (empty: the one of the settings), shared by all pages that choose
    it; nothing is fetched before one does. The models of this process where they are the same."""
    return readiness() if _is_own(readiness(), name) else _embedded(name)


def _is_own(process: Readiness, name: str) -> bool:
    """Whether the models of this process come down to that embedded one, as far as is known by now."""
    now, models = settings.current(), process.status.models
    if not (process.is_embedded or now.provider == "embedded"):
        return False
    known = default.expected(now) if now.embedded_path is None else None
    return name in ("", models.name if models else known.name if known else "")


@st.cache_resource(show_spinner=False)
def _embedded(name: str) -> Readiness:
    return _readiness(default.asked(settings.current(), name))


def _readiness(of: settings.Settings) -> Readiness:
    ready: Readiness

    def look(progress: Callable[[Progress], None]) -> ModelSet:
        return resolve.models(of, progress=progress, cancel=ready.cancelled, prefixes=prefixes(of.language))

    ready = Readiness(look)
    return ready


@st.cache_resource(show_spinner=False, on_release=Agent.close)
def agent() -> Agent:
    """The agent of this process. Raises what keeps it from opening, such as ``StoreUnavailable``."""
    opened = open_agent(settings.current(), models=readiness().models)
    atexit.register(opened.close)
    return opened


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The running turns of this process."""
    return Jobs(agent(), readiness(), agent().store)


@st.cache_resource(show_spinner=False)
def intakes() -> Intakes:
    """The work on the documents that runs in this process; it begins with the product's own, if there are none."""
    made = Intakes()
    if agent().library is not None:
        made.start("own", (), partial(_own, made))
    return made


def _own(made: Intakes, intake: Intake) -> Added | None:
    """The product's own documents; what went well needs no word."""
    library = agent().library
    done = first_run(library, progress=partial(made.report, intake), stop=intake.stop) if library else None
    return done if done and (done.failed or done.cancelled) else None


@st.cache_resource(show_spinner=False)
def errands() -> Errands:
    """The model calls beside conversations."""
    return Errands()
