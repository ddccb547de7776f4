"""Sums in exact decimals, days and times, and the zones of places: one grammar for tools and the router.

Shows ``arithmetic``, ``expression`` and ``zone`` to the tools, to ``graph.choice`` and to ``graph.answer``.
May import ``text`` and ``errors``.
"""
