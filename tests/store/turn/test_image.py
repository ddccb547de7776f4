"""Images of conversations: kept once, under the keys that turns name, and gone with their conversation."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from PIL import Image

from errors import BadConversation, SessionUnknown
from store import Finished, Store
from store.export.portable import import_conversations, render_session_json
from store.turn.image import StoredImage, build_image_key, is_image_key
from store.turn.image_file import prepare_image


def draw(form: str) -> StoredImage:
    """An image as the page stores it."""
    written = io.BytesIO()
    Image.new("RGB", (2, 2), "red").save(written, form)
    return prepare_image("a", written.getvalue())


ONE, TWO = draw("PNG"), draw("JPEG")


@pytest.fixture
def session(store: Store) -> str:
    return store.create_session("en", 0.3).id


def send(store: Store, session: str, number: int, *images: StoredImage) -> list[str]:
    named = [(f"{number}-{place}.png", image) for place, image in enumerate(images)]
    keys = [key for _, key in store.images.attach(session, named)]
    store.begin_turn(session, f"question {number}")
    messages = messages_to_dict([HumanMessage(f"question {number}"), AIMessage("answer")])
    store.finish_turn(session, number, Finished("done", "answer", messages=messages, tokens=2))
    return keys


def test_an_image_is_kept_once_and_found_by_its_key(store: Store, session: str) -> None:
    attached = store.images.attach(session, [("a.png", ONE), ("b.jpg", TWO), ("a.png", ONE)])
    first, second, again = (key for _, key in attached)
    assert (first, is_image_key(first)) == (again, True)
    assert store.images.load(session, [second, first, "0123", "image-unknown"]) == {first: ONE, second: TWO}
    assert [file.name for file in store.attachments.of(session)] == ["a (2).png", "a.png", "b.jpg"]
    other = store.create_session("en", 0.3).id
    assert store.images.load(other, [first]) == {}


def test_the_images_of_turns_are_those_of_the_path(store: Store, session: str) -> None:
    (one,) = send(store, session, 1, ONE)
    send(store, session, 2)
    (two,) = send(store, session, 3, TWO)
    assert store.images.find_turn_keys(session, store.session(session).path, 1, 3) == {1: [one], 3: [two]}
    store.tree.begin(session, 2, "another question")
    assert store.images.find_turn_keys(session, store.session(session).path, 1, 3) == {1: [one]}


def test_the_opening_says_whether_there_are_images_and_files_to_read(store: Store, session: str) -> None:
    assert not store.open_turn(session).has_images
    send(store, session, 1, ONE)
    opening = store.open_turn(session)
    assert opening.last is not None
    assert (opening.has_images, opening.last.with_files) == (True, False)


def test_a_copy_has_the_images_of_its_turns(store: Store, session: str) -> None:
    (one,) = send(store, session, 1, ONE)
    (two,) = send(store, session, 2, TWO)
    copy = store.tree.copy(session, 1)
    store.delete_session(session)
    assert store.images.load(copy, [one, two]) == {one: ONE}


def test_an_image_stays_while_a_message_or_a_turn_has_it(store: Store, session: str) -> None:
    [(_, key), _] = store.images.attach(session, [("a.png", ONE), ("b.png", ONE)])
    store.images.detach(session, "a.png")
    assert store.images.load(session, [key]) == {key: ONE}
    store.images.detach(session, "b.png")
    assert store.images.load(session, [key]) == {}
    send(store, session, 1, ONE)
    made = import_conversations(store, render_session_json(store, session).encode(), 10**6, len).sessions[0]
    store.images.attach(made, [("pasted.png", ONE)])
    store.images.detach(made, "pasted.png")
    assert store.images.load(made, [key]) == {key: ONE}, "an imported turn has it"


def test_images_of_two_pages_at_once_are_all_there(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'gieok.db'}")
    session = store.create_session("en", 0.3).id
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: store.images.attach(session, [("image.png", ONE)]), range(8)))
    assert len(store.attachments.of(session)) == 8
    store.close()


def test_images_of_others_are_unknown(store: Store, session: str) -> None:
    other = store.of("other")
    for call in (
        lambda: other.images.attach(session, [("a.png", ONE)]),
        lambda: other.images.load(session, [build_image_key(ONE.data)]),
        lambda: other.images.find_turn_keys(session, [(0, 1)], 1, 2),
        lambda: other.images.detach(session, "a.png"),
    ):
        with pytest.raises(SessionUnknown):
            call()


def test_an_export_holds_the_images_of_its_turns(store: Store, session: str) -> None:
    send(store, session, 1, ONE, TWO)
    store.images.attach(session, [("next.png", StoredImage("image/png", b"of no turn"))])
    exported = render_session_json(store, session)
    made = import_conversations(store, exported.encode(), 10**6, len).sessions[0]
    files = store.turns(made)[0].files or []
    assert [file["name"] for file in files] == ["1-0.png", "1-1.png"]
    stored = store.images.load(made, [file["key"] for file in files])
    assert [stored[file["key"]] for file in files] == [ONE, TWO]
    assert render_session_json(store, made).replace(made, session) == exported


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"images": {}}, "it has no image"),
        ({"images": {"x": {"kind": "image/svg+xml", "data": ""}}}, "image/png"),
        ({"images": {"x": {"kind": "image/png", "data": "no base64!"}}}, "base64"),
    ],
)
def test_a_file_with_a_damaged_image_is_refused(
    store: Store, session: str, change: dict[str, Any], reason: str
) -> None:
    send(store, session, 1, ONE)
    damaged = json.dumps(json.loads(render_session_json(store, session)) | change)
    with pytest.raises(BadConversation, match=reason):
        import_conversations(store, damaged.encode(), 10**6, len)
    assert len(store.sessions()) == 1


def test_files_that_wait_are_given_to_a_message(store: Store, session: str) -> None:
    [(name, _)] = store.images.attach(session, [("a.png", ONE)])
    message = store.outbox.add(session, "question")
    store.attachments.bind(session, [name, "unknown.png"], message)
    assert [file.message for file in store.attachments.of(session)] == [message]
    store.outbox.remove(message)
    assert [file.message for file in store.attachments.of(session)] == [0], "they go with the next one"
