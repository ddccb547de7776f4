"""The page's own agent as a process: ``python -m bench.page``, with the settings of its environment, as the
user ``me``.

Each line that comes in is ``{"session": …, "text": …}``, with an empty session for a new conversation; each line that
goes out is ``{"session": …, "turn": …, "answer": …}``, or ``{"error": …}``. The first line out says that it is ready.
"""

from __future__ import annotations

import json
import sys

import settings
from errors import GieokError
from graph.turn.agent import open_agent
from graph.turn.event import Done


def main() -> None:
    """Answers lines until there are no more."""
    agent = open_agent(settings.load_current_settings())
    agent.models()
    _say(ready=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            session = asked["session"] or agent.store.create_session("en", agent.settings.compression_rate).id
            last = list(agent.run(session, asked["text"]))[-1]
        except GieokError as error:
            _say(error=error.text())
            continue
        if isinstance(last, Done):
            _say(session=session, turn=last.turn, answer=last.answer)
        else:
            _say(error=str(last))
    agent.close()


def _say(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
