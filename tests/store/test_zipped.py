"""ChatGPT's export as a ZIP archive: what is in it is taken, and nothing that it claims is believed."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from component.page.catalogue import LANGUAGES, Words
from errors import BadConversation, FileTooLarge
from store.export.portable import read_conversations
from store.export.zipped import NAME

LIMIT = 100_000
CHAT: dict[str, Any] = {
    "title": "여행",
    "create_time": 1.0,
    "update_time": 2.0,
    "current_node": "b",
    "mapping": {
        "a": {
            "message": {
                "author": {"role": "user"},
                "content": {"content_type": "text", "parts": ["어디로?"]},
                "create_time": 1.0,
            }
        },
        "b": {
            "parent": "a",
            "message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["제주로."]}},
        },
    },
}
CHAT["mapping"]["a"]["children"] = ["b"]
EXPORT = json.dumps([CHAT]).encode()


def packed(members: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def refused(data: bytes) -> BadConversation:
    with pytest.raises(BadConversation) as caught:
        read_conversations(data, LIMIT, len)
    for language in LANGUAGES:
        said, _ = Words(language).error("bad_conversation", "", caught.value.values)
        assert said
    return caught.value


@pytest.mark.parametrize("folder", ["", "export/", "a/b/"])
def test_the_archive_is_taken_as_the_file_in_it_is(folder: str) -> None:
    copies = {f"__MACOSX/x/y/{folder}{NAME}": b"?"}
    data = packed({"chat.html": b"<p>", **copies, f"{folder}{NAME}": EXPORT, "file-1.png": b"\x89PNG"})
    assert read_conversations(data, LIMIT, len) == read_conversations(EXPORT, LIMIT, len)
    (made,) = read_conversations(data, LIMIT, len).conversations
    assert [each.question for each in made.turns] == ["어디로?"]


def test_no_more_is_unpacked_than_the_limit() -> None:
    bomb = packed({NAME: b"[" + b" " * 50_000_000 + b"]"})
    assert len(bomb) < LIMIT
    with pytest.raises(FileTooLarge) as caught:
        read_conversations(bomb, LIMIT, len)
    assert caught.value.values == {"size": 50_000_002, "limit": LIMIT}


def test_a_bomb_that_says_it_is_small_is_not_believed() -> None:
    bomb = packed({NAME: b"[" + b" " * 50_000_000 + b"]"})
    small = bomb.replace((50_000_002).to_bytes(4, "little"), (90_000).to_bytes(4, "little"))
    assert refused(small).values["reason_code"] == "damaged"


def test_an_archive_without_conversations_is_named() -> None:
    error = refused(packed({"chat.html": b"<p>", "conversations.json.bak": b"[]"}))
    assert error.values["wanted"] == "conversations.json"
    assert "conversations.json 파일이 들어 있지 않습니다" in Words("ko").error("bad_conversation", "", error.values)[0]


def test_an_archive_with_a_password_says_so() -> None:
    data = bytearray(packed({NAME: EXPORT}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    error = refused(bytes(data))
    assert (error.values["reason_code"], error.values["place"]) == ("password", NAME)


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_cannot_be_unpacked_in_steps_is_not_unpacked(kind: int) -> None:
    assert refused(packed({NAME: EXPORT}, kind)).values["reason_code"] == "compression"


@pytest.mark.parametrize(
    "damage", [lambda data: data[:60], lambda data: data[:40] + b"?" * 9 + data[49:], lambda data: data[:2]]
)
def test_a_damaged_archive_is_refused(damage: Callable[[bytes], bytes]) -> None:
    assert refused(damage(packed({NAME: EXPORT}))).values["reason_code"] == "damaged"


def test_what_is_in_it_is_checked_as_ever() -> None:
    assert refused(packed({NAME: b"{"})).values["reason_code"] == "json"
