"""What the database holds of a conversation as a whole: folder, title, options, path, marks of its messages.

Shows one class of methods per module to ``store.store``, and ``opening.Opening``, what a turn reads of its session.
May import ``store.path``, ``store.owner``, ``store.record``, ``store.turn``, ``store.search``, ``store.task``,
``store.database``, ``history`` and ``text``.
"""
