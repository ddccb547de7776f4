"""One call of a model: the client, its stream, its end, its errors.

Shows ``stream`` and ``token`` to whoever asks a model, ``client`` to ``model.choice``, ``connection`` to what else goes
out.
May import ``model``, ``text`` and ``settings``.
"""
