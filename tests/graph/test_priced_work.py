"""What summaries and memory cost: kept with each, and counted in the usage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata

from memory.fold.folded import sum_fold_costs
from model.modelset import ModelSet
from model.price import compute_call_price
from model.scripted import build_scripted_models
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import folding, noting, ready, settled, tell
from tests.graph.talk import answering, summarising, talk
from tests.graph.test_exact import NewSession

NAME, URL = "gpt-5-mini", "https://api.openai.com/v1"
PROMPT, CACHED, ANSWER = 3000, 2000, 100
PRICE = compute_call_price(NAME, PROMPT, CACHED, ANSWER, url=URL)
WHOLE = compute_call_price(NAME, PROMPT, 0, ANSWER, url=URL)


def counted(said: Callable[[list[BaseMessage]], str | AIMessage]) -> Callable[[list[BaseMessage]], AIMessage]:
    """Answers with the tokens that a server counts."""
    details = InputTokenDetails(cache_read=CACHED)
    total = PROMPT + ANSWER
    tokens = UsageMetadata(input_tokens=PROMPT, output_tokens=ANSWER, total_tokens=total, input_token_details=details)

    def answer(messages: list[BaseMessage]) -> AIMessage:
        reply = said(messages)
        return (reply if isinstance(reply, AIMessage) else AIMessage(reply)).model_copy(
            update={"usage_metadata": tokens}
        )

    return answer


def hosted(chat: Callable[..., str], utility: Callable[..., str | AIMessage], name: str = NAME) -> ModelSet:
    made = build_scripted_models(chat, counted(utility))
    return replace(made, kind="hosted", url=URL, name=name, utility_name=name)


@pytest.mark.parametrize("ahead", [True, False])
def test_a_summary_keeps_its_price(agent: OpenAgent, session: NewSession, ahead: bool) -> None:
    models = hosted(answering, summarising)
    bot = agent(resolve=lambda: models, ahead=ahead)
    talk(bot, session(bot), range(1, 5))
    work = [row for row in bot.store.usages.read_since(0) if row.cached_tokens]
    assert [row.work for row in work] == ["summary" if ahead else "answer"], "within a turn, the turn has it"
    (row,) = work
    if ahead:
        assert (row.model, row.prompt_tokens, row.cached_tokens, row.answer_tokens) == (NAME, PROMPT, CACHED, ANSWER)
        assert row.usd == pytest.approx(PRICE)
        assert row.cache_usd == pytest.approx((WHOLE or 0) - (PRICE or 0))
    else:
        assert row.cached_tokens == CACHED
        assert row.cache_usd == pytest.approx((WHOLE or 0) - (PRICE or 0))


@pytest.mark.parametrize(("name", "price"), [(NAME, PRICE), ("no-such-model", None)])
def test_every_version_of_memory_keeps_its_price(agent: OpenAgent, name: str, price: float | None) -> None:
    models = hosted(noting, folding, name)
    one = ready(agent(resolve=lambda: models, memory=True))
    own = one.store.create_session("en", 0.3).id
    tell(one, own, range(1, 9))
    settled(one)
    assert one.memory is not None
    calls = [each.cost["calls"] for each in one.memory.reader.read_versions(one.tenant, own) if each.origin == "fold"]
    rows = [row for row in one.store.usages.read_since(0) if row.work == "memory"]
    assert len(rows) == len(calls) > 0
    for row, count in zip(rows, calls, strict=True):
        assert (row.prompt_tokens, row.cached_tokens) == (count * PROMPT, count * CACHED)
        assert row.usd == (pytest.approx(count * price) if price is not None else None)


def test_the_sum_of_folds_is_known_where_each_price_is() -> None:
    priced = {"prompt_tokens": 5, "usd": 0.5, "cache_usd": 0.25, "calls": 1, "seconds": 1.0, "model": "one"}
    earlier = {"prompt_tokens": 7, "calls": 1, "seconds": 1.0, "model": "two"}
    code = {"prompt_tokens": 0, "usd": None, "calls": 0, "seconds": 1.0, "model": ""}
    assert sum_fold_costs([priced, priced | {"model": "two"}, {}]) == {
        "prompt_tokens": 10,
        "usd": 1.0,
        "cache_usd": 0.5,
        "calls": 2,
        "seconds": 2.0,
        "model": "two",
    }
    assert sum_fold_costs([earlier, priced])["usd"] is None, "an earlier version noted no price"
    assert sum_fold_costs([priced, code])["usd"] == 0.5
    assert sum_fold_costs([]) == {}
