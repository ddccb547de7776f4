"""The way from a question to passages and an answer.

Shows ``loop``, ``quote`` and ``lookup`` to ``retrieval.library``, ``tool`` and ``file_part`` to the graph.
May import ``retrieval.document``, ``retrieval.index.word``, ``model``, ``prompt`` and ``text``.
"""
