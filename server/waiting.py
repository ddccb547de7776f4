"""What a waiting turn wants to know from its user, in a terminal: one line asks, one line answers
(``store.turn.question``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from graph.tool.question.form import FormField, find_form_problems, list_form_fields, read_typed_value
from server.phrase import Language, render_phrase
from store.turn.question import NO, Action, UserAnswer, UserQuestion

ARGUMENT_CHARS = 2_000
TRIES = 3
"""How often a line is asked for that cannot be read, before it counts as refused."""

_ACTIONS: dict[str, Action] = {"1": "once", "2": "always", "3": "no"}
Ask = Callable[[str], str]
Tell = Callable[[str], None]


def ask_waiting_questions(
    language: Language, questions: Sequence[UserQuestion], ask: Ask, tell: Tell
) -> dict[str, UserAnswer]:
    """Puts the questions to the user one by one; returns the answers by the ids of the questions."""
    return {question.id: _ask_waiting_question(language, question, ask, tell) for question in questions}


def render_waiting_question(language: Language, question: UserQuestion) -> str:
    """Returns a question with all that the user must see to answer it."""
    server = question.server or render_phrase(language, "waiting.us")
    tool = question.tool.removeprefix(f"{question.server}__")
    lines = [render_phrase(language, f"waiting.{question.kind}", server=server, tool=tool)]
    if question.text:
        lines.append(question.text)
    if question.kind in ("approve", "client") and question.arguments:
        lines.append(json.dumps(question.arguments, ensure_ascii=False, indent=1)[:ARGUMENT_CHARS])
    lines += [f"{number}) {choice}" for number, choice in enumerate(question.choices, 1)]
    if question.kind == "login":
        lines.append(question.url)
    return "\n".join(lines)


def _ask_waiting_question(language: Language, question: UserQuestion, ask: Ask, tell: Tell) -> UserAnswer:
    tell(render_waiting_question(language, question))
    match question.kind:
        case "approve":
            return _ask_action(language, ask)
        case "choose":
            return _read_chosen_answer(question, ask(render_phrase(language, "waiting.words")))
        case "form":
            return _ask_form_values(language, question, ask, tell)
        case "client":
            return NO
    return (
        UserAnswer("answer")
        if question.host and _ask_action(language, ask, "waiting.visited") == UserAnswer("once")
        else NO
    )


def _ask_action(language: Language, ask: Ask, key: str = "waiting.decide") -> UserAnswer:
    for _ in range(TRIES):
        action = _ACTIONS.get(ask(render_phrase(language, key)).strip())
        if action is not None:
            return UserAnswer(action)
    return NO


def _read_chosen_answer(question: UserQuestion, typed: str) -> UserAnswer:
    """Returns the choice whose number was typed, else the typed words; an empty line refuses."""
    text = typed.strip()
    numbered = {str(number): choice for number, choice in enumerate(question.choices, 1)}
    return UserAnswer("answer", numbered.get(text, text)) if text else NO


def _ask_form_values(language: Language, question: UserQuestion, ask: Ask, tell: Tell) -> UserAnswer:
    """Asks for the fields of a form; an empty line leaves a field out. What does not fit is asked for again."""
    for _ in range(TRIES):
        typed = {field.name: _ask_form_field(language, field, ask, tell) for field in list_form_fields(question.schema)}
        values = {name: value for name, value in typed.items() if value is not None}
        wrong = find_form_problems(question.schema, values)
        if not wrong:
            return UserAnswer("answer", values)
        for name, problem in wrong.items():
            tell(f"{name}: {problem}")
    return NO


def _ask_form_field(language: Language, field: FormField, ask: Ask, tell: Tell) -> object:
    for number, (_, label) in enumerate(field.choices, 1):
        tell(f"{number}) {label}")
    about = f" ({field.about})" if field.about else ""
    for _ in range(TRIES):
        try:
            value = read_typed_value(field, ask(f"{field.title}{about}: "))
        except ValueError:
            tell(render_phrase(language, "waiting.unreadable", kind=field.kind))
        else:
            return field.default if value is None else value
    return None
