"""The files of a world on the disk: the user's own texts, live_state.md, story.md, and the card that it came from.

Shows ``file.WorldFiles`` to ``world``, and ``front`` for a file's first lines.
May import ``world.book.model``, ``private`` and ``errors``.
"""
