"""A task of another agent: its row, its turn or story while it runs, its questions and its errors.

Shows ``task`` and ``turn.TaskTurnExecutor`` to ``door.a2a.app`` and ``door.a2a.request``.
May import ``door.a2a.message``, ``server`` and all below it, and no other door.
"""
