"""Learns the weights that the product reads: ``python -m bench.train.router``, ``python -m bench.train.past_turn``.

Shows nothing to others: each file is a command, its data beside it. ``router_figure`` measures the router.
May import ``graph.choice``, ``retrieval.past``, ``model`` and ``text``.
"""
