"""The page of worlds: their list, the menu of one, and the windows that make, rename, read and write a world.

Shows ``world_page`` to ``app``, and ``menu`` and ``book_window`` to ``component.world.panel``.
May import ``component.world.view`` and what its parent may.
"""
