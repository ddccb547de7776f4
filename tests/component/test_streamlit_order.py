"""What the browser hears of fragments, and the page of messages, that follow each other at once."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import cast

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner import script_runner
from streamlit.runtime.scriptrunner_utils.script_requests import (
    RerunData,
    ScriptRequest,
    ScriptRequests,
    ScriptRequestType,
)
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState

from component.widget import streamlit_order
from component.widget.streamlit_order import OrderedRequests


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> ForwardMsgQueue:
    """A queue in which a window's fragment has drawn a line and ended, and nothing was sent yet."""
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)
    monkeypatch.setattr(script_runner, "ScriptRequests", ScriptRequests)
    monkeypatch.setattr(SafeSessionState, "on_script_will_rerun", SafeSessionState.on_script_will_rerun)
    streamlit_order.keep_streamlit_order()
    queue = ForwardMsgQueue()
    queue.enqueue(line("of the window", "window"))
    queue.enqueue(line("of the beat within it", "beat"))
    queue.enqueue(ForwardMsg(script_finished=ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY))
    return queue


def line(text: str, fragment: str) -> ForwardMsg:
    message = ForwardMsg()
    message.metadata.delta_path[:] = [0, 1]
    message.delta.fragment_id = fragment
    message.delta.new_element.markdown.body = text
    return message


def test_a_beat_that_begins_at_once_leaves_the_end_of_the_fragment_before_it(queue: ForwardMsgQueue) -> None:
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["beat"])
    queue.enqueue(line("of the next beat", "beat"))
    sent = queue.flush()
    assert [each.delta.new_element.markdown.body for each in sent] == [
        "of the beat within it",
        "",
        "of the next beat",
    ]
    assert sent[1].script_finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
    assert queue.is_empty()


def test_a_page_that_begins_breaks_off_the_fragment_before_it(queue: ForwardMsgQueue) -> None:
    queue.clear(retain_lifecycle_msgs=True)
    assert [each.script_finished for each in queue.flush()] == [ForwardMsg.FINISHED_EARLY_FOR_RERUN]


def test_the_page_keeps_what_follows_at_once() -> None:
    look = (
        "import app\nfrom streamlit.runtime.forward_msg_queue import ForwardMsgQueue as Queue\n"
        "from streamlit.runtime.scriptrunner import script_runner\n"
        "from streamlit.runtime.state.safe_session_state import SafeSessionState as State\n"
        "print(Queue.clear.__module__, State.on_script_will_rerun.__module__, "
        "script_runner.ScriptRunner.__init__.__globals__['ScriptRequests'].__module__)"
    )
    said = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=240)
    assert said.stdout.split()[-3:] == ["component.widget.streamlit_order"] * 3


def test_one_run_of_a_page_follows_the_other() -> None:
    """Streamlit would begin a second one beside it, and drop what the first had not taken yet."""
    config = tomllib.loads((Path(streamlit_order.__file__).parents[2] / ".streamlit/config.toml").read_text("utf-8"))
    assert config["runner"]["fastReruns"] is False


INPUT, LIST, SLIDER = "the message input", "the list of conversations", "a slider"


def ask(message: str | None = None, event: str | None = None, value: int = 0, file: str | None = None) -> RerunData:
    """A request of the browser: a message, with or without a file, an event of the list, and the slider's value."""
    states = WidgetStates()
    if message is not None:
        states.widgets.add(id=INPUT).chat_input_value.data = message
    if file is not None:
        uploaded = states.widgets[0].chat_input_value.file_uploader_state.uploaded_file_info.add()
        uploaded.name = file
    if event is not None:
        states.widgets.add(id=LIST).json_trigger_value = event
    states.widgets.add(id=SLIDER).int_value = value
    return RerunData(widget_states=states)


def take(request: ScriptRequest | None) -> dict[str, object]:
    """What a run of the page gets: the values by widget."""
    assert request is not None
    assert request.type is ScriptRequestType.RERUN
    values: dict[str, object] = {}
    for state in request.rerun_data.widget_states.widgets if request.rerun_data.widget_states else ():
        value = getattr(state, str(state.WhichOneof("value")))
        if state.id == INPUT:
            value = (value.data, *(file.name for file in value.file_uploader_state.uploaded_file_info))
        values[state.id] = value
    return values


