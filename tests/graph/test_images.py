"""Images of a message: the model reads them in their own turn, later prompts hold a mark, the record a number."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from errors import BadImage, GieokError, ImagesUnsupported, OutOfRange, TooLong
from graph.context.compare import Answered, Variant, stream_variant_answer
from graph.context.exact_prompt import rebuild_exact_prompt
from graph.context.preview import preview_next_prompt
from graph.context.prompt import IMAGE_TOKENS
from graph.turn.agent import Agent
from graph.turn.event import ContextBuilt
from graph.turn.image import EARLIER_TURNS, build_image_part
from graph.turn.request import IMAGE_CHARS, checked_images, choose_earlier
from model.profile import SMALL, STRONG, TOOLLESS, Profile
from store.turn.image_file import prepare_image
from tests.graph.asking import ask, chat_model
from tests.graph.conftest import OpenAgent
from tests.graph.talk import done, failed, only, prompts, question, say
from tests.graph.test_exact import NewSession, check, missing
from tests.table import table

PIXEL = "data:image/png;base64,iVBORw0KGgo="
SEEING_SMALL = replace(SMALL, images=True)


def image(url: str = PIXEL, **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def asked(agent: Agent, call: int = -1) -> Any:
    """The content of the last user's message of a call."""
    return prompts(agent)[call][-1].content


@pytest.mark.parametrize("profile", [STRONG, TOOLLESS, SEEING_SMALL], ids=["strong", "toolless", "small"])
def test_the_model_reads_them_with_their_question_and_later_only_that_there_were_some(
    agent: OpenAgent, session: NewSession, profile: Profile
) -> None:
    one = agent(profile=profile, side=STRONG)
    own = session(one)
    pair = (image(), image("https://example.org/a.png", detail="low"))
    events = ask(one, own, "이 두 장의 사진을 견주어 줄래?", images=pair)
    done(events)
    text, *parts = asked(one)
    assert text["text"].endswith("이 두 장의 사진을 견주어 줄래?")
    assert parts == list(pair)
    report = only(events, ContextBuilt)[-1].report
    part = report.part("images")
    assert part is not None
    assert (part.tokens, part.items) == (2 * IMAGE_TOKENS, ("2",))
    assert report.total_tokens == sum(each.tokens for each in report.parts)
    done(say(one, own, question(2)))
    [before] = [str(message.content) for message in prompts(one)[-1] if "견주어" in str(message.content)]
    assert before.endswith("이 두 장의 사진을 견주어 줄래?\n[그림] [그림]")
    assert isinstance(asked(one), str)
    for number in (1, 2):
        check_words(one, own, number)


def check_words(agent: Agent, session: str, number: int) -> None:
    """What is shown of a prompt is what was sent, but for the images."""
    found = rebuild_exact_prompt(agent, session, number)
    assert found.proven
    assert missing(found) == ({"images": "images"} if number == 1 else {})


