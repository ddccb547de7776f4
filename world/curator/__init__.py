"""The curator: every ten turns, behind an answer, it looks for contradictions and keeps what the story intends.

Shows ``curator.curate_story_line``: a LangGraph agent on a strong model, else one plain call, else code.
May import ``world.block``, ``world.naming``, ``world.story``, ``store``, ``model``, ``prompt`` and ``text``.
"""
