"""Which names mean the same person or place.

Shows ``resolve.NameResolver`` to all that reads names, and ``merge`` for two persons that are one.
May import ``world.story.state``, ``world.lore``, ``store`` and ``text``.
"""
