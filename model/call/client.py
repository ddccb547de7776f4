"""One client for hosted, local and embedded models: ``langchain_openai.ChatOpenAI`` on Chat Completions (design 9.1).

The OpenAI client itself retries after 429 and 5xx. It honours ``Retry-After`` up to two minutes and gives up at once
when the server asks for more. Without the header it doubles its pause from 0.5 s to 8 s (openai/_base_client.py
``_should_retry``, ``_calculate_retry_timeout``). A call that timed out is not repeated. A call that was rejected for a
field it can do without is repeated without the field: OpenAI's reasoning models take neither ``temperature`` nor
``stop``, and clients send them to every model.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr, SecretStr

from errors import AnswerRefused, ModelBroken
from model.call.abort import pause_cuttable_call
from model.call.fault import translate_upstream_errors
from model.call.message_form import FORMS, STRICT_FORM, differs_strictly, is_worth_strict_form
from model.call.thought import (
    THOUGHT,
    UNOPENED,
    ThoughtSplitter,
    move_thoughts,
    put_sorted,
    read_thought,
    sort_chunk,
)
from model.call.transport import CONNECT_SECONDS, Transport
from settings import Settings
from text.clean import clean_text

log = logging.getLogger(__name__)

_NOT_TAKEN = ("unsupported_parameter", "unsupported_value")
"""OpenAI's codes for a field, or its value, that the model does not take."""
TRY_STRICT = "try_strict_form"
"""An argument of a call whose messages are sent in the strict form, to see whether the server takes that."""


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """Where a model is. ``url``: up to and including ``/v1``. ``key``: may be empty for a server that needs none."""

    url: str
    key: str
    model: str


def build_chat_model(
    address: ModelAddress,
    *,
    settings: Settings,
    extra_body: dict[str, Any] | None = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
    keep: bool = True,
) -> BaseChatModel:
    """Returns a chat model behind an OpenAI-compatible address.

    ``extra_body``: the fields that a server takes beyond OpenAI's, such as llama.cpp's ``id_slot``. ``keep``:
    whether connections are used again (llama.cpp blocks one of its few threads for every open one). Every error of
    the model is an ``UpstreamError`` or a ``ModelOutputError`` of errors.py. ``stream.stream_answer`` can stop the
    model at any moment.
    """
    url, seconds = address.url, settings.model_timeout
    timeout = httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
    http_client = httpx2.Client(transport=Transport(url, seconds, keep=keep), timeout=timeout, follow_redirects=True)
    retries, api_key = settings.model_retries, address.key or "none"
    sdk = Sdk(base_url=url, api_key=api_key, timeout=timeout, max_retries=retries, http_client=http_client)
    return Client(
        root_client=sdk,
        client=_Plain(sdk),
        base_url=url,
        api_key=SecretStr(api_key),
        model=address.model,
        extra_body=extra_body,
        max_tokens=max_tokens,
        temperature=temperature,
        timeout=timeout,
        max_retries=retries,
        http_client=http_client,
        streaming=True,
        stream_usage=True,
        use_responses_api=False,
    )


class Sdk(openai.OpenAI):
    """OpenAI's client, whose pause before a retry ends when the call is cut off."""

    def _sleep_for_retry(
        self, *, retries_taken: int, max_retries: int, options: Any, response: httpx2.Response | None
    ) -> None:
        headers = response.headers if response is not None else None
        pause_cuttable_call(self._calculate_retry_timeout(max_retries - retries_taken, options, headers))


class _Plain:
    """The SDK's chat completions without its models: each chunk of an answer is the plain data that the server sent.

    To build the SDK's model of a chunk, and to take it apart again, costs more than all else that a chunk needs.
    """

    def __init__(self, sdk: openai.OpenAI) -> None:
        self._sdk = sdk

    def create(self, *, extra_body: dict[str, Any] | None = None, **fields: Any) -> openai.Stream[object]:
        """Asks for an answer and returns its stream. ``extra_body``: fields beyond OpenAI's."""
        body = {**fields, **(extra_body or {})}
        return self._sdk.post(
            "/chat/completions", cast_to=object, body=body, stream=True, stream_cls=openai.Stream[object]
        )


