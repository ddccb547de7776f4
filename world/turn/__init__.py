"""One turn of a story: from the request with the world's texts to the answer that is stored.

Shows ``turn.StoryTurn`` to the endpoint, and ``play.play_story_turn`` for a story that is played on the page.
May import ``world.engine``, ``world.prompt``, ``world.block.reading.hidden``, ``store``, ``model`` and all below them.
"""
