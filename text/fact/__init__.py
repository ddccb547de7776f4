"""What a text says that a summary must not lose: names, numbers and facts, and the notes a summary is packed from.

Shows ``fact.find_facts``, ``note`` and ``pack`` to summaries, memory and evaluation.
May import ``text.date`` and the modules of ``text``.
"""
