"""SillyTavern and Open WebUI in front of one service, where their places are given; started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.door.openai.program import OpenWebUI, SillyTavern, open_webui, sillytavern
from tests.door.openai.running import Running, running
from tests.installed import find_program


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The service that the programs use."""
    with running(tmp_path_factory.mktemp("served")) as opened:
        yield opened


@pytest.fixture(scope="session")
def tavern(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SillyTavern]:
    program = find_program("sillytavern", "node_modules/sillytavern")
    served: Running = request.getfixturevalue("served")
    with sillytavern(program, tmp_path_factory.mktemp("sillytavern"), served.url) as opened:
        yield opened


@pytest.fixture(scope="session")
def webui(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenWebUI]:
    program = find_program("open-webui", "bin/open-webui")
    served: Running = request.getfixturevalue("served")
    with open_webui(program, tmp_path_factory.mktemp("open-webui"), served.url) as opened:
        yield opened
