"""The tabs of a story's panel, one module each, and what they draw with: pictures, and the questions about names.

Shows one function that draws per tab to ``component.world.panel``.
May import ``component.world.view``, ``component.world.correction``, ``component.chat`` and what its parent may.
"""
