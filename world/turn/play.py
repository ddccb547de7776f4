"""Playing a story without a client of one's own: the messages come from the stored path."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import prompt
from errors import EmptyAnswer, ModelUnknown
from model.call.stream import Stopped
from model.call.token import estimate_tokens
from model.modelset import ModelSet
from model.raw import RawStopped
from settings import Settings
from store.session.opening import TurnPlace
from store.session.options import DEFAULT, AnswerOptions
from store.world.record import StoryNode
from text.answer import loop
from text.sentence import split_sentences
from world.engine import Recall, recall_nothing
from world.prompt.placement import place_world_texts
from world.turn.ahead import Messages, build_next_beginning
from world.turn.turn import StoryTurn, UpstreamRefusal

if TYPE_CHECKING:
    from world.engine import RecognisedRequest, WorldEngine

Json = dict[str, Any]
STEP = 8
"""Turns by which the beginning of the history moves on when it outgrows its budget: in between, the prompt only grows
at its end, so that what was read before stays in the cache."""
SCENE_TOKENS = 320
"""The longest scene of a small model: it only says the same again after that, ten tokens a second."""
SAME = 12
"""Letters at the beginnings of three lines in a row that make them one line said three times."""
LONGEST_ROUND = 4
"""Lines that may alternate before the same ones come again."""
_LINE = re.compile(r"\S[^\n]*")
MOST = 200
"""The last turns of a path that are looked at."""


def play_story_turn(
    engine: WorldEngine,
    world_id: str,
    parent: StoryNode | None,
    question: str,
    stop: threading.Event,
    emit: Callable[[str], object],
    place: TurnPlace | None = None,
    recall: Recall = recall_nothing,
) -> StoryNode:
    """Answers a message of the player after a turn; None for the beginning of a story. ``emit`` hears the pieces that
    the reader sees. Returns the new turn. ``place``: of the turn's row, where it was begun already;
    ``recall``: what the story remembers of itself.

    Raises ``WorldUnknown``, ``UpstreamError``, ``EmptyAnswer``, and ``Stopped`` when ``stop`` was set before the first
    word.
    """
    models = engine.models()
    if models.raw is None:
        raise ModelUnknown(url=models.url, model=models.name)
    begun = _build_played_request(engine, world_id, parent, question)
    if place is not None:
        begun = replace(begun, place=place, number=place.number)
    begun = replace(begun, recalled=tuple(recall(begun.told_numbers)))
    options = _load_story_options(engine, place.session_id if place is not None else parent.session if parent else "")
    messages = [*_build_earlier_messages(begun, options), {"role": "user", "content": question}]
    body = {
        "model": models.raw.model,
        "messages": messages,
        "stream": True,
        **_build_model_options(models, engine.settings, options),
    }
    ends, cut = (
        (find_circle_start, last_sentence)
        if models.profile.prompt == "bare"
        else (_ignore_answer_end, _ignore_answer_end)
    )
    turn = StoryTurn(engine, models.raw, begun, body, counted=True, ends=ends, cut=cut)
    return _run_played_turn(turn, stop, emit)


def preview_message(engine: WorldEngine, world_id: str, parent: StoryNode | None, question: str) -> Json:
    """Returns the report of the prompt that a message of the player after a turn would have, without playing it. Raises
    ``WorldUnknown``."""
    return engine.preview(_build_played_request(engine, world_id, parent, question))


def build_prompt_beginning(engine: WorldEngine, world_id: str, parent: StoryNode | None) -> Messages | None:
    """Returns the beginning of the prompt of the turn after ``parent`` (``world.turn.ahead``). Raises
    ``WorldUnknown``."""
    begun = _build_played_request(engine, world_id, parent, "")
    earlier = _build_earlier_messages(begun, _load_story_options(engine, parent.session if parent else ""))
    return build_next_beginning(place_world_texts(earlier, engine.prefix(begun), "", "system"))


def _build_played_request(
    engine: WorldEngine, world_id: str, parent: StoryNode | None, question: str
) -> RecognisedRequest:
    """Returns the request for the turn after ``parent``, with the last turns, as a client would tell them."""
    begun = engine.after(world_id, parent, question)
    path = engine.store.worlds.path(parent, MOST) if parent is not None else []
    told = _choose_last_turns(path, engine.settings.world_budget_history)
    turns = tuple((node.question, node.answer) for node in told)
    numbers = tuple(node.turn for node in told)
    return replace(begun, told_story=replace(begun.told_story, turns=turns), told_numbers=numbers)


def _load_story_options(engine: WorldEngine, session_id: str) -> AnswerOptions:
    """Returns what the player has set for the answers of a story; the default for one that has no row yet."""
    return engine.store.options.of(session_id) if session_id else DEFAULT


def _build_earlier_messages(begun: RecognisedRequest, options: AnswerOptions) -> list[Json]:
    """Returns the messages before the player's. A system prompt of the story takes the place of the narrator's role."""
    assert begun.world is not None
    role = options.system_prompt or prompt.render_prompt("world_play", begun.world.language)
    system = {"role": "system", "content": role}
    return [system, *(message for turn in begun.told_story.turns for message in _build_turn_messages(*turn))]


def _run_played_turn(turn: StoryTurn, stop: threading.Event, emit: Callable[[str], object]) -> StoryNode:
    told = 0

    def piece(_: str) -> None:
        nonlocal told
        shown = turn.reply.visible_text
        if len(shown) > told:
            emit(shown[told:])
            told = len(shown)

    try:
        ended = turn.run(stop, lambda *_: None, piece)
    except UpstreamRefusal as error:
        raise turn.name_refusal(error) from error
    except RawStopped as error:
        raise Stopped from error
    if ended.node is None:
        raise Stopped if stop.is_set() else ended.failure or EmptyAnswer
    return ended.node


def find_circle_start(answer: str) -> int | None:
    """Returns where a growing answer begins to go round in circles: at the second copy of the same words, of a line
    that begins as the next two do, or of two to four lines that begin as the next ones do. None while it does not."""
    if (at := loop.find_loop_start(answer)) is not None:
        return at
    lines = list(_LINE.finditer(answer))[-2 * LONGEST_ROUND :]
    begins = [line[0][:SAME] for line in lines]
    if len(begins) > 2 and len(begins[-1]) == SAME and len({*begins[-3:]}) == 1:
        return lines[-2].start()
    for length in range(2, min(LONGEST_ROUND, len(lines) // 2) + 1):
        last = begins[-length:]
        if last == begins[-2 * length : -length] and all(len(line) == SAME for line in last):
            return lines[-length].start()
    return None


def last_sentence(answer: str) -> int | None:
    """Returns where the last whole sentence ends of an answer that was cut off; None where the cut is between two
    sentences, or in the first one."""
    pieces = split_sentences(answer)
    if len(pieces) < 2 or len(split_sentences(f"{pieces[-1]} x")) > 1:
        return None
    return len(answer[: answer.rindex(pieces[-1])].rstrip())


def _ignore_answer_end(_: str) -> None:
    return None


def _choose_last_turns(path: Sequence[StoryNode], budget: int) -> Sequence[StoryNode]:
    """Returns the last turns of a path, as many as the budget holds, at least one, beginning at a step if one is within
    the budget."""
    sizes = [estimate_tokens(node.question) + estimate_tokens(node.answer) for node in path]
    fitting = [at for at in range(len(path)) if sum(sizes[at:]) <= budget or at == len(path) - 1]
    steps = [at for at in fitting if path[at].turn % STEP == 0 or at == 0]
    start = next(iter(steps or fitting), 0)
    return path[start:]


def _build_turn_messages(question: str, answer: str) -> list[Json]:
    asked = [{"role": "user", "content": question}] if question else []
    return [*asked, {"role": "assistant", "content": answer}]


def _build_model_options(models: ModelSet, settings: Settings, options: AnswerOptions) -> Json:
    """Returns how the model is asked, as in a chat (``model.choice.resolve``)."""
    sampling = models.profile.sampling
    limited = models.alone or "answer_tokens" in settings.model_fields_set or options.answer_tokens is not None
    most = options.answer_tokens or settings.answer_tokens
    if models.profile.prompt == "bare" and not ("answer_tokens" in settings.model_fields_set or options.answer_tokens):
        most = SCENE_TOKENS
    longest = {"max_tokens": most} if limited else {}
    warmth = {"temperature": sampling.temperature, **sampling.body()} if sampling else {}
    own = {"temperature": options.temperature} if options.temperature is not None else {}
    return {**longest, **warmth, **own}


__all__ = ["play_story_turn"]
