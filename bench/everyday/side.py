"""The two sides that play the conversations: the product, and plain chat on the same weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

from bench.everyday.conversation import Conversation
from bench.everyday.when import said
from bench.public import twenty
from bench.public.dataset.own import load_own_sets
from bench.public.stored import store_sessions
from graph.turn.agent import Agent, open_agent
from graph.turn.event import Done, Failed, Token
from model.call.client import ModelAddress, build_chat_model
from model.choice import resolve
from model.modelset import ModelSet
from retrieval.product_docs import first_run
from settings import Settings
from text.language import Language

SEED = 7
CARD: dict[str, Any] = {"top_p": 0.8, "top_k": 20, "repeat_penalty": 1.05}
TEMPERATURE = 0.7
"""The sampling that the model's card recommends."""
SYSTEM = {
    "ko": "당신은 친절한 AI 비서입니다.\n한국어로 간결하게 답해 주세요.",
    "en": "You are a helpful assistant.\nAnswer briefly, in English.",
}
EARLIER = 10
"""Conversations that a user may have had before: the first of ``bench.public.twenty``."""
PATIENCE = 600.0
"""Seconds that side work may take after a conversation, before the other side begins."""


@dataclass(frozen=True)
class Played:
    """One played turn. ``said``: the text in the data; ``question``: the text that was typed; ``began``, ``ended``:
    seconds since the epoch; ``first``: seconds to the first token; ``calls``: model calls within the turn; ``fault``:
    the error code of a turn that failed."""

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
def product(settings: Settings, folder: Path, languages: Collection[Language] = ()) -> Iterator[tuple[Side, ModelSet]]:
    """Opens the app's agent on a fresh data folder with the product's own documents. Yields the side, which plays each
    conversation in a new session, and the models. ``languages``: in which the user has had ``EARLIER`` conversations
    before."""
    chosen = fresh(settings, folder)
    with closing(open_agent(chosen)) as agent:
        if agent.library is not None:
            first_run(agent.library)
        if agent.memory is not None:
            agent.memory.wait(10)
        store_earlier(agent, languages)
        yield lambda conversation: _by_product(agent, conversation), agent.models()


@contextmanager
def plain(settings: Settings, folder: Path) -> Iterator[Side]:
    """Yields plain chat on the same weights: a system prompt of two lines and the whole history. Its server is started
    like the product's, but is another one, so that neither side empties the other's cache."""
    chosen = fresh(settings, folder)
    server = resolve.find_endpoint(chosen)
    model = build_chat_model(
        ModelAddress(server.url, server.key, server.chat_model),
        settings=chosen,
        extra_body=CARD,
        max_tokens=chosen.answer_tokens,
        temperature=TEMPERATURE,
    )
    yield lambda conversation: _by_chat(model, conversation)


def fresh(settings: Settings, folder: Path) -> Settings:
    """Creates the data folder, links the existing weights into it and returns the settings for it."""
    folder.mkdir(parents=True)
    weights = settings.data_dir / "weights"
    if weights.exists():
        (folder / "weights").symlink_to(weights.resolve())
    return settings.model_copy(update={"data_dir": folder, "database_url": None, "titles": False})


def seed(models: ModelSet, number: int) -> None:
    """Sets the seed of every role for turn ``number``. Every turn has a different seed: with the same seed, an answer
    that begins like an earlier one also continues like that one."""
    for name in ("chat", "utility", "decide"):
        role = getattr(models, name, None)
        if isinstance(role, ChatOpenAI):
            role.seed = SEED + number


def store_earlier(agent: Agent, languages: Collection[Language]) -> None:
    """Stores the earlier conversations in these languages as if they had been played: turns, summaries and memory."""
    told = [dataset.conversations[0] for dataset in load_own_sets(twenty.FOLDER) if dataset.name in languages]
    for conversation in told:
        edge = conversation.starts[EARLIER]
        first = replace(conversation, turns=conversation.turns[:edge], starts=conversation.starts[:EARLIER])
        store_sessions(agent, first)


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
    for event in agent.run(session, question, asks=False):
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
