"""One exchange with the utility model that may take several requests."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from model.call.json_reply import complete_shaped
from model.call.stream import complete_answer, cut_off, read_token_usage
from model.modelset import ModelSet
from model.price import price_model_call
from text.clean import clean_text


@dataclass
class Talk:
    """An exchange of requests. Every request continues the messages before it, so that the server has them in its
    cache.

    ``messages``: begin with the system prompt and the material. ``exact``: the server counted the tokens. ``cut``: the
    last reply ended at its token limit. ``usd``: None where the price is not known; ``cache_usd``: what the provider's
    cache saved.
    """

    models: ModelSet
    stop: threading.Event | None
    messages: list[AnyMessage]
    prompt_tokens: int = 0
    answer_tokens: int = 0
    exact: bool = True
    calls: int = 0
    cut: bool = False
    cached_tokens: int = 0
    usd: float | None = 0.0
    cache_usd: float = 0.0

    def ask(self, request: str, response_format: dict[str, Any] | None = None, **bind: Any) -> str:
        """Sends a further request and returns the model's reply, in ``response_format`` where one is given and the
        server takes it."""
        last = self.messages[-1]
        if isinstance(last, HumanMessage):  # one user message: the material, then the request
            self.messages[-1] = HumanMessage(f"{last.text}\n\n{request}")
        else:
            self.messages.append(HumanMessage(request))
        answer = self._answer(response_format, bind)
        self._count(answer)
        self.cut = cut_off(answer)
        reply = clean_text(answer.text).strip()
        self.messages.append(AIMessage(reply))
        return reply

    def _answer(self, response_format: dict[str, Any] | None, bind: dict[str, Any]) -> AIMessage:
        model, messages = self.models.utility, list(self.messages)
        if response_format is None:
            return complete_answer(model, messages, stop=self.stop, **bind)
        return complete_shaped(model, messages, response_format, stop=self.stop, **bind)

    def _count(self, answer: AIMessage) -> None:
        prompt_tokens, cached, answer_tokens, exact = read_token_usage(answer)
        if not exact:
            prompt_tokens = sum(self.models.count(message.text) for message in self.messages)
            answer_tokens = self.models.count(answer.text)
        price, saved = price_model_call(self.models, self.models.side_name, prompt_tokens, cached, answer_tokens)
        self.calls += 1
        self.exact = self.exact and exact
        self.prompt_tokens += prompt_tokens
        self.cached_tokens += cached
        self.answer_tokens += answer_tokens
        self.usd = None if price is None or self.usd is None else self.usd + price
        self.cache_usd += saved
