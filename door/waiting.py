"""What a waiting turn wants to know from its user, in a terminal: one line asks, one line answers
(``store.question``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from door.phrase import Language, phrase
from graph.tool.form import FormField, fields, problems, read
from store.question import NO, Action, Answer, Question

ARGUMENT_CHARS = 2_000
TRIES = 3
"""How often a line is asked for that cannot be read, before it counts as refused."""

_ACTIONS: dict[str, Action] = {"1": "once", "2": "always", "3": "no"}
Ask = Callable[[str], str]
Tell = Callable[[str], None]


def answered(language: Language, questions: Sequence[Question], ask: Ask, tell: Tell) -> dict[str, Answer]:
    """Puts the questions to the user one by one; returns the answers by the ids of the questions."""
    return {question.id: _answer(language, question, ask, tell) for question in questions}


def told(language: Language, question: Question) -> str:
    """Returns a question with all that the user must see to answer it."""
    server = question.server or phrase(language, "waiting.us")
    tool = question.tool.removeprefix(f"{question.server}__")
    lines = [phrase(language, f"waiting.{question.kind}", server=server, tool=tool)]
    if question.text:
        lines.append(question.text)
    if question.kind in ("approve", "client") and question.arguments:
        lines.append(json.dumps(question.arguments, ensure_ascii=False, indent=1)[:ARGUMENT_CHARS])
    lines += [f"{number}) {choice}" for number, choice in enumerate(question.choices, 1)]
    if question.kind == "login":
        lines.append(question.url)
    return "\n".join(lines)


def _answer(language: Language, question: Question, ask: Ask, tell: Tell) -> Answer:
    tell(told(language, question))
    match question.kind:
        case "approve":
            return _action(language, ask)
        case "choose":
            return _choice(question, ask(phrase(language, "waiting.words")))
        case "form":
            return _form(language, question, ask, tell)
        case "client":
            return NO
    return Answer("answer") if question.host and _action(language, ask, "waiting.visited") == Answer("once") else NO


def _action(language: Language, ask: Ask, key: str = "waiting.decide") -> Answer:
    for _ in range(TRIES):
        action = _ACTIONS.get(ask(phrase(language, key)).strip())
        if action is not None:
            return Answer(action)
    return NO


def _choice(question: Question, typed: str) -> Answer:
    """Returns the choice whose number was typed, else the typed words; an empty line refuses."""
    text = typed.strip()
    numbered = {str(number): choice for number, choice in enumerate(question.choices, 1)}
    return Answer("answer", numbered.get(text, text)) if text else NO


def _form(language: Language, question: Question, ask: Ask, tell: Tell) -> Answer:
    """Asks for the fields of a form; an empty line leaves a field out. What does not fit is asked for again."""
    for _ in range(TRIES):
        typed = {field.name: _field(language, field, ask, tell) for field in fields(question.schema)}
        values = {name: value for name, value in typed.items() if value is not None}
        wrong = problems(question.schema, values)
        if not wrong:
            return Answer("answer", values)
        for name, problem in wrong.items():
            tell(f"{name}: {problem}")
    return NO


def _field(language: Language, field: FormField, ask: Ask, tell: Tell) -> object:
    for number, (_, label) in enumerate(field.choices, 1):
        tell(f"{number}) {label}")
    about = f" ({field.about})" if field.about else ""
    for _ in range(TRIES):
        try:
            value = read(field, ask(f"{field.title}{about}: "))
        except ValueError:
            tell(phrase(language, "waiting.unreadable", kind=field.kind))
        else:
            return field.default if value is None else value
    return None
