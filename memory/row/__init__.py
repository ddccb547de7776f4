"""Memory in the database: the versions with their lines, the profile, and the sessions that are kept apart.

Shows ``rows`` and ``profile`` to all that reads or writes a memory, ``apart`` and ``removal`` to the agent.
May import ``memory.key``, ``memory.state``, ``store``, ``prompt`` and ``text``; it knows neither Redis nor a model.
"""
