"""What Streamlit 1.67 merges, drops or breaks off when things follow each other at once, kept whole and in order.

All of it replaces what is private to Streamlit; ``tests/component/test_streamlit_order.py`` fails when it changes.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner import script_runner
from streamlit.runtime.scriptrunner_utils.script_requests import (
    RerunData,
    ScriptRequest,
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState, get_script_run_ctx
from streamlit.runtime.state.safe_session_state import SafeSessionState

CARRIED = ("chat_input_value", "json_trigger_value")
"""The triggers that carry something: a message, and an event of a component such as the list of conversations."""


def keep_streamlit_order() -> None:
    """Lets no message of a browser and no end of a fragment be lost on a page that is busy, and no action be done by
    half."""
    ForwardMsgQueue.clear = _clear_queue  # type: ignore[assignment,method-assign]
    SafeSessionState.on_script_will_rerun = _take_values_whole  # type: ignore[assignment,method-assign]
    script_runner.ScriptRequests = OrderedRequests  # type: ignore[attr-defined]


_clear_all = ForwardMsgQueue.clear


def _clear_queue(
    queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
) -> None:
    """Streamlit's own ``clear``, but a fragment that begins removes nothing that waits to be sent.

    Else Streamlit tells the browser of a fragment that it was broken off when another one begins within the same 10 ms,
    so that a button which the first no longer draws stays on the page until the window is closed. A beat that waits
    behind a click begins just so. The reports are streamlit/streamlit#16708 and #9389.
    """
    if fragment_ids_this_run is None:
        _clear_all(queue, retain_lifecycle_msgs)
    else:
        queue._delta_index_map = {}  # else what it draws would take the place of messages from before its beginning


_take_values = SafeSessionState.on_script_will_rerun
_running = threading.local()


def _take_values_whole(state: SafeSessionState, *values: Any, **replay: Any) -> None:
    """Streamlit's own ``on_script_will_rerun``, which takes what the browser sent and calls the callbacks of what was
    clicked; nothing breaks it off.

    Else a request that comes meanwhile ends it before the first callback, and the message is lost, or within one at its
    next word to the browser: a conversation is created and its message not sent, a deletion begun and not ended.
    """
    _running.takes_values = True
    try:
        _take_values(state, *values, **replay)
    finally:
        _running.takes_values = False


def find_fragment() -> str:
    """Returns Streamlit's id of the fragment that is being drawn; empty outside of one."""
    return ThreadState.get().fragment_id or ""


def rerun_fragment(fragment_id: str) -> None:
    """Ends this run and draws that fragment, as ``st.rerun(scope="fragment")`` does with the fragment that it is called
    in. Streamlit lets nothing but a callback name another fragment, and a beat within a window is another one."""
    context = get_script_run_ctx()
    if context is None or context.script_requests is None:
        return
    context.script_requests.request_rerun(
        RerunData(
            query_string=context.query_string,
            page_script_hash=context.page_script_hash,
            fragment_id_queue=[fragment_id],
            is_fragment_scoped_rerun=True,
            cached_message_hashes=context.cached_message_hashes,
            context_info=context.context_info,
        )
    )
    st.session_state.get("told")  # reading it lets Streamlit take the request


class OrderedRequests(ScriptRequests):
    """The browser's requests to run the page, of which two messages are never merged into one.

    Streamlit merges all requests that arrive while one is waiting, and of two values of one input the later one wins:
    of two messages that are sent while the page begins to be drawn the first would be lost without a word. Here the
    second waits, and all that come after it, until the first was taken; each run of the page then takes the next.
    """

    def __init__(self) -> None:
        super().__init__()
        self._later: deque[RerunData] = deque()

    def _request_rerun_locked(self, new_data: RerunData) -> bool:
        waits = self._state is ScriptRequestType.RERUN
        overwrites = waits and _overwrites(self._rerun_data.widget_states, new_data.widget_states)
        if self._state is ScriptRequestType.STOP or not (self._later or overwrites):
            return super()._request_rerun_locked(new_data)
        self._later.append(new_data)
        return True

    def on_scriptrunner_yield(self) -> ScriptRequest | None:
        """Returns what a running page shall do now; a request that waited behind the one that is taken follows it.

        Called in the thread of the page's run. Returns None while that takes what the browser sent.
        """
        if getattr(_running, "takes_values", False):
            return None
        request = super().on_scriptrunner_yield()
        self._ask_for_later(request)
        return request

    def on_scriptrunner_ready(self) -> ScriptRequest:
        """Returns what comes after a run, or before the first one, as ``on_scriptrunner_yield`` does."""
        request = super().on_scriptrunner_ready()
        self._ask_for_later(request)
        return request

    def _ask_for_later(self, request: ScriptRequest | None) -> None:
        """Asks for what waited behind a request that was just taken, as if it came now: as much as can be merged."""
        if request is None or request.type is not ScriptRequestType.RERUN:
            return
        with self._lock:
            later, self._later = self._later, deque()
            for data in later:
                self._request_rerun_locked(data)


def _overwrites(waiting: WidgetStates | None, newer: WidgetStates | None) -> bool:
    """Returns whether both requests carry something of the same widget, which merged would be the newer one's only."""
    return bool(_list_carrying(waiting) & _list_carrying(newer))


def _list_carrying(states: WidgetStates | None) -> set[str]:
    """Returns the ids of the widgets whose message or event is in this request."""
    return {state.id for state in states.widgets if _carries(state)} if states else set()


def _carries(state: WidgetState) -> bool:
    kind = state.WhichOneof("value")
    value = getattr(state, kind) if kind in CARRIED else None
    return bool(value if kind == "json_trigger_value" else value is not None and value.ListFields())
