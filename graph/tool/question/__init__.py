"""Tools that wait for the user: the question before or while one runs, its form, and when text of others asks for one.

Shows ``guard`` and ``asking`` to the nodes, ``ask`` and ``form`` to the page and the doors.
May import ``graph.context.turns``, ``retrieval.answer.tool``, ``store.turn.question`` and ``text``.
"""
