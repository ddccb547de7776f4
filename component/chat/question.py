"""What a waiting turn wants to know from its user: may a tool run, which choice, which values
(``store.turn.question``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from component.page.catalogue import Words
from component.page.view import View
from component.widget.markdown import escape_markdown, sanitize_text, shorten_text
from errors import GieokError
from graph.tool.question.form import FormField, find_form_problems, list_form_fields
from store import TurnRow
from store.turn.question import NO, Action, UserAnswer, UserQuestion, parse_user_question

TEXT_CHARS = 2_000
ARGUMENT_CHARS = 4_000
MOST_NUMBER = 2**53 - 1
"""The largest number that a browser keeps exactly."""


def draw_questions(view: View, turn: TurnRow) -> None:
    """Draws the open questions of a waiting turn, and the buttons that answer them."""
    questions = [parse_user_question(plain_) for plain_ in turn.questions]
    with st.container(key=f"waiting-{turn.number}", border=True):
        answers = {asked.id: _render_open_question(view, turn, asked, place) for place, asked in enumerate(questions)}
        if len(questions) == 1 and questions[0].kind == "approve":
            _draw_approval(view, turn, questions[0])
        else:
            _render_question_buttons(view, turn, answers)


def answer_by_message(view: View, text: str) -> bool:
    """Answers the one open question that takes free words with a message; returns whether it did.

    Any other message to a waiting conversation is a new turn, and a no to what was asked.
    """
    session = view.session
    if session is None or view.job is not None:
        return False
    try:
        turn = view.store.turn(session.id, session.turn_count) if view.store.status(session) == "waiting" else None
    except GieokError:  # the conversation was erased meanwhile; sending the message tells that
        return False
    asked = [parse_user_question(plain_) for plain_ in turn.questions] if turn is not None else []
    if turn is None or len(asked) != 1 or asked[0].kind != "choose":
        return False
    view.answer(turn, {asked[0].id: UserAnswer("answer", text)})
    return True


def _render_open_question(view: View, turn: TurnRow, asked: UserQuestion, place: int) -> UserAnswer | None:
    """Draws one question with its input; returns the answer as far as it is given."""
    key = f"{turn.session_id}-{turn.branch}-{turn.number}-{place}"
    _render_question_text(view, asked)
    match asked.kind:
        case "approve":
            alone = len(turn.questions) == 1
            return None if alone else _draw_choice_of_actions(view, key)
        case "choose":
            return _draw_choices(view, asked, key)
        case "form":
            return _draw_form(view, asked, key)
        case "client":
            return None  # its program answers; here it can only be refused
    return _draw_login(view, asked)


def _render_question_text(view: View, asked: UserQuestion) -> None:
    words = view.words
    who = escape_markdown(asked.server or words("question.us"))
    name = words(
        f"question.{asked.kind}", server=who, tool=escape_markdown(asked.tool.removeprefix(f"{asked.server}__"))
    )
    icons = {"approve": "handyman", "choose": "help", "form": "edit_note", "login": "login", "client": "terminal"}
    st.markdown(f":material/{icons[asked.kind]}: **{name}**")
    if asked.text:
        st.text(sanitize_text(shorten_text(asked.text, TEXT_CHARS)))
    if asked.kind in ("approve", "client") and asked.arguments:
        st.caption(words("step.arguments"))
        st.code(
            sanitize_text(shorten_text(_format_arguments(asked.arguments), ARGUMENT_CHARS)),
            language=None,
            wrap_lines=True,
        )


def _format_arguments(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, indent=1)


def _draw_choice_of_actions(view: View, key: str) -> UserAnswer | None:
    actions: list[Action] = ["once", "always", "no"]
    chosen = st.segmented_control(
        view.words("question.decide"),
        actions,
        format_func=lambda action: view.words(f"question.{action}"),
        key=f"question-act-{key}",
        label_visibility="collapsed",
    )
    return UserAnswer(chosen) if chosen else None


def _draw_choices(view: View, asked: UserQuestion, key: str) -> UserAnswer | None:
    chosen: str | None = None
    if asked.choices:
        chosen = st.radio(
            asked.text or "?",
            asked.choices,
            index=None,
            format_func=escape_markdown,
            key=f"question-one-{key}",
            label_visibility="collapsed",
        )
    label = view.words("question.other" if asked.choices else "question.words")
    own = st.text_input(label, key=f"question-own-{key}", max_chars=TEXT_CHARS)
    value = own.strip() or chosen
    return UserAnswer("answer", value) if value else None


def _draw_form(view: View, asked: UserQuestion, key: str) -> UserAnswer | None:
    """Draws the fields of a form; a value that does not fit says why under its field."""
    known = list_form_fields(asked.schema)
    values = {field.name: _draw_field(view.words, field, f"question-field-{key}-{field.name}") for field in known}
    filled = {name: value for name, value in values.items() if value not in (None, "")}
    wrong = find_form_problems(asked.schema, filled)
    begun = {name for name, value in values.items() if value not in (None, "", [], False)}
    for name, problem in wrong.items():
        if name in begun:
            st.caption(f":material/error: {escape_markdown(name)}: {escape_markdown(shorten_text(problem, 200))}")
    return None if wrong else UserAnswer("answer", filled)


def _draw_field(words: Words, field: FormField, key: str) -> Any:
    label = escape_markdown(field.title) + (" \\*" if field.required else "")
    about = escape_markdown(field.about) or None
    match field.kind:
        case "boolean":
            return st.checkbox(label, value=field.default is True, key=key, help=about)
        case "integer" | "number":
            step, default = (1, int) if field.kind == "integer" else (0.1, float)
            fits = isinstance(field.default, int | float) and abs(field.default) <= MOST_NUMBER  # NaN fits nothing
            value = default(field.default) if fits else None
            return st.number_input(label, value=value, step=step, key=key, help=about)
        case "one" | "many":
            return _draw_options(words, field, label, about, key)
    return st.text_input(label, value=str(field.default or ""), key=key, help=about, max_chars=TEXT_CHARS).strip()


def _draw_options(words: Words, field: FormField, label: str, about: str | None, key: str) -> Any:
    values, labels = [value for value, _ in field.choices], dict(field.choices)
    named, pick = partial(_format_choice_label, labels), words("question.pick")
    if field.kind == "many":
        chosen = [value for value in field.default or [] if value in values] if isinstance(field.default, list) else []
        return st.multiselect(label, values, default=chosen, format_func=named, key=key, help=about, placeholder=pick)
    at = values.index(field.default) if field.default in values else None
    return st.selectbox(label, values, index=at, format_func=named, key=key, help=about, placeholder=pick)


def _format_choice_label(labels: Mapping[str, str], value: str) -> str:
    return escape_markdown(labels[value])


def _draw_login(view: View, asked: UserQuestion) -> UserAnswer | None:
    """Draws the link to a server's own page, with its host in plain sight; only https leads anywhere."""
    if not asked.host:
        st.caption(escape_markdown(view.words("question.no_link", url=shorten_text(asked.url, 200))))
        return None
    st.link_button(
        view.words("question.visit", host=escape_markdown(asked.host)), asked.url, icon=":material/open_in_new:"
    )
    return UserAnswer("answer")


