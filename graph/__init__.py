"""The agent: state, turns, context, nodes, tools, the wiring, running one turn (design 1.1).

LangGraph reads ``LANGGRAPH_STRICT_MSGPACK`` at import; the checkpointer passes its own strict serializer as well.
"""

import settings as _settings  # noqa: F401  (asks for strict msgpack before LangGraph is imported)
