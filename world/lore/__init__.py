"""The dynamic lorebook (specification 12.9): which entries a prompt gets, with a reason for every entry.

Shows ``lorebook.Lorebook``, ``score``, ``activation`` (by an author's rule) and ``pack`` to ``world``.
May import ``world.story.state``, ``world.naming``, ``store``, ``model`` and ``text``.
"""
