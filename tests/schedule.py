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
SPREAD = tuple(
    f"{JOURNEYS}test_{name}.py" for name in ("journey", "window", "reading", "stress", "action", "summarise")
)
LONG = tuple(
    f"tests/{name}.py"
    for name in (
        "door/openai/test_workers",
        "door/a2a/test_restart",
        "bench/test_soak",
        "door/mcp/test_clients",
        "door/test_away",
        "door/openai/test_programs",
        "graph/test_killed",
        "store/test_conformance",
        "test_app",
        "model/test_prefix",
        "model/test_embedded",
        "server/network/test_reach",
        "text/fact/test_fact",
        "host/test_host",
        "store/world/test_worlds",
        "graph/test_injection",
        "door/mcp/test_stdio",
        "graph/test_past_turns",
        "graph/test_failure",
        "graph/test_small",
        "graph/test_hostile",
        "door/openai/test_clients",
        "door/openai/test_inside",
        "component/test_documents",
        "retrieval/test_library",
        "store/search/test_text_search",
        "graph/test_concurrency",
        "retrieval/past/test_rank",
        "graph/test_budget",
        "retrieval/test_reader",
        "door/a2a/test_push",
        "graph/test_imported",
        "graph/test_size",
        "component/test_memory",
        "store/session/test_history",
        "test_kept",
        "component/test_ask",
        "graph/test_documents",
        "graph/test_conversation",
        "graph/test_twenty_conversations",
        "memory/test_branch_provenance",
        "server/request/test_conversation",
        "door/openai/test_world",
        "door/openai/test_client_tools",
        "store/test_portable",
        "store/test_owner",
        "component/test_login",
        "journey/test_everybody",
        "journey/test_ten_turns",
        "journey/test_first_run",
        "journey/test_login",
        "journey/test_evaluation",
        "journey/test_memory",
        "journey/test_documents",
        "journey/test_list",
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
