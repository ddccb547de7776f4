"""The one slot of the embedded server: what it holds can be written to a file and put back (llama.cpp's ``/slots``).

Only names of files are sent; the folder is the server's ``slot_save_path``. Failures are ``httpx2.HTTPError``: also a
server that died, as llama.cpp does when a state file is cut short.
"""

from __future__ import annotations

from typing import Any

import httpx2

from model.embedded import Embedded

CALL: dict[str, Any] = {"id_slot": 0, "cache_prompt": True}
"""What every request says: use the slot, and read only what differs from what it holds."""


def tokens(server: Embedded, seconds: float) -> int:
    """How many tokens it holds: none in a server that just started."""
    with _client(server, seconds) as client:
        told = client.get("/slots").raise_for_status().json()
    return int(told[0].get("n_prompt_tokens", 0))


def read(server: Embedded, body: dict[str, Any], seconds: float) -> None:
    """Have the slot read a prompt; nothing of the answer is used."""
    _post(server, "/v1/chat/completions", {**body, **CALL, "max_tokens": 0}, seconds)


def save(server: Embedded, name: str, seconds: float) -> None:
    """Write what the slot holds."""
    _post(server, "/slots/0?action=save", {"filename": name}, seconds)


def restore(server: Embedded, name: str, seconds: float) -> None:
    """Have the slot hold what the file does. Waits while the slot is at work; if it fails, the slot is empty."""
    _post(server, "/slots/0?action=restore", {"filename": name}, seconds)


def _post(server: Embedded, path: str, body: dict[str, Any], seconds: float) -> None:
    with _client(server, seconds) as client:
        client.post(path, json=body).raise_for_status()


def _client(server: Embedded, seconds: float) -> httpx2.Client:
    """``verify`` is off because there is no TLS on loopback, and its certificates take 50 ms to load."""
    headers = {"Authorization": f"Bearer {server.key}"}
    url = server.url.removesuffix("/v1")
    return httpx2.Client(base_url=url, headers=headers, timeout=seconds, trust_env=False, verify=False)
