"""The view of one page (session, language, agent), the actions of its user, and the moves between sessions.

The address holds the session's id (``?s=…``), so that a refresh, a bookmark and a link find the session again. It also
holds the language if the user chose one (``?lang=…``), and the page of the documents (``?view=documents``; windows:
``component.answer.menu_link``). Streamlit's session state holds view state only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from component.page.catalogue import Language, Words, choose_interface_language
from component.settings.own_setting import find_replaced, read_own, refresh_own
from component.widget.moment import find_reader_zone
from component.work import resource
from component.work.intake import WaitingQuestion
from component.work.job import Job, Jobs, Means, RefusedMessage
from component.work.readiness import ModelStatus, Readiness
from errors import GieokError, PrivateEnded, SessionUnknown
from graph.turn.agent import Agent
from prompt import render_prompt
from retrieval.document import COLLECTIONS
from store import Session, Store, TurnRow
from store.session.options import DEFAULT, AnswerOptions
from store.turn.outbox import WaitingMessage
from store.turn.question import UserAnswer

SESSION = "s"
LANGUAGE = "lang"
PAGE = "view"
DOCUMENTS = "documents"
DRAFT = "ask"
RETURNED = "returned"
"""Session state key of a text that the next page run puts back into the input."""
GIVEN_BACK = "given-back"
"""Session state key of the text that was last put back into the input, with a mark of its own and the address of its
chat; none after the next message."""
RATE_NEW = "rate-new"
COLLECTIONS_NEW = "collections-new"
APART_NEW = "apart-new"
"""Session state key: whether the new chat is to be kept apart from the memory of other chats."""
OPTIONS_NEW = "options-new"
MODEL_NEW = "model-new"
"""Session state key: the model that is to answer in the new chat (``store.record.Session.model``)."""
CREATED = "created-session"
"""Session state key of the conversation that this page has created, until the browser's address names it: what the
browser sent before it heard of that belongs to the same conversation."""
ADDRESSED = "created-addressed"
"""Session state key that is there when the address in this run of the page is not the browser's, but written here."""
LEAPS = "leaps"
"""Session state key: how often the page went to turns elsewhere in a conversation."""
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
    status: ModelStatus

    @property
    def session_id(self) -> str | None:
        return self.session.id if self.session else None

    @property
    def is_story(self) -> bool:
        """Whether the conversation tells a story of a world, so that its panel has the tabs of that world."""
        return self.session is not None and bool(self.session.world)

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
    def options(self) -> AnswerOptions:
        """The options of the next answer; for a new chat, those that were set before its first message."""
        if self.session:
            return self.store.options.of(self.session.id)
        chosen: AnswerOptions = st.session_state.get(OPTIONS_NEW, DEFAULT)
        return chosen

    def set_options(self, options: AnswerOptions) -> None:
        """Sets the options from the next answer on. Raises what ``Options.validate_options`` and the store raise."""
        if self.session:
            self.store.options.set(self.session.id, options)
        else:
            st.session_state[OPTIONS_NEW] = options.validate_options()

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

    def change_options(self, seen: AnswerOptions, wanted: AnswerOptions) -> None:
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
            return_chat_message(text, error)

    def _send(self, text: str) -> None:
        session = self.ensure_session()
        to_newest(session)
        self.jobs.send(session, text, self.means)

    def resend(self, message: WaitingMessage) -> None:
        """Sends a waiting message and shows the newest turns."""
        if try_page_action(partial(self.jobs.resend, message, self.means)):
            to_newest(message.session_id)

    def send_again(self, session: str, refused: RefusedMessage) -> None:
        """Sends a refused message again and shows the newest turns."""
        if try_page_action(partial(self.jobs.send, session, refused.text, self.means, refused.message)):
            to_newest(session)

    def retry(self, turn: TurnRow) -> None:
        """Tries the last turn again."""
        follow_end(turn.session_id)
        run_page_action(partial(self.jobs.retry, turn.session_id, turn.question, self.means))

    def answer(self, turn: TurnRow, answers: Mapping[str, UserAnswer]) -> None:
        """Answers the questions of a waiting turn, which then goes on."""
        follow_end(turn.session_id)
        run_page_action(partial(self.jobs.answer, turn, answers, self.means))

    def again(self, turn: TurnRow) -> None:
        """Starts another version of a turn, with the same question."""
        follow_end(turn.session_id)
        run_page_action(partial(self._again, turn, turn.question))

    def rephrase(self, turn: TurnRow, text: str) -> bool:
        """Starts another version of a turn, with ``text`` as its question.

        Returns False when the question could not be stored; the page then shows the error.
        """
        return try_page_action(partial(self._again, turn, text, edited=True))

    def go_on(self, turn: TurnRow) -> None:
        """Asks the model to go on with the last answer, which broke off; does nothing once something else was asked."""
        if self.jobs.of(turn.session_id) is None and self.store.session(turn.session_id).turn_count == turn.number:
            self.send(render_prompt("go_on", self.words.language))

    def reword(self, turn: TurnRow, answer: str) -> bool:
        """Puts the user's own words in place of an answer, as another version of its turn.

        Returns False when they could not be stored; the page then shows the error.
        """
        agent = resource.find_page_agent()
        return try_page_action(partial(agent.replace_answer, turn.session_id, turn.number, answer, turn.branch))

    def _again(self, turn: TurnRow, text: str, edited: bool = False) -> None:
        self.jobs.again(turn.session_id, turn.number, text, edited, self.means)
        if self.session and turn.number < self.session.turn_count:  # the last turn is in view without scrolling
            scroll_to(turn.number)

    @property
    def means(self) -> Means:
        """The models, budgets and zone that a turn of this page runs with from now on. Raises what the store raises."""
        refresh_own()  # another tab may have changed them since this page was drawn
        return Means(self.readiness, find_replaced(), find_reader_zone())

    @property
    def agent(self) -> Agent:
        """The agent with the models, budgets and zone of this page, for work outside a turn."""
        return resource.find_page_agent().using(self.status.models, find_replaced()).in_zone(find_reader_zone())

    def hold_question(self, text: str, session: str) -> WaitingQuestion | None:
        """Stores a message of a conversation that is sent later, when its files are there.

        Returns None when it cannot be stored; the text then goes back into the input, and the page shows the error.
        """
        try:
            message = self.jobs.hold(session, text)
        except GieokError as error:
            return_chat_message(text, error)
            return None
        to_newest(session)
        send = partial(self.jobs.send, session, text, self.means, message)
        return WaitingQuestion(session, text, send, partial(self.jobs.withdraw, message), message)

    @property
    def is_private(self) -> bool:
        """Whether this is a private chat, of which nothing is kept."""
        return resource.PRIVATE in st.session_state

    def ensure_session(self) -> str:
        """Returns the id of this page's session; creates the session if there is none yet."""
        known = self.session_id or st.session_state.get(resource.PRIVATE if self.is_private else CREATED)
        if known:
            return str(known)
        created = self.store.create_session(self.words.language, self.rate, options=self.options)
        st.session_state.pop(OPTIONS_NEW, None)
        if (model := st.session_state.pop(MODEL_NEW, None)) is not None:
            self.store.set_model(created.id, model)
        if (chosen := st.session_state.pop(COLLECTIONS_NEW, None)) is not None:
            self.store.set_collections(created.id, chosen)
        if self.is_private:
            st.session_state[resource.PRIVATE] = created.id
            return created.id
        memory = resource.find_user_agent().memory
        if memory is not None and st.session_state.get(APART_NEW):
            memory.writer.keep_apart(
                resource.find_user_agent().tenant, created.id, user=resource.find_user_agent().user
            )
            del st.session_state[APART_NEW]
        st.session_state[CREATED] = st.session_state[ADDRESSED] = st.query_params[SESSION] = created.id
        return created.id


