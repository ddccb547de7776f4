"""Servers of embedded models that a test has started."""

from __future__ import annotations

from model.embedded import llama_server


def release_servers() -> None:
    """Stops being a client of any server; a server ends by itself when it has no other clients."""
    for use in llama_server.list_server_uses():
        llama_server.release_unused_server(use)
