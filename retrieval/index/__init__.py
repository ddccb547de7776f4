"""The index: vectors, words, and the revisions that are published.

Shows ``published.Shelf`` and ``search`` to ``retrieval.library``, ``word`` and ``segment`` to every search by words.
May import ``retrieval.change``, ``retrieval.plan``, ``retrieval.read``, ``store``, ``model`` and ``text``.
"""
