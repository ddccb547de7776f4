"""The tool ``evaluate_memory``: would what Gieok remembers of a conversation help with a question?"""

from __future__ import annotations

import threading
from typing import Annotated, Literal

from pydantic import Field

from door.mcp.call import McpToolCall
from door.mcp.caller import McpCaller
from door.mcp.tool.memory import SessionName, load_caller_session
from door.mcp.tool.schema import Arguments, StructuredResult
from door.mcp.tool.tool import Tool
from evaluation.judge.judge import Rating
from evaluation.look import HeldFacts, MemoryInspection, inspect_memory, load_last_question
from evaluation.run import is_judge_trusted
from memory import MemoryView
from store import Session

QUERY_CHARS = 2000


class EvaluateArguments(Arguments):
    """Arguments of ``evaluate_memory``."""

    session: SessionName
    query: Annotated[
        str, Field(max_length=QUERY_CHARS, description="The question. Empty: the conversation's last one.")
    ] = ""
    judge: Annotated[
        Literal["auto", "yes", "no"],
        Field(description="Whether a model scores it. auto: unless the model is too small to judge."),
    ] = "auto"


class Facts(StructuredResult):
    """How many facts of the user's messages stand in one place."""

    place: Literal["memory", "summaries", "prompt"]
    kept: int
    told: int
    lost: list[str] = Field(description="The first of those that do not stand there, as the user wrote them.")


class Scores(StructuredResult):
    """A judge's rating of one text. Scores are 0 to 10; for noise 0 is the best."""

    status: Literal["scored", "empty", "unscored"]
    overall: float | None = Field(None, description="0 to 100.")
    relevance: float | None = None
    completeness: float | None = None
    accuracy: float | None = None
    noise: float | None = None
    summary: str = ""
    helpful: list[str] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)


class Evaluated(StructuredResult):
    """Result of ``evaluate_memory``."""

    session: str
    query: str
    turn: int = Field(description="The turn after which memory was looked at.")
    state: Literal["there", "off"] = Field(description="Of the long-term memory.")
    facts: list[Facts]
    judge: str = Field(description="The model that judged; empty where none did.")
    trusted: bool = Field(description="Whether this model is large enough to judge.")
    memory: Scores | None = Field(None, description="Of the long-term memory alone.")
    prompt: Scores | None = Field(None, description="Of all that the next prompt would hold.")


async def answer_evaluate_call(call: McpToolCall, given: EvaluateArguments) -> Evaluated:
    """Looks at the memory of a conversation."""
    return await call.run(lambda stop: _look_at_memory(call.caller, given, stop))


def _look_at_memory(caller: McpCaller, given: EvaluateArguments, stop: threading.Event) -> Evaluated:
    agent, session = caller.agent, load_caller_session(caller, given.session)
    judged = given.judge == "yes" or (given.judge == "auto" and is_judge_trusted(agent.models()))
    query = given.query.strip() or load_last_question(agent.store, session)

    def load_caller_memory() -> MemoryView:
        assert agent.memory is not None
        return agent.memory.reader.read_view(agent.tenant, session.id, session.language, user=agent.user)

    seen = inspect_memory(
        agent, session, query, load_caller_memory if caller.has_memory else None, judged=judged, stop=stop
    )
    return _build_evaluation_result(session, seen)


def _build_evaluation_result(session: Session, seen: MemoryInspection) -> Evaluated:
    return Evaluated(
        session=session.id,
        query=seen.query,
        turn=seen.turn,
        state=seen.state,
        facts=[_build_facts_result(row) for row in seen.facts],
        judge=seen.judge,
        trusted=seen.trusted,
        memory=_build_scores_result(seen.memory),
        prompt=_build_scores_result(seen.prompt),
    )


def _build_facts_result(row: HeldFacts) -> Facts:
    return Facts(place=row.place, kept=row.kept, told=row.told, lost=list(row.lost))


def _build_scores_result(rating: Rating | None) -> Scores | None:
    if rating is None:
        return None
    return Scores(
        status=rating.status,
        overall=rating.overall,
        **rating.scores,
        summary=rating.summary,
        helpful=list(rating.helpful),
        missing=list(rating.missing),
    )


TOOL = Tool(
    name="evaluate_memory",
    title="Evaluate the memory",
    description="Says how good the memory of a conversation is: how many facts of the user's messages stand in memory, "
    "summaries and the next prompt, and, by a model as judge, whether they help with a question. Changes nothing.",
    arguments=EvaluateArguments,
    result=Evaluated,
    run=answer_evaluate_call,
)
