"""The one slot of the embedded server: its content can be saved to a file and restored (llama.cpp's ``/slots``).

Requests send only file names; the folder is the server's ``slot_save_path``. Failures are ``httpx2.HTTPError``. The
death of the server is such a failure: llama.cpp dies when a state file is cut short.
"""

from __future__ import annotations

from typing import Any

import httpx2

from model.embedded.llama_server import Embedded

CALL: dict[str, Any] = {"id_slot": 0, "cache_prompt": True}
"""Fields of every request: use the slot, and read only the part of the prompt that differs from its content."""


def count_slot_tokens(server: Embedded, seconds: float) -> int:
    """Returns how many tokens the slot holds: 0 in a server that just started."""
    return int(_list_slots(server, seconds)[0].get("n_prompt_tokens", 0))


def is_slot_working(server: Embedded, seconds: float) -> bool:
    """Returns whether the slot reads a prompt or writes an answer. A server that answers too late is at work; one that
    cannot be reached, or whose reply lists no slots, is not."""
    try:
        return any(bool(one.get("is_processing")) for one in _list_slots(server, seconds))
    except httpx2.TimeoutException:
        return True
    except httpx2.HTTPError:
        return False


def read_into_slot(server: Embedded, body: dict[str, Any], seconds: float) -> None:
    """Has the slot read a prompt; uses nothing of the answer."""
    _post_to_server(server, "/v1/chat/completions", {**body, **CALL, "max_tokens": 0}, seconds)


def save_slot(server: Embedded, name: str, seconds: float) -> None:
    """Saves the slot's content to the file ``name``."""
    _post_to_server(server, "/slots/0?action=save", {"filename": name}, seconds)


def restore_slot(server: Embedded, name: str, seconds: float) -> None:
    """Restores the slot's content from the file ``name``. Waits while the slot is at work; after a failure the slot is
    empty."""
    _post_to_server(server, "/slots/0?action=restore", {"filename": name}, seconds)


def _list_slots(server: Embedded, seconds: float) -> list[dict[str, Any]]:
    """Returns what the server says of its slots, at least of one."""
    with _open_slot_client(server, seconds) as client:
        answer = client.get("/slots").raise_for_status()
    try:
        slots = answer.json()
    except (ValueError, RecursionError) as error:
        raise httpx2.DecodingError("the reply is no JSON", request=answer.request) from error
    if not isinstance(slots, list) or not slots or not all(isinstance(one, dict) for one in slots):
        raise httpx2.DecodingError("the reply lists no slots", request=answer.request)
    return slots


def _post_to_server(server: Embedded, path: str, body: dict[str, Any], seconds: float) -> None:
    with _open_slot_client(server, seconds) as client:
        client.post(path, json=body).raise_for_status()


def _open_slot_client(server: Embedded, seconds: float) -> httpx2.Client:
    """Returns an HTTP client. ``verify`` is off because loopback has no TLS, and loading certificates takes 50 ms."""
    headers = {"Authorization": f"Bearer {server.key}"}
    url = server.url.removesuffix("/v1")
    return httpx2.Client(base_url=url, headers=headers, timeout=seconds, trust_env=False, verify=False)
