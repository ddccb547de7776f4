"""What past turns are found by: their letters, and their vectors and words.

Shows ``text_search.search_texts`` and ``turn_index`` to ``store.store``, ``retrieval.past`` and ``graph``.
May import ``store.turn``, ``store.database``, ``store.path``, ``store.owner`` and ``text``.
"""
