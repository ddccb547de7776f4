"""The embedded model: its weights and its server.

Shows ``catalogue``, ``weights`` and ``download`` to the settings of the page, ``idle`` and ``prefix`` to the turns.
May import ``model``, ``model.call``, ``model.choice``, ``text`` and ``settings``.
"""
