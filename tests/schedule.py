"""Which process of pytest-xdist runs which tests, and in which order.

A process runs all tests of a file, which may share what they start. The tests of the files in ``SPREAD`` share nothing
but fixtures of the session, so they go to whoever is free. Long files come first: the short ones then fill the time
until both processes end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    import pytest

JOURNEYS = "tests/journey/"
SPREAD = tuple(f"{JOURNEYS}test_{name}.py" for name in ("journey", "window", "reading", "stress"))
LONG = tuple(
    f"tests/{name}.py"
    for name in (
        "door/openai/test_workers",
        "door/openai/test_app",
        "bench/test_soak",
        "door/mcp/test_clients",
        "door/openai/test_programs",
        "graph/test_killed",
        "door/a2a/test_restart",
        "store/test_conformance",
        "test_app",
        "model/test_prefix",
        "model/test_embedded",
        "door/openai/test_clients",
        "door/test_reach",
        "door/openai/test_inside",
        "component/test_documents",
        "retrieval/test_library",
        "store/test_search",
        "graph/test_concurrency",
        "retrieval/past/test_rank",
        "graph/test_budget",
        "test_stress",
        "retrieval/test_reader",
        "door/a2a/test_push",
        "component/test_memory",
        "store/test_history",
        "test_kept",
        "component/test_ask",
        "graph/test_documents",
        "store/test_portable",
        "store/test_owner",
        "component/test_login",
        "journey/test_first_run",
        "journey/test_login",
        "journey/test_documents",
        "journey/test_list",
        "journey/test_evaluation",
        "journey/test_memory",
        "journey/test_ten_turns",
    )
)
"""Files that take ten seconds and more of processor time, the longest first."""


class Files(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out whole files; ``--dist loadgroup`` does not, since pytest 9.2 lets no plugin change a test's name."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in SPREAD else file


def place(item: pytest.Item) -> tuple[bool, bool, int]:
    """Where a test comes among all: those with a browser last, so that no event loop of Playwright runs under another
    test."""
    file = item.location[0]
    browses = file.startswith(JOURNEYS) or item.get_closest_marker("browser") is not None
    return browses, file in SPREAD, LONG.index(file) if file in LONG else len(LONG)
