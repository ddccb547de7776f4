"""Who plays the conversations: the product, and the same weights as plain chat."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

from bench.everyday.conversation import Conversation
from bench.everyday.when import said
from graph.agent import Agent, open_agent
from graph.event import Done, Failed, Token
from model import resolve
from model.client import chat
from model.modelset import ModelSet
from retrieval.own import first_run
from settings import Settings

SEED = 7
CARD: dict[str, Any] = {"top_p": 0.8, "top_k": 20, "repeat_penalty": 1.05}
TEMPERATURE = 0.7
"""The sampling of the model's card."""
SYSTEM = {
    "ko": "당신은 친절한 AI 비서입니다.\n한국어로 간결하게 답해 주세요.",
    "en": "You are a helpful assistant.\nAnswer briefly, in English.",
}
PATIENCE = 600.0
"""Seconds that side work may take after a conversation, before the other side begins."""


@dataclass(frozen=True)
class Played:
    """One turn. ``said``: the text of the data; ``question``: what was typed; ``began``, ``ended``: seconds since the
    epoch; ``first``: seconds to the first token; ``calls``: of the model, within the turn; ``fault``: why there is no
    answer."""

    said: str
    question: str
    answer: str
    began: float
    ended: float
    first: float
    calls: int = 1
    fault: str = ""

    @property
    def seconds(self) -> float:
        return self.ended - self.began


Side = Callable[[Conversation], list[Played]]


@contextmanager
def product(settings: Settings, folder: Path) -> Iterator[tuple[Side, ModelSet]]:
    """The agent of the app on a fresh data folder with its own documents; each conversation is a new session."""
    own = fresh(settings, folder)
    with closing(open_agent(own)) as agent:
        if agent.library is not None:
            first_run(agent.library)
        if agent.memory is not None:
            agent.memory.wait(10)
        yield lambda conversation: _by_product(agent, conversation), agent.models()


@contextmanager
def plain(settings: Settings, folder: Path) -> Iterator[Side]:
    """The same weights on a server of their own, started as the product's is, so that neither empties the other's
    cache: a system prompt of two lines and the whole history."""
    own = fresh(settings, folder)
    found = resolve.find(own)
    model = chat(
        found.url, found.key, found.chat_model, settings=own, extra_body=CARD, max_tokens=own.answer_tokens,
        temperature=TEMPERATURE,
    )  # fmt: skip
    yield lambda conversation: _by_chat(model, conversation)


def fresh(settings: Settings, folder: Path) -> Settings:
    """The settings with this folder for data, to which the weights that are there already are linked."""
    folder.mkdir(parents=True)
    weights = settings.data_dir / "weights"
    if weights.exists():
        (folder / "weights").symlink_to(weights.resolve())
    return settings.model_copy(update={"data_dir": folder, "database_url": None, "titles": False})


def seed(models: ModelSet, number: int) -> None:
    """Fixes the seed of every role. Each turn has another: with one for all, a turn that begins as an earlier one did
    goes on like it, too."""
    for name in ("chat", "utility", "decide"):
        role = getattr(models, name, None)
        if isinstance(role, ChatOpenAI):
            role.seed = SEED + number


def _by_product(agent: Agent, conversation: Conversation) -> list[Played]:
    session = agent.store.create_session(conversation.language, agent.settings.compression_rate)
    played: list[Played] = []
    for number, turn in enumerate(conversation.turns):
        seed(agent.models(), number)
        played.append(_turn(agent, session.id, turn.say, conversation.language))
    agent.background.idle(PATIENCE)
    return played


def _turn(agent: Agent, session: str, text: str, language: str) -> Played:
    question, began = said(text, language, datetime.now()), time.time()
    first, answer, calls, fault = 0.0, "", 0, ""
    for event in agent.run(session, question):
        if isinstance(event, Token) and event.text and not first:
            first = time.time() - began
        if isinstance(event, Done):
            answer, calls = event.answer, event.usage.calls
        if isinstance(event, Failed):
            fault = event.code
    ended = time.time()
    return Played(text, question, answer, began, ended, first or ended - began, calls, fault)


def _by_chat(model: BaseChatModel, conversation: Conversation) -> list[Played]:
    history: list[BaseMessage] = [SystemMessage(SYSTEM[conversation.language])]
    played: list[Played] = []
    for number, turn in enumerate(conversation.turns):
        question = said(turn.say, conversation.language, datetime.now())
        history.append(HumanMessage(question))
        played.append(_streamed(model, history, turn.say, question, SEED + number))
        history.append(AIMessage(played[-1].answer))
    return played


def _streamed(model: BaseChatModel, history: Sequence[BaseMessage], text: str, question: str, seed: int) -> Played:
    began, first, pieces = time.time(), 0.0, []
    for chunk in model.stream(list(history), seed=seed):
        pieces.append(str(chunk.text))
        if pieces[-1] and not first:
            first = time.time() - began
    ended = time.time()
    return Played(text, question, "".join(pieces), began, ended, first or ended - began)
