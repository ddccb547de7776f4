"""Keys of the endpoint: found by their secret, which is compared in constant time and stands nowhere."""

from __future__ import annotations

import hmac
from typing import Any

import pytest

from store import Store


@pytest.mark.parametrize("right", [True, False])
def test_a_secret_is_compared_in_constant_time(store: Store, monkeypatch: pytest.MonkeyPatch, right: bool) -> None:
    secret = store.api_keys.add("a program", "me")
    compared: list[tuple[Any, Any]] = []
    whole = hmac.compare_digest

    def watched(one: Any, other: Any) -> bool:
        compared.append((one, other))
        return whole(one, other)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    found = store.api_keys.of(secret if right else f"{secret[:-1]}{'a' if secret[-1] != 'a' else 'b'}")
    assert (found is not None and found.user == "me") is right
    assert len(compared) == 1
    assert secret.rpartition("-")[2] not in str(compared)
