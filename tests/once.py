"""What costs many tests time and tells them nothing, done once per process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

NOBODY = Path(__file__).parent / "stub" / "authority.pem"
"""The certificate of an authority that has signed nothing."""
TRUSTED = "SSL_CERT_FILE"
"""OpenSSL's variable: the file of the authorities that clients trust."""
_before: str | None = None


def use() -> None:
    """Has Streamlit look for components among the installed packages once (half a second), not for each page of a test;
    and has clients trust one authority, not 150, which takes 25 ms of each client: no test goes beyond this machine."""
    global _before
    from streamlit.components.v2 import manifest_scanner

    manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
    _before = os.environ.get(TRUSTED)
    os.environ[TRUSTED] = str(NOBODY)


@contextmanager
def outside() -> Iterator[None]:
    """Trusts what the machine trusts: for a download."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(TRUSTED)
        if _before is not None:
            patch.setenv(TRUSTED, _before)
        yield
