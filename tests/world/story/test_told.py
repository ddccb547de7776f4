from __future__ import annotations

from world.story.told import StoryMessage, build_told_story


def lines(*said: tuple[str, str]) -> list[StoryMessage]:
    roles = {"s": "system", "u": "user", "a": "assistant", "t": "tool", "d": "developer"}
    return [StoryMessage(roles[role], text) for role, text in said]


def test_system_messages_and_notes_between_turns_are_left_out() -> None:
    given = build_told_story(
        lines(("s", "card"), ("a", "Hello."), ("s", "note"), ("u", "Hi"), ("a", "Yes?"), ("u", "Go"), ("d", "x"))
    )
    assert given.turns == (("", "Hello."), ("Hi", "Yes?"))
    assert (given.question, given.before) == ("Go", "")


def test_a_greeting_that_is_asked_for() -> None:
    given = build_told_story(lines(("s", "card"), ("s", "Write the greeting.")))
    assert (given.turns, given.question, given.before) == ((), "", "")
    assert given.answers("Hello.") == ("Hello.",)


def test_an_answer_that_goes_on_comes_back_joined_or_appended() -> None:
    given = build_told_story(lines(("u", "Tell"), ("a", "Once"), ("u", "More"), ("a", "upon a")))
    assert given.turns == (("Tell", "Once"),)
    assert (given.question, given.before) == ("More", "upon a")
    assert given.answers(" time") == ("upon a\n\n time", "upon a time")[:1]
    assert given.answers("n hour") == ("upon a\n\nn hour", "upon an hour")


def test_a_greeting_that_goes_on() -> None:
    given = build_told_story(lines(("s", "card"), ("a", "Hello")))
    assert (given.turns, given.question, given.before) == ((), "", "Hello")


def test_several_messages_of_one_speaker_are_one() -> None:
    given = build_told_story(lines(("u", "a"), ("u", "b"), ("a", "c"), ("a", "d"), ("u", "e")))
    assert given.turns == (("a\n\nb", "c\n\nd"),)


def test_rounds_of_tools_belong_to_their_turn() -> None:
    said = [
        StoryMessage("user", "roll"),
        StoryMessage("assistant", "", calls=True),
        StoryMessage("tool", "6"),
        StoryMessage("assistant", "A six."),
        StoryMessage("user", "again"),
        StoryMessage("assistant", "I roll.", calls=True),
        StoryMessage("tool", "1"),
    ]
    given = build_told_story(said)
    assert given.turns == (("roll", "A six."),)
    assert (given.question, given.before, given.tools) == ("again", "I roll.", True)
    assert given.answers("A one.") == ("I roll.\n\nA one.", "I roll.A one.", "A one.")


def test_a_call_without_words_does_not_go_on() -> None:
    given = build_told_story(
        [StoryMessage("user", "roll"), StoryMessage("assistant", "", calls=True), StoryMessage("tool", "6")]
    )
    assert (given.question, given.before, given.tools) == ("roll", "", True)


def test_names_that_a_client_writes_in_front_of_answers() -> None:
    given = build_told_story(
        lines(("u", "Hi"), ("a", "Haru: Hello."), ("u", "So?"), ("s", "[Write the next reply only as Mina.]"))
    )
    assert given.names == ("Mina", "Haru")
    assert given.answers("Well.") == ("Well.", "Mina: Well.", "Haru: Well.")
    assert given.answers("Mina: Well.")[-1] == "Well."


def test_nothing_at_all() -> None:
    assert build_told_story([]).question == ""
