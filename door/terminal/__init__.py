"""The terminal: a conversation, and the commands that show, measure, index and repair.

Shows one module for each command to ``cli``: ``command``, ``doctor``, ``library``, ``memory``, ``backup``.
May import ``server``, ``evaluation`` and all below them, and no other door.
"""
