"""A model's answer as a stream that can be stopped at once (design 2.5).

The caller's own thread reads the model. One thread of the process looks at the stop events of all running calls and
cuts off those that are stopped (``abort.watch``). So a stop takes effect before the model's first word (llama.cpp
evaluates a prompt for half a minute in silence), and also in the pause before a retry.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextvars import Context, copy_context
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import Runnable

from errors import EmptyAnswer
from model.call.abort import CuttableCall, current, watch
from model.call.thought import is_moved

Model = Runnable[LanguageModelInput, AIMessage]
"""A chat model, with or without tools or a format bound to it."""


class Stopped(Exception):
    """The error of an answer that was stopped before its end."""


def stream_answer(
    model: Model, messages: LanguageModelInput, *, stop: threading.Event | None = None, **bind: Any
) -> Iterator[AIMessageChunk]:
    """Yields the chunks of the answer as they arrive.

    Once ``stop`` is set, or the caller closes the iterator, the stream ends at once and without an error, and the
    request upstream is aborted. A model that waits for anything but a connection must look at ``abort.current`` while
    it waits. ``bind`` goes to the model (``response_format=…``, ``extra_body=…``). Raises the errors of errors.py when
    the model comes from ``client.build_chat_model``.
    """
    if stop is not None and stop.is_set():
        return
    call, context = CuttableCall(), copy_context()
    context.run(current.set, call)  # not in the caller's own context: between two chunks the caller does other things
    chunks: Iterator[AIMessage] = iter(())
    try:
        with watch.over(call, stop):
            chunks = context.run(model.stream, messages, **bind)
            while (chunk := _read_next_chunk(context, call, chunks)) is not None and not (
                stop is not None and stop.is_set()
            ):
                yield chunk
                if stop is not None and stop.is_set():
                    return
    finally:
        call.cut()
        if isinstance(chunks, Generator):
            context.run(chunks.close)


def complete_answer(
    model: Model, messages: LanguageModelInput, *, stop: threading.Event | None = None, **bind: Any
) -> AIMessage:
    """Returns the whole answer as one message. Raises ``Stopped`` when ``stop`` was set before the answer's end,
    ``EmptyAnswer`` when no chunk came, else as ``stream_answer``."""
    whole = sum_chunks(list(stream_answer(model, messages, stop=stop, **bind)))
    if stop is not None and stop.is_set() and (whole is None or whole.chunk_position != "last"):
        raise Stopped
    if whole is None:
        raise EmptyAnswer
    return build_plain_message(whole)


def sum_chunks(chunks: Sequence[AIMessageChunk]) -> AIMessageChunk | None:
    """Returns the chunks of an answer as one; None of none. Sums them once, because the sum of two copies both. The
    text before a sign that it was thought is left out (``model.call.thought``)."""
    begins = next((at for at, chunk in enumerate(chunks) if is_moved(chunk)), 0)
    chunks = [*(chunk.model_copy(update={"content": ""}) for chunk in chunks[:begins]), *chunks[begins:]]
    return add_ai_message_chunks(chunks[0], *chunks[1:]) if chunks else None


def build_plain_message(whole: AIMessageChunk) -> AIMessage:
    """Returns a plain message from summed chunks, for the state and the store."""
    plain = message_chunk_to_message(whole)
    assert isinstance(plain, AIMessage)
    return plain


def read_token_usage(message: AIMessage) -> tuple[int, int, int, bool]:
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


def _read_next_chunk(context: Context, call: CuttableCall, chunks: Iterator[AIMessage]) -> AIMessageChunk | None:
    """Returns the next chunk; None at the end of the answer and after a cut."""
    try:
        call.check()
        message = context.run(next, chunks, None)
    except Exception:
        if call.is_cut:  # the error of a connection that was shut down, in whatever form the model passes it on
            return None
        raise
    return None if message is None else _convert_to_chunk(message)


def _convert_to_chunk(message: AIMessage) -> AIMessageChunk:
    """Returns the message as a chunk. A model that cannot stream gives one message: the only chunk is the last."""
    if isinstance(message, AIMessageChunk):
        return message
    return AIMessageChunk(**{**message.model_dump(exclude={"type"}), "chunk_position": "last"})
