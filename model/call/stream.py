"""A model's answer as a stream that can be stopped at once (design 2.5).

One thread reads the model and the caller polls. So a stop takes effect before the model's first word (llama.cpp
evaluates a prompt for half a minute in silence), and also in the pause before a retry.
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
from model.call.abort import Call, Cut, current

POLL_SECONDS = 0.05

Model = Runnable[LanguageModelInput, AIMessage]
"""A chat model, with or without tools or a format bound to it."""


class Stopped(Exception):
    """The error of an answer that was stopped before its end."""


def stream(
    model: Model, messages: LanguageModelInput, *, stop: threading.Event | None = None, **bind: Any
) -> Iterator[AIMessageChunk]:
    """Yields the chunks of the answer as they arrive.

    Once ``stop`` is set, or the caller closes the iterator, the stream ends at once and without an error, and the
    request upstream is aborted. ``bind`` goes to the model (``response_format=…``, ``extra_body=…``). Raises the errors
    of errors.py when the model comes from ``client.chat``.
    """
    if stop is not None and stop.is_set():
        return
    call, arrived = Call(), queue.SimpleQueue[AIMessageChunk | BaseException | None]()
    arguments = (_read, call, arrived, model, messages, bind)
    threading.Thread(target=copy_context().run, args=arguments, name="model-stream", daemon=True).start()
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
    """Returns the whole answer as one message. Raises ``Stopped`` when ``stop`` was set before the answer's end,
    ``EmptyAnswer`` when no chunk came, else as ``stream``."""
    whole: AIMessageChunk | None = None
    for chunk in stream(model, messages, stop=stop, **bind):
        whole = chunk if whole is None else whole + chunk
    if stop is not None and stop.is_set() and (whole is None or whole.chunk_position != "last"):
        raise Stopped
    if whole is None:
        raise EmptyAnswer
    return message(whole)


def message(whole: AIMessageChunk) -> AIMessage:
    """Returns a plain message from summed chunks, for the state and the store."""
    plain = message_chunk_to_message(whole)
    assert isinstance(plain, AIMessage)
    return plain


def usage(message: AIMessage) -> tuple[int, int, int, bool]:
    """Returns the tokens that the server counted: (prompt, the part of the prompt from its cache, answer, True).

    Returns zeros and False when the server sent no counts, or only zeros, and for a stopped answer. The caller then
    counts the tokens.
    """
    metadata = message.usage_metadata
    if not metadata or not (metadata["input_tokens"] or metadata["output_tokens"]):
        return 0, 0, 0, False
    cached = metadata.get("input_token_details", {}).get("cache_read") or 0
    return metadata["input_tokens"], cached, metadata["output_tokens"], True


def cut_off(message: AIMessage) -> bool:
    """Returns whether the answer ended at its token limit."""
    return "length" in str(message.response_metadata.get("finish_reason"))


def _next(
    arrived: queue.SimpleQueue[AIMessageChunk | BaseException | None], stop: threading.Event | None
) -> AIMessageChunk | BaseException | None:
    """Returns the next item that arrived; None at the end and on a stop."""
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
    """Reads the model to its end or its cut; puts an error of the model into the queue as the last item."""
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
    """Returns the message as a chunk. A model that cannot stream gives one message: the only chunk is the last."""
    if isinstance(message, AIMessageChunk):
        return message
    return AIMessageChunk(**{**message.model_dump(exclude={"type"}), "chunk_position": "last"})
