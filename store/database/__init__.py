"""Tables and how they are opened.

Shows ``engine``, ``schema`` with the tables beside it, and ``checkpoint`` to whoever reads or writes rows.
May import ``text``, ``errors``, and of ``store`` what its ``migration`` fills: ``store.path``, ``store.session``.
"""
