"""What the tests of the models share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel

import settings
from model.call import client
from tests.stub.upstream import Upstream

Connect = Callable[..., BaseChatModel]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A stub without replies yet."""
    with Upstream() as running:
        yield running


@pytest.fixture
def connect(upstream: Upstream) -> Connect:
    """A client of the stub; settings by name, the client's own arguments too."""

    def make(*, url: str = "", **given: Any) -> BaseChatModel:
        own = {name: given.pop(name) for name in ("extra_body", "max_tokens", "temperature", "keep") if name in given}
        return client.build_chat_model(
            client.ModelAddress(url or upstream.url, "sk-secret-1", "stub-model"),
            settings=settings.load_settings(**given),
            **own,
        )

    return make
