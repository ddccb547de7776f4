"""What all turns of a process share: the objects that they need, the work behind answers, the watch for stops.

Shows ``engine.TurnEngine`` to all of ``graph``, and ``side_work.Background``.
May import ``graph.wiring``, ``graph.state``, ``graph.context``, ``graph.tool``, ``memory``, ``retrieval``, ``world``,
``host`` and below.
"""
