"""A growing answer on the page: pieces in their places."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest


def growing() -> None:
    import streamlit as st

    from component.answer.live import Live
    from component.page.catalogue import Words
    from component.work.job import Job, JobProgress
    from graph.turn.request import Request

    text = "\n\n".join(" ".join(f"{each}-{number}" for number in range(200)) for each in "ab")
    if "job" not in st.session_state:
        st.session_state.update(job=Job(Request("s", "new", "?"), "?", 1, None), done=0)  # type: ignore[arg-type]
    live, status = Live(Words("ko"), st.session_state["job"]), None
    done = st.session_state["done"]
    for size in range(done, done + 700, 10):
        live.update(JobProgress(text=text[:size], waiting=False), status)  # type: ignore[arg-type]
    st.session_state["done"] = done + 700


def pieces(at: AppTest) -> list[str]:
    assert not at.exception
    return [each.value for each in at.markdown if not each.value.startswith(":shimmer")]


def test_a_new_run_of_the_page_puts_the_same_pieces_in_the_same_places() -> None:
    at: Any = AppTest.from_function(growing, default_timeout=60).run()
    before = pieces(at)
    assert len(before) > 2
    for _ in range(2):
        now = pieces(at.run())
        assert now[: len(before) - 1] == before[:-1]
        assert "".join(now).count("a-0 ") == 1
        before = now
