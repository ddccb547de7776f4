"""What an evaluation found, for people: one HTML file, and a table for the terminal.

Shows ``report`` and ``table`` to the terminal.
May import the modules of ``evaluation``, ``evaluation.judge`` and ``text``.
"""
