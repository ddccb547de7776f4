"""The door for other agents: Google's Agent2Agent protocol, versions 1.0 and 0.3 by its SDK, the first one by us.

Shows ``app.Agents``, which ``door.doors`` opens with the first request, and the paths below. A task is a turn.
May import ``server`` and all below it, and no other door.
"""

from server.refusal import AGENT_PATH

PATH, REST = AGENT_PATH, f"{AGENT_PATH}/rest"
CARD, FIRST_CARD = "/.well-known/agent-card.json", "/.well-known/agent.json"
