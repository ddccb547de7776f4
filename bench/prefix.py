"""How much of each prompt comes from the model's prefix cache, and seconds to the first token, turn by turn.

The model of the settings gets the first user messages of the bundled dialogue. A second run places the changing parts
of the prompt first instead of just before the question. All calls that the user waits for count.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda

from bench import dialogue
from bench import models as bench_models
from graph.context.clock import now_text, read_local_time
from graph.turn.agent import open_agent
from graph.turn.event import Done
from model.modelset import ModelSet
from settings import load_current_settings, load_settings

FROM_TURN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=20, help="how many turns")
    parser.add_argument("--answer", type=int, default=96, help="longest answer in tokens")
    bench_models.add_arguments(parser)


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns ``cached_share`` and ``first_token_p50`` from turn 5 on: as designed, and with the changing parts
    first."""
    chosen = bench_models.models(args)
    models = replace(chosen, chat=_short(chosen.chat, args.answer))
    questions = [str(turn.messages[0].text) for turn in dialogue.load(dialogue.LONG).turns[: args.turns]]
    designed = converse(models, questions, args.answer)
    first = converse(replace(models, chat=changing_first(models.chat)), questions, args.answer)
    return {
        "cached_share": cached_share(designed),
        "first_token_p50": first_token(designed),
        "changing_first.cached_share": cached_share(first),
        "changing_first.first_token_p50": first_token(first),
        "turns": [
            {**_row(turn), "changing_first_cached": _share([other]), "changing_first_first_token": _seconds(other)}
            for turn, other in zip(designed, first, strict=True)
        ],
    }


def converse(models: ModelSet, questions: Sequence[str], answer_tokens: int) -> list[Done]:
    """Holds a conversation of its own and returns its turns; waits for side work between the turns."""
    with tempfile.TemporaryDirectory() as folder:
        overrides = {"data_dir": Path(folder), "answer_tokens": answer_tokens, "titles": False, "memory": False}
        settings = load_settings(**{**load_current_settings().model_dump(), **overrides})
        agent = open_agent(settings, lambda: models)
        session = agent.store.create_session("ko", 0.3)
        turns: list[Done] = []
        for question in questions:
            *_, last = agent.run(session.id, question)
            if not isinstance(last, Done):
                raise AssertionError(f"turn {len(turns) + 1} did not end well: {last}")
            turns.append(last)
            agent.background.idle(600)
        agent.close()
    return turns


def changing_first(model: BaseChatModel) -> BaseChatModel:
    """Returns the same model with the changing block moved to the very front of its prompt."""

    def move(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        system, *rest = messages
        stripped = [_without_block(message) if isinstance(message, HumanMessage) else message for message in rest]
        return [SystemMessage(f"{now_text('ko', read_local_time())}\n\n{system.text}"), *stripped]

    return cast(BaseChatModel, RunnableLambda(move) | cast(Any, model))


def cached_share(turns: Sequence[Done]) -> float:
    """Returns cached tokens divided by all prompt tokens, from turn 5 on."""
    return _share(turns[FROM_TURN - 1 :])


def first_token(turns: Sequence[Done]) -> float | None:
    """Returns the median seconds to the first token, from turn 5 on."""
    seconds = [turn.first_token_seconds for turn in turns[FROM_TURN - 1 :] if turn.first_token_seconds is not None]
    return round(statistics.median(seconds), 2) if seconds else None


def _short(model: BaseChatModel, tokens: int) -> BaseChatModel:
    return cast(BaseChatModel, model.bind(max_tokens=tokens))


def _without_block(message: HumanMessage) -> HumanMessage:
    return HumanMessage(str(message.text).rsplit("\n\n", 1)[-1])


def _row(turn: Done) -> dict[str, object]:
    prompt = turn.usage.prompt_tokens
    return {"turn": turn.turn, "prompt": prompt, "cached": _share([turn]), "first_token": _seconds(turn)}


def _share(turns: Sequence[Done]) -> float:
    prompt = sum(turn.usage.prompt_tokens for turn in turns)
    return round(sum(turn.usage.cached_tokens for turn in turns) / prompt, 4) if prompt else 0.0


def _seconds(turn: Done) -> float | None:
    return None if turn.first_token_seconds is None else round(turn.first_token_seconds, 2)