def build_page_words() -> Words:
    """Returns the catalogue in the language of this page."""
    return Words(choose_page_language())


def choose_page_language() -> Language:
    return choose_interface_language(st.query_params.get(LANGUAGE), read_own("language"), st.context.locale)


def build_page_view(said: Words) -> View:
    """Returns the view that the address asks for; an unknown session becomes a new chat with a notice."""
    _open_created_session()
    if SESSION in st.query_params:
        leave_private()  # the browser's back button led here
    store = resource.find_page_agent().store
    if resource.PRIVATE in st.session_state:
        jobs, session = resource.open_private_chat().jobs, _load_private_session(store)
    else:
        jobs, session = resource.find_user_jobs(), _load_open_session(store)
    job = jobs.of(session.id) if session else None
    model = session.model if session else st.session_state.get(MODEL_NEW)
    if PAGE in st.query_params:  # documents and story worlds are no conversation
        model = None
    readiness = resource.in_use().of_session(model)
    return View(said, store, jobs, readiness, session, job, readiness.status)


def to_newest(session_id: str) -> None:
    """Shows the last turns again (``component.chat.jump`` shows earlier turns)."""
    shown = [st.session_state.pop(f"{part}-{session_id}", None) for part in ("until", "window")]
    if shown != [None, None]:
        show_other_turns()
    follow_end(session_id)


def show_other_turns() -> None:
    """Has the next page run draw the turns from the start.

    Otherwise turns that it no longer draws stay beside a running answer until that has ended.
    """
    st.session_state[LEAPS] = int(st.session_state.get(LEAPS, 0)) + 1


