"""Which of the memory's tools a question asks for: a small model is offered only those."""

from __future__ import annotations

import pytest

from graph.tool.forget import METADATA as FORGET
from graph.tool.recall_memory import METADATA as RECALL
from graph.tool.remember import METADATA as REMEMBER

CUES = {"F": FORGET["cue"], "R": RECALL["cue"], "M": REMEMBER["cue"]}


@pytest.mark.parametrize(
    ("asked", "tools"),
    [
        ("내 여권 번호는 잊어 줘", "F"),
        ("그건 잊어버려", "F"),
        ("이제 잊어도 돼", "F"),
        ("Forget my passport number", "F"),
        ("Can you forget where I live?", "F"),
        ("Could you please forget it", "F"),
        ("잊어버리지 마, 회의는 3시야", "M"),
        ("회의 잊어먹지 마", "M"),
        ("절대 잊어버리면 안 돼", "M"),
        ("회의를 잊어선 안 돼", "M"),
        ("내 이름 까먹지 마", "M"),
        ("Don't forget my flight is at 9.", "M"),
        ("Don’t forget my flight is at 9.", "M"),
        ("Never forget that my flight is at 9.", "M"),
        ("Do not ever forget my birthday.", "M"),
        ("비밀번호를 잊어먹었어", "R"),
        ("비밀번호를 잊어버렸어", "R"),
        ("내 생일을 까먹었어", "R"),
        ("내 생일이 기억이 안 나", "R"),
        ("I always forget my wifi password, what is it?", "R"),
        ("I've forgotten my wifi password", "R"),
    ],
)
def test_what_is_not_to_be_forgotten_or_was_is_no_request_to_forget(asked: str, tools: str) -> None:
    assert "".join(name for name, cue in CUES.items() if cue(asked)) == tools
