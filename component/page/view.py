"""The view of one page (session, language, agent), the actions of its user, and the moves between sessions.

The address holds the session's id (``?s=…``), so that a refresh, a bookmark and a link find the session again. It also
holds the language if the user chose one (``?lang=…``), and the page of the documents (``?view=documents``; windows:
``component.answer.menu_link``). Streamlit's session state holds view state only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from component.page.catalogue import Language, Words, choose
from component.settings.own_setting import find_replaced, read_own, refresh_own
from component.widget.moment import zone
from component.work import resource
from component.work.intake import Question
from component.work.job import Job, Jobs, Means, RefusedMessage
from component.work.readiness import Readiness, Status
from errors import GieokError, PrivateEnded, SessionUnknown
from graph.turn.agent import Agent
from retrieval.document import COLLECTIONS
from store import Session, Store, Turn
from store.options import DEFAULT, Options
from store.outbox import Message
from store.question import Answer

SESSION = "s"
LANGUAGE = "lang"
PAGE = "view"
DOCUMENTS = "documents"
DRAFT = "ask"
RETURNED = "returned"
"""Session state key of a text that the next page run puts back into the input."""
RATE_NEW = "rate-new"
COLLECTIONS_NEW = "collections-new"
APART_NEW = "apart-new"
"""Session state key: whether the new chat is to be kept apart from the memory of other chats."""
OPTIONS_NEW = "options-new"
MODEL_NEW = "model-new"
"""Session state key: the model that is to answer in the new chat (``store.record.Session.model``)."""
BEGUN = "begun"
"""Session state key: how many new chats were begun on this page. A new number puts the cursor into the input."""


@dataclass(frozen=True, slots=True)
class View:
    """The data of one page run. ``session`` is None for a new chat; the first message creates the session.

    ``job`` and ``status`` are as they were when the run began, so that the whole page shows one moment.
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
        return float(st.session_state.get(RATE_NEW, read_own("compression_rate")))

    @property
    def collections(self) -> Sequence[str]:
        """The collections of documents that are searched for the next question."""
        chosen = self.session.collections if self.session else st.session_state.get(COLLECTIONS_NEW)
        return COLLECTIONS if chosen is None else chosen

    @property
    def options(self) -> Options:
        """The options of the next answer; for a new chat, those that were set before its first message."""
        if self.session:
            return self.store.options.of(self.session.id)
        chosen: Options = st.session_state.get(OPTIONS_NEW, DEFAULT)
        return chosen

    def set_options(self, options: Options) -> None:
        """Sets the options from the next answer on. Raises what ``Options.checked`` and the store raise."""
        if self.session:
            self.store.options.set(self.session.id, options)
        else:
            st.session_state[OPTIONS_NEW] = options.checked()

    @property
    def model(self) -> dict[str, str] | None:
        """The model of this conversation (``store.record.Session.model``); None for the installation's."""
        chosen: dict[str, str] | None = self.session.model if self.session else st.session_state.get(MODEL_NEW)
        return chosen

    def set_model(self, model: dict[str, str] | None) -> None:
        """Sets the model that answers from the next message on; None for the installation's. Raises what the store
        raises."""
        if self.session:
            self.store.set_model(self.session.id, model)
        elif model is None:
            st.session_state.pop(MODEL_NEW, None)
        else:
            st.session_state[MODEL_NEW] = model

    def change_options(self, seen: Options, wanted: Options) -> None:
        """Sets those options that differ from ``seen``: another tab may have changed the others meanwhile. Raises as
        ``set_options`` does."""
        if self.session:
            self.store.options.change(self.session.id, seen, wanted)
        else:
            self.set_options(wanted)

    def send(self, text: str) -> None:
        """Sends a message; the first message creates the session.

        A message that cannot be stored goes back into the input, and the page shows the error.
        """
        try:
            self._send(text)
        except GieokError as error:
            give_back(text, error)

    def _send(self, text: str) -> None:
        session = self.create()
        to_newest(session)
        self.jobs.send(session, text, self.means)

    def resend(self, message: Message) -> None:
        """Sends a waiting message and shows the newest turns."""
        if tried(partial(self.jobs.resend, message, self.means)):
            to_newest(message.session_id)

    def send_again(self, session: str, refused: RefusedMessage) -> None:
        """Sends a refused message again and shows the newest turns."""
        if tried(partial(self.jobs.send, session, refused.text, self.means, refused.message)):
            to_newest(session)

    def retry(self, turn: Turn) -> None:
        """Tries the last turn again."""
        follow_end(turn.session_id)
        trying(partial(self.jobs.retry, turn.session_id, turn.question, self.means))

    def answer(self, turn: Turn, answers: Mapping[str, Answer]) -> None:
        """Answers the questions of a waiting turn, which then goes on."""
        follow_end(turn.session_id)
        trying(partial(self.jobs.answer, turn, answers, self.means))

    def again(self, turn: Turn) -> None:
        """Starts another version of a turn, with the same question."""
        follow_end(turn.session_id)
        trying(partial(self._again, turn, turn.question))

    def rephrase(self, turn: Turn, text: str) -> bool:
        """Starts another version of a turn, with ``text`` as its question.

        Returns False when the question could not be stored; the page then shows the error.
        """
        return tried(partial(self._again, turn, text, edited=True))

    def _again(self, turn: Turn, text: str, edited: bool = False) -> None:
        self.jobs.again(turn.session_id, turn.number, text, edited, self.means)
        if self.session and turn.number < self.session.turn_count:  # the last turn is in view without scrolling
            scroll_to(turn.number)

    @property
    def means(self) -> Means:
        """The models, budgets and zone that a turn of this page runs with from now on. Raises what the store raises."""
        refresh_own()  # another tab may have changed them since this page was drawn
        return Means(self.readiness, find_replaced(), zone())

    @property
    def agent(self) -> Agent:
        """The agent with the models, budgets and zone of this page, for work outside a turn."""
        return resource.here().using(self.status.models, find_replaced()).in_zone(zone())

    def question(self, text: str) -> Question | None:
        """Stores a message that is sent later, when its files are read.

        Returns None when it cannot be stored; the text then goes back into the input, and the page shows the error.
        """
        try:
            session = self.create()
            message = self.jobs.hold(session, text)
        except GieokError as error:
            give_back(text, error)
            return None
        to_newest(session)
        send = partial(self.jobs.send, session, text, self.means, message)
        return Question(session, text, send, partial(self.jobs.withdraw, message), message)

    @property
    def is_private(self) -> bool:
        """Whether this is a private chat, of which nothing is kept."""
        return resource.PRIVATE in st.session_state

    def create(self) -> str:
        """Returns the id of this page's session; creates the session if there is none yet."""
        if self.session_id:
            return self.session_id
        created = self.store.create_session(self.words.language, self.rate, options=self.options)
        st.session_state.pop(OPTIONS_NEW, None)
        if (model := st.session_state.pop(MODEL_NEW, None)) is not None:
            self.store.set_model(created.id, model)
        if (chosen := st.session_state.pop(COLLECTIONS_NEW, None)) is not None:
            self.store.set_collections(created.id, chosen)
        if self.is_private:
            st.session_state[resource.PRIVATE] = created.id
            return created.id
        memory = resource.agent().memory
        if memory is not None and st.session_state.get(APART_NEW):
            memory.writer.keep_apart(resource.agent().tenant, created.id, user=resource.agent().user)
            del st.session_state[APART_NEW]
        st.query_params[SESSION] = created.id
        return created.id


