"""The conversation: its turns, the field for a message, the questions to the user, the invitation of an empty one.

Shows ``chat.draw_chat``, ``turn``, ``jump`` and ``ask`` to ``app`` and to the other rooms.
May import the other rooms of the page and all below ``component``.
"""
