"""The questions of a turn that waits, put to the client's user: as requests for input, and read back as answers.

A client of 2026-07-28 gets all questions at once, in a result that asks for input. Its ``requestState`` names the
session and the turn; the SDK seals it with a key of this installation (``door.mcp.seal``), so it cannot be forged,
read, used by another user, or used after its time. A client of the handshake is asked in the middle of the call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from door.mcp.caller import Context
from server.phrase import Language, render_phrase
from store.turn.question import NO, UserAnswer, UserQuestion

ACTIONS = ("once", "always", "no")
ACTION, CHOICE, WORDS = "action", "choice", "answer"
"""Fields of the forms: for an approval, for one of the choices, for an answer in one's own words."""


@dataclass(frozen=True, slots=True)
class WaitingTurn:
    """The turn that a ``requestState`` names."""

    session: str
    turn: int

    def plain(self) -> str:
        return json.dumps([self.session, self.turn])


def parse_request_state(state: str) -> WaitingTurn:
    """Returns the turn that a ``requestState`` names, which is our own text again (``door.mcp.seal``)."""
    session, turn = json.loads(state)
    return WaitingTurn(session, turn)


def is_modern(context: Context) -> bool:
    """Returns whether the client speaks the stateless protocol, whose server never sends a request."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_ask(context: Context, questions: Sequence[UserQuestion]) -> bool:
    """Returns whether the client can put all these questions to its user."""
    capabilities = context.session.client_capabilities
    able = capabilities.elicitation if capabilities is not None else None
    if able is None or not (is_modern(context) or context.session.can_send_request):
        return False
    forms = able.form is not None or able.url is None  # an empty capability means forms
    return all(able.url is not None if question.kind == "login" else forms for question in questions)


# --- questions ----------------------------------------------------------------------------------


def build_input_request(
    questions: Sequence[UserQuestion], place: WaitingTurn, language: Language
) -> types.InputRequiredResult:
    """Returns the result that asks for the answers to these questions."""
    requests = {
        question.id: types.ElicitRequest(params=build_elicit_params(question, language)) for question in questions
    }
    return types.InputRequiredResult(input_requests=dict(requests), request_state=place.plain())


def build_elicit_params(
    question: UserQuestion, language: Language
) -> types.ElicitRequestFormParams | types.ElicitRequestURLParams:
    """Returns the request for the answer to a question."""
    text = render_mcp_question(question, language)
    if question.kind == "login":
        return types.ElicitRequestURLParams(message=text, url=question.url, elicitation_id=question.id)
    return types.ElicitRequestFormParams(message=text, requested_schema=_build_answer_schema(question, language))


def render_mcp_question(question: UserQuestion, language: Language) -> str:
    """Returns a question in words, in the language of its conversation."""
    values = {"tool": question.tool, "server": question.server, "text": question.text}
    arguments = json.dumps(question.arguments, ensure_ascii=False)
    return render_phrase(language, f"mcp.ask.{question.kind}", **values, arguments=arguments).strip()


def _build_answer_schema(question: UserQuestion, language: Language) -> dict[str, Any]:
    if question.kind == "form":
        return dict(question.schema)
    if question.kind == "approve":
        titles = [{"const": action, "title": render_phrase(language, f"mcp.ask.{action}")} for action in ACTIONS]
        return _build_form_schema({ACTION: {"type": "string", "oneOf": titles}}, [ACTION])
    words = {"type": "string", "description": render_phrase(language, "mcp.ask.words")}
    if not question.choices:
        return _build_form_schema({WORDS: words}, [WORDS])
    return _build_form_schema({CHOICE: {"type": "string", "enum": list(question.choices)}, WORDS: words}, [])


def _build_form_schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


# --- answers ------------------------------------------------------------------------------------


def read_input_answers(questions: Sequence[UserQuestion], responses: Mapping[str, Any]) -> dict[str, UserAnswer] | None:
    """Returns the answers to all questions; None when one is missing or cannot be read, and must be asked again."""
    read = {question.id: _read_elicit_answer(question, responses.get(question.id)) for question in questions}
    known = {name: answer for name, answer in read.items() if answer is not None}
    return known if len(known) == len(read) else None


async def elicit_answers(
    context: Context, questions: Sequence[UserQuestion], language: Language
) -> dict[str, UserAnswer]:
    """Asks a client of the handshake one question after the other; what it cannot answer counts as no."""
    given = dict[str, UserAnswer]()
    for question in questions:
        request = build_elicit_params(question, language)
        if isinstance(request, types.ElicitRequestURLParams):
            response = await context.session.elicit_url(
                request.message, request.url, question.id, related_request_id=context.request_id
            )
        else:
            response = await context.session.elicit_form(
                request.message, request.requested_schema, related_request_id=context.request_id
            )
        given[question.id] = _read_elicit_answer(question, response) or NO
    return given


def _read_elicit_answer(question: UserQuestion, response: Any) -> UserAnswer | None:
    if not isinstance(response, types.ElicitResult):
        return None
    if response.action != "accept":
        return NO
    content = response.content or {}
    match question.kind:
        case "login":
            return UserAnswer("answer")
        case "form":
            return UserAnswer("answer", dict(content)) if _has_required_fields(question.schema, content) else None
        case "approve":
            action = content.get(ACTION)
            return next((UserAnswer(known) for known in ("once", "always", "no") if known == action), None)
        case _:
            value = content.get(WORDS) or content.get(CHOICE)
            return UserAnswer("answer", value) if isinstance(value, str) else None


def _has_required_fields(schema: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    """Returns whether the fields that the asker needs are there; it checks their values itself."""
    return all(name in content for name in schema.get("required", ()))
