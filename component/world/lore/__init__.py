"""The tab of the lorebook: its entries, the form of one entry, an author's rule in words, and trying a message.

Shows ``lore_tab`` to ``component.world.panel``.
May import ``component.world.view``, ``component.world.correction`` and what its parent may.
"""
