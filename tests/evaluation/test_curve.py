"""The compression curve of a conversation: the same writers as the product, the ledger used again, nothing stored."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from errors import ModelUnreachable
from evaluation.curve import (
    MOST_CHUNKS,
    RATES,
    Curve,
    choose_spread_chunks,
    estimate_curve_cost,
    finished_chunks,
    measure_compression_curve,
)
from graph.context.compare import REQUEST_TOKENS
from graph.turn.agent import Agent, open_agent
from model import scripted
from model.modelset import ModelSet
from model.profile import SMALL, STRONG, Profile
from settings import load_settings
from store import Finished
from tests.table import table

FACTS = (
    ("여행 예산은 150만 원이고 인원은 네 명이야. 아이가 둘이라 천천히 다니고 싶어.", "예산 150만 원에 맞추어 볼게요."),
    ("출발은 3월 5일 오전 9시이고 공항은 김포야. 짐은 많지 않을 것 같아.", "3월 5일 김포 출발로 적어 두겠습니다."),
    ("숙소는 2박에 36만 원이고 예약 번호는 KX-4471이야. 바다가 보이면 좋겠어.", "예약 KX-4471을 확인하겠습니다."),
    ("렌터카는 하루 9만 원이고 보험은 3만 원 더 내. 운전은 아내와 번갈아 할 거야.", "사흘이면 27만 원입니다."),
    ("둘째 날 점심은 12시 30분에 예약했어. 식당 전화는 064-555-1200이야.", "12시 30분으로 적어 두겠습니다."),
    ("돌아오는 비행기는 3월 7일 저녁 8시야. 공항까지는 40분쯤 걸린대.", "3월 7일 저녁 8시 비행기군요."),
)
TOKENS = 50
"""Of every turn, as the record has them."""


class Writer:
    """A model that writes summaries of the wanted length: what the user said, from the front, or ``replies``."""

    def __init__(self) -> None:
        self.calls = 0
        self.replies: Any = None

    def __call__(self, messages: list[BaseMessage]) -> Any:
        self.calls += 1
        wanted = re.search(r"(\d+)자쯤", str(messages[-1].text))
        assert wanted, "the request names no length"
        reply = self.replies(int(wanted[1])) if self.replies else None
        return reply or " ".join(user for user, _ in FACTS[:3])[: int(wanted[1])]


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
def agents(tmp_path: Path, writer: Writer) -> Iterator[Any]:
    """Opens an agent with a conversation of so many turns; gives the agent and the session."""
    opened: list[Agent] = []

    def make(turns: int = 6, profile: Profile = STRONG) -> tuple[Agent, str]:
        models: ModelSet = scripted.build_scripted_models(utility=writer, profile=profile)
        agent = open_agent(load_settings(data_dir=tmp_path / "data", titles=False, retrieval=False), lambda: models)
        opened.append(agent)
        session = agent.store.create_session("ko", 0.3).id
        for number in range(1, turns + 1):
            question, answer = FACTS[(number - 1) % len(FACTS)]
            agent.store.begin_turn(session, question)
            end = Finished("done", answer, messages=spoken(question, answer), tokens=TOKENS)
            agent.store.finish_turn(session, number, end)
        return agent, session

    yield make
    for agent in opened:
        agent.close()


def spoken(question: str, answer: str) -> list[dict[str, Any]]:
    """The messages of a turn as the record has them."""
    return [{"type": "human", "data": {"content": question}}, {"type": "ai", "data": {"content": answer}}]


def shares(found: Curve) -> list[float]:
    return [point.share or 0.0 for point in found.points]


@table(
    ("turns", "chunks"),
    [(0, []), (2, []), (3, [[1, 2, 3]]), (5, [[1, 2, 3]]), (7, [[1, 2, 3], [4, 5, 6]])],
)
def test_a_chunk_counts_once_its_last_turn_has_ended(turns: int, chunks: list[list[int]]) -> None:
    assert finished_chunks(turns) == chunks


@table(
    ("turns", "most", "firsts"),
    [
        (12, 6, [1, 4, 7, 10]),
        (60, 6, [1, 13, 25, 34, 46, 58]),
        (60, 1, [58]),
        (60, 2, [1, 58]),
        (60, 20, list(range(1, 61, 3))),
        (0, 6, []),
    ],
)
def test_chunks_are_spread_evenly_with_the_first_and_the_last(turns: int, most: int, firsts: list[int]) -> None:
    assert [chunk[0] for chunk in choose_spread_chunks(finished_chunks(turns), most)] == firsts


def test_on_a_small_model_code_draws_it_and_more_length_keeps_more_facts(agents: Any, writer: Writer) -> None:
    agent, session = agents(profile=SMALL)
    estimate = estimate_curve_cost(agent, session)
    found = measure_compression_curve(agent, session)
    assert (estimate.calls, estimate.tokens, estimate.seconds, estimate.usd) == (0, 0, 0.0, 0.0)
    assert (writer.calls, found.calls, found.usd) == (0, 0, 0.0)
    assert [point.rate for point in found.points] == list(RATES)
    assert found.chunks == ((1, 3), (4, 6))
    assert shares(found) == sorted(shares(found))
    assert shares(found)[0] < shares(found)[-1]
    lengths = [point.length for point in found.points]
    assert lengths == sorted(lengths)
    assert len({(point.original, point.told, point.summaries) for point in found.points}) == 1
    assert all(point.tokens > 0 for point in found.points)


def test_the_cost_is_that_of_the_calls_and_nothing_is_stored(agents: Any, writer: Writer) -> None:
    agent, session = agents()
    before = agent.store.session(session), agent.store.ledger.summaries(session, superseded=True)
    estimate, found = estimate_curve_cost(agent, session), measure_compression_curve(agent, session)
    assert estimate.calls == found.done == found.steps == 10
    assert found.calls == writer.calls
    raw = len(RATES) * 6 * TOKENS
    assert estimate.tokens == raw + 10 * REQUEST_TOKENS + 6 * TOKENS * 1.5
    assert estimate.seconds is None, "no summary of this conversation was ever timed"
    assert estimate.usd is None, "nobody knows the price of a scripted model"
    assert before == (agent.store.session(session), agent.store.ledger.summaries(session, superseded=True))


def test_on_a_model_of_this_machine_it_costs_time_but_no_money(agents: Any, writer: Writer) -> None:
    agent, session = agents()
    local = agent.using(replace(agent.models(), kind="local"))
    assert estimate_curve_cost(local, session).usd == 0.0
    assert measure_compression_curve(local, session, 1).usd == 0.0


def test_versions_of_the_ledger_are_used_again(agents: Any, writer: Writer) -> None:
    agent, session = agents(turns=3)
    first = measure_compression_curve(agent, session)
    record = {"summary": "예산 150만 원, KX-4471", "original_chars": 200, "turns": [1, 2, 3]}
    common = {"kept": ["150만 원", "KX-4471"], "lost": ["네 명"], "model": "scripted", "seconds": 4.0}
    agent.store.ledger.add(session, [1, 2, 3], 0.2, "active", record=record, **common)
    agent.store.ledger.replace(
        session, [1, 2, 3], 0.4, "active", record={**record, "summary": "나의 말"}, origin="edited"
    )
    estimate, calls = estimate_curve_cost(agent, session), writer.calls
    again = measure_compression_curve(agent, session)
    assert (first.reused, again.reused) == (0, 1), "an edited summary has no rate"
    assert estimate.calls == again.done - again.reused == 4
    assert estimate.seconds == 16.0
    assert writer.calls - calls == again.calls
    point = again.points[1]
    assert (point.rate, point.kept, point.told, point.length, point.original) == (0.2, 2, 3, 18, 200)


def test_a_stop_in_the_middle_gives_the_chunks_that_are_done(agents: Any, writer: Writer) -> None:
    agent, session = agents()
    stop, heard = threading.Event(), list[Curve]()

    def hear(step: Curve) -> None:
        heard.append(step)
        if step.done == 7:
            stop.set()

    found = measure_compression_curve(agent, session, stop=stop, heard=hear)
    assert found.stopped
    assert found.chunks == ((1, 3),)
    assert [point.summaries for point in found.points] == [1] * len(RATES)
    assert (found.done, found.steps) == (7, 10)
    assert [step.done for step in heard] == list(range(1, 8))


def test_a_stop_in_the_first_chunk_gives_the_rates_that_are_done(agents: Any, writer: Writer) -> None:
    agent, session = agents()
    stop = threading.Event()
    found = measure_compression_curve(
        agent, session, stop=stop, heard=lambda step: stop.set() if step.done == 2 else None
    )
    assert (found.stopped, found.done) == (True, 2)
    assert [point.rate for point in found.points] == [0.1, 0.2]


def test_a_summary_that_cannot_be_made_counts_as_failed_and_not_as_empty(agents: Any, writer: Writer) -> None:
    agent, session = agents(turns=3)
    good = measure_compression_curve(agent, session)
    shortest = good.points[0].original // 10
    writer.replies = lambda wanted: "끝이 없는 말 " * 400 if wanted <= shortest else None
    found = measure_compression_curve(agent, session)
    assert [point.failed for point in found.points] == [1, 0, 0, 0, 0]
    assert found.points[0].share is None
    assert found.points[0].length_share is None
    assert found.points[1:] == good.points[1:]


def test_a_server_that_is_away_ends_the_curve_with_its_error(agents: Any, writer: Writer) -> None:
    agent, session = agents()
    heard = list[Curve]()
    writer.replies = lambda _: ModelUnreachable(url="http://127.0.0.1:9/v1") if len(heard) == 2 else None
    with pytest.raises(ModelUnreachable):
        measure_compression_curve(agent, session, heard=heard.append)
    assert heard[-1].done == 2


def test_no_more_chunks_are_summarised_than_were_asked_for(agents: Any, writer: Writer) -> None:
    agent, session = agents(turns=30, profile=SMALL)
    assert len(measure_compression_curve(agent, session).chunks) == MOST_CHUNKS
    assert measure_compression_curve(agent, session, 2).chunks == ((1, 3), (28, 30))
    assert len(measure_compression_curve(agent, session, 10).chunks) == 10
