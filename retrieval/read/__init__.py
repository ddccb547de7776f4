"""Reading documents: from files and web pages to passages, in a process with limits.

Shows ``reader``, ``load`` and ``split`` to ``retrieval``, ``web``, ``site`` and ``address`` also to the doors.
May import ``retrieval.read.format``, ``retrieval.calculation``, ``store.database``, ``model.call`` and ``text``.
"""
