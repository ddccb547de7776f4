"""What axe knows of a page: what keeps people out who see little or use no mouse."""

from __future__ import annotations

from typing import Any, Literal

from playwright.sync_api import Page, expect

_STANDS = """() => document.querySelectorAll("[data-stale=true]").length === 0
  && document.getAnimations().every((one) => one.playState !== "running" || one.effect.getTiming().iterations > 9)"""
_RUN = """(some) => axe.run(document, { resultTypes: ["violations"], ...some })
  .then((results) => results.violations)"""
_COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules of axe's category «color» that it applies by itself. They are half of its work, and all that can differ
between light and dark."""
_SOME: dict[str, dict[str, Any]] = {
    "all": {},
    "colours": {"runOnly": _COLOURS},
    "form": {"rules": {rule: {"enabled": False} for rule in _COLOURS}},
}


_COLOURS_CHANGED = """(scheme) => getComputedStyle(document.querySelector(".stApp")).colorScheme === scheme"""


def set_scheme(page: Page, scheme: Literal["light", "dark"]) -> None:
    """Has the page be light or dark, as the reader's system would, and waits until it is."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(_COLOURS_CHANGED, arg=scheme)


def still(page: Page) -> None:
    """Waits until the page is drawn to its end and nothing moves or fades any more."""
    expect(page.locator("[data-test-script-state=notRunning]")).to_have_count(1)
    page.wait_for_function(_STANDS)


def wait_until_calm(page: Page) -> None:
    """Waits until no run of the page has begun for half a second."""
    idle = page.locator("[data-test-script-state=notRunning]")
    for _ in range(3):
        expect(idle).to_have_count(1)
        page.wait_for_timeout(250)
    expect(idle).to_have_count(1)


def violations(page: Page, impacts: tuple[str, ...] = ("serious", "critical"), rules: str = "all") -> list[Any]:
    """Returns what is wrong with a page that stands still, by rule: the places and what to do. ``rules``: all of them,
    those about ``colours``, or those about its ``form``, which are the others."""
    from axe_playwright_python.sync_playwright import Axe

    still(page)
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(Axe().axe_script)
    return [
        (rule["id"], [(node["html"][:200], node["failureSummary"]) for node in rule["nodes"]])
        for rule in page.evaluate(_RUN, _SOME[rules])
        if rule["impact"] in impacts
    ]


def violations_by_scheme(page: Page, impacts: tuple[str, ...] = ("serious", "critical")) -> list[Any]:
    """Returns what is wrong with a page on light, and with its colours on dark; leaves it dark."""
    set_scheme(page, "light")
    found = violations(page, impacts)
    set_scheme(page, "dark")
    return found + violations(page, impacts, "colours")
