"""Export and import of sessions as files.

Shows ``portable``, ``transcript`` and ``zipped`` to the page, the terminal and the doors.
May import all of ``store``, ``history`` and ``text``.
"""
