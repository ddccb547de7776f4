"""What a client tells with a request: the turns so far, the message to answer, and its own system text.

Clients send the whole conversation each time, and shape it as they like: several system messages, a greeting of the
assistant before the first question, an answer in several messages, the results of their own tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from errors import NoUserMessage
from graph.tool.client_tool import RESULT_CHARS
from model.call.message_form import SYSTEM
from prompt import render_prompt
from server.request.material import take_apart
from server.request.message import ClientMessage
from store import GivenTurn
from text.cut import cut_text
from text.fence import frame_outside_text
from text.language import Language, detect_language

SPOKEN = ("user", "assistant")
RESULTS = ("tool", "function")


@dataclass(frozen=True, slots=True)
class ToldRequest:
    """A request as turns. ``turns``: those with an answer, oldest first; a greeting before the first question is a turn
    with an empty question. ``began``: whether the user has said anything in these turns. ``text``, ``images``: the
    message to answer. ``system``: the system messages in one text, empty for none. ``earlier_images``: those of the
    turns before, oldest first.
    """

    turns: tuple[GivenTurn, ...]
    began: bool
    text: str
    images: tuple[dict[str, Any], ...]
    system: str
    earlier_images: tuple[dict[str, Any], ...] = ()


def read_told_request(
    messages: Sequence[ClientMessage], language: Language, own: Mapping[str, str] | None = None
) -> ToldRequest:
    """Returns what the client tells. ``language``: of a conversation whose words do not show it. ``own``: ids of calls
    that our turns made (``server.request.client_call.own_calls``); what an answered exchange holds of them stands in
    the record already. With an id goes the answer of a turn that ended with it.

    System messages become one text, wherever they stand. Messages of one speaker in a row are one message; messages of
    unknown roles are left out. The result of a client's tool belongs to the question that it was called for, and what
    the client added to a message to the user's words there, each in a frame that says it is nobody's words
    (``text.fence``). When the assistant spoke last, the client wants its answer carried
    on («continue», a prefilled answer): then this answer counts as a whole turn, and the message asks to go on. Raises
    ``NoUserMessage``.
    """
    if not any(message.role == "user" for message in messages):
        raise NoUserMessage(field="messages")
    system = _join_client_texts(message for message in messages if message.role in SYSTEM)
    exchanges = _split_exchanges(take_apart(messages), language, own or {})
    last = exchanges[-1]
    ended = exchanges if last.is_answered else exchanges[:-1]
    turns = tuple(GivenTurn(each.question, _join_client_texts(each.answers), tokens=0) for each in ended)
    began = any(each.asked for each in ended)
    earlier = tuple(image for each in ended for image in each.images)
    if last.is_answered:
        return ToldRequest(
            turns, began, render_prompt("go_on", detect_language(turns[-1].answer, language)), (), system, earlier
        )
    return ToldRequest(turns, began, last.question, last.images, system, earlier)


@dataclass
class _Exchange:
    """What the user asks, what the client added to it and the results of the client's tools (both
    ``frame_outside_text``), and the answers to it. ``own``: results for calls of ours; ``ending``: the answer of a turn
    that ended with such a call."""

    asked: list[ClientMessage] = field(default_factory=list)
    material: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    answers: list[ClientMessage] = field(default_factory=list)
    ending: str = ""
    is_answered: bool = False

    @property
    def images(self) -> tuple[dict[str, Any], ...]:
        return tuple(image for message in self.asked for image in message.images)

    @property
    def question(self) -> str:
        recorded = [] if self.is_answered else self.own
        return "\n\n".join(filter(None, [*self.material, _join_client_texts(self.asked), *self.results, *recorded]))


def _split_exchanges(messages: Sequence[ClientMessage], language: Language, own: Mapping[str, str]) -> list[_Exchange]:
    """Returns the exchanges, at least one. ``language``: of what the model is told of text in frames; ``own``: as in
    ``read_told_request``."""
    note, about = render_prompt("outside", language), render_prompt("material", language)
    exchanges, names = [_Exchange()], dict[str, str]()
    for message in messages:
        names |= message.calls
        last = exchanges[-1]
        if message.role == "user":
            if last.ending:
                last.answers, last.is_answered = [ClientMessage("assistant", last.ending)], True
                if not last.asked:  # it began before what the client tells
                    exchanges.pop()
            if last.is_answered or not exchanges:
                exchanges.append(last := _Exchange())
            last.asked.append(message)
            last.material += [frame_outside_text(added.client, added.text, about) for added in message.material]
        elif message.role in RESULTS and message.text.strip():
            if last.is_answered and message.call in own:  # it stands in the record, wherever the client has it
                continue
            last.ending = own.get(message.call, "")
            name = names.get(message.call, message.call) or "tool"
            results = last.own if message.call in own else last.results
            results.append(frame_outside_text(name, cut_text(message.text, RESULT_CHARS), note))
            last.is_answered = False  # what was said before the call is no answer to it yet
        elif message.role == "assistant" and (message.text.strip() or not message.calls):
            if not own.keys() & message.calls.keys():  # what was said before a call of ours is no part of the answer
                last.answers.append(message)
            last.is_answered = not message.calls
            last.ending = ""
        if message.role == "assistant" and message.calls:
            last.ending = next((own[id_] for id_ in message.calls if own.get(id_)), "")
    return exchanges


def _join_client_texts(messages: Iterable[ClientMessage]) -> str:
    """Returns the texts of messages as one, with blank lines between them."""
    return "\n\n".join(message.text for message in messages if message.text.strip())
