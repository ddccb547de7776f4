"""Tables are calculated with, not read: queries over the rows of a file, and the rows that a result comes from.

Shows ``answer`` and ``query`` to ``retrieval.library``, ``question`` and ``tool`` to the graph.
May import ``retrieval.answer``, ``retrieval.index.sheet``, ``retrieval.read.format``, ``prompt`` and ``text``.
"""
