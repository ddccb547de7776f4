"""A chat model that answers from a script: for tests, benches and demonstrations."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, convert_to_messages
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from errors import ScriptExhausted
from model.call.abort import CallCut, current
from model.call.stream import stream_answer
from model.modelset import ModelSet
from model.profile import STRONG, Profile
from model.raw import RawAnswer

Answer = str | AIMessage | BaseException
Step = Answer | Callable[[list[BaseMessage]], Answer]
Script = Sequence[Step] | Callable[[list[BaseMessage]], Answer]


class ScriptedModel(BaseChatModel):
    """A chat model that streams the answers of a script in order, or the answers of a function without end.

    ``answers``: a sequence of steps, or one function of the messages for all calls. A step is a text, an ``AIMessage``
    (with tool calls), an exception to raise, or a function of the messages that returns one of these. ``delay``:
    seconds before each word. ``gate``: an event that the model waits for before each word but the first, so that a test
    can hold an answer in its middle. ``piece``: a regular expression for the text of one chunk. ``calls`` and
    ``bound_arguments`` record the messages and the bound arguments (tools, response_format) of every call.

    Raises ``ScriptExhausted`` when it is called more often than the script has answers.
    """

    answers: Any = ()
    delay: float = 0.0
    gate: Any = None
    piece: str = r"\s*\S+|\s+$"
    _calls: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _bound: list[dict[str, Any]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, answers: Script = (), **fields: Any) -> None:
        super().__init__(answers=answers if callable(answers) else tuple(answers), **fields)

    @property
    def calls(self) -> list[list[BaseMessage]]:
        """The messages of every call so far."""
        return self._calls

    @property
    def bound_arguments(self) -> list[dict[str, Any]]:
        """The bound arguments of every call so far; ``{}`` for none."""
        return self._bound

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """Binds tools as the real client does, in OpenAI's form."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages, kwargs)
        for index, word in enumerate(re.findall(self.piece, answer.text)):
            self._hold(first=index == 0)
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))
        yield _build_last_chunk(answer, messages)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    def _answer(self, messages: list[BaseMessage], bound: dict[str, Any]) -> AIMessage:
        with self._lock:
            self._calls.append(list(messages))
            self._bound.append({key: value for key, value in bound.items() if key != "stream"})
            number = len(self._calls)
        if not callable(self.answers) and number > len(self.answers):
            raise ScriptExhausted(calls=number, answers=len(self.answers))
        step = self.answers if callable(self.answers) else self.answers[number - 1]
        answer = step(messages) if callable(step) else step
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, AIMessage) else AIMessage(answer)

    def _hold(self, *, first: bool) -> None:
        """Waits for ``delay`` and ``gate``; raises ``CallCut`` when the call is cut off."""
        call = current.get()
        if self.delay:
            call.wait(self.delay) if call else time.sleep(self.delay)
        while self.gate is not None and not first and not self.gate.wait(0.01):
            if call and call.is_cut:
                raise CallCut


class ScriptedRaw:
    """A scripted model behind the interface of a server that takes a client's own JSON (``model.raw``)."""

    url, model, only = "", "scripted", False

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    @contextmanager
    def ask(self, body: Mapping[str, Any], stop: threading.Event) -> Iterator[RawAnswer]:
        """Gives the scripted answer to the messages."""
        yield _ScriptedAnswer(self._model, convert_to_messages(body["messages"]), stop)


class _ScriptedAnswer:
    """An answer in the form of Chat Completions, as a stream or whole."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, model: ScriptedModel, messages: list[BaseMessage], stop: threading.Event) -> None:
        self._model, self._messages, self._stop = model, messages, stop

    def events(self) -> Iterator[str]:
        reason = "stop"
        for chunk in stream_answer(self._model, self._messages, stop=self._stop):
            reason = chunk.response_metadata.get("finish_reason") or reason
            if chunk.text:
                yield _render_stream_event({"content": chunk.text}, None)
        if not self._stop.is_set():
            yield _render_stream_event({}, reason)
            yield "data: [DONE]\n\n"

    def whole(self) -> bytes:
        text = "".join(chunk.text for chunk in stream_answer(self._model, self._messages, stop=self._stop))
        message = {"role": "assistant", "content": text}
        return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()


def _render_stream_event(delta: dict[str, Any], reason: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}\n\n"


def count_scripted_tokens(text: str) -> int:
    """Returns a quarter of the number of characters that are not white space, rounded up: a deterministic count for
    tests, not the figure of a tokenizer."""
    return -(-len("".join(text.split())) // 4)


def build_scripted_models(
    chat: Script | ScriptedModel = (),
    utility: Script | ScriptedModel = (),
    *,
    profile: Profile = STRONG,
    side: Profile | None = None,
    context_size: int = 32_768,
    exact: bool = True,
) -> ModelSet:
    """Returns a ``ModelSet`` of scripted models; a role without answers fails as soon as it is called.

    ``profile``: the chat model's; ``side``: the utility model's, by default the same.
    """
    model = _build_scripted_model(chat)
    return ModelSet(
        chat=model,
        utility=_build_scripted_model(utility),
        profile=profile,
        side=side or profile,
        why="setting",
        side_why="setting",
        count=count_scripted_tokens,
        exact=exact,
        name="scripted",
        kind="scripted",
        url="",
        context_size=context_size,
        raw=ScriptedRaw(model),
    )


def _build_scripted_model(script: Script | ScriptedModel) -> ScriptedModel:
    return script if isinstance(script, ScriptedModel) else ScriptedModel(script)


def _build_last_chunk(answer: AIMessage, messages: list[BaseMessage]) -> ChatGenerationChunk:
    """Returns the last chunk of an answer as OpenAI sends it: tool calls, finish reason and usage."""
    calls = [
        tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index)
        for index, call in enumerate(answer.tool_calls)
    ]
    reason = answer.response_metadata.get("finish_reason") or ("tool_calls" if calls else "stop")
    return ChatGenerationChunk(
        message=AIMessageChunk(
            content="",
            tool_call_chunks=calls,
            usage_metadata=answer.usage_metadata or _count_scripted_usage(answer, calls, messages),
            chunk_position="last",
        ),
        generation_info={"finish_reason": reason, "model_name": "scripted"},
    )


def _count_scripted_usage(
    answer: AIMessage, calls: Sequence[ToolCallChunk], messages: list[BaseMessage]
) -> UsageMetadata:
    """Returns the token counts that a server would report."""
    prompt, reply = (
        sum(count_scripted_tokens(message.text) for message in messages),
        count_scripted_tokens(answer.text) + sum(count_scripted_tokens(str(call)) for call in calls),
    )
    return UsageMetadata(input_tokens=prompt, output_tokens=reply, total_tokens=prompt + reply)
