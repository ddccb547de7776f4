"""The memory tab of the panel: lines and their turns, changes, versions, profile, all that is known.

Shows ``memory_tab.draw_memory``, ``turn_change`` and ``answer_value`` to the turns of the chat.
May import the other rooms of the page, ``memory`` and all below them.
"""
