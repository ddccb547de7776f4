"""What is so in a story after a turn: its state, the same as text, and what a client tells of the story.

Shows ``state.StoryState``, ``story.Stories``, ``live`` and ``told`` to all of ``world``, the page and the doors.
May import ``world.naming.spelling``, ``store``, ``model.call`` and ``text``.
"""
