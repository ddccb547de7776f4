"""What an imported conversation costs: the import itself, and the first question after it.

A made-up conversation of ``--turns`` turns is imported as ChatGPT exports it, once in each language, and one question
is asked. The model is scripted and strong, so that no figure depends on its speed. ``import_seconds``; ``statements``:
of SQL, during the import and during the first turn; ``prompt_tokens``: of the first prompt, by our estimate;
``raw_turns``: turns that stand in it word for word; ``summaries``: of the ledger before the question; ``chunks``: how
many full chunks there are; ``saved_tokens``: against the whole history; ``first_seconds``: until the first answer ends.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import event

from graph.context.turns import CHUNK
from graph.turn.agent import Agent, open_agent
from model import scripted
from model.call.token import estimate_tokens
from settings import load_settings

Json = dict[str, Any]
SENTENCES = {
    "ko": (
        "{n}번째 모임은 {day}일 오후 {hour}시에 서쪽 회의실에서 열고 준비물은 박지훈 님이 챙기기로 했어.",
        "예산은 {sum}만 원까지 쓸 수 있고, 남는 돈은 다음 달 행사로 넘기자고 정했습니다.",
        "그 밖에 알려 주신 내용도 적어 두었고, 빠진 것이 있으면 말씀해 주세요.",
    ),
    "en": (
        "Meeting number {n} takes place on day {day} at {hour} o'clock in the west room; Julian Park brings the list.",
        "The budget may reach ${sum}00, and whatever is left goes to the event of the next month.",
        "I have written down the rest as well; tell me if something is missing from the list.",
    ),
}
QUESTIONS = {"ko": "다음 모임은 무엇을 준비할까?", "en": "What should we prepare for the next meeting?"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--turns", type=int, nargs="+", default=[250, 500, 1000], help="turns of the conversations")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures by language and number of turns."""
    return {f"{language}_{turns}": measure(language, turns) for language in SENTENCES for turns in args.turns}


def measure(language: str, turns: int) -> Json:
    """Imports one conversation into a store of its own and asks one question."""
    with tempfile.TemporaryDirectory() as folder:
        agent = _agent(Path(folder))
        try:
            return _figures(agent, language, turns)
        finally:
            agent.close()


def exported(language: str, turns: int) -> bytes:
    """Returns a made-up conversation in the form of ChatGPT's export."""
    nodes: dict[str, Json] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    last = "root"
    for number in range(1, turns + 1):
        asked, *answered = (
            sentence.format(n=number, day=number % 28 + 1, hour=number % 12 + 1, sum=7 * number)
            for sentence in SENTENCES[language]
        )
        for role, text in (("user", asked), ("assistant", " ".join(answered))):
            name = f"{role}-{number}"
            content = {"content_type": "text", "parts": [text]}
            message = {"author": {"role": role}, "create_time": 1.7e9 + number, "content": content, "recipient": "all"}
            nodes[name] = {"id": name, "message": message, "parent": last, "children": []}
            nodes[last]["children"].append(name)
            last = name
    return json.dumps([{"title": "", "create_time": 1.7e9, "mapping": nodes, "current_node": last}]).encode()


def _agent(folder: Path) -> Agent:
    models = scripted.build_scripted_models(lambda _messages: "OK.", lambda _messages: "OK.", context_size=200_000)
    counted = replace(models, count=estimate_tokens, exact=False)
    return open_agent(load_settings(data_dir=folder, retrieval=False, memory=False, titles=False), lambda: counted)


def _figures(agent: Agent, language: str, turns: int) -> Json:
    data, began = exported(language, turns), time.monotonic()
    with _counted(agent) as importing:
        (session,) = agent.import_sessions(data).sessions
    seconds, began = time.monotonic() - began, time.monotonic()
    summaries = sum(record is not None for record in agent.store.ledger.records(session))
    with _counted(agent) as asking:
        list(agent.run(session, QUESTIONS[language]))
    report = agent.store.turns(session, limit=1)[0].report or {}
    recent = next((part for part in report["parts"] if part["name"] == "recent"), {"items": ()})
    return {
        "import_seconds": round(seconds, 2),
        "import_statements": len(importing),
        "summaries": summaries,
        "chunks": turns // CHUNK,
        "first_seconds": round(time.monotonic() - began, 2),
        "first_statements": len(asking),
        "prompt_tokens": report["total_tokens"],
        "raw_turns": len(recent["items"]),
        "saved_tokens": report["full_tokens"] - report["total_tokens"],
    }


@contextmanager
def _counted(agent: Agent) -> Iterator[list[str]]:
    """Collects the SQL statements that run meanwhile."""
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        statements.append(statement)

    event.listen(agent.store.engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(agent.store.engine, "before_cursor_execute", note)
