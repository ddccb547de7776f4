"""One turn taken out of a conversation, of which the later turns stay as they were: a branch without it; and the switch
that brings it back, as it does any other version of a turn.

What follows from it comes as after an edited answer: the next prompt finds the state out of line and makes it anew, the
summaries of the turns that have moved are made again as those of an imported conversation, and memory follows the path.
In a story the later turns are worked off again from what was read in them, so that its state is what they add up to.
"""

from __future__ import annotations

from graph.turn.process.engine import TurnEngine
from graph.turn.session.answer_edit import load_turn_on_path
from graph.turn.session.repair import settle_last_turn
from memory.row.removal import note_turn_removal


def remove_turn(engine: TurnEngine, session_id: str, number: int, branch: int | None = None) -> int:
    """Takes a turn out and returns the branch that holds it, with which ``switch`` brings it back. ``branch``: of the
    turn that the user saw; None: whichever the path has.

    Raises ``TurnUnknown``, also for the only turn and one that has left the path, and ``SessionBusy`` while the session
    answers.
    """
    with engine.hold(session_id) as session:
        turn = load_turn_on_path(engine, session_id, number, branch)
        settle_last_turn(engine, session, engine.store.status(session))
        moved = note_turn_removal(engine.tenant, session_id, number, engine.user)
        engine.store.tree.remove(session_id, number, moved)
        if session.world:
            _take_up_line(engine, session_id, number)
        return turn.branch


def switch_version(engine: TurnEngine, session_id: str, number: int, branch: int) -> None:
    """Switches to another version of a turn, so that the turns after it are those of that version. Raises
    ``TurnUnknown``, and ``SessionBusy`` while the session answers."""
    with engine.hold(session_id) as session:
        engine.store.tree.switch(session_id, number, branch)
        if session.world:
            _take_up_line(engine, session_id, number)


def _take_up_line(engine: TurnEngine, session_id: str, number: int) -> None:
    """Has what is left to do of a story's turns done behind the page, from turn ``number`` on: they are others now."""
    assert engine.worlds is not None, "only stories of this process's own database have a world"
    last = engine.store.worlds.last_before(session_id, engine.store.session(session_id).turn_count + 1)
    if last is not None and last.turn >= number:
        engine.worlds().using(engine.store, engine.models).take_up_line(last)
