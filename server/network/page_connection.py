"""The limits of connections to the page, which hold before anybody has logged in."""

from __future__ import annotations

import sys
from socket import socket


def limit_page_connections() -> None:
    """Has the page's server take ``server.network.connection.LimitedConnection``. Does nothing where no server runs the
    page.

    Streamlit starts uvicorn without a setting for its connections. uvicorn imports the page before it starts to listen,
    so that the page can still name them: ``Server.startup`` reads them of the server's ``Config``.
    """
    if "uvicorn" not in sys.modules:
        return
    from uvicorn import Server

    from server.network.connection import LimitedConnection

    start = Server.startup

    async def start_limited(server: Server, sockets: list[socket] | None = None) -> None:
        server.config.http_protocol_class = LimitedConnection
        await start(server, sockets)

    Server.startup = start_limited  # type: ignore[method-assign, assignment]
