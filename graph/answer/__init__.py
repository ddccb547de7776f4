"""Code around the model's answer: wording, correcting, saving, document search and reading ahead.

Shows ``documents`` to the doors and the page, ``by_code`` and ``reader`` to the nodes, ``read_ahead`` to a turn.
May import ``graph.context``, ``graph.choice``, ``graph.tool``, ``graph.turn``, ``retrieval`` and all below them.
"""
