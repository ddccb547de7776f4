"""Reading a model's answer so that it can be stopped at once (design §2 «Stop is cooperative»).

A thread of its own reads the model and the caller polls: so a stop takes effect while the model has not said a word
yet (llama.cpp evaluates a prompt for half a minute in silence), and also in the pause before a retry.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message
from langchain_core.runnables import Runnable

from errors import EmptyAnswer
from model.cut import Call, Cut, current

POLL_SECONDS = 0.05

Model = Runnable[LanguageModelInput, AIMessage]
"""A chat model, also one with tools or a format bound to it."""


class Stopped(Exception):
    """The answer was stopped before its end."""


def stream(
    model: Model, messages: LanguageModelInput, *, stop: threading.Event | None = None, **bind: Any
) -> Iterator[AIMessageChunk]:
    """The chunks of the answer as they arrive.

    Once ``stop`` is set, or the iterator is closed, it ends at once and without an error, and the request upstream is
    aborted. ``bind`` goes to the model (``response_format=…``, ``extra_body=…``). Errors are those of errors.py when
    the model is ``client.chat``'s.
    """
    if stop is not None and stop.is_set():
        return
    call, arrived = Call(), queue.SimpleQueue[AIMessageChunk | BaseException | None]()
    work = (_read, call, arrived, model, messages, bind)
    threading.Thread(target=copy_context().run, args=work, name="model-stream", daemon=True).start()
    try:
        while (item := _next(arrived, stop)) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        call.cut()


def complete(
    model: Model, messages: LanguageModelInput, *, stop: threading.Event | None = None, **bind: Any
) -> AIMessage:
    """The whole answer as one message. Raises ``Stopped`` when ``stop`` was set before its end, else as ``stream``."""
    whole: AIMessageChunk | None = None
    for chunk in stream(model, messages, stop=stop, **bind):
        whole = chunk if whole is None else whole + chunk
    if stop is not None and stop.is_set() and (whole is None or whole.chunk_position != "last"):
        raise Stopped
    if whole is None:
        raise EmptyAnswer
    return message(whole)


def message(whole: AIMessageChunk) -> AIMessage:
    """A plain message from summed chunks, for the state and the store."""
    made = message_chunk_to_message(whole)
    assert isinstance(made, AIMessage)
    return made


def usage(message: AIMessage) -> tuple[int, int, int, bool]:
    """Tokens that the server counted: (prompt, of these from its cache, answer, True).

    All zero and False when it sent none, or only zeros, and for a stopped answer: the caller then counts for itself.
    """
    counted = message.usage_metadata
    if not counted or not (counted["input_tokens"] or counted["output_tokens"]):
        return 0, 0, 0, False
    cached = counted.get("input_token_details", {}).get("cache_read") or 0
    return counted["input_tokens"], cached, counted["output_tokens"], True


def cut_off(message: AIMessage) -> bool:
    """Whether the answer ended because its tokens were used up."""
    return "length" in str(message.response_metadata.get("finish_reason"))


def _next(
    arrived: queue.SimpleQueue[AIMessageChunk | BaseException | None], stop: threading.Event | None
) -> AIMessageChunk | BaseException | None:
    """What arrived next; None at the end and on a stop."""
    while stop is None or not stop.is_set():
        try:
            return arrived.get(timeout=POLL_SECONDS if stop is not None else None)
        except queue.Empty:
            continue
    return None


def _read(
    call: Call,
    arrived: queue.SimpleQueue[AIMessageChunk | BaseException | None],
    model: Model,
    messages: LanguageModelInput,
    bind: dict[str, Any],
) -> None:
    """Read the model to its end or its cut; what it raises is handed over."""
    current.set(call)
    end: BaseException | None = None
    try:
        for chunk in model.stream(messages, **bind):
            call.check()
            arrived.put(_chunk(chunk))
    except Cut:
        pass
    except BaseException as error:
        end = error
    arrived.put(end)


def _chunk(message: AIMessage) -> AIMessageChunk:
    """Models that cannot stream give a message; its only chunk is the last."""
    if isinstance(message, AIMessageChunk):
        return message
    return AIMessageChunk(**{**message.model_dump(exclude={"type"}), "chunk_position": "last"})