def test_the_record_and_the_state_keep_their_number_and_nothing_else(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    done(ask(one, own, "이 사진에 무엇이 보여?", images=(image(),)))
    turn = one.store.turn(own, 1)
    assert turn is not None
    assert turn.question == "이 사진에 무엇이 보여?"
    assert (turn.messages or [])[0]["data"]["additional_kwargs"]["images"] == 1
    assert turn.tokens > IMAGE_TOKENS, "in full history the image would be sent again"
    assert PIXEL not in str(turn)
    assert PIXEL not in str(one.snapshot(own))
    assert PIXEL not in one.export_session(own)


def test_the_tokens_of_later_prompts_do_not_grow_with_earlier_images(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    totals = list[int]()
    for images in ((), (image(),) * 20):
        own = session(one)
        done(ask(one, own, question(1), images=images))
        totals += [built.report.total_tokens for built in only(say(one, own, question(2)), ContextBuilt)]
    assert 0 < totals[1] - totals[0] < 20 * 5


def test_another_answer_and_an_edited_question_take_them_anew(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    done(ask(one, own, "이 사진에 무엇이 보여?", images=(image(),)))
    done(ask(one, own, kind="again", number=1, images=(image(),)))
    assert asked(one)[-1] == image()
    done(ask(one, own, "이 사진의 색은?", kind="edited", number=1, images=(image(), image())))
    assert len(asked(one)) == 3
    done(ask(one, own, kind="again", number=1))
    assert isinstance(asked(one), str)


def test_a_retry_without_them_says_that_there_was_one(agent: OpenAgent, session: NewSession) -> None:
    one = agent([RuntimeError("boom"), "네, 보입니다"])
    own = session(one)
    failed(ask(one, own, "이 사진에 무엇이 보여?", images=(image(),)))
    done(ask(one, own, kind="retry"))
    assert str(asked(one)).endswith("이 사진에 무엇이 보여?\n[그림]")
    check(one, own, 1)


def test_a_message_may_be_only_an_image_and_a_greeting_with_one_is_no_greeting(
    agent: OpenAgent, session: NewSession
) -> None:
    one = agent()
    own = session(one)
    done(ask(one, own, "", images=(image(),)))
    assert [part["type"] for part in asked(one)] in (["image_url"], ["text", "image_url"])
    done(ask(one, own, "안녕", images=(image(),)))
    assert asked(one)[-1] == image()


@pytest.mark.parametrize("profile", [SMALL, replace(STRONG, images=False)], ids=["small", "embedded"])
def test_a_model_without_eyes_refuses_before_the_turn(agent: OpenAgent, session: NewSession, profile: Profile) -> None:
    one = agent(profile=profile)
    own = session(one)
    with pytest.raises(ImagesUnsupported) as caught:
        ask(one, own, question(1), images=(image(),))
    assert caught.value.values == {"model": "scripted"}
    assert one.store.session(own).turn_count == 0
    assert chat_model(one).calls == []


@table(
    ("part", "kind"),
    [
        (image("http://example.org/a.png"), BadImage),
        (image("file:///etc/passwd"), BadImage),
        (image(""), BadImage),
        ({"type": "image_url", "image_url": {}}, BadImage),
        ({"type": "image_url", "image_url": None}, BadImage),
        (image(PIXEL + "A" * IMAGE_CHARS), TooLong),
    ],
)
def test_only_data_and_https_addresses_of_a_sane_size_are_passed_on(part: Any, kind: type[GieokError]) -> None:
    with pytest.raises(kind) as caught:
        checked_images((image(), part))
    assert "passwd" not in str(caught.value)


def test_only_known_fields_are_passed_on() -> None:
    told = {"type": "image_url", "image_url": {"url": PIXEL, "detail": "huge", "x": 1}, "cache_control": {}}
    assert checked_images((told, {"type": "image_url", "image_url": PIXEL})) == (image(), image())
    with pytest.raises(OutOfRange, match="number of images"):
        checked_images((image(),) * 51)


# --- images of earlier turns that the client sends once more ------------------------------------------


OTHER = "https://example.org/b.png"


@pytest.mark.parametrize("profile", [STRONG, TOOLLESS, SEEING_SMALL], ids=["strong", "toolless", "small"])
def test_images_of_earlier_turns_stand_before_the_question(
    agent: OpenAgent, session: NewSession, profile: Profile
) -> None:
    one = agent(profile=profile, side=STRONG)
    own = session(one)
    done(ask(one, own, "이 사진에 무엇이 보여?", images=(image(),)))
    events = ask(one, own, "그 사진과 이 사진을 견주어 줄래?", images=(image(OTHER),), earlier_images=(image(),))
    done(events)
    first, text, last = asked(one)
    assert (first, last) == (image(), image(OTHER))
    assert text["text"].endswith("그 사진과 이 사진을 견주어 줄래?")
    part = only(events, ContextBuilt)[-1].report.part("images")
    assert part is not None
    assert (part.tokens, part.items) == (2 * IMAGE_TOKENS, ("2",))
    turn = one.store.turn(own, 2)
    assert turn is not None
    assert (turn.messages or [])[0]["data"]["additional_kwargs"]["images"] == 1, "the turn's own image alone"
    assert turn.has_foreign
    done(ask(one, own, "하늘색은 어떤 색이야?", earlier_images=(image(), image(OTHER))))
    assert asked(one)[:2] == [image(), image(OTHER)]
    for number in (2, 3):
        found = rebuild_exact_prompt(one, own, number)
        assert found.proven
        assert missing(found) == {"images": "images"}


def test_the_oldest_of_them_go_first_where_there_is_no_room(agent: OpenAgent, session: NewSession) -> None:
    one = agent(context_size=8192)
    own = session(one)
    urls = [f"https://example.org/{number}.png" for number in range(30)]
    done(ask(one, own, "마지막 사진은 어때?", images=(image(OTHER),), earlier_images=tuple(map(image, urls))))
    *kept, text, last = asked(one)
    assert (text["type"], last) == ("text", image(OTHER))
    assert 0 < len(kept) < 11
    assert kept == list(map(image, urls))[-len(kept) :]


def test_one_that_cannot_be_sent_and_a_model_without_eyes_fail_no_later_turn(
    agent: OpenAgent, session: NewSession
) -> None:
    blind, seeing = agent(profile=SMALL), agent()
    own = session(blind)
    done(ask(blind, own, question(1), earlier_images=(image(),)))
    other = session(seeing)
    done(ask(seeing, other, question(1), earlier_images=(image("file:///etc/passwd"), image())))
    assert asked(seeing)[0] == image()
    assert len(asked(seeing)) == 2
    many = tuple(image(f"https://example.org/{number}.png") for number in range(60))
    assert len(choose_earlier(many, 20)) == 30
    assert choose_earlier(many, 20)[-1] == many[-1]
    assert choose_earlier(many, 50) == ()


# --- images that the page keeps with the turn -----------------------------------------------------------


def draw(colour: str) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(written, "PNG")
    return written.getvalue()


def attach(agent: Agent, session: str, *images: tuple[str, bytes]) -> None:
    agent.store.images.attach(session, [(name, prepare_image(name, data)) for name, data in images])


def sent(*colours: str) -> list[dict[str, Any]]:
    """The parts by which a model gets such images."""
    images = [prepare_image("a.png", draw(colour)) for colour in colours]
    return [build_image_part(image) for image in images]


def test_a_kept_image_goes_with_its_turn_and_with_the_next_ones(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    attach(one, own, ("image.png", draw("red")), ("image.png", draw("blue")))
    done(say(one, own, "이 두 장의 사진을 견주어 줄래?"))
    assert asked(one)[1:] == sent("red", "blue")
    assert [file["name"] for file in one.store.turns(own)[0].files or ()] == ["image.png", "image (2).png"]
    attach(one, own, ("image.png", draw("green")))
    done(say(one, own, "이 사진은 어때?"))
    assert [part for part in asked(one) if part["type"] == "image_url"] == sent("red", "blue", "green")
    for number in range(EARLIER_TURNS):
        done(say(one, own, question(number)))
    assert [part for part in asked(one) if part["type"] == "image_url"] == sent("green")
    done(say(one, own, question(9)))
    assert isinstance(asked(one), str)


def test_another_answer_an_edit_and_a_retry_have_the_kept_image(agent: OpenAgent, session: NewSession) -> None:
    one = agent([RuntimeError("boom"), "네, 보입니다", "네, 빨강", "네, 붉은색", "네, 빨간색"])
    own = session(one)
    attach(one, own, ("a.png", draw("red")))
    failed(say(one, own, "이 사진에 무엇이 보여?"))
    for kind, text in (("retry", ""), ("again", ""), ("edited", "이 사진의 색은?")):
        done(ask(one, own, text, kind=kind, number=0 if kind == "retry" else 1))
        assert asked(one)[-1:] == sent("red"), kind
    copy = one.store.tree.copy(own, 1)
    done(ask(one, copy, kind="again", number=1))
    assert asked(one)[-1:] == sent("red")


def test_a_kept_image_fails_at_a_model_without_eyes_and_hinders_no_later_turn(
    agent: OpenAgent, session: NewSession
) -> None:
    blind = agent(profile=replace(STRONG, images=False))
    own = session(blind)
    attach(blind, own, ("a.png", draw("red")))
    assert failed(say(blind, own, "이 사진에 무엇이 보여?")).code == "images_unsupported"
    with pytest.raises(ImagesUnsupported):
        ask(blind, own, kind="again", number=1)
    assert len(blind.store.tree.alternatives(own, [1])) == 0, "no branch was begun"
    done(say(blind, own, question(2)))
    assert isinstance(asked(blind), str)


def test_an_image_that_is_taken_off_the_message_is_gone(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    attach(one, own, ("a.png", draw("red")))
    [file] = one.store.attachments.of(own)
    one.detach(own, "a.png")
    assert one.store.images.load(own, [file.key]) == {}
    done(say(one, own, question(1)))
    assert isinstance(asked(one), str)


def test_an_imported_image_is_made_anew_and_one_that_is_none_keeps_its_name(
    agent: OpenAgent, session: NewSession
) -> None:
    one = agent()
    own = session(one)
    attach(one, own, ("a.png", draw("red")), ("b.png", draw("blue")))
    done(say(one, own, question(1)))
    data = json.loads(one.export_session(own))
    first, second = data["images"].values()
    first["data"] = base64.b64encode(b"no image").decode()
    camera = Image.Exif()
    camera[0x010F] = "a camera"
    written = io.BytesIO()
    Image.new("RGB", (4, 4)).save(written, "JPEG", exif=camera)
    second |= {"kind": "image/jpeg", "data": base64.b64encode(written.getvalue()).decode()}
    data["images"]["unnamed"] = dict(second)
    [made] = one.import_sessions(json.dumps(data).encode()).sessions
    files = one.store.turns(made)[0].files
    assert sorted(file["name"] for file in files) == ["a.png", "b.png"]
    [image] = one.store.images.load(made, [file.get("key", "") for file in files]).values()
    assert not Image.open(io.BytesIO(image.data)).getexif()
    again = one.import_sessions(one.export_session(made).encode())
    assert len(again.sessions) == 1, "its export can be imported once more"


def test_the_preview_counts_the_images_that_go_along_and_a_comparison_sends_them(
    agent: OpenAgent, session: NewSession
) -> None:
    one = agent()
    own = session(one)
    attach(one, own, ("a.png", draw("red")))
    done(say(one, own, "이 사진에 무엇이 보여?"))
    part = preview_next_prompt(one, own).report.part("images")
    assert part is not None
    assert (part.items, part.tokens) == (("1",), IMAGE_TOKENS)
    for turn, text in ((1, "이 사진에 무엇이 보여?"), (None, "그 사진은 어두워?")):
        *_, end = stream_variant_answer(one, own, text, Variant(), turn=turn)
        assert isinstance(end, Answered)
        assert [part for part in asked(one) if part["type"] == "image_url"] == sent("red")
