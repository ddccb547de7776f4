"""What models write around an answer: thoughts, code, marks of past turns, repetition, refusals.

Shows one function or two per module to ``graph``, ``model``, ``memory`` and ``world``.
May import ``text.fact`` and the modules of ``text``.
"""
