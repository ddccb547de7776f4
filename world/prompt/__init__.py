"""What a request of a story is given, where its texts stand in it, and what it cost.

Shows ``source.Source``, ``context.build_world_context``, ``placement.place_world_texts`` and ``receipt`` to ``world``.
May import ``world.lore``, ``world.book``, ``world.file``, ``world.story``, ``store``, ``model`` and all below them.
"""