def words() -> Words:
    """Returns the catalogue in the language of this page."""
    return Words(language())


def language() -> Language:
    return choose(st.query_params.get(LANGUAGE), read_own("language"), st.context.locale)


def current(said: Words) -> View:
    """Returns the view that the address asks for; an unknown session becomes a new chat with a notice."""
    if SESSION in st.query_params:
        leave_private()  # the browser's back button led here
    store = resource.here().store
    if resource.PRIVATE in st.session_state:
        jobs, session = resource.unkept().jobs, _private(store)
    else:
        jobs, session = resource.jobs(), _session(store)
    job = jobs.of(session.id) if session else None
    model = session.model if session else st.session_state.get(MODEL_NEW)
    if PAGE in st.query_params:  # documents and story worlds are no conversation
        model = None
    readiness = resource.in_use().of_session(model)
    return View(said, store, jobs, readiness, session, job, readiness.status)


def to_newest(session_id: str) -> None:
    """Shows the last turns again (``component.chat.jump`` shows earlier turns)."""
    st.session_state.pop(f"until-{session_id}", None)
    st.session_state.pop(f"window-{session_id}", None)
    follow_end(session_id)


def follow_end(session_id: str) -> None:
    """Has the page scroll to the end of the conversation as it grows (``stay_there`` ends that)."""
    st.session_state.pop(_stays(session_id), None)