def follow_end(session_id: str) -> None:
    """Has the page scroll to the end of the conversation as it grows (``stay_there`` ends that)."""
    st.session_state.pop(_build_stay_key(session_id), None)


def stay_there(session_id: str) -> None:
    """Leaves the conversation where the reader jumped to, until its end is wanted again (``follow_end``). Otherwise the
    browser scrolls to the end while the turns are being drawn, and may do so after it has gone to the turn."""
    st.session_state[_build_stay_key(session_id)] = True


def follows_end(session_id: str | None) -> bool:
    """Returns whether the page scrolls to the end of the conversation as it grows."""
    return _build_stay_key(session_id) not in st.session_state


def _build_stay_key(session_id: str | None) -> str:
    return f"stays-{session_id}"


def scroll_to(number: int) -> None:
    """Scrolls to the question of turn ``number`` with the next page run."""
    st.session_state["jump"] = (int(st.session_state.get("jump", (0, 0))[0]) + 1, number)


def show_session(session_id: str | None) -> None:
    """Turns the page to a session, or to a new chat."""
    for passing in (CREATED, GIVEN_BACK):
        st.session_state.pop(passing, None)
    st.query_params.pop(PAGE, None)
    leave_private()
    if session_id:
        st.query_params[SESSION] = session_id
    else:
        st.query_params.pop(SESSION, None)


def begin_chat() -> None:
    """Turns the page to a new chat and puts the cursor into the input."""
    show_session(None)
    st.session_state[BEGUN] = int(st.session_state.get(BEGUN, 0)) + 1
    for chosen in (APART_NEW, MODEL_NEW):
        st.session_state.pop(chosen, None)


def begin_private() -> None:
    """Turns the page to a new private chat."""
    begin_chat()
    st.session_state[resource.PRIVATE] = ""


def leave_private() -> None:
    """Ends the private chat of this page, if there is one; nothing of the chat is left."""
    if st.session_state.pop(resource.PRIVATE, None) is not None:
        resource.open_private_chat.clear()


def on_documents() -> bool:
    """Returns whether the page shows the documents instead of a conversation."""
    return st.query_params.get(PAGE) == DOCUMENTS


def show_documents(shown: bool = True) -> None:
    """Turns the page to the documents, or back to the conversation that was open."""
    if shown:
        st.query_params[PAGE] = DOCUMENTS
    else:
        st.query_params.pop(PAGE, None)


def store_page_error(error: GieokError) -> None:
    """Stores an error for the next page run, which shows it below the conversation, or as a toast where that is out of
    sight."""
    st.session_state["told"] = error


def return_to_input(text: str) -> None:
    """Puts a text that was not sent back into the input with the next page run.

    It stays known until the next message: where another page run follows at once, the browser may never see the input
    of the first, and ``announce.js`` then writes the text.
    """
    st.session_state[RETURNED] = text
    st.session_state[GIVEN_BACK] = (str(time.time_ns()), text, st.query_params.get(SESSION, ""))


def return_chat_message(text: str, error: GieokError) -> None:
    """Puts a message that could not be stored back into the input, and has the next page run show the error."""
    return_to_input(text)
    store_page_error(error)


def run_page_action(action: Callable[[], object]) -> None:
    """Calls ``action``; the next page run shows a ``GieokError`` that it raises."""
    try_page_action(action)


def try_page_action(action: Callable[[], object]) -> bool:
    """Calls ``action`` as ``run_page_action`` does; returns whether it raised no ``GieokError``."""
    try:
        action()
    except GieokError as error:
        store_page_error(error)
        return False
    return True


def take_page_error() -> GieokError | None:
    """Returns the error that this page run shows, and forgets it."""
    error: GieokError | None = st.session_state.pop("told", None)
    return error


def _load_private_session(store: Store) -> Session | None:
    """Returns the private session or None; a session that ended with the page's connection leads to one notice."""
    session_id = str(st.session_state[resource.PRIVATE])
    if not session_id:
        return None
    try:
        return store.session(session_id)
    except SessionUnknown:
        st.session_state[resource.PRIVATE] = ""
        store_page_error(PrivateEnded())
        return None


def _open_created_session() -> None:
    """Opens the conversation that this page has created where the browser's address does not name it yet."""
    addressed = st.session_state.pop(ADDRESSED, None) is not None
    if SESSION not in st.query_params:
        if created := st.session_state.get(CREATED):
            st.query_params[SESSION] = created
    elif not addressed:
        st.session_state.pop(CREATED, None)


def _load_open_session(store: Store) -> Session | None:
    session_id = st.query_params.get(SESSION)
    if not session_id:
        return None
    try:
        return store.session(session_id)
    except SessionUnknown as error:
        show_session(None)
        store_page_error(error)
        return None
