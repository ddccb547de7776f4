"""The images of a turn on the page: those that came with its question, and those of the turns right before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from errors import ImagesUnsupported
from graph.turn.process.engine import TurnEngine
from graph.turn.request import Request
from store import Session
from store.turn.image import MOST_MESSAGE_IMAGES, StoredImage

EARLIER_TURNS = 6
"""How many turns back an image goes along with further questions; later questions have a mark in its place."""
EARLIER_IMAGES = 4
"""How many images of earlier turns go along at most: each takes as many tokens as a page of text."""


def add_stored_images(engine: TurnEngine, session: Session, number: int, request: Request) -> Request:
    """Returns the request with the images that the record has of turn ``number`` and of those before it.

    A model that sees none, or whose server has refused one, gets no images of earlier turns. Raises
    ``ImagesUnsupported`` where images came with the question itself.
    """
    first = max(1, number - EARLIER_TURNS)
    keys = engine.store.images.find_turn_keys(session.id, session.path, first, number)
    own = keys.pop(number, [])[:MOST_MESSAGE_IMAGES]
    earlier = [key for turn in sorted(keys) for key in keys[turn]][-EARLIER_IMAGES:]
    if not own and not earlier:
        return request
    if own:
        refuse_unseen_images(engine)
    elif not engine.models().takes_images:
        return request
    stored = engine.store.images.load(session.id, [*own, *earlier])
    parts = {key: build_image_part(image) for key, image in stored.items()}
    return replace(
        request,
        images=(*request.images, *(parts[key] for key in own if key in parts)),
        earlier_images=(*request.earlier_images, *(parts[key] for key in earlier if key in parts)),
    )


def refuse_unseen_images(engine: TurnEngine) -> None:
    """Raises ``ImagesUnsupported`` where the model sees no images."""
    models = engine.models()
    if not models.takes_images:
        raise ImagesUnsupported(model=models.name)


def build_image_part(image: StoredImage) -> dict[str, Any]:
    """Returns the content part that shows an image to a model, in OpenAI's form."""
    return {"type": "image_url", "image_url": {"url": image.address}}


__all__ = ["add_stored_images", "build_image_part", "refuse_unseen_images"]
