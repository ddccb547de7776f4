"""What a world adds to the page: the panel of a story, the list of worlds, importing and correcting.

Shows ``view.read_story`` to the rooms that show a story, ``panel`` and ``note``, and ``list.world_page`` to ``app``.
May import ``component.chat``, ``component.page``, ``component.widget``, ``component.work``, ``world`` and below.
"""
