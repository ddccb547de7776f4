"""What a process does that talks with tracing to LangSmith switched on: a search, an answer, a new version."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.tracers.langchain import wait_for_all_tracers

from graph.turn.agent import open_agent
from graph.turn.event import Done, Event
from model import scripted
from retrieval import Library
from settings import load_settings
from tests.graph.talk import calling
from tests.retrieval.conftest import Words
from tests.retrieval.test_loop import said

ANSWER = "They ripen in September [1]."


def main(folder: str) -> None:
    """Two turns whose second takes another way (``update_state``); whatever a tracer holds is sent before the end."""
    chat: Any = [calling("search_documents", query="When do pears ripen?"), ANSWER, ANSWER]
    models = scripted.build_scripted_models(chat, [said([1], sufficient=True)])
    agent = open_agent(load_settings(data_dir=Path(folder), titles=False, memory=False), lambda: models)
    library = Library(agent.settings, agent.store, Words())
    library.add([("fruit.md", b"# Fruit\n\n## Pears\n\nPears are green and ripen in September.\n")])
    agent = replace(agent, library=library)
    session = agent.store.create_session("en", 0.3).id
    _answered(agent.run(session, "When do pears ripen?"))
    _answered(agent.again(session, 1, "And again?"))
    agent.close()
    wait_for_all_tracers()


def _answered(events: Iterable[Event]) -> None:
    end = list(events)[-1]
    assert isinstance(end, Done), end
    assert end.answer == ANSWER


if __name__ == "__main__":
    main(sys.argv[1])
