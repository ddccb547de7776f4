"""«AI suggested»: what only the assistant said is marked so in every summary, and what the user said never."""

from __future__ import annotations

from langchain_core.messages import AnyMessage

from graph.summary.mark import split_marked, strip_suggested
from graph.summary.original import Original
from tests.graph.summary.chunk import run, scripted, turns
from tests.table import table
from text.fact import note

TRAIN = turns(
    ("I leave for Leeds on June 2 by train, and I would like to sit at a window.", "It arrives at 14:35, platform 9."),
    ("Good. My sister Hannah waits there for me with her two dogs.", "They will be glad to see you at the station."),
    ("Then that is settled, thank you for all of it.", "You are welcome, and have a good time up there in the north."),
)
GLEIS = turns(
    (
        "6월 2일에 기차로 부산에 가요. 창가 자리에 앉고 싶습니다.",
        "기차는 오후 2시 35분에 도착하고 요금은 59,800원입니다.",
    ),
    ("좋아요. 역에서 동생이 강아지 두 마리와 기다려요.", "역에서 만나면 강아지들이 아주 반가워하겠네요."),
    ("그럼 다 정해졌네요. 여러 가지로 고마워요.", "천만에요. 부산에서 즐거운 시간을 보내고 오세요."),
)


@table(
    ("text", "marked"),
    [
        ("User: June 2. AI suggested: 14:35. Platform 9. User: Fine.", [False, True, True, False]),
        ("사용자: 6월 2일. AI 제안: 2시 35분. AI: 네.", [False, True, False]),
        ("The AI suggested Hotel Bristol. They go.", [True, False]),
        ("- **AI suggested**: 14:35.\n- User: June 2.", [True, False]),
    ],
)
def test_the_mark_holds_until_another_speaker_is_named(text: str, marked: list[bool]) -> None:
    assert [is_marked for _, is_marked in split_marked(text)] == marked


def test_what_is_marked_is_no_word_of_the_user() -> None:
    assert strip_suggested("User: June 2. AI suggested: 14:35. User: Fine.") == "User: June 2. User: Fine."


@table(
    ("messages", "reply", "summary"),
    [
        (
            TRAIN,
            "They leave for Leeds on June 2 and arrive at 14:35. Hannah waits with two dogs.",
            "They leave for Leeds on June 2 and arrive at 14:35 (AI suggested: 14:35). Hannah waits with two dogs.",
        ),
        (
            GLEIS,
            "6월 2일에 부산에 가서 오후 2시 35분에 도착함. 동생이 기다림.",
            "6월 2일에 부산에 가서 오후 2시 35분에 도착함 (AI 제안: 오후 2시 35분). 동생이 기다림.",
        ),
    ],
)
def test_a_model_s_sentence_with_a_fact_of_the_assistant_alone_gets_the_mark(
    messages: list[AnyMessage],
    reply: str,
    summary: str,
) -> None:
    made = run(messages, scripted(reply, reply)[0], rate=0.4)
    assert (made.record["summary"], made.origin, made.rejected) == (summary, "auto", None)


@table(
    ("messages", "reply"),
    [
        (TRAIN, "They leave for Leeds on June 2. AI suggested: it arrives at 14:35. Hannah waits with two dogs."),
        (TRAIN, "They leave for Leeds on June 2. Hannah waits with two dogs. They will be glad."),
        (GLEIS, "6월 2일에 부산에 감. AI 제안: 오후 2시 35분에 도착. 동생이 기다림."),
    ],
)
def test_a_model_s_words_stay_where_the_mark_is_there_or_not_needed(messages: list[AnyMessage], reply: str) -> None:
    assert run(messages, scripted(reply, reply)[0], rate=0.4).record["summary"] == reply


def test_a_marked_summary_that_is_too_long_loses_whole_sentences() -> None:
    reply = (
        "They leave for Leeds on June 2 and arrive at 14:35. " + "Hannah waits there with two dogs and is glad. " * 2
    )
    source = Original(tuple(TRAIN), (1, 2, 3), 0.3, "en")
    reply = reply.strip()[: source.limit]
    made = run(TRAIN, scripted(reply, reply)[0])
    assert made.record["summary_chars"] <= source.limit
    assert "14:35" not in made.record["summary"] or "AI suggested" in made.record["summary"]


def test_what_the_prompts_had_from_the_user_is_no_suggestion() -> None:
    known = "My train to Leeds arrives at 14:35 on platform 9."
    reply = "They leave for Leeds on June 2 and arrive at 14:35."
    assert run(TRAIN, scripted(reply, reply)[0], rate=0.4, known=known).record["summary"] == reply
    assert "AI suggested" not in note.join_notes(Original(tuple(TRAIN), (1, 2, 3), 0.9, "en", known).sentences)
    assert "AI suggested" in note.join_notes(Original(tuple(TRAIN), (1, 2, 3), 0.9, "en").sentences)


def test_of_one_answer_only_the_sentences_with_facts_of_its_own_are_marked() -> None:
    messages = turns(("I fly on June 2.", "You fly on June 2, in the morning. I suggest Hotel Bristol for $95."))
    notes = {each.text: each.speaker for each in Original(tuple(messages), (1, 2, 3), 0.9, "en").sentences}
    assert notes["I suggest Hotel Bristol for $95."] == "AI suggested"
    assert {speaker for text, speaker in notes.items() if "June 2" in text} <= {"User", "AI"}
