"""The questions of a turn that waits, as a message to the other agent; and its answers.

What a text means is not guessed: a single question that offers choices takes one, and one for approval takes a plain
yes or no, or the name of an action. Everything else is answered by data: ``{question id: {"action": …, "value": …}}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from a2a.types import Message, Part, TaskState

from door.a2a.form import data_part, text_part
from door.a2a.part import data_of, plain_text_of
from door.ask import yes_or_no
from door.phrase import Language, phrase
from door.waiting import told
from graph.tool.form import problems
from store.question import Action, Answer, Question

ACTIONS: Mapping[str, tuple[Action, ...]] = {
    "approve": ("once", "always", "no"),
    "choose": ("answer", "no"),
    "form": ("answer", "no"),
    "login": ("answer", "no"),
    "client": ("no",),
}


def state(questions: Sequence[Question]) -> int:
    """Returns the state of a task whose turn asks: a login is done elsewhere, everything else is answered here."""
    if questions and all(question.kind == "login" for question in questions):
        return TaskState.TASK_STATE_AUTH_REQUIRED
    return TaskState.TASK_STATE_INPUT_REQUIRED


def parts(questions: Sequence[Question], language: Language, again: bool = False) -> list[Part]:
    """Returns the questions for people and for programs. ``again``: the last answer could not be read."""
    texts = [told(language, question) for question in questions]
    how = phrase(language, "a2a.again" if again else "a2a.answer", shape=_shape(questions))
    plainly = [phrase(language, "a2a.plainly")] if [one.kind for one in questions] == ["approve"] else []
    return [
        text_part("\n\n".join([*texts, how, *plainly])),
        data_part({"questions": [_public(one) for one in questions]}),
    ]


def answers(message: Message, questions: Sequence[Question]) -> dict[str, Answer] | None:
    """Returns the answers of a message, by the ids of the questions; None when it holds none that fits."""
    by_id = {question.id: question for question in questions}
    given: dict[str, Answer] = {}
    for data in data_of(message):
        for name, answer in data.items() if isinstance(data, dict) else ():
            read = _answer(by_id[name], answer) if name in by_id else None
            if read is None:
                return None
            given[name] = read
    if given:
        return given
    read = _answer_by_text(questions[0], plain_text_of(message)) if len(questions) == 1 else None
    return None if read is None else {questions[0].id: read}


def _answer_by_text(question: Question, text: str) -> Answer | None:
    if question.kind == "choose" and text:
        return Answer("answer", text)
    if question.kind != "approve":
        return None
    action = next((name for name in ACTIONS["approve"] if name == text.strip().casefold()), None)
    if action is None and (yes := yes_or_no(text)) is not None:
        action = "once" if yes else "no"
    return None if action is None else Answer(action)


def _answer(question: Question, given: Any) -> Answer | None:
    if not isinstance(given, dict) or given.get("action") not in ACTIONS[question.kind]:
        return None
    action, value = given["action"], given.get("value")
    if action != "answer":
        return Answer(action)
    if question.kind == "login":
        return Answer("answer")
    if question.kind == "choose":
        return Answer("answer", value) if isinstance(value, str) and value.strip() else None
    fits = isinstance(value, dict) and not problems(question.schema, value)
    return Answer("answer", value) if fits else None


def _public(question: Question) -> dict[str, Any]:
    """Returns a question without what is for its asker alone."""
    shown = {name: field for name, field in question.plain().items() if name != "state" and field}
    return {**shown, "actions": list(ACTIONS[question.kind])}


def _shape(questions: Sequence[Question]) -> str:
    return json.dumps({one.id: {"action": "|".join(ACTIONS[one.kind])} for one in questions}, ensure_ascii=False)
