"""Widgets and texts that several rooms of the page use.

Shows one thing a file: ``markdown``, ``copy_button``, ``undo``, ``tabs``, ``title``, ``region`` and more.
May import ``component.page``, ``component.work`` and ``text``; it knows no room that uses it.
"""
