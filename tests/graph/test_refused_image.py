"""A server that refuses a request because of its image: the turn is answered without it, and the image is not sent
again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from errors import ImagesRejected, ImagesUnsupported
from graph.answer.json_form import JsonForm
from graph.turn.event import Done
from graph.turn.request import AnswerLimits
from model.choice import kept, resolve
from model.choice.choice import Choice
from settings import load_settings
from tests.graph.asking import ask
from tests.graph.conftest import OpenAgent
from tests.graph.talk import done, failed, question, say
from tests.graph.test_exact import NewSession
from tests.graph.test_images import attach, draw, image
from tests.stub import reply
from tests.stub.upstream import Json, Upstream

LASTING = [
    (400, "Invalid content type. image_url is only supported by certain models."),
    (404, "No endpoints found that support image input"),
    (400, "This model is missing data required for image input"),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (400, "At most 0 image(s) may be provided in one prompt."),
    (400, "stub-model is not a multimodal model"),
    (415, "Unsupported content: vision is not enabled here"),
    (422, "messages[1]: unknown variant `image_url`, expected `text`"),
    (400, "Model does not support images. Please use a model that does."),
    (400, "'messages.1' : for 'role:user' the following must be satisfied: 'messages.1.content must be a string'"),
]
PASSING = [
    (400, "You uploaded an unsupported image. Please make sure it has one of the following formats: ['png']."),
    (400, "The image is too large: at most 5 MB"),
    (422, "Could not decode the image"),
]


def images_of(body: Json) -> int:
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    return sum(part["type"] == "image_url" for part in parts)


def refusing(status: int, message: str) -> Any:
    """A server that answers everything but images."""
    refusal = reply.failed(status, message=message, x_should_retry="false")
    return lambda body: refusal if images_of(body) else reply.said("네, 알겠습니다")


def connected(upstream: Upstream, folder: Path) -> Any:
    """The models of a server that was found as at a start of the program."""
    chosen = load_settings(data_dir=folder / "data", openai_base_url=upstream.url, chat_model="stub-model")
    found = resolve.resolve_models(chosen)
    return lambda: found


@pytest.mark.parametrize(("status", "message"), LASTING)
def test_the_turn_is_answered_once_more_without_it_and_no_later_request_has_one(
    agent: OpenAgent, session: NewSession, tmp_path: Path, status: int, message: str
) -> None:
    with Upstream(always=refusing(status, message)) as upstream:
        one = agent(resolve=connected(upstream, tmp_path))
        own = session(one)
        attach(one, own, ("a.png", draw("red")))
        ended = only_done(say(one, own, "이 사진에 무엇이 보여?"))
        assert ended.answer.startswith("네, 알겠습니다\n\n(")
        assert "이미지 없이 답했습니다" in ended.answer
        assert one.store.turns(own)[0].answer == ended.answer
        assert [images_of(request.body) for request in upstream.requests] == [1, 0]
        assert upstream.requests[1].body["messages"][-1]["content"].endswith("[그림]")
        assert only_done(say(one, own, question(2))).answer == "네, 알겠습니다"
        with pytest.raises(ImagesUnsupported):
            ask(one, own, question(3), images=(image(),))
        assert [images_of(request.body) for request in upstream.requests] == [1, 0, 0]


def only_done(events: list[Any]) -> Done:
    done(events)
    end = events[-1]
    assert isinstance(end, Done)
    return end


def test_the_next_start_knows_it_until_a_model_is_chosen_anew(
    agent: OpenAgent, session: NewSession, tmp_path: Path
) -> None:
    with Upstream(always=refusing(*LASTING[0])) as upstream, Upstream() as other:
        one = agent(resolve=connected(upstream, tmp_path))
        own = session(one)
        done(ask(one, own, "이 사진에 무엇이 보여?", images=(image(),)))
        assert not connected(upstream, tmp_path)().takes_images
        assert connected(other, tmp_path)().takes_images, "the same name at another server"
        kept.save_model_choice(one.settings, Choice("hosted", upstream.url, chat_model="stub-model"))
        assert connected(upstream, tmp_path)().takes_images


@pytest.mark.parametrize(("status", "message"), PASSING)
def test_an_image_that_only_this_one_is_refused_takes_nothing_from_later_ones(
    agent: OpenAgent, session: NewSession, tmp_path: Path, status: int, message: str
) -> None:
    with Upstream(always=refusing(status, message)) as upstream:
        one = agent(resolve=connected(upstream, tmp_path))
        own = session(one)
        assert "이미지 없이" in only_done(ask(one, own, "이 사진에 무엇이 보여?", images=(image(),))).answer
        assert one.models().takes_images
        assert [images_of(request.body) for request in upstream.requests] == [1, 0]
        upstream.always = reply.said("빨간 사진입니다")
        assert only_done(ask(one, own, "이 사진은 어때?", images=(image(),))).answer == "빨간 사진입니다"


@pytest.mark.parametrize(
    ("status", "message", "images"),
    [
        (400, "temperature: invalid value", 1),
        (404, "The model `stub-model-vision` does not exist", 1),
        (400, "vision is not supported", 0),
        (500, "the image service is away", 1),
    ],
)
def test_a_refusal_for_another_reason_fails_the_turn(
    agent: OpenAgent, session: NewSession, tmp_path: Path, status: int, message: str, images: int
) -> None:
    with Upstream(always=reply.failed(status, message=message, x_should_retry="false")) as upstream:
        one = agent(resolve=connected(upstream, tmp_path))
        own = session(one)
        assert failed(ask(one, own, question(1), images=(image(),) * images)).code != ImagesRejected.code
        assert one.models().takes_images


def test_an_answer_in_a_form_has_no_room_for_the_notice_so_that_its_turn_fails(
    agent: OpenAgent, session: NewSession, tmp_path: Path
) -> None:
    form = JsonForm()
    with Upstream(always=refusing(*LASTING[0])) as upstream:
        one = agent(resolve=connected(upstream, tmp_path))
        events = ask(one, session(one), "무엇이 보여?", images=(image(),), limits=AnswerLimits(form=form))
        assert failed(events).code == ImagesRejected.code
        assert not one.models().takes_images
