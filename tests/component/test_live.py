"""A growing answer on the page: pieces in their places."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest


def growing() -> None:
    import streamlit as st

    from component.answer.live import LiveAnswerView
    from component.page.catalogue import Words
    from component.work.job import Job, JobProgress
    from graph.turn.request import Request

    text = "\n\n".join(" ".join(f"{each}-{number}" for number in range(200)) for each in "ab")
    if "job" not in st.session_state:
        st.session_state.update(job=Job(Request("s", "new", "?"), "?", 1, None), done=0)  # type: ignore[arg-type]
    live, status = LiveAnswerView(Words("ko"), st.session_state["job"]), None
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


def thinking() -> None:
    import streamlit as st

    from component.answer.live import LiveAnswerView
    from component.page.catalogue import Words
    from component.work.job import Job, JobProgress
    from graph.turn.request import Request

    if "job" not in st.session_state:
        st.session_state.update(job=Job(Request("s", "new", "?"), "?", 1, None))  # type: ignore[arg-type]
    live, status = LiveAnswerView(Words("en"), st.session_state["job"]), None
    shown = [
        JobProgress(text="It looks like an answer.", waiting=False),
        JobProgress(thought="It looks like an answer. But it is none.", thought_seconds=2.4, moves=1, waiting=False),
        JobProgress(
            text="Four.",
            thought="It looks like an answer. But it is none.",
            thought_seconds=2.4,
            moves=1,
            waiting=False,
        ),
    ]
    for progress in shown[: st.session_state.get("steps", 3)]:
        live.update(progress, status)  # type: ignore[arg-type]


def test_thoughts_stand_folded_above_the_answer_with_their_seconds_and_leave_it_when_they_turn_out_to_be_some() -> None:
    at: Any = AppTest.from_function(thinking, default_timeout=60).run()
    assert not at.exception
    (folded,) = at.status
    assert (folded.label, folded.state) == ("Thought for 2 s", "complete")
    assert [each.value for each in folded.markdown] == ["It looks like an answer. But it is none."]
    assert [each.value for each in at.markdown if each.value not in [inner.value for inner in folded.markdown]] == [
        "Four."
    ]


def turn() -> None:

    import streamlit as st

    from component.answer.thought import draw_thought
    from component.page.catalogue import Words
    from store.record import TurnRow

    fields: dict[str, Any] = {
        "messages": None,
        "error": None,
        "steps": [],
        "report": None,
        "usage": None,
        "feedback": None,
    }
    fields |= {"tokens": 0, "branch": 0, "started": 0.0, "finished": 1.0, "seconds": 1.0, "first_token_seconds": None}
    thought = {"text": ":red[Hm]", "seconds": 61.7}
    for reasoning in (thought, None):
        draw_thought(Words("ko"), TurnRow("s", 1, "?", "4", "done", **fields, reasoning=reasoning))
    st.write("end")


def test_thoughts_of_a_turn_are_text_and_stand_only_where_there_were_some() -> None:
    at: Any = AppTest.from_function(turn, default_timeout=60).run()
    assert not at.exception
    (folded,) = at.status
    assert folded.label == "62초 동안 생각함"
    assert [each.value for each in folded.markdown] == ["\\:red[Hm]"]
