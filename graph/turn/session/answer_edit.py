"""The user's own words in place of an answer: another version of the turn, made without a model call.

What follows from it comes as after an edited question: the next prompt finds the state out of line and makes it anew
(``graph.turn.session.rebuild``), and memory follows the path before it is read. In a story the words are worked off as
any answer is, so that places, people and belongings follow them.
"""

from __future__ import annotations

from langchain_core.messages import AIMessage, AnyMessage, messages_to_dict

from errors import GieokError, TurnUnknown
from graph.context.prompt import raw_tokens
from graph.context.turns import make_question_message
from graph.turn.process.engine import TurnEngine
from graph.turn.request import check_message
from graph.turn.session.repair import settle_last_turn
from model.call import token
from store import Finished, Session, TurnRow
from store.session.opening import TurnPlace
from store.turn.image import list_image_keys
from store.world.record import NewNode
from text.clean import clean_text


def replace_answer(engine: TurnEngine, session_id: str, number: int, answer: str, branch: int | None = None) -> None:
    """Begins a new branch at turn ``number``, with the same question and ``answer``; later turns stay on the old one.
    ``branch``: of the turn that the user saw; None: whichever the path has. A pinned turn stays pinned.

    Raises ``Empty``, ``TooLong``, ``SessionUnknown``, ``TurnUnknown``, also for a turn that has left the path, and
    ``SessionBusy`` while the session answers.
    """
    answer = clean_text(answer).strip()
    check_message(answer)
    with engine.hold(session_id) as session:
        before = load_turn_on_path(engine, session_id, number, branch)
        settle_last_turn(engine, session, engine.store.status(session))
        finish = _finish_story_turn if session.world else _finish_turn
        engine.store.tree.begin(session_id, number, before.question)
        try:
            place = engine.store.find_place(session_id, number)
            assert place is not None
            finish(engine, session, place, before, answer)
            if before.pinned:
                engine.store.pin_turn(session_id, number, True)
        except GieokError:
            engine.store.tree.switch(session_id, number, before.branch)
            raise


def load_turn_on_path(engine: TurnEngine, session_id: str, number: int, branch: int | None) -> TurnRow:
    """Returns a turn of the path; another tab may have put a version from another ``branch`` there, None: any. Raises
    ``TurnUnknown``."""
    turn = engine.store.turn(session_id, number) if number else None  # 0 is a story's greeting
    if turn is None or branch not in (None, turn.branch):
        raise TurnUnknown(session=session_id, turn=number)
    return turn


def _finish_turn(engine: TurnEngine, session: Session, place: TurnPlace, before: TurnRow, answer: str) -> None:
    images = len(list_image_keys(before.files))
    messages: list[AnyMessage] = [
        make_question_message(clean_text(before.question), place.number, session.id, images),
        AIMessage(answer, id=f"{session.id}-{place.branch}-{place.number}-answer"),
    ]
    end = Finished(
        "done",
        answer,
        messages_to_dict(messages),
        tokens=raw_tokens(messages, token.estimate_tokens),
        has_foreign=before.has_foreign,
        given=True,
    )
    engine.store.finish_turn(session.id, place.number, end, engine.now().timestamp(), place)


def _finish_story_turn(engine: TurnEngine, session: Session, place: TurnPlace, before: TurnRow, answer: str) -> None:
    assert engine.worlds is not None, "only stories of this process's own database have a world"
    worlds = engine.worlds().using(engine.store, engine.models)
    parent = engine.store.worlds.last_before(session.id, place.number, place.branch)
    tokens = token.estimate_tokens(before.question) + token.estimate_tokens(answer)
    new = NewNode(before.question, (answer,), answer, "raw", tokens=tokens, is_given=True)
    worlds.work_off(engine.store.worlds.add(session.world, parent, new, place))
