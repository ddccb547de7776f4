"""A model's reply that says nothing of its turns: what stands around it goes, and sentences of the turns stand in."""

from __future__ import annotations

import pytest

from errors import SummaryRejected
from graph.context.chunk import ledger_fields
from tests.graph.summary.chunk import FACTS, chunk, run, scripted, turns
from tests.table import table

GOOD = "김민수 과장이 3월 5일에 옴. 비용 120만 원."
ENGLISH = turns(
    ("My sister Hannah moves to Leeds on June 14.", "Lovely. June 14 is a Sunday."),
    ("The van costs $480.", "Then $480 it is."),
    ("She has a piano and two cats as well.", "A piano needs four people to carry it down the stairs."),
)
PLAIN = turns(
    ("I would rather paint the kitchen green than leave it white.", "Green goes well with wooden shelves."),
    ("The neighbour's dog barks all night.", "Earplugs may help, or a talk with the neighbour."),
    ("We grow tomatoes on the balcony.", "Tomatoes like sun and a lot of water."),
)
REFUSALS = (
    "I'm sorry, but I can't assist with that.",
    "lorem ipsum dolor sit amet",
    "죄송하지만 도와드릴 수 없습니다.",
)


@table("reply", REFUSALS)
@pytest.mark.parametrize("messages", [FACTS, ENGLISH, PLAIN, chunk(500)], ids=["ko", "en", "no facts", "ko, no facts"])
def test_a_reply_that_says_nothing_of_its_turns_gives_way_to_their_own_sentences(messages: list, reply: str) -> None:  # type: ignore[type-arg]
    made = run(messages, scripted(reply, reply)[0])
    assert made.origin == "extracted"
    assert reply not in made.record["summary"]
    assert isinstance(made.rejected, SummaryRejected)
    assert made.rejected.values["reason_code"] in ("facts", "words")
    assert (made.model, made.prompt_tokens > 0, made.calls > 0) == ("", True, True), "the call was made and costs"
    assert ledger_fields(made)["error"]["code"] == "summary_rejected"


def test_less_than_half_of_the_facts_that_have_room_is_too_little() -> None:
    made = run(ENGLISH, scripted("They have a piano and cats; the van costs $480.", "They have cats.")[0], rate=0.5)
    assert made.origin == "extracted"
    assert made.rejected is not None
    assert str(made.rejected.values["reason"]).startswith("it keeps 1 of ")
    kept = "Hannah moves to Leeds on June 14; the van costs $480. They have a piano and two cats."
    assert run(ENGLISH, scripted(kept, kept)[0], rate=0.5).record["summary"] == kept


@table(
    "reply",
    [
        f"<think>The user wants a summary.\n\nLet me see: 3월.</think>\n\n{GOOD}",
        f"The user wants a summary of it.</think>{GOOD}",
        f"<think>a</think><thinking>b</thinking>{GOOD}",
        f"```json\n{GOOD}\n```",
        f'```json\n{{"summary": "{GOOD}"}}\n```',
        f"Sure! Here is the summary:\n\n{GOOD}",
        f"물론입니다! 요약은 다음과 같습니다:\n{GOOD}",
        f"## 요약\n\n**Summary:**\n{GOOD}",
        f"Happy to!\n\n{GOOD}\n\nAnything else?",
    ],
)
def test_what_stands_around_a_reply_is_no_part_of_the_summary(reply: str) -> None:
    made = run(FACTS, scripted(reply)[0])
    assert (made.record["summary"], made.origin, made.calls) == (GOOD, "auto", 1)


@table(
    "reply",
    ["사용자:\n- 김민수 과장이 3월 5일에 옴. 비용 120만 원.", "3월 5일 일정:\n김민수 과장이 옴. 비용 120만 원."],
)
def test_a_first_line_that_names_a_speaker_or_holds_a_fact_stays(reply: str) -> None:
    assert run(FACTS, scripted(reply)[0]).record["summary"] == reply


@table("reply", ["<think>The user wants", "```json\n```", "```", "<think>only thoughts</think>"])
def test_a_reply_of_nothing_else_is_empty(reply: str) -> None:
    with pytest.raises(SummaryRejected, match="it is empty"):
        run(FACTS, scripted(reply, reply)[0])
