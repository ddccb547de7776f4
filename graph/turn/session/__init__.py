"""What is done to a session beside its running turn: repaired, rebuilt, told turns taken in, removed for good.

Shows ``repair`` and ``given`` to ``graph.turn.run``, ``rebuild.rebuild_session_state`` to who reads a state, ``trash``.
May import ``graph.state``, ``graph.turn.process``, the modules of ``graph.turn``, ``graph.context``, ``graph.summary``,
``store`` and below.
"""
