"""What the stub upstream does when documents are there: it searches them, judges what was found, and cites it."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.journey.application import answer
from tests.stub.reply import Reply, called, said

REFUND = """# 환불 안내

## 환불 기간

환불은 구매일로부터 7일 안에 신청할 수 있습니다. 처리에는 영업일로 3일이 걸립니다.

## 환불 절차

1. 설정을 엽니다.
2. **결제**를 누릅니다.
3. <b onclick=alert(1)>환불</b>을 고릅니다.
"""
MANUAL = """# Manual

## Warranty

The warranty covers two years from the day of purchase.

## Returns

Send it back within 30 days.
"""


def reply(body: dict[str, object]) -> Reply:
    """The stub's answer; questions about refunds or the warranty are looked up."""
    messages: Any = body["messages"]
    kind: Any = body.get("response_format") or {}
    if kind.get("json_schema", {}).get("name") == "judgement":
        return said(json.dumps(judgement()))
    last = messages[-1]
    text = str(last.get("content"))
    if last["role"] == "tool":
        return said(_cited(text)) if "<passage" in text else answer(body)
    asked = text.rsplit("\n", 1)[-1]
    if last["role"] == "user" and body.get("tools") and re.search("환불|warranty|화성", asked):
        return called("search_documents", {"query": asked})
    return answer(body)


def judgement() -> dict[str, Any]:
    return {
        "ranked_indices": [1, 2],
        "is_sufficient": True,
        "missing": [],
        "next_action": None,
        "refined_query": "",
        "confidence": 0.9,
    }


def _cited(found: str) -> str:
    number, passage = re.findall(r'<passage number="(\d+)"[^>]*>\n(.*?)\n</passage>', found, re.S)[0]
    return f"{passage.splitlines()[0]} [{number}]"
