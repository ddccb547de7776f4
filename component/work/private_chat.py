"""A private chat: an agent whose record is in the memory of this process, and the jobs that run the agent's turns."""

from __future__ import annotations

import threading

from component.work.job import Jobs
from component.work.readiness import Readiness
from component.work.side_call import SideCalls
from graph.turn.agent import Agent, PrivateAgent, private_agent

END_SECONDS = 30.0
"""How long a running turn may take to stop; after that its record is deleted all the same."""


class Unkept:
    """The private chat of one page. ``close`` ends it and leaves nothing of it."""

    def __init__(self, shared: Agent, readiness: Readiness) -> None:
        self.agent: PrivateAgent = private_agent(shared)
        self.jobs = Jobs(self.agent, readiness, self.agent.store)
        self.side_calls = SideCalls()

    def close(self) -> None:
        """Stops running turns, then closes the agent; the caller does not wait for either."""
        self.side_calls.dismiss_all()
        threading.Thread(target=self._end, name="unkept", daemon=True).start()

    def _end(self) -> None:
        self.jobs.end(END_SECONDS)
        self.agent.close()
