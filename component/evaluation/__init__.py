"""The tab that tests the memory of a conversation: a judge, scenarios, the compression curve.

Shows ``evaluation_tab.draw_evaluation`` to the panel.
May import the other rooms of the page, ``evaluation`` and all below them.
"""
