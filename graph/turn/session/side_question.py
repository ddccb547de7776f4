"""A question beside the conversation: asked with what the next message would be given, and stored nowhere but in the
usage, by its tokens.

Its answer is read and dropped, or kept: then question and answer are a turn behind the turn that they were asked after.
What follows from a kept one comes as after turns that a client tells (``graph.turn.session.given``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata

from errors import EmptyAnswer, SessionBusy, SessionDeleted, StorySideQuestion, TurnUnknown
from graph.context.preview import build_upcoming_prompt
from graph.context.prompt import raw_tokens
from graph.turn.process.engine import TurnEngine
from graph.turn.request import check_message
from graph.turn.runtime import build_call_arguments
from graph.turn.session.repair import complete_last_turn, settle_last_turn
from model.call import token
from model.call.stream import read_token_usage, stream_answer
from model.call.thought import is_moved
from store import GivenTurn, Session
from store.path import Path, cut_path_before
from text.clean import clean_text
from world.prompt.side_call import sum_side_calls


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """A whole side answer. ``turn`` and ``path``: the last turn when it was asked, and the path that led there."""

    question: str
    text: str
    turn: int
    path: Path


def stream_side_answer(
    engine: TurnEngine, session_id: str, question: str, stop: threading.Event | None = None
) -> Iterator[str | SideAnswer]:
    """Yields pieces of the answer as they arrive, then ``SideAnswer``. Calls no tools and stores nothing but how many
    tokens it took.

    Raises ``Empty``, ``TooLong``, ``SessionUnknown``, ``SessionDeleted``, ``SessionBusy`` while the conversation
    answers, ``StorySideQuestion``, ``ContextTooLong`` and the model's errors.
    """
    question = check_side_question(question)
    halt = stop or threading.Event()
    session = engine.store.session(session_id)
    _check_session(session)
    if engine.store.status(session) == "running":  # the next message's context is not known before its answer
        with engine.hold(session_id) as session:  # raises while it answers; free where a process died in mid-answer
            complete_last_turn(engine, session)
    pieces, models, counted = list[str](), engine.models(), list[AIMessage]()
    with engine.background.turn(lambda _key: False, engine.yields):
        prompt, _ = build_upcoming_prompt(engine, session_id, question, cites=False)
        options = build_call_arguments(engine.store.options.of(session_id))
        for chunk in stream_answer(models.chat, prompt.messages, stop=halt, **options):
            if read_token_usage(chunk)[-1]:
                counted.append(chunk)
            if is_moved(chunk):  # what was written so far has turned out to be a thought
                pieces.clear()
            if piece := clean_text(str(chunk.text)):
                pieces.append(piece)
                yield piece
    text = "".join(pieces).strip()
    if not counted:  # stopped, or a server that counts nothing
        size, reply = raw_tokens(prompt.messages, token.estimate_tokens), token.estimate_tokens(text)
        guess = UsageMetadata(input_tokens=size, output_tokens=reply, total_tokens=size + reply)
        counted.append(AIMessage(text, usage_metadata=guess))
    if used := sum_side_calls("aside", counted, models.name, models):
        engine.store.usages.note(session_id, used)
    if not text and not halt.is_set():
        raise EmptyAnswer()
    yield SideAnswer(question, text, session.turn_count, session.path)


def check_side_question(question: str) -> str:
    """Returns the cleaned question. Raises ``Empty``, ``TooLong``."""
    question = clean_text(question).strip()
    check_message(question)
    return question


def keep_side_answer(engine: TurnEngine, session_id: str, answer: SideAnswer) -> None:
    """Makes question and answer the turn after the one that they were asked after, and goes there. Turns that have come
    there meanwhile stay as another version.

    Raises ``Empty`` for an answer without text, ``TurnUnknown`` when the path no longer has what came before,
    ``SessionUnknown``, ``SessionDeleted``, and ``SessionBusy`` while the session answers or waits for the user.
    """
    check_side_question(answer.text)
    with engine.hold(session_id) as session:
        _check_session(session)
        if engine.store.status(session) == "running":  # cut off, and it may have asked the user before
            complete_last_turn(engine, session)
        if (status := engine.store.status(session)) == "waiting":  # a turn behind it would answer its question: no
            raise SessionBusy(session=session_id)
        number = answer.turn + 1
        before = [cut_path_before(path, number) for path in (session.path, answer.path)]
        if session.turn_count < answer.turn or before[0] != before[1]:
            raise TurnUnknown(session=session_id, turn=answer.turn)
        settle_last_turn(engine, session, status)
        pair: list[AnyMessage] = [HumanMessage(answer.question), AIMessage(answer.text)]
        kept = GivenTurn(answer.question, answer.text, raw_tokens(pair, token.estimate_tokens), is_own=True)
        # not as a new message: files that wait for the next one were not part of this question
        engine.store.tree.give(session_id, number, [kept], engine.now().timestamp())


def _check_session(session: Session) -> None:
    """Raises for a story, whose next prompt is its world's, and for a conversation that was deleted."""
    if session.world:
        raise StorySideQuestion(session=session.id)
    if session.deleted is not None:
        raise SessionDeleted(session=session.id)