def _draw_approval(view: View, turn: TurnRow, asked: UserQuestion) -> None:
    actions: Sequence[tuple[Action, str]] = (("once", "check"), ("always", "done_all"), ("no", "close"))
    with st.container(horizontal=True, gap="xsmall"):
        for action, icon in actions:
            st.button(
                view.words(f"question.{action}"),
                key=f"question-{action}-{turn.number}",
                icon=f":material/{icon}:",
                type="primary" if action == "once" else "secondary",
                on_click=view.answer,
                args=(turn, {asked.id: UserAnswer(action)}),
                disabled=view.job is not None,
            )


def _render_question_buttons(view: View, turn: TurnRow, answers: Mapping[str, UserAnswer | None]) -> None:
    """Draws the buttons that end the questions. Whether the first one is pressed is asked in the run that has read the
    fields: a text that is being typed arrives together with the press."""
    given = {id_: answer for id_, answer in answers.items() if answer is not None}
    ready = view.job is None and len(given) == len(answers)
    with st.container(horizontal=True, gap="xsmall"):
        go_on = st.button(
            view.words("question.go_on"),
            key=f"question-go-{turn.number}",
            icon=":material/check:",
            type="primary",
            disabled=not ready,
        )
        st.button(
            view.words("question.refuse"),
            key=f"question-refuse-{turn.number}",
            icon=":material/close:",
            on_click=view.answer,
            args=(turn, dict.fromkeys(answers, NO)),
            disabled=view.job is not None,
        )
    if go_on and ready:
        view.answer(turn, given)
        st.rerun()