def stay_there(session_id: str) -> None:
    """Leaves the conversation where the reader jumped to, until its end is wanted again (``follow_end``). Otherwise the
    browser scrolls to the end while the turns are being drawn, and may do so after it has gone to the turn."""
    st.session_state[_stays(session_id)] = True


def follows_end(session_id: str | None) -> bool:
    """Returns whether the page scrolls to the end of the conversation as it grows."""
    return _stays(session_id) not in st.session_state


def _stays(session_id: str | None) -> str:
    return f"stays-{session_id}"


def scroll_to(number: int) -> None:
    """Scrolls to the question of turn ``number`` with the next page run."""
    st.session_state["jump"] = (int(st.session_state.get("jump", (0, 0))[0]) + 1, number)


def show(session_id: str | None) -> None:
    """Turns the page to a session, or to a new chat."""
    st.query_params.pop(PAGE, None)
    leave_private()
    if session_id:
        st.query_params[SESSION] = session_id
    else:
        st.query_params.pop(SESSION, None)


def begin() -> None:
    """Turns the page to a new chat and puts the cursor into the input."""
    show(None)
    st.session_state[BEGUN] = int(st.session_state.get(BEGUN, 0)) + 1
    for chosen in (APART_NEW, MODEL_NEW):
        st.session_state.pop(chosen, None)


def begin_private() -> None:
    """Turns the page to a new private chat."""
    begin()
    st.session_state[resource.PRIVATE] = ""


def leave_private() -> None:
    """Ends the private chat of this page, if there is one; nothing of the chat is left."""
    if st.session_state.pop(resource.PRIVATE, None) is not None:
        resource.unkept.clear()


def on_documents() -> bool:
    """Returns whether the page shows the documents instead of a conversation."""
    return st.query_params.get(PAGE) == DOCUMENTS


def show_documents(shown: bool = True) -> None:
    """Turns the page to the documents, or back to the conversation that was open."""
    if shown:
        st.query_params[PAGE] = DOCUMENTS
    else:
        st.query_params.pop(PAGE, None)


def tell(error: GieokError) -> None:
    """Stores an error for the next page run, which shows it below the conversation, or as a toast where that is out of
    sight."""
    st.session_state["told"] = error


def give_back(text: str, error: GieokError) -> None:
    """Puts a message that could not be stored back into the input, and has the next page run show the error."""
    st.session_state[RETURNED] = text
    tell(error)


def trying(action: Callable[[], object]) -> None:
    """Calls ``action``; the next page run shows a ``GieokError`` that it raises."""
    tried(action)


def tried(action: Callable[[], object]) -> bool:
    """Calls ``action`` as ``trying`` does; returns whether it raised no ``GieokError``."""
    try:
        action()
    except GieokError as error:
        tell(error)
        return False
    return True


def told() -> GieokError | None:
    """Returns the error that this page run shows, and forgets it."""
    error: GieokError | None = st.session_state.pop("told", None)
    return error


def _private(store: Store) -> Session | None:
    """Returns the private session or None; a session that ended with the page's connection leads to one notice."""
    session_id = str(st.session_state[resource.PRIVATE])
    if not session_id:
        return None
    try:
        return store.session(session_id)
    except SessionUnknown:
        st.session_state[resource.PRIVATE] = ""
        tell(PrivateEnded())
        return None


def _session(store: Store) -> Session | None:
    session_id = st.query_params.get(SESSION)
    if not session_id:
        return None
    try:
        return store.session(session_id)
    except SessionUnknown as error:
        show(None)
        tell(error)
        return None
