"""What the database holds of a turn beside its row: files, questions to the user, its text so far, its summary.

Shows one class of methods per module to ``store.store``, and ``question``, the form of a question to the user.
May import ``store.database``, ``store.path``, ``store.owner``, ``store.record`` and ``text``.
"""
