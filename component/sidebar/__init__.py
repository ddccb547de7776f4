"""The left side: the list of conversations, search, folders, and the actions on them.

Shows ``sidebar.draw_sidebar``, and ``session_list`` to the rooms that show its rows.
May import the other rooms of the page and all below ``component``.
"""
