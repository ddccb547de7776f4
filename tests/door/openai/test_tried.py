"""What clients of other programs send, tried here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.door.openai.inside import Inside, inside
from tests.stub.reply import said
from tests.stub.upstream import Upstream


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with Upstream(always=said("Fine.")) as upstream, inside(tmp_path, upstream) as opened:
        yield opened


@pytest.mark.parametrize("content", [None, "", " \n", []])
def test_an_answer_of_the_client_that_says_nothing_is_no_fault(service: Inside, content: Any) -> None:
    messages = [
        {"role": "user", "content": "Hello, who is there?"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "Are you still there?"},
    ]
    answer = service.post("/v1/chat/completions", {"messages": messages})
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"] == "Fine."
    sent = service.upstream.requests[-1].body["messages"]
    assert all(message["content"] for message in sent)
    assert [message["role"] for message in sent][-1] == "user"
