"""Tasks that other agents gave us, and the addresses that are told of them.

Shows ``task`` and ``push`` to ``store.store`` and to the door for other agents.
May import ``store.database`` and ``store.owner``.
"""
