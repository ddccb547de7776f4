"""The implicit reference of specification 6.8 on the embedded model: «11월 분석해줘», small talk, «1월은?».

What was said before is held in the record by a script, so that it is the same for every model; the fold of those turns
and the answer to «1월은?» are the model's own. The small model of the tests shows that what the answer needs is in its
prompt, whoever answers. Whether «1월은?» is understood takes a model that can: ``GIEOK_TEST_MODEL`` names the file of
one, such as the default model's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from graph.context.exact_prompt import rebuild_exact_prompt
from graph.turn.agent import Agent
from graph.turn.event import Done
from graph.turn.memory import long_term
from model.choice import resolve
from settings import load_settings
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import asked, folding, ready
from tests.graph.talk import done, say
from tests.graph.test_memory_scenario import SMALL_TALK, new
from tests.model_server import release_servers

FOLD_SECONDS = 240
SAID = "11월 AWS 비용 분석해줘. 11월 총 비용은 $12,500이고 그중 EC2가 65%야."
ANALYSIS = "11월 AWS 총 비용 $12,500 가운데 EC2가 65%, 약 $8,125로 가장 큽니다. 나머지 35%는 약 $4,375입니다."
JANUARY = re.compile(r"(?<!\d)1월|January", re.IGNORECASE)


def given(path: Path) -> dict[str, object]:
    """Settings of an agent on the embedded model in this file."""
    return {"provider": "embedded", "embedded_path": path, "memory": True, "ahead": False, "embedded_context": 8192}


@pytest.fixture
def own_model() -> Path:
    """A model that understands what it is asked, where there is one."""
    path = os.environ.get("GIEOK_TEST_MODEL")
    if not path:
        pytest.skip("no model that understands: set GIEOK_TEST_MODEL to the path of its GGUF file")
    return Path(path)


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    release_servers()


def answering(messages: list[BaseMessage]) -> str:
    return ANALYSIS if asked(messages)[-1].endswith(SAID) else "네, 그렇게 해 보시지요."


def held(agent: OpenAgent, path: Path, **more: object) -> tuple[Agent, str]:
    """An agent on this model and a conversation that it has folded: the analysis, then small talk."""
    before = agent(answering, folding, memory=False)
    own = new(before)
    for text in (SAID, *SMALL_TALK, "고양이는 왜 상자를 좋아할까?"):
        done(say(before, own, text))
    settings = {**given(path), **more}
    bot = ready(agent(resolve=partial(resolve.resolve_models, load_settings(**settings)), **settings))
    long_term.plan_memory_fold(bot, own)
    assert bot.background.idle(FOLD_SECONDS)
    return bot, own


def january(bot: Agent, own: str) -> tuple[Done, str]:
    """The end of the turn «1월은?» and what the model was given of its memory, word for word."""
    end = done(say(bot, own, "1월은?"))
    parts = rebuild_exact_prompt(bot, own, end.turn).parts
    texts = [piece.text for part in parts if part.name in ("summaries", "memory", "entities") for piece in part.pieces]
    return end, "\n".join(texts)


@pytest.mark.timeout(600)
@pytest.mark.small_model
def test_the_analysis_of_november_is_in_the_memory_that_january_is_asked_with(
    agent: OpenAgent, small_model: Path
) -> None:
    bot, own = held(agent, small_model, embedded_threads=1, answer_tokens=16, tool_limit=0)
    end, remembered = january(bot, own)
    assert end.turn == 8
    assert end.answer.strip()
    assert not end.stopped
    for value in ("11월", "12,500", "EC2", "65%"):
        assert value in remembered


@pytest.mark.timeout(900)
def test_january_is_understood_from_november(agent: OpenAgent, own_model: Path) -> None:
    bot, own = held(agent, own_model)
    end, remembered = january(bot, own)
    assert "12,500" in remembered
    row = bot.store.turn(own, end.turn)
    assert row is not None
    assert JANUARY.search(f"{row.steps} {end.answer}"), f"not about January: {row.steps} {end.answer}"