class Client(ChatOpenAI):
    """``ChatOpenAI`` that always streams, raises Gieok's errors, and notices refusals and cut-off answers. What the
    model thinks before its answer is no part of the text (``model.call.thought``)."""

    _not_taken: set[str] = PrivateAttr(default_factory=set)

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        """``optional``, an argument of the call: the fields without which the call is repeated when the model does not
        take them."""
        url, reason, refused, seen = str(self.openai_api_base), "", False, False
        usage: UsageMetadata | None = None
        place = url, self.model_name
        splitter = ThoughtSplitter(place in UNOPENED)
        with translate_upstream_errors(url, self.model_name, _read_timeout(self.request_timeout)):
            for chunk in self._stream_without_rejected(*args, **kwargs):
                seen = True
                reason = (chunk.generation_info or {}).get("finish_reason") or reason
                refused = refused or bool(chunk.message.additional_kwargs.get("refusal"))
                if isinstance(chunk.message, AIMessageChunk) and chunk.message.usage_metadata:
                    usage, chunk.message.usage_metadata = chunk.message.usage_metadata, None
                if isinstance(chunk.message, AIMessageChunk):
                    if read_thought(chunk.message):
                        splitter.hear_field()
                    sort_chunk(chunk.message, splitter)
                yield chunk
        if any((rest := splitter.end(reason == "stop")).pieces):
            put_sorted(held := AIMessageChunk(content=""), rest)
            yield ChatGenerationChunk(message=held)
        if splitter.was_unopened is not None:
            UNOPENED.learn(place, splitter.was_unopened and splitter.is_sure)
        if refused or reason == "content_filter":
            raise AnswerRefused
        if not reason:
            why = ("the answer has no end", "no_end") if seen else ("it sent no answer", "silent")
            raise ModelBroken(url=url, reason=why[0], reason_code=why[1])
        if usage:  # once: some servers send a running total with every chunk, and callers sum the chunks
            yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))

    def _stream_without_rejected(
        self, *args: Any, optional: Collection[str] = (), **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        """Streams the call, without the optional fields that the model has rejected, and in the form of messages that
        its server takes."""
        place, refused = (str(self.openai_api_base), self.model_name), list[openai.APIStatusError]()
        while True:
            dropped, was_strict = self._not_taken.intersection(optional), FORMS.is_strict(*place)
            fields = {name: kwargs[name] for name in kwargs if name not in dropped}
            fields |= ({"stop": None} if "stop" in dropped else {}) | ({TRY_STRICT: True} if refused else {})
            try:
                for at, chunk in enumerate(super()._stream(*args, **fields)):
                    if refused and not at:
                        FORMS.note_strict(*place)
                    if not at and (refused or (was_strict and differs_strictly(self._plain(args[0])))):
                        chunk.message.response_metadata[STRICT_FORM] = True
                    yield chunk
                return
            except openai.APIStatusError as error:
                if error.status_code == 400 and error.code in _NOT_TAKEN and error.param in {*optional} - dropped:
                    log.info("the model takes no %s: asking without it", error.param)
                    self._not_taken.add(str(error.param))
                    continue
                if refused:  # the form was not what the server disliked
                    raise refused[0] from error
                if was_strict or not is_worth_strict_form(
                    self._plain(args[0]), error.status_code, f"{error} {error.body}"
                ):
                    raise
                refused.append(error)

    def _plain(self, messages: Any) -> list[Any]:
        """Returns messages as plain data, before they are arranged for the server."""
        plain: list[Any] = super()._get_request_payload(messages)["messages"]
        return plain

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        """Accepts chunks that deviate from the standard; keeps ``delta.refusal`` and thoughts, which langchain-openai
        drops."""
        _tidy_chunk(chunk)
        generation = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        if generation and any((choice.get("delta") or {}).get("refusal") for choice in chunk.get("choices") or ()):
            generation.message.additional_kwargs["refusal"] = True
        if generation and (thought := _thought_of(chunk)):
            generation.message.additional_kwargs[THOUGHT] = thought
        return generation

    def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        """Returns the request in a form that every server takes.

        Moves ``response_format`` into ``extra_body``: given its own field, langchain-openai takes another path, which
        parses the answer and repeats it whole as a last chunk; a grammar gives way to it, because llama.cpp takes one
        of the two. Lets fields of the call win over those of ``extra_body``, which the OpenAI client would send in
        their place. Sends ``max_completion_tokens`` to OpenAI and
        the older ``max_tokens`` to all other servers. Removes NUL and replaces text that UTF-8 cannot hold: both would
        break the request.
        """
        strict = bool(kwargs.pop(TRY_STRICT, False))
        payload: dict[str, Any] = _clean_request_value(super()._get_request_payload(input_, stop=stop, **kwargs))
        place = str(self.openai_api_base), self.model_name
        payload["messages"] = FORMS.arrange(payload["messages"], *place, strict=strict)
        if "response_format" in payload:
            shape = {"response_format": payload.pop("response_format")}
            own = {name: value for name, value in (payload.get("extra_body") or {}).items() if name != "grammar"}
            payload["extra_body"] = {**own, **shape}
        if extra := payload.get("extra_body"):
            payload["extra_body"] = {name: value for name, value in extra.items() if name not in payload}
        if "max_completion_tokens" in payload and not _is_openai(str(self.openai_api_base)):
            payload["max_tokens"] = payload.pop("max_completion_tokens")
        return payload


def _tidy_chunk(chunk: dict[str, Any]) -> None:
    """Replaces null by an empty object where an object belongs, and arguments that came as an object by their JSON.
    Keeps the first of several answers: only one was asked for."""
    if choices := chunk.get("choices"):
        chunk["choices"] = [choice for choice in choices if choice.get("index") in (0, None)]
    for choice in chunk.get("choices") or ():
        choice["delta"] = choice.get("delta") or {}
        move_thoughts(choice["delta"])
        for call in choice["delta"].get("tool_calls") or ():
            call["function"] = function = call.get("function") or {}
            if not isinstance(arguments := function.get("arguments"), str | None):
                function["arguments"] = json.dumps(arguments, ensure_ascii=False)


def _thought_of(chunk: dict[str, Any]) -> str:
    return "".join(choice["delta"].get(THOUGHT) or "" for choice in chunk.get("choices") or ())


def _clean_request_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {key: _clean_request_value(item) for key, item in value.items()}
    return [_clean_request_value(item) for item in value] if isinstance(value, list) else value


def _is_openai(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host.endswith((".openai.com", ".openai.azure.com"))


def _read_timeout(timeout: Any) -> float:
    return float((timeout.read if isinstance(timeout, httpx2.Timeout) else timeout) or 0)
