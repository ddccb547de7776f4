"""Conversations of other programs: which of their messages become turns, branches and stories, and what is said of a
file that is none."""

from __future__ import annotations

import io
import json
import zipfile
from functools import partial
from typing import Any

import pytest

from errors import BadConversation
from store import Store
from store.export import portable
from store.export.portable import ImportedSessions
from store.export.program.open_webui import remove_details
from store.export.program.silly_tavern import read_date
from tests.steps import count_lines

LIMIT = 1_000_000
DAY = "2026-03-05T10:00:00.123000Z"
TOOL = "```\nThis block is not supported on your current device yet.\n```"


def read_in(store: Store, content: Any) -> ImportedSessions:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return portable.import_conversations(store, text.encode(), LIMIT, len)


def list_turns(store: Store, session: str) -> list[tuple[int, str, str | None]]:
    return [(turn.number, turn.question, turn.answer) for turn in store.turns(session)]


def count_versions(store: Store, session: str, number: int) -> int:
    found = store.tree.alternatives(session, [number])
    return len(found[number].branches) if number in found else 1


# --- claude.ai ----------------------------------------------------------------------------------


def claude(*messages: dict[str, Any], name: str = "여행") -> dict[str, Any]:
    return {"uuid": "c", "name": name, "created_at": DAY, "updated_at": DAY, "account": {}, "chat_messages": messages}


def claude_message(uuid: str, sender: str, text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    return {"uuid": uuid, "sender": sender, "text": text, "content": content, "created_at": DAY, **more}


def test_claude_without_a_tree_is_one_way(store: Store) -> None:
    listed = [
        claude_message("a", "human", "부산은 어때?"),
        claude_message("b", "assistant", "바다가 있어요."),
        claude_message("c", "human", "더 말해 줘"),
        claude_message("d", "assistant", "시장도 있어요."),
    ]
    (own,) = read_in(store, [claude(*listed), claude(name="빈")]).sessions
    session = store.session(own)
    assert (session.title, session.language, session.titled) == ("여행", "ko", "user")
    assert list_turns(store, own) == [(1, "부산은 어때?", "바다가 있어요."), (2, "더 말해 줘", "시장도 있어요.")]
    assert session.created == pytest.approx(1772704800.123)


def test_claude_with_a_tree_has_branches_and_the_open_one_leads(store: Store) -> None:
    listed = [
        claude_message("a", "human", "One", parent_message_uuid="00000000-0000-4000-8000-000000000000"),
        claude_message("b", "assistant", "First.", parent_message_uuid="a"),
        claude_message("c", "assistant", "Second.", parent_message_uuid="a"),
        claude_message("d", "human", "Two", parent_message_uuid="b"),
        claude_message("e", "assistant", "Third.", parent_message_uuid="d"),
    ]
    (own,) = read_in(store, claude(*listed) | {"current_leaf_message_uuid": "e"}).sessions
    assert list_turns(store, own) == [(1, "One", "First."), (2, "Two", "Third.")]
    assert count_versions(store, own, 1) == 2


def test_what_was_pasted_into_claude_stands_in_the_question_and_thoughts_do_not(store: Store) -> None:
    attachments = [
        {"file_name": "", "file_size": 3, "extracted_content": "long paste"},
        {"file_name": "bill.pdf", "extracted_content": "300 EUR"},
    ]
    answer = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "It is a bill."},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "text", "text": "Of March."},
    ]
    listed = [
        claude_message("a", "human", "What is this?", attachments=attachments, files=[{"file_name": "p.png"}]),
        claude_message("b", "assistant", "") | {"content": answer},
        claude_message("c", "human", "And?"),
        claude_message("d", "assistant", "") | {"text": f"{TOOL}\n\nDone.", "content": None},
    ]
    (own,) = read_in(store, claude(*listed)).sessions
    assert list_turns(store, own) == [
        (1, "What is this?\n\nlong paste", "It is a bill.\n\nOf March."),
        (2, "And?", "Done."),
    ]
    assert [file["name"] for file in store.turns(own)[0].files or ()] == ["bill.pdf", "p.png"]