def test_messages_that_come_before_a_run_takes_one_are_taken_one_by_one() -> None:
    requests = OrderedRequests()
    for number in range(1, 4):
        assert requests.request_rerun(ask(f"message {number}", value=number))
    assert take(requests.on_scriptrunner_ready()) == {INPUT: ("message 1",), SLIDER: 1}
    assert take(requests.on_scriptrunner_yield()) == {INPUT: ("message 2",), SLIDER: 2}
    assert take(requests.on_scriptrunner_yield()) == {INPUT: ("message 3",), SLIDER: 3}
    assert requests.on_scriptrunner_yield() is None
    assert requests.on_scriptrunner_ready().type is ScriptRequestType.STOP


def test_nothing_breaks_off_the_callback_of_a_message(queue: ForwardMsgQueue) -> None:
    """``queue``: the page's order is in use."""
    requests, heard = OrderedRequests(), list[ScriptRequest | None]()

    class State(dict[str, object]):
        """What a page keeps, with one callback, which a further message meets."""

        def on_script_will_rerun(self, *values: object, **replay: object) -> None:
            requests.request_rerun(ask("second"))
            safe["a conversation"] = "created"
            safe["its message"] = "sent"

    state = State()
    safe = SafeSessionState(cast(SessionState, state), lambda: heard.append(requests.on_scriptrunner_yield()))
    requests.request_rerun(ask("first"))
    safe.on_script_will_rerun(requests.on_scriptrunner_ready().rerun_data.widget_states)
    assert heard == [None, None, None]
    assert state == {"a conversation": "created", "its message": "sent"}
    assert take(requests.on_scriptrunner_yield())[INPUT] == ("second",)


def test_files_stay_with_their_message() -> None:
    requests = OrderedRequests()
    requests.request_rerun(ask("read this", file="a.txt"))
    requests.request_rerun(ask("and this", file="b.txt"))
    assert take(requests.on_scriptrunner_ready())[INPUT] == ("read this", "a.txt")
    assert take(requests.on_scriptrunner_ready())[INPUT] == ("and this", "b.txt")


def test_two_events_of_one_component_are_two() -> None:
    requests = OrderedRequests()
    requests.request_rerun(ask(event='[{"event": "delete", "value": "a"}]'))
    requests.request_rerun(ask(event='[{"event": "delete", "value": "b"}]'))
    assert "a" in str(take(requests.on_scriptrunner_ready())[LIST])
    assert "b" in str(take(requests.on_scriptrunner_ready())[LIST])


def test_what_overwrites_nothing_is_merged_as_ever() -> None:
    requests = OrderedRequests()
    requests.request_rerun(ask("a message", value=1))
    requests.request_rerun(ask(value=2))
    assert take(requests.on_scriptrunner_ready()) == {INPUT: ("a message",), SLIDER: 2}
    assert requests.on_scriptrunner_ready().type is ScriptRequestType.STOP


def test_what_comes_after_a_message_that_waits_stays_after_it() -> None:
    requests = OrderedRequests()
    requests.request_rerun(ask("first", value=1))
    requests.request_rerun(ask("second", value=1))
    requests.request_rerun(ask(value=3))
    assert take(requests.on_scriptrunner_ready()) == {INPUT: ("first",), SLIDER: 1}
    assert take(requests.on_scriptrunner_ready()) == {INPUT: ("second",), SLIDER: 3}
    assert requests.on_scriptrunner_ready().type is ScriptRequestType.STOP


def test_a_page_that_was_stopped_takes_nothing_more() -> None:
    requests = OrderedRequests()
    requests.request_rerun(ask("first"))
    requests.request_rerun(ask("second"))
    requests.request_stop()
    assert not requests.request_rerun(ask("third"))
    assert requests.on_scriptrunner_ready().type is ScriptRequestType.STOP
