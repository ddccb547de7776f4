"""The tool ``answer_chat_call``: one turn of a conversation, with the sources of its answer and the report of its
prompt."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from functools import partial
from typing import Annotated, Literal

import mcp_types as types
from pydantic import Field

from door.mcp.call import McpToolCall, Played
from door.mcp.tool import asking, turn
from door.mcp.tool.asking import WaitingTurn, can_ask, is_modern
from door.mcp.tool.schema import Arguments, StructuredResult
from door.mcp.tool.tool import Tool
from errors import NothingToAnswer
from graph.turn.event import Done, TurnQuestions
from graph.turn.request import MESSAGE_LIMIT
from server.phrase import render_phrase
from server.request.running import Work
from store.database.schema import ALIAS_CHARS
from store.turn import question as asked_before
from store.turn.question import QuestionKind, UserQuestion
from text.language import Language

ANSWER_SECONDS = 600.0
"""How long the user of a client may take to answer in the middle of a call."""
DESCRIPTION = """Sends a message to Gieok and returns its answer. Gieok remembers: it keeps conversations, and what \
the user told in any of them. Give the session of an earlier result to go on with that conversation, or a name of your \
own to find it again; without a session a new conversation begins. Gieok may look into the user's documents, with \
numbers such as [1] that the citations explain. When the status is «waiting», the user must answer the questions \
first, in Gieok's own app."""


class ChatArguments(Arguments):
    """Arguments of ``answer_chat_call``."""

    text: Annotated[str, Field(min_length=1, max_length=MESSAGE_LIMIT, description="The message, in any language.")]
    session: Annotated[
        str,
        Field(max_length=ALIAS_CHARS, description="The conversation: its id, or a name. Empty: a new one."),
    ] = ""


class Citation(StructuredResult):
    """A passage that a number in the answer stands for."""

    number: int = Field(description="The number in the answer, such as 1 for [1].")
    label: str = Field(description="Document and place.")
    text: str = Field(description="The passage as the model got it.")


class PartTokens(StructuredResult):
    """The tokens of one part of a prompt."""

    name: str
    tokens: int


class PromptContextResult(StructuredResult):
    """The summary of a prompt's report."""

    total_tokens: int = Field(description="Tokens of the prompt.")
    full_tokens: int = Field(description="Tokens with the whole history in its own words instead of summaries.")
    saved_tokens: int = Field(description="The difference.")
    exact: bool = Field(description="Whether they were counted, not estimated.")
    parts: list[PartTokens] = Field(description="The tokens of each part of the prompt.")
    left_out: list[str] = Field(description="What had no room, with the reason.")


class TurnUsageResult(StructuredResult):
    """The tokens and the cost of the turn."""

    prompt_tokens: int
    cached_tokens: int
    answer_tokens: int
    calls: int = Field(description="Calls of the model.")
    exact: bool
    usd: float | None = Field(None, description="US dollars, where the price is known.")


class AskedQuestion(StructuredResult):
    """A question that the user must answer before the turn goes on."""

    id: str
    kind: QuestionKind
    text: str = Field(description="The question in words.")
    tool: str = Field(description="The tool that asks, or that is to run.")
    choices: list[str]


class ChatResult(StructuredResult):
    """Result of ``answer_chat_call``."""

    session: str = Field(description="The id of the conversation; give it with the next message.")
    turn: int = Field(description="The number of the turn.")
    status: Literal["done", "stopped", "waiting"]
    answer: str
    finish_reason: Literal["stop", "length"] | None = Field(None, description="length: cut at its token limit.")
    citations: list[Citation]
    context: PromptContextResult | None = Field(None, description="What the prompt was made of.")
    usage: TurnUsageResult | None = None
    seconds: float = 0.0
    questions: list[AskedQuestion] = Field(description="What the user must answer, while the status is «waiting».")