# --- Open WebUI ---------------------------------------------------------------------------------


def open_webui(messages: dict[str, Any], current: str) -> dict[str, Any]:
    chat = {"title": "Rain", "models": ["m"], "history": {"messages": messages, "currentId": current}}
    return {"id": "x", "title": "Rain", "chat": chat, "created_at": 1.7e9, "updated_at": 1.7e9 + 60}


def webui_message(name: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {name: {"id": name, "parentId": parent, "childrenIds": [], "role": role, "content": content, **more}}


def test_open_webui_has_branches_and_no_blocks_of_the_program(store: Store) -> None:
    thought = '<details type="reasoning" done="true" duration="3">\n<summary>Thought</summary>\n&gt; hm\n</details>\n'
    called = '<details type="tool_calls" done="true" id="1" name="weather">\n<summary>Done</summary>\n</details>\n'
    messages = (
        webui_message("a", None, "user", "Will it rain?", timestamp=1700000001, files=[{"name": "map.png"}])
        | webui_message("b", "a", "assistant", f"{thought}{called}Yes.", timestamp=1700000002)
        | webui_message("c", "a", "assistant", "Perhaps.", timestamp=1700000003)
        | webui_message("d", "b", "user", [{"type": "text", "text": "When?"}, {"type": "image_url"}])
        | webui_message("e", "d", "assistant", "<details><summary>Plan</summary>At <b>noon</b>.</details>")
    )
    (own,) = read_in(store, [open_webui(messages, "e")]).sessions
    assert list_turns(store, own) == [
        (1, "Will it rain?", "Yes."),
        (2, "When?", "<details><summary>Plan</summary>At <b>noon</b>.</details>"),
    ]
    assert count_versions(store, own, 1) == 2
    assert [file["name"] for file in store.turns(own)[0].files or ()] == ["map.png"]


def test_open_webui_of_a_version_without_branches(store: Store) -> None:
    listed = [{"role": "user", "content": "q", "timestamp": 1700000001}, {"role": "assistant", "content": "a"}]
    (own,) = read_in(store, {"chat": {"title": "old", "messages": listed}}).sessions
    assert (store.session(own).title, list_turns(store, own)) == ("old", [(1, "q", "a")])


# --- LibreChat ----------------------------------------------------------------------------------


def libre_message(name: str, parent: str | None, text: str, *, user: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "messageId": name,
        "parentMessageId": parent,
        "text": text,
        "isCreatedByUser": user,
        "createdAt": DAY,
        **more,
    }


def test_librechat_in_both_of_its_shapes(store: Store) -> None:
    parts = [{"type": "think", "think": "hm"}, {"type": "text", "text": {"value": "Green."}}]
    flat = [
        libre_message("a", "00000000-0000-0000-0000-000000000000", "Colour?", user=True),
        libre_message("b", "a", "Blue.") | {"createdAt": "2026-03-05T10:00:01Z"},
        libre_message("c", "a", "") | {"content": parts, "createdAt": "2026-03-05T10:00:02Z"},
        libre_message("d", "c", "Sure?", user=True) | {"createdAt": "2026-03-05T10:00:03Z"},
        libre_message("e", "d", "Something went wrong", error=True) | {"createdAt": "2026-03-05T10:00:04Z"},
    ]
    nested = {item["messageId"]: {**item, "children": []} for item in flat}
    for item in flat[1:]:
        nested[item["parentMessageId"]]["children"].append(nested[item["messageId"]])
    about = {"conversationId": "x", "title": "Colours", "exportAt": "16:33:32 GMT+0200"}
    for chat in ({**about, "messages": flat}, {**about, "recursive": True, "messagesTree": [nested["a"]]}):
        (own,) = read_in(store, chat).sessions
        assert list_turns(store, own) == [(1, "Colour?", "Green."), (2, "Sure?", None)]
        assert [turn.status for turn in store.turns(own)] == ["done", "failed"]
        assert count_versions(store, own, 1) == 2


def test_a_long_conversation_of_librechat_is_as_deep_as_it_is_long(store: Store) -> None:
    inner: dict[str, Any] = libre_message("399", None, "end") | {"children": []}
    for number in range(398, -1, -1):
        inner = libre_message(f"{number}", None, f"{number}", user=not number % 2) | {"children": [inner]}
    (own,) = read_in(store, {"conversationId": "x", "messagesTree": [inner]}).sessions
    assert store.session(own).turn_count == 200


# --- SillyTavern --------------------------------------------------------------------------------


def tavern(*lines: dict[str, Any], user: str = "unused", character: str = "unused") -> str:
    head = {"user_name": user, "character_name": character, "chat_metadata": {"integrity": "x"}}
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in (head, *lines))


