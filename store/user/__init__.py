"""What the database holds of a user and of the installation: keys, settings, allowed tools, tokens, secrets.

Shows one class of methods per module to ``store.store``, and ``api_key.ApiKey`` to the doors.
May import ``store.database``, ``store.owner`` and ``text``.
"""
