"""The request for a turn: five kinds of runs, for the page, the terminal, the endpoint and the agent alike."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from errors import BadImage, Empty, GieokError, OutOfRange, TooLong
from graph.answer.json_form import JsonForm
from graph.tool.client_tool import NO_TOOLS, ClientTools
from store.path import Path
from store.record import GivenTurn, Session, TurnStatus
from store.session.options import SYSTEM_CHARS, TEMPERATURES
from store.turn.question import UserAnswer
from text.clean import clean_text

Kind = Literal["new", "retry", "again", "edited", "resume"]

MESSAGE_LIMIT = 200_000
"""Characters of the longest message, whether it is asked now or told of an earlier turn."""
MOST_GIVEN = 10_000
"""The most turns that one request tells."""
MAX_TOKENS = (1, 1_000_000)
TOP_P = (0.0, 1.0)
MOST_STOPS = 16
STOP_CHARS = 500
MOST_IMAGES = 50
IMAGE_CHARS = 20 * 1024 * 1024
"""Characters of the longest ``data:`` URL of an image: 20 MB."""
DETAILS = ("auto", "low", "high")


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """The limits of one answer; None and () leave a limit to the conversation's options. They are not stored.

    ``max_tokens``: of the answer. ``temperature``, ``top_p``: of the model's choice of words. ``stop``: words before
    which the answer ends. They hold for what a model writes: an answer that code words from the results of tools is
    short and obeys none of them. ``form``: the JSON that the answer must be, which code never words.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    form: JsonForm | None = None

    def validate_limits(self) -> AnswerLimits:
        """Returns the limits without empty stop words. Raises ``OutOfRange`` and ``TooLong``, naming the field."""
        for name, value, (low, high) in (
            ("max_tokens", self.max_tokens, MAX_TOKENS),
            ("temperature", self.temperature, TEMPERATURES),
            ("top_p", self.top_p, TOP_P),
        ):
            if value is not None and not low <= value <= high:
                raise OutOfRange(what=name, value=value, low=low, high=high)
        stop = tuple(dict.fromkeys(word for word in map(clean_text, self.stop) if word))
        if len(stop) > MOST_STOPS:
            raise OutOfRange(what="number of stop words", value=len(stop), low=0, high=MOST_STOPS)
        longest = max(map(len, stop), default=0)
        if longest > STOP_CHARS:
            raise TooLong(what="stop word", size=longest, limit=STOP_CHARS)
        return replace(self, stop=stop)


NO_LIMITS = AnswerLimits()


@dataclass(frozen=True, slots=True)
class PlanBasis:
    """The conversation from which a request was planned, which other requests may have changed by the time at which the
    turn holds it. ``status``: of its last turn, where the plan goes by it."""

    turn_count: int
    path: Path
    status: TurnStatus | None = None

    @classmethod
    def of(cls, session: Session, status: TurnStatus | None = None) -> PlanBasis:
        """Returns the basis of a plan that was made after the session was read."""
        return cls(session.turn_count, session.path, status)

    def is_met(self, session: Session, status: TurnStatus | None) -> bool:
        """Returns whether the conversation is still the same. ``status``: of its last turn."""
        return (session.turn_count, session.path) == (self.turn_count, self.path) and self.status in (None, status)


