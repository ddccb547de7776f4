"""The right panel: summaries, their comparison, the prompts that the model was given, and work that runs.

Shows ``panel.draw_panel``; a new tab is a file with its line in ``panel``.
May import the other rooms of the page and all below ``component``.
"""
