"""The agent: state, turns, context, nodes, tools, the wiring, running one turn (design 1.1).

Shows ``wiring.compile_chat_graph`` and ``state.ChatState``; the doors and the page begin at ``turn.agent``.
May import ``memory``, ``retrieval``, ``world``, ``host`` and all below them. LangGraph reads whether msgpack is strict
at its import, so ``settings`` comes before it; the checkpointer passes its own strict serializer as well.
"""

import settings as _settings  # noqa: F401  (asks for strict msgpack before LangGraph is imported)
