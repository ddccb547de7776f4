"""The questions of a turn that waits, as a message to the other agent; and its answers.

What a text means is not guessed: a single question that offers choices takes one, and one for approval takes a plain
yes or no, or the name of an action. Everything else is answered by data: ``{question id: {"action": …, "value": …}}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from a2a.types import Message, Part, TaskState

from door.a2a.message.form import data_part, text_part
from door.a2a.message.part import data_of, plain_text_of
from graph.tool.question.form import find_form_problems
from server.ask import yes_or_no
from server.phrase import Language, render_phrase
from server.waiting import render_waiting_question
from store.turn.question import Action, UserAnswer, UserQuestion

ACTIONS: Mapping[str, tuple[Action, ...]] = {
    "approve": ("once", "always", "no"),
    "choose": ("answer", "no"),
    "form": ("answer", "no"),
    "login": ("answer", "no"),
    "client": ("no",),
}


def choose_question_state(questions: Sequence[UserQuestion]) -> int:
    """Returns the state of a task whose turn asks: a login is done elsewhere, everything else is answered here."""
    if questions and all(question.kind == "login" for question in questions):
        return TaskState.TASK_STATE_AUTH_REQUIRED
    return TaskState.TASK_STATE_INPUT_REQUIRED


def build_question_parts(questions: Sequence[UserQuestion], language: Language, again: bool = False) -> list[Part]:
    """Returns the questions for people and for programs. ``again``: the last answer could not be read."""
    texts = [render_waiting_question(language, question) for question in questions]
    how = render_phrase(language, "a2a.again" if again else "a2a.answer", shape=_describe_answer_shape(questions))
    plainly = [render_phrase(language, "a2a.plainly")] if [one.kind for one in questions] == ["approve"] else []
    return [
        text_part("\n\n".join([*texts, how, *plainly])),
        data_part({"questions": [_build_public_question(one) for one in questions]}),
    ]


def read_task_answers(message: Message, questions: Sequence[UserQuestion]) -> dict[str, UserAnswer] | None:
    """Returns the answers of a message, by the ids of the questions; None when it holds none that fits."""
    by_id = {question.id: question for question in questions}
    given: dict[str, UserAnswer] = {}
    for data in data_of(message):
        for name, answer in data.items() if isinstance(data, dict) else ():
            read = _read_data_answer(by_id[name], answer) if name in by_id else None
            if read is None:
                return None
            given[name] = read
    if given:
        return given
    read = _answer_by_text(questions[0], plain_text_of(message)) if len(questions) == 1 else None
    return None if read is None else {questions[0].id: read}


def _answer_by_text(question: UserQuestion, text: str) -> UserAnswer | None:
    if question.kind == "choose" and text:
        return UserAnswer("answer", text)
    if question.kind != "approve":
        return None
    action = next((name for name in ACTIONS["approve"] if name == text.strip().casefold()), None)
    if action is None and (yes := yes_or_no(text)) is not None:
        action = "once" if yes else "no"
    return None if action is None else UserAnswer(action)


def _read_data_answer(question: UserQuestion, given: Any) -> UserAnswer | None:
    if not isinstance(given, dict) or given.get("action") not in ACTIONS[question.kind]:
        return None
    action, value = given["action"], given.get("value")
    if action != "answer":
        return UserAnswer(action)
    if question.kind == "login":
        return UserAnswer("answer")
    if question.kind == "choose":
        return UserAnswer("answer", value) if isinstance(value, str) and value.strip() else None
    fits = isinstance(value, dict) and not find_form_problems(question.schema, value)
    return UserAnswer("answer", value) if fits else None


def _build_public_question(question: UserQuestion) -> dict[str, Any]:
    """Returns a question without what is for its asker alone."""
    shown = {name: field for name, field in question.plain().items() if name != "state" and field}
    return {**shown, "actions": list(ACTIONS[question.kind])}


def _describe_answer_shape(questions: Sequence[UserQuestion]) -> str:
    return json.dumps({one.id: {"action": "|".join(ACTIONS[one.kind])} for one in questions}, ensure_ascii=False)