@dataclass(frozen=True, slots=True)
class Request:
    """The request to run a turn in session ``session``.

    ``new``: ``text`` is the next message. ``retry``: the last turn failed or was cut off, and goes on from the node
    where it ended. ``again``: another answer to turn ``number``. ``edited``: turn ``number`` with ``text`` as its
    question. ``again`` and ``edited`` begin a new branch; the turns that followed stay on their old branch. ``resume``:
    the last turn waits for the user, and goes on with ``answers``, by the ids of its questions (missing: no).

    ``given`` (only ``new``): finished turns that a client tells; they begin at turn ``number`` (0: after the last
    turn), and the new message follows them. ``system``: the client's system text, which stays with the session; None
    leaves the stored one. ``limits``: of this answer. ``images``: of this message, as OpenAI's content parts
    (``{"type": "image_url", "image_url": {"url": …}}``); of a client's only their number is stored, the page's are
    in the record already (``graph.turn.image``). ``earlier_images``: of
    earlier turns, oldest first, as far as they have room beside these. ``asks``: whether
    the user can be asked while the turn runs; only a door that can bring the answers says so, because a turn that asks
    waits until somebody answers. ``tools``: of the client, which runs them itself (``graph.tool.client_tool``); only a
    model that calls tools itself gets them. ``cites``: whether the answer marks the past turns that it used, for a
    reader who is shown them. ``ending`` (only ``resume``): what stands in place of the answer; no model is asked for
    one. ``basis``: the conversation from which the request was planned; the turn begins only while it is still the
    same. ``switch``: the version (number and branch) of a turn that the session is put on first, because the request
    follows another branch. ``waits``: the mark under which a client waits for the answer
    (``store.session.undelivered``); '' for the number of the turn; None where no client waits.
    """

    session: str
    kind: Kind = "new"
    text: str = ""
    number: int = 0
    given: tuple[GivenTurn, ...] = ()
    system: str | None = None
    limits: AnswerLimits = NO_LIMITS
    images: tuple[dict[str, Any], ...] = ()
    earlier_images: tuple[dict[str, Any], ...] = ()
    answers: Mapping[str, UserAnswer] = field(default_factory=dict)
    asks: bool = False
    tools: ClientTools = NO_TOOLS
    cites: bool = False
    ending: str = ""
    basis: PlanBasis | None = None
    switch: tuple[int, int] | None = None
    waits: str | None = None


def checked_system(text: str) -> str:
    """Returns a client's system text cleaned for storing and sending. Raises ``TooLong``."""
    text = clean_text(text).strip()
    if len(text) > SYSTEM_CHARS:
        raise TooLong(what="system text", size=len(text), limit=SYSTEM_CHARS)
    return text


def check_message(text: str, *, with_images: bool = False) -> None:
    """Raises ``Empty`` for a message without words, unless images come with it, and ``TooLong``."""
    if not with_images and not clean_text(text).strip():
        raise Empty(what="message")
    check_message_length(text)


def check_message_length(text: str) -> None:
    """Raises ``TooLong``."""
    if len(text) > MESSAGE_LIMIT:
        raise TooLong(what="message", size=len(text), limit=MESSAGE_LIMIT)


def checked_given(turns: tuple[GivenTurn, ...]) -> None:
    """Raises ``OutOfRange`` for too many turns and ``TooLong`` for a message that is too long."""
    if len(turns) > MOST_GIVEN:
        raise OutOfRange(what="number of given turns", value=len(turns), low=0, high=MOST_GIVEN)
    for turn in turns:
        check_message_length(turn.question)
        check_message_length(turn.answer)


def checked_images(images: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """Returns the image parts with only those fields that are passed on to a model. Nothing is fetched here.

    Raises ``OutOfRange`` for too many images, ``TooLong`` for an address of more than 20 MB, and ``BadImage`` for one
    that is neither a ``data:`` URL nor https.
    """
    if len(images) > MOST_IMAGES:
        raise OutOfRange(what="number of images", value=len(images), low=0, high=MOST_IMAGES)
    return tuple(_check_image_part(part, number) for number, part in enumerate(images, 1))


def choose_earlier(images: tuple[dict[str, Any], ...], own: int) -> tuple[dict[str, Any], ...]:
    """Returns the images of earlier turns that go along with ``own`` images of the message: the newest, with those
    fields that are passed on. One that could not be sent itself is left out: its own turn is over."""
    kept = list[dict[str, Any]]()
    for part in images:
        with suppress(GieokError):
            kept.append(_check_image_part(part, len(kept) + 1))
    room = max(0, MOST_IMAGES - own)
    return tuple(kept[-room:]) if room else ()


def _check_image_part(part: Mapping[str, Any], number: int) -> dict[str, Any]:
    given = part.get("image_url")
    fields = given if isinstance(given, Mapping) else {"url": given}
    url, detail = fields.get("url"), fields.get("detail")
    if not isinstance(url, str) or not url.lower().startswith(("data:", "https://")):
        raise BadImage(number=number)
    if len(url) > IMAGE_CHARS:
        raise TooLong(what="image", size=len(url), limit=IMAGE_CHARS)
    return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if detail in DETAILS else {})}}
