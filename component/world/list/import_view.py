"""What of a file comes over, before it is imported: entries, rules, what happens instead, and what is too large."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import streamlit as st

from component.page.catalogue import Words
from component.widget.markdown import escape_markdown
from world.beginning import LoreRoom
from world.book import Book
from world.book.field import BookProblem
from world.book.overview import read_overview
from world.prompt.budget import AuthorRoom

SHOWN_PROBLEMS = 100
SHOWN_LARGE = 5


def draw_overview(words: Words, book: Book) -> None:
    """Draws what comes over, and what does not."""
    told = read_overview(book)
    st.markdown(f"**{escape_markdown(book.name)}** · {escape_markdown(words(f'world.over.kind.{told.kind}'))}")
    counts = [words("world.over.entries", count=told.entries)]
    counts += [
        words(f"world.over.{name}", count=getattr(told, name))
        for name in ("keyed", "constant", "off")
        if getattr(told, name)
    ]
    counts += [words("world.over.greetings", count=told.greetings)] if told.greetings else []
    st.caption(escape_markdown(" · ".join(counts)))
    with st.container(key="world-over", gap="xsmall"):
        _draw_rules(words, "done", told.done)
        _draw_rules(words, "instead", told.instead)
        _draw_rules(words, "left", told.left)
        if book.problems:
            with st.expander(words("world.imported.problems", count=len(book.problems))):
                draw_problems(words, book.problems)


def draw_room(words: Words, card: AuthorRoom | None, lore: LoreRoom) -> bool | None:
    """Draws what becomes of texts that are longer than their budgets. Returns whether they are kept whole, where the
    user has to choose; None where he has not."""
    rooms = {"card": card, "lore": lore.constant}
    found = {name: room for name, room in rooms.items() if room is not None}
    for name, room in found.items():
        values = {"tokens": room.tokens, "budget": room.budget, "most": room.most}
        if room.is_raised:
            st.caption(escape_markdown(words(f"world.over.raised.{name}", **values)))
        elif room.is_asked:
            st.warning(escape_markdown(words(f"world.over.large.{name}", **values)), icon=":material/straighten:")
    if lore.large:
        some = ", ".join(lore.large[:SHOWN_LARGE]) + ("…" if len(lore.large) > SHOWN_LARGE else "")
        told = words("world.over.large.entries", count=len(lore.large), budget=lore.constant.budget, names=some)
        st.warning(escape_markdown(told), icon=":material/straighten:")
    if not any(room.is_asked for room in found.values()):
        return None
    choice = st.radio(
        words("world.over.choice"), ("whole", "cut"), key="world-over-choice",
        format_func=lambda name: words(f"world.over.choice.{name}"), label_visibility="collapsed",
    )  # fmt: skip
    return choice == "whole"


def draw_problems(words: Words, problems: Iterable[BookProblem]) -> None:
    """Draws what was wrong in a file, entry by entry."""
    lines = [f"- {_tell_problem(words, one)}" for one in list(problems)[:SHOWN_PROBLEMS]]
    st.markdown("\n".join(lines))


def _draw_rules(words: Words, name: str, rows: tuple[tuple[str, int], ...]) -> None:
    if not rows:
        return
    lines = [words(f"world.over.{name}.{one}", count=count) for one, count in rows]
    st.markdown(
        "\n".join(
            (
                f"**{escape_markdown(words(f'world.over.{name}'))}**",
                "",
                *(f"- {escape_markdown(line)}" for line in lines),
            )
        )
    )


def _tell_problem(words: Words, problem: BookProblem) -> str:
    """Returns where something was wrong, and what."""
    plainly = replace(problem, place="").text
    reason = words.reason("bad_book", {**problem.values, "reason": plainly, "reason_code": problem.code})
    return escape_markdown(": ".join(filter(None, (problem.place, reason))))
