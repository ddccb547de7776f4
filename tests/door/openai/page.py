"""The page's own agent as a process: ``python -m tests.door.openai.page``, with the settings of its environment, as the
user ``me``.

Each line that comes in is ``{"session": …, "text": …}``; each line that goes out is ``{"turn": …, "answer": …}``, or
``{"error": …}``. The first line out says that it is ready.
"""

from __future__ import annotations

import json
import sys

import settings
from graph.turn.agent import open_agent
from graph.turn.event import Done


def main() -> None:
    """Answers lines until there are no more."""
    agent = open_agent(settings.current())
    agent.models()
    _say(ready=True)
    for line in sys.stdin:
        asked = json.loads(line)
        last = list(agent.run(asked["session"], asked["text"]))[-1]
        if isinstance(last, Done):
            _say(turn=last.turn, answer=last.answer)
        else:
            _say(error=str(last))
    agent.close()


def _say(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
