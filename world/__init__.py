"""Story worlds for role-play: what has happened is kept in tables, and every prompt gets what it needs of it.

Shows ``engine.WorldEngine``, the way in for the page and the doors; ``turn.play``, ``prompt.context`` are its parts.
May import ``store``, ``model``, ``history`` and all below them; it knows neither ``graph`` nor ``memory``.
"""
