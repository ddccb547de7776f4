"""Where Chromium is and how it is started, for the browser tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@cache
def executable() -> str | None:
    """The first Chromium that runs: ``GIEOK_CHROMIUM``, one on the PATH, or Playwright's own."""
    return next((path for path in _candidates() if _runs(path)), None)


def flags() -> list[str]:
    """What Chromium is started with: no contact with the outside, and no sandbox only where root cannot have one."""
    return [*_FLAGS, *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])]


def _candidates() -> Iterator[str]:
    yield from filter(None, [os.environ.get("GIEOK_CHROMIUM"), *map(shutil.which, _NAMES)])
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.executable_path


def _runs(path: str) -> bool:
    """Whether this is a browser and not, say, Ubuntu's notice that it comes as a snap."""
    if not Path(path).is_file():
        return False
    return subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False).returncode == 0
