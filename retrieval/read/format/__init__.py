"""Readers of documents, one for each format; ``retrieval.read.load`` lists them.

Shows each reader to ``retrieval.read.load``, and ``loaded``, what all of them return.
May import ``retrieval.read`` and ``text``.
"""
