"""Redis: its address, the embedded server, and the copy of one memory.

Shows ``link.Link``, ``working_memory.WorkingMemory`` and ``server`` to ``memory``; ``server`` also to the terminal.
May import ``memory.key``, ``memory.state``, ``model.file_lock``, ``private`` and ``errors``.
"""
