"""The tables of story worlds (specification 12.7): turns as a tree, and what each turn changed.

Shows ``worlds``, ``turns`` and the rows in ``record`` and ``change`` to ``world`` and the page.
May import ``store.path``, ``store.owner``, ``store.record``, ``store.session``, ``store.turn``, ``store.task``,
``store.database``, ``history`` and ``text``.
"""
