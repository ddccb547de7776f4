"""Checkpoints that are closed while a turn still writes one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WRITERS = """
import sqlite3, sys, threading
from pathlib import Path
from langgraph.checkpoint.base import empty_checkpoint
from store.database.checkpoint import open_checkpoints

def write(checkpoints, thread, begun):
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    try:
        while True:
            checkpoint = empty_checkpoint() | {"channel_values": {"text": "word " * 4000}}
            checkpoints.saver.put(config, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {})
            begun.set()
    except sqlite3.ProgrammingError:  # it was closed
        pass

for number in range(20):
    folder, begun = Path(sys.argv[1]) / str(number), threading.Event()
    folder.mkdir()
    checkpoints = open_checkpoints(None, folder)
    writers = [threading.Thread(target=write, args=(checkpoints, str(at), begun)) for at in range(4)]
    for writer in writers:
        writer.start()
    begun.wait()
    checkpoints.close()
    for writer in writers:
        writer.join()
"""


def test_closing_while_turns_write_ends_no_process(tmp_path: Path) -> None:
    """SQLite crashes where a connection is closed while another thread uses it, so this is tried in a process."""
    ended = subprocess.run([sys.executable, "-c", WRITERS, str(tmp_path)], capture_output=True, text=True, timeout=240)
    assert (ended.returncode, ended.stderr) == (0, "")
