"""Engine cost per turn without the model: CPU and database bytes as a conversation grows.

A scripted model answers at once and in one piece: 600 characters, with a tool call in every fourth turn. Its token
usage is a fixed number, because the server of a real model counts the tokens of a prompt. ``cpu_ms``: CPU time of the
process for one turn with its side work, in all threads, those of the scripted model included; the median of the last
seven turns up to turn N. ``bytes``: growth of all database files per turn, with the write-ahead logs folded in, over
the last 40 turns up to turn N (10 at turn 10).
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.messages.ai import UsageMetadata

from graph.turn.agent import Agent, open_agent
from graph.turn.event import Done
from model import scripted
from settings import load_settings

MARKS = (10, 50, 100, 1000)
WARMING = 8
_SENTENCE = "The delivery of order 48213 to Mapo costs 3,500 won and arrives on Friday. "
_USAGE = UsageMetadata(input_tokens=1000, output_tokens=100, total_tokens=1100)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=1000, help="length of the conversation")
    parser.add_argument("--memory", action="store_true", help="with long-term memory, its folds included")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns ``cpu_ms.N``, ``bytes.N``, ``ratio_ms`` (last mark against turn 10) and ``ratio_bytes`` (last mark
    against turn 50)."""
    marks = [mark for mark in MARKS if mark <= args.turns]
    with tempfile.TemporaryDirectory() as folder:
        edges = {edge for mark in marks for edge in (mark, _since(mark))}
        cpu, size = measure(Path(folder), args.turns, edges, args.memory)
    cpu_ms = {mark: round(statistics.median(cpu[max(0, mark - 7) : mark]), 2) for mark in marks}
    growth = {mark: round((size[mark] - size[_since(mark)]) / (mark - _since(mark))) for mark in marks}
    last = marks[-1]
    return {
        **{f"cpu_ms.{mark}": value for mark, value in cpu_ms.items()},
        **{f"bytes.{mark}": value for mark, value in growth.items()},
        "ratio_ms": round(cpu_ms[last] / cpu_ms[marks[0]], 3),
        "ratio_bytes": round(growth[last] / growth[50], 3) if last > 50 else None,
        "total_bytes": size[last],
        "turns": args.turns,
    }


def measure(folder: Path, turns: int, marks: set[int], memory: bool = False) -> tuple[list[float], dict[int, int]]:
    """Returns the CPU milliseconds of every turn, and the bytes on disk after the marked turns.

    A short conversation runs first, so that the work that a process does only once does not count as turn 10's.
    """
    models = scripted.build_scripted_models(chat=whole(answers()), utility=whole(summary))
    agent = open_agent(load_settings(data_dir=folder, titles=False, memory=memory), lambda: models)
    first = agent.store.create_session("en", 0.3)
    for number in range(1, WARMING + 1):
        take(agent, first.id, f"Question {number}")
    before = bytes_on_disk(folder)
    session, cpu, size = agent.store.create_session("en", 0.3), [], {0: 0}
    for number in range(1, turns + 1):
        began = time.process_time()
        take(agent, session.id, f"Question {number}: what does the delivery of order {number} to Mapo cost, and when?")
        cpu.append((time.process_time() - began) * 1000)
        if number in marks:
            size[number] = bytes_on_disk(folder) - before
    agent.close()
    return cpu, size


def take(agent: Agent, session_id: str, text: str) -> Done:
    """Runs one turn with the side work that follows it. Raises ``AssertionError`` when the turn fails."""
    last = None
    for event in agent.run(session_id, text, asks=False):
        last = event
    agent.background.idle(30)
    if not isinstance(last, Done):
        raise AssertionError(f"the turn did not end well: {last}")
    return last


def answers(every: int = 4) -> scripted.Script:
    """Returns an endless script: answers of 600 characters, in every ``every``-th turn after a tool call."""
    numbers = count(1)

    def answer(messages: Sequence[BaseMessage]) -> AIMessage:
        if not isinstance(messages[-1], ToolMessage) and next(numbers) % every == 0:
            arguments = {"expression": "3500*12"}
            call = ToolCall(name="calculate", args=arguments, id="call")
            return AIMessage("", tool_calls=[call], usage_metadata=_USAGE)
        return AIMessage((_SENTENCE * 8)[:600], usage_metadata=_USAGE)

    return answer


def whole(script: scripted.Script) -> scripted.ScriptedModel:
    """Returns a scripted model that streams every answer as one chunk."""
    return scripted.ScriptedModel(script, piece=r"(?s).+")


def summary(messages: Sequence[BaseMessage]) -> AIMessage:
    """Returns a summary of about 300 characters that keeps the facts of the scripted answers."""
    return AIMessage((_SENTENCE * 4).strip(), usage_metadata=_USAGE)


def bytes_on_disk(folder: Path) -> int:
    """Folds the write-ahead logs into their databases, then returns the bytes of all database files."""
    files = list(folder.glob("*.db"))
    for path in files:
        connection = sqlite3.connect(path, timeout=30)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
    return sum(path.stat().st_size for path in folder.glob("*.db*"))


def _since(mark: int) -> int:
    return max(0, mark - 40)
