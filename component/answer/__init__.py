"""One answer: its text while it grows, its steps, sources and past turns, the search trace, the actions under it.

Shows ``live.LiveAnswerView``, ``action.draw_actions``, ``citation``, ``past`` and ``trace`` to chat, page and panel.
May import the other rooms of the page and all below ``component``.
"""
