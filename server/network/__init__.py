"""The connection under a request: hosts and origins that may ask, limits before any key is looked at, listening.

Shows ``host.HostGuard``, ``origin.Origins``, ``connection.LimitedConnection``, ``reach`` and ``page_connection``
for the page, and ``serving``.
May import the rest of ``server``, ``settings``, ``store`` and all below them; it knows nothing of turns.
"""
