"""The cost table of specification 11.3 with its own 300 tokens a turn, and Gieok's beside it; no model is called.

Gieok's costs come from the prompts that the product sends for a fold and a summary of such turns, at a full memory, in
estimated tokens, and from replies of the full size (500 tokens of memory, 25 values; a summary at rate 0.3). Look-ups
and answers have the sizes of the specification (specification 11.2), which are also the product's budgets. Repairs are
not counted.
"""

from __future__ import annotations

import argparse
import json

from langchain_core.messages import AIMessage, HumanMessage

from bench.memory_cost import MONTHLY, PRICED, SESSIONS, pieces
from graph.summary.original import Original as Chunk
from memory.fold import by_model
from memory.fold.fold_input import FoldInput
from memory.state import Entity, MemoryTurn
from model.call.token import estimate_tokens
from model.price import compute_call_price
from model.scripted import ScriptedModel, build_scripted_models

TURN_TOKENS, RATE = 300, 0.3
SPECIFIED = {"memory": (2000, 400), "look_up": (1000, 500), "answer": (1500, 1000)}
"""Prompt and answer tokens of one piece of work (specification 11.2). The memory is written every five turns."""
QUESTION = "Please compare the three hotels near the station once more, with the prices of last week. "
SENTENCE = "The plan covers the budget of the trip, the days of travel and what each hotel costs with breakfast. "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--price", default=PRICED, help="model whose price is taken")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns dollars a month for a thousand sessions a day, by the number of turns of a session."""
    fold, summary = _fold(), _summary()
    return {
        "priced_as": args.price,
        "fold_tokens": list(fold),
        "summary_tokens": list(summary),
        "sessions": [_session(turns, fold, summary, args.price) for turns in SESSIONS],
    }


def _session(turns: int, fold: tuple[int, int], summary: tuple[int, int], price: str) -> dict[str, object]:
    def month(count: float, tokens: tuple[int, int]) -> int:
        return round(MONTHLY * count * (compute_call_price(price, tokens[0], 0, tokens[1]) or 0.0))

    look_ups = month(turns, SPECIFIED["look_up"])
    answers = month(turns, SPECIFIED["answer"])
    return {
        "turns": turns,
        "specified_memory": month(turns / 5, SPECIFIED["memory"]),
        "specified_rag": 2 * look_ups + answers,
        "folds": month(pieces("fold", turns), fold),
        "summaries": month(pieces("summary", turns), summary),
        "look_ups_and_answers": look_ups + answers,
    }


def _fold() -> tuple[int, int]:
    """Returns the prompt and answer tokens of one fold of five turns into a full memory."""
    text = "\n".join(f"turn {turn}: {SENTENCE.strip()}" for turn in range(1, 21))
    entities = tuple(Entity(f"price of hotel {number}", f"${number}00", number) for number in range(1, 26))
    turns = tuple(MemoryTurn(number, f"{number} {QUESTION}", _answer()) for number in range(21, 26))
    values = [{"key": entity.key, "value": entity.value, "replaces": None} for entity in entities]
    reply = json.dumps({"memory": text.splitlines(), "entities": values, "gone": []})
    utility = ScriptedModel([reply, reply])
    by_model.fold_by_model(FoldInput(text, entities, turns, default="en"), build_scripted_models(utility=utility), 500)
    return sum(estimate_tokens(message.text) for message in utility.calls[0]), estimate_tokens(reply)


def _summary() -> tuple[int, int]:
    """Returns the prompt and answer tokens of one summary of three turns."""
    messages = [message for _ in range(3) for message in (HumanMessage(QUESTION), AIMessage(_answer()))]
    chunk = Chunk(tuple(messages), (1, 2, 3), RATE, "en")
    return sum(estimate_tokens(message.text) for message in chunk.build_opening(10**6)), int(3 * TURN_TOKENS * RATE)


def _answer() -> str:
    """Returns an answer that has, together with its question, the tokens of a specified turn."""
    count = (TURN_TOKENS - estimate_tokens(QUESTION)) // estimate_tokens(SENTENCE)
    return (SENTENCE * count).strip()
