"""Days, weekdays and times of day in a text, as dates and comparable values.

Shows ``calendar``, ``when`` and ``day_phrase`` to the tools, the router and the search in past turns.
May import the modules of ``text``.
"""
