"""What a client sends of a history, held against what is stored: one way for conversations and stories, without I/O.

Shows ``align`` and ``likeness`` to ``store`` and ``world``, ``form`` and ``script`` also to the doors.
May import ``text``.
"""
