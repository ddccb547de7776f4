"""Live answers to the questions of a data set: their F1, and what the judge says of the memory behind them."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from bench.public.dataset.dataset import Conversation, DatasetQuestion
from bench.public.f1 import score_answer
from errors import GieokError
from evaluation.form import FORMS, FormContext
from evaluation.judge.judge import Rating, judge_memory
from evaluation.play import Play, live_messages
from model.call.stream import complete_answer, read_token_usage
from model.price import compute_call_price
from prompt import render_prompt
from text.clean import clean_text

QUESTION = """The user of this conversation is {user}, and {other} answers. Answer the question in a few words, with \
the words of the conversation where you can. If the conversation does not tell, answer only: not mentioned.

Question: {question}"""
"""What the chat model is asked."""


@dataclass(frozen=True, slots=True)
class PublicAnswer:
    """The chat model's answer to a question of a data set.

    ``f1``: 0 to 1, None without an answer or without a gold answer. ``rating``: the judge's, of what the form gave;
    None where nobody was asked.
    ``why``: the code of the error where there is no answer. ``usd``: of the answer, None when the price
    is unknown.
    """

    text: str = ""
    f1: float | None = None
    rating: Rating | None = None
    why: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0
    usd: float | None = 0.0


def answer_public_question(
    play: Play,
    conversation: Conversation,
    question: DatasetQuestion,
    form: str,
    context: FormContext,
    *,
    judged: bool = True,
    stop: threading.Event | None = None,
) -> PublicAnswer:
    """Returns the answer of the play's chat model from what a form gives (``context``); with ``judged`` the utility
    model judges that, too.

    Never raises for a failed call; raises ``Stopped`` when it was stopped.
    """
    models, began = play.models, time.monotonic()
    asked = QUESTION.format(question=question.text, user=conversation.user, other=conversation.other)
    try:
        messages = _build_public_messages(play, form, context, asked)
        reply = complete_answer(models.chat, messages, stop=stop)
    except GieokError as error:
        return PublicAnswer(why=error.code, seconds=time.monotonic() - began)
    seconds = time.monotonic() - began
    rating = None
    if judged:
        rating = judge_memory(models, question.text, context.text, "", language=play.language, stop=stop)
    text = clean_text(reply.text).strip()
    prompt_tokens, cached, answer_tokens, exact = read_token_usage(reply)
    if not exact:
        prompt_tokens, cached = sum(models.count(str(message.text)) for message in messages), 0
        answer_tokens = models.count(text)
    return PublicAnswer(
        text,
        score_answer(question, text),
        rating,
        prompt_tokens=prompt_tokens,
        answer_tokens=answer_tokens,
        seconds=seconds,
        usd=compute_call_price(models.name, prompt_tokens, cached, answer_tokens, url=models.url),
    )


def _build_public_messages(play: Play, form: str, context: FormContext, asked: str) -> list[BaseMessage]:
    """Returns the messages that ask the chat model; a form that is none of ``FORMS`` stands whole in the first one."""
    if form in FORMS:
        return live_messages(play, form, asked)
    return [SystemMessage(render_prompt("evaluation_live", play.language, context=context.text)), HumanMessage(asked)]
