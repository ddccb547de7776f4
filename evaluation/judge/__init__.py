"""A model that judges a memory: its criteria, its reply, and whether it can be trusted.

Shows ``judge``, ``criterion.CRITERIA`` and ``calibration`` to the rest of ``evaluation``, the page and the doors.
May import ``model``, ``prompt`` and ``text``.
"""
