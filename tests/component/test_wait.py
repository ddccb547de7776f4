"""What the browser hears of fragments that follow each other at once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from component.widget import wait


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> ForwardMsgQueue:
    """A queue in which a window's fragment has drawn a line and ended, and nothing was sent yet."""
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)
    wait.send_fragments_whole()
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


def test_the_page_sends_fragments_whole() -> None:
    look = (
        "import app\nfrom streamlit.runtime.forward_msg_queue import ForwardMsgQueue as Queue\n"
        "print(Queue.clear.__module__)"
    )
    said = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=240)
    assert said.stdout.strip().endswith("component.widget.wait")
