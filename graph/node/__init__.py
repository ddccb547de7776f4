"""The nodes of the agent, one per file; ``graph.wiring`` joins them.

Shows one function per module to ``graph.wiring``.
May import all of ``graph`` but ``graph.wiring``, and ``model``, ``store``, ``prompt`` and ``text``.
"""
