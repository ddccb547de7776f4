"""From a raw answer to changes in the tables, at once or behind the answer, and what follows them.

Shows ``extract.Extractor`` to ``world.engine``.
May import ``world.block``, ``world.curator``, ``world.turn.ahead``, the other folders of ``world``, and all below them.
"""
