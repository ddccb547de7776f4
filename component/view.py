"""What one page shows: which session, in which language, on which agent; and the moves between sessions.

The session's id stands in the address (``?s=…``), so that a refresh, a bookmark and a link find it again; so does the
language when it was chosen (``?lang=…``), and the page of the documents (``?view=documents``; windows:
``component.menu``). Session state holds view state only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

import settings
from component import choice, resource
from component.catalogue import Language, Words, choose
from component.intake import Question
from component.job import Job, Jobs, Means, Refused
from component.readiness import Readiness, Status
from errors import GieokError, SessionUnknown
from graph.agent import Agent
from store import Session, Store, Turn
from store.outbox import Message

SESSION = "s"
LANGUAGE = "lang"
PAGE = "view"
DOCUMENTS = "documents"
DRAFT = "ask"
RETURNED = "returned"
"""A text that goes back into the input with the next run that draws it."""
RATE_NEW = "rate-new"


@dataclass(frozen=True, slots=True)
class View:
    """One run of the page. ``session`` is None for a new chat, which is created with its first message.

    ``job`` and ``status`` are as they were when the run began: the whole page shows one moment.
    """

    words: Words
    store: Store
    jobs: Jobs
    readiness: Readiness
    session: Session | None
    job: Job | None
    status: Status

    @property
    def session_id(self) -> str | None:
        return self.session.id if self.session else None

    @property
    def rate(self) -> float:
        """The compression rate of the next summary."""
        if self.session:
            return self.session.compression_rate
        return float(st.session_state.get(RATE_NEW, settings.current().compression_rate))

    def send(self, text: str) -> None:
        """Sends a message; the first one creates the session. One that cannot be kept is told and goes back."""
        try:
            self._send(text)
        except GieokError as error:
            give_back(text, error)

    def _send(self, text: str) -> None:
        session = self.session_id or self._create()
        to_newest(session)
        self.jobs.send(session, text, self.means)

    def resend(self, message: Message) -> None:
        """Sends a message that waits for the user; its answer comes into sight."""
        if tried(partial(self.jobs.resend, message, self.means)):
            to_newest(message.session_id)

    def send_again(self, session: str, refused: Refused) -> None:
        """Sends a message that was refused; its answer comes into sight."""
        if tried(partial(self.jobs.send, session, refused.text, self.means, refused.message)):
            to_newest(session)

    def retry(self, turn: Turn) -> None:
        """Tries the last turn again."""
        trying(partial(self.jobs.retry, turn.session_id, turn.question, self.means))

    def again(self, turn: Turn) -> None:
        """Another version of a turn, with the same question."""
        trying(partial(self._again, turn, turn.question))

    def rephrase(self, turn: Turn, text: str) -> bool:
        """Another version of a turn, with ``text`` as its question; False when it could not be kept, which is told."""
        return tried(partial(self._again, turn, text, edited=True))

    def _again(self, turn: Turn, text: str, edited: bool = False) -> None:
        self.jobs.again(turn.session_id, turn.number, text, edited, self.means)
        if self.session and turn.number < self.session.turn_count:  # else it is where the reader is
            scroll_to(turn.number)

    @property
    def means(self) -> Means:
        """What a turn of this page runs with from now on."""
        return Means(self.readiness, choice.budgets())

    @property
    def agent(self) -> Agent:
        """The agent with the models and budgets of this page, for what is done beside a turn."""
        return resource.agent().using(self.status.models, choice.budgets())

    def question(self, text: str) -> Question | None:
        """A message to be sent later; None when it could not be kept, which is told, and the text goes back."""
        try:
            session = self.session_id or self._create()
            message = self.jobs.hold(session, text)
        except GieokError as error:
            give_back(text, error)
            return None
        to_newest(session)
        send = partial(self.jobs.send, session, text, self.means, message)
        return Question(session, text, send, partial(self.jobs.withdraw, message))

    def _create(self) -> str:
        created = self.store.create_session(self.words.language, self.rate)
        st.query_params[SESSION] = created.id
        return created.id


def words() -> Words:
    """The catalogue in the language of this page."""
    return Words(language())


def language() -> Language:
    return choose(st.query_params.get(LANGUAGE), settings.current().language, st.context.locale)


def current(said: Words) -> View:
    """The view that the address asks for; an unknown session becomes a new chat with a notice."""
    store = resource.agent().store
    jobs, readiness, session = resource.jobs(), choice.readiness(), _session(store)
    job = jobs.of(session.id) if session else None
    return View(said, store, jobs, readiness, session, job, readiness.status)


def to_newest(session_id: str) -> None:
    """Shows the last turns again (``component.jump`` goes to others)."""
    st.session_state.pop(f"until-{session_id}", None)
    st.session_state.pop(f"window-{session_id}", None)


def scroll_to(number: int) -> None:
    """The question of turn ``number`` comes into sight with the next run."""
    st.session_state["jump"] = (int(st.session_state.get("jump", (0, 0))[0]) + 1, number)


def show(session_id: str | None) -> None:
    """Turns the page to a session, or to a new chat."""
    st.query_params.pop(PAGE, None)
    if session_id:
        st.query_params[SESSION] = session_id
    else:
        st.query_params.pop(SESSION, None)


def on_documents() -> bool:
    """Whether the page of the documents is shown instead of a conversation."""
    return st.query_params.get(PAGE) == DOCUMENTS


def show_documents(shown: bool = True) -> None:
    """Turns the page to the documents, or back to the conversation that was open."""
    if shown:
        st.query_params[PAGE] = DOCUMENTS
    else:
        st.query_params.pop(PAGE, None)


def tell(error: GieokError) -> None:
    """Keeps an error to be told with the next run: below the conversation and over the page."""
    st.session_state["told"] = error


def give_back(text: str, error: GieokError) -> None:
    """A message that could be kept nowhere: it stands in the input again, and the error is told."""
    st.session_state[RETURNED] = text
    tell(error)


def trying(action: Callable[[], object]) -> None:
    """Does it; what goes wrong is told in the next run."""
    tried(action)


def tried(action: Callable[[], object]) -> bool:
    """As ``trying``; whether it went well."""
    try:
        action()
    except GieokError as error:
        tell(error)
        return False
    return True


def told() -> GieokError | None:
    """The error to tell, once."""
    error: GieokError | None = st.session_state.pop("told", None)
    return error


def _session(store: Store) -> Session | None:
    asked = st.query_params.get(SESSION)
    if not asked:
        return None
    try:
        return store.session(asked)
    except SessionUnknown as error:
        show(None)
        tell(error)
        return None