def tavern_line(name: str, text: str, *, user: bool = False, **more: Any) -> dict[str, Any]:
    return {"name": name, "is_user": user, "is_system": False, "mes": text, "send_date": "March 5, 2026 2:05pm", **more}


def test_a_chat_of_sillytavern_becomes_a_story(store: Store) -> None:
    made = read_in(
        store,
        tavern(
            tavern_line("아리아", "어서 와, 민수.", swipes=["어서 와, 민수.", "안녕."], swipe_id=0),
            tavern_line("민수", "등대로 가자.", user=True),
            tavern_line("민수", "*문을 연다*", user=True),
            tavern_line("아리아", "좋아, 가자!", swipes=["싫어.", "좋아."], swipe_id=1),
            tavern_line("SillyTavern System", "help", is_system=True, extra={"type": "help"}),
            tavern_line("민수", "불을 켤까?", user=True),
        ),
    )
    (own,) = made.sessions
    session = store.session(own)
    world = store.worlds.world(session.world)
    assert (world.name, world.player, world.language) == ("아리아", "민수", "ko")
    assert list_turns(store, own) == [
        (0, "", "어서 와, 민수."),
        (1, "등대로 가자.\n\n*문을 연다*", "좋아, 가자!"),
        (2, "불을 켤까?", None),
    ]
    assert (count_versions(store, own, 0), count_versions(store, own, 1)) == (2, 2)
    last = store.worlds.last_before(own, 9)
    assert last is not None
    assert (last.turn, last.status) == (1, "given")
    again = portable.import_conversations(store, portable.render_session_json(store, own, True).encode(), LIMIT, len)
    assert list_turns(store, again.sessions[0]) == list_turns(store, own)


def test_a_group_of_sillytavern_says_who_speaks(store: Store) -> None:
    lines = (
        tavern_line("Ann", "Hi.", user=True),
        tavern_line("Rex", "Woof."),
        tavern_line("Kit", "Meow."),
    )
    (own,) = read_in(store, tavern(*lines, user="Ann", character="The pets")).sessions
    assert list_turns(store, own) == [(1, "Hi.", "Rex: Woof.\n\nKit: Meow.")]
    assert store.worlds.world(store.session(own).world).name == "The pets"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("March 5, 2026 2:05pm", 1772719500),
        ("2026-3-5 @14h 05m 23s 123ms", 1772719523),
        ("2026-03-05T14:05:23.000Z", 1772719523),
        ("1772719523000", 1772719523),
        (1772719523000, 1772719523),
        ("someday", None),
    ],
)
def test_the_times_that_sillytavern_writes(value: Any, seconds: float | None) -> None:
    assert read_date(value) == seconds


# --- files --------------------------------------------------------------------------------------