async def answer_chat_call(call: McpToolCall, given: ChatArguments) -> ChatResult | types.InputRequiredResult:
    """Runs the turn, or goes on with the turn that the client brings answers for."""
    state = call.params.request_state
    if state is None:
        return await _run_chat_turn(call, turn.build_message_work(call.caller.agent, given.text, given.session))
    place = asking.parse_request_state(state)
    questions = await call.look(partial(_load_waiting_questions, call, place))
    answers = asking.read_input_answers(questions, call.params.input_responses or {})
    if answers is None:
        return asking.build_input_request(questions, place, await _load_chat_language(call, place.session))
    return await _run_chat_turn(call, turn.build_resume_work(call.caller.agent, place.session, answers))


async def _run_chat_turn(call: McpToolCall, work: Work) -> ChatResult | types.InputRequiredResult:
    while True:
        played = await call.turn(work)
        if isinstance(played.end, Done):
            return _build_done_result(played, played.end)
        session, questions = played.begun.session, played.end.questions
        language = await _load_chat_language(call, session)
        if not can_ask(call.context, questions):
            return _build_waiting_result(played, played.end, language)
        if is_modern(call.context):
            return asking.build_input_request(questions, WaitingTurn(session, played.end.turn), language)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answers = await call.hear_client(asking.elicit_answers(call.context, questions, language))
        except TimeoutError:  # the turn goes on waiting, and the call keeps its place no longer
            return _build_waiting_result(played, played.end, language)
        work = turn.build_resume_work(call.caller.agent, session, answers)


def _load_waiting_questions(call: McpToolCall, place: WaitingTurn) -> list[UserQuestion]:
    """Returns the questions that the turn waits for. Raises ``NothingToAnswer`` when it waits no
    more."""
    store = call.caller.agent.store
    session = store.session(place.session)
    row = store.turn(place.session, place.turn)
    if row is None or row.status != "waiting" or session.turn_count != place.turn:
        raise NothingToAnswer(session=place.session)
    return [asked_before.parse_user_question(plain) for plain in row.questions or ()]


async def _load_chat_language(call: McpToolCall, session: str) -> Language:
    return (await call.look(partial(call.caller.agent.store.session, session))).language


def _build_done_result(played: Played, done: Done) -> ChatResult:
    return ChatResult(
        session=played.begun.session,
        turn=done.turn,
        status="stopped" if done.stopped else "done",
        answer=done.answer,
        finish_reason=done.finish_reason,
        citations=[Citation.model_validate(row) for row in played.report.citations],
        context=_build_context_result(played),
        usage=TurnUsageResult.model_validate(asdict(done.usage)),
        seconds=done.seconds,
        questions=[],
    )


def _build_waiting_result(played: Played, end: TurnQuestions, language: Language) -> ChatResult:
    return ChatResult(
        session=played.begun.session,
        turn=end.turn,
        status="waiting",
        answer=render_phrase(language, "mcp.waiting"),
        citations=[Citation.model_validate(row) for row in played.report.citations],
        context=_build_context_result(played),
        questions=[_build_question_result(question, language) for question in end.questions],
    )


def _build_question_result(question: UserQuestion, language: Language) -> AskedQuestion:
    text = asking.render_mcp_question(question, language)
    return AskedQuestion(
        id=question.id, kind=question.kind, text=text, tool=question.tool, choices=list(question.choices)
    )


def _build_context_result(played: Played) -> PromptContextResult | None:
    report = played.report.context
    if report is None:
        return None
    return PromptContextResult(
        total_tokens=report.total_tokens,
        full_tokens=report.full_tokens,
        saved_tokens=report.saved_tokens,
        exact=report.exact,
        parts=[PartTokens(name=part.name, tokens=part.tokens) for part in report.parts],
        left_out=[f"{row.what}: {row.reason}" if row.what else row.reason for row in report.left_out],
    )


TOOL = Tool(
    name="chat",
    title="Chat with Gieok",
    description=DESCRIPTION,
    arguments=ChatArguments,
    result=ChatResult,
    run=answer_chat_call,
    writes=True,
    repeats=False,
    reaches=True,
)
