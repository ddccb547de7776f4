"""What a turn reads of earlier turns and of long-term memory, its tools for that, and the work after the answer.

Shows ``long_term``, ``past_turns`` and ``confirm`` to ``graph.turn``, ``graph.context`` and the benches.
May import ``graph.turn.process``, ``graph.context``, ``graph.tool``, ``memory``, ``retrieval`` and all below them.
"""