def pack(files: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return buffer.getvalue()


def test_a_large_export_in_parts_is_read_whole(store: Store) -> None:
    parts = {
        f"export/conversations-{number:03}.json": [
            claude(claude_message("a", "human", f"q{number}"), claude_message("b", "assistant", "a"), name=f"{number}")
        ]
        for number in range(3)
    }
    data = pack({"export/user.json": {"id": 1}, "export/export_manifest.json": {}, **parts})
    made = portable.import_conversations(store, data, LIMIT, len)
    assert [store.session(own).title for own in made.sessions] == ["0", "1", "2"]


def test_chats_of_sillytavern_in_an_archive(store: Store) -> None:
    chat = tavern(tavern_line("A", "Hi.", user=True), tavern_line("B", "Hello."))
    made = portable.import_conversations(
        store, pack({"chats/B/one.jsonl": chat, "chats/B/two.jsonl": chat}), LIMIT, len
    )
    assert len(made.sessions) == 2


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ([claude() | {"chat_messages": 5}], "conversation 1.chat_messages"),
        ([{"mapping": []}], "conversation 1.mapping"),
        ({"chat": {"history": {"messages": 5}}}, "conversation 1.chat.history.messages"),
        (tavern(tavern_line("A", "Hi.")) + '\n{"name": ', "line 3, column 9"),
        (tavern(tavern_line("A", "a\u2028b")) + "\n{", "line 3, column 2"),
        ("[" * 5000, "somewhere inside"),
        ({"projects": []}, "the beginning"),
    ],
)
def test_a_damaged_file_says_where(store: Store, content: Any, place: str) -> None:
    with pytest.raises(BadConversation) as raised:
        read_in(store, content)
    assert raised.value.values["place"] == place
    assert store.sessions() == []
    assert store.worlds.all() == []


def test_one_odd_conversation_keeps_no_other_out(store: Store) -> None:
    good = claude(claude_message("a", "human", "q"), claude_message("b", "assistant", "a"))
    made = read_in(store, [{"title": "Corrupted entry"}, 7, good, {"mapping": 3}, claude(name="leer")])
    assert [store.session(own).title for own in made.sessions] == ["여행"]
    assert made.empty == ("leer",)
    places = ["conversation 1", "conversation 2", "conversation 4.mapping"]
    assert [fault.values["place"] for fault in made.faults] == places
    assert read_in(store, []) == ImportedSessions(())
    beside = pack({"settings.json": {"theme": 1}, "chats/a.json": good, "chats/._a.json": "x", "chats/b.json": [{}]})
    found = portable.read_conversations(beside, LIMIT, len)
    assert len(found.conversations) == 1
    places = ["settings.json: the beginning", "chats/b.json: the beginning"]
    assert [fault.values["place"] for fault in found.faults] == places


def test_real_files_have_null_and_numbers_everywhere(store: Store) -> None:
    """One exchange in every form, with other values in all fields that only say something about it."""
    node = {"message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["q"]}}}
    answer = {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["a"]}}
    mapping = {
        "r": {"message": None, "parent": None},
        "s": {"message": {"author": None, "content": None, "create_time": "2024-01-01T00:00:00Z"}, "parent": "r"},
        "u": {**node, "parent": "s"},
        "v": {"message": {**answer, "metadata": None, "recipient": None}, "parent": "u"},
    }
    webui = webui_message("a", None, "user", "q", files=["x"], timestamp=int("1" + 400 * "0"))
    webui |= webui_message("b", "a", "assistant", "a", timestamp="1700000000") | {"c": None}
    listed = [
        {"mapping": mapping, "title": None, "create_time": None, "current_node": 5},
        claude(
            {"sender": "human", "text": "q", "content": None, "files": ["a.png"], "created_at": 1700000000},
            {"sender": None, "text": "a"},
        )
        | {"name": None},
        open_webui(webui, "b") | {"title": 5},
        {
            "conversationId": "x",
            "title": None,
            "messages": [
                {"text": "q", "isCreatedByUser": True, "messageId": "1"},
                {"text": "a", "parentMessageId": "1"},
            ],
        },
    ]
    made = read_in(store, listed)
    assert made.faults == ()
    assert [list_turns(store, own) for own in made.sessions] == [[(1, "q", "a")]] * 4


