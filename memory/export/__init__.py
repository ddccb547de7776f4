"""All memories of a user as plain data, out and in, and the memories of earlier releases.

Shows ``portable`` and ``migration`` to ``memory.memory``; ``migration`` also to the terminal.
May import the modules of ``memory``, ``memory.row``, ``store``, ``prompt`` and ``text``.
"""