def test_what_was_spoken_and_files_without_words_are_questions(store: Store) -> None:
    spoken = [{"content_type": "audio_transcription", "text": "spoken q", "direction": "in"}, {"asset_pointer": "x"}]
    picture = [{"content_type": "image_asset_pointer", "asset_pointer": "file://x"}]
    mapping: dict[str, Any] = {}
    for name, role, parts in (
        ("1", "user", spoken),
        ("2", "assistant", ["Sky \ue200cite\ue202turn0search0\ue201is blue【12†source】."]),
        ("3", "user", picture),
        ("4", "assistant", ["A cat."]),
    ):
        content = {"content_type": "multimodal_text", "parts": parts}
        parent = str(int(name) - 1)
        mapping[name] = {"message": {"author": {"role": role}, "content": content}, "parent": parent}
    (own,) = read_in(store, {"mapping": mapping, "title": "T"}).sessions
    assert list_turns(store, own) == [(1, "spoken q", "Sky is blue."), (2, "image", "A cat.")]
    file = {"file_name": "report.pdf", "extracted_content": "long"}
    listed = [claude_message("a", "human", "", attachments=[file]), claude_message("b", "assistant", "I see.")]
    (other,) = read_in(store, claude(*listed)).sessions
    assert list_turns(store, other) == [(1, "long", "I see.")]


def test_a_narrator_is_no_character_and_older_groups_have_no_head(store: Store) -> None:
    narrator = {"type": "narrator"}
    lines = [
        tavern_line("System", "Night falls.", extra=narrator),
        tavern_line("Ann", "Hi.", user=True),
        tavern_line("Sera", "Hello.", swipes=["Hello.", None, " ", "Hey."], swipe_id=0),
        tavern_line("System", "A door creaks.", extra=narrator, is_system=True),
    ]
    text = tavern(*lines).partition("\n")[2]
    (own,) = read_in(store, text).sessions
    assert store.worlds.world(store.session(own).world).name == "Sera"
    assert list_turns(store, own) == [(0, "", "Night falls."), (1, "Hi.", "Hello.\n\nA door creaks.")]
    assert count_versions(store, own, 1) == 2, "an empty swipe is none"
    assert read_in(store, tavern()).empty == ("",)


def test_odd_values_stop_no_other_conversation(store: Store) -> None:
    good = claude(claude_message("a", "human", "q"), claude_message("b", "assistant", "a"))
    asked = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": 5}}
    made = read_in(store, [{"lines": 5}, {"mapping": {"a": {"message": asked}}}, good])
    assert (len(made.sessions), len(made.faults), made.empty) == (1, 1, ("",))
    beside = pack({"a.json": good, "b.json": '{"x":'})
    assert len(portable.read_conversations(beside, LIMIT, len).conversations) == 1
    head = tavern().partition("\n")[0]
    (own,) = read_in(store, "\n".join([head, "null", json.dumps(tavern_line("A", "hi", user=True))])).sessions
    assert list_turns(store, own) == [(1, "hi", None)]
    with pytest.raises(BadConversation, match="line 2"):
        read_in(store, f"{head}\ngarbage")


def test_an_image_without_a_name_is_a_question_in_open_webui(store: Store) -> None:
    messages = (
        webui_message("a", None, "user", "hello")
        | webui_message("b", "a", "assistant", "hi")
        | webui_message("c", "b", "user", "", files=[{"type": "image", "url": "data:image/png;base64,AA"}])
        | webui_message("d", "c", "assistant", "a cat")
    )
    (own,) = read_in(store, [open_webui(messages, "d")]).sessions
    assert list_turns(store, own) == [(1, "hello", "hi"), (2, "image", "a cat")]


def test_many_versions_of_many_turns_take_few_steps(store: Store) -> None:
    lines = []
    for number in range(300):
        lines.append(tavern_line("Ann", f"q{number}", user=True))
        lines.append(tavern_line("Rex", f"a{number}", swipes=[f"a{number}", f"b{number}", f"c{number}"], swipe_id=0))
    (own,) = read_in(store, tavern(*lines)).sessions
    assert store.session(own).turn_count == 300
    assert sum(count_versions(store, own, number) > 1 for number in range(250, 301)) > 20


def test_the_blocks_of_the_program_are_taken_out_in_one_pass() -> None:
    assert remove_details("a<details open>b</details>") == "a<details open>b</details>"
    assert remove_details('a<details done="x" type="reasoning">b') == "a"
    steps = [count_lines(partial(remove_details, "<details " * size + ">")) for size in (1000, 2000)]
    assert steps[1] <= 2.2 * steps[0]
