"""What the next prompt will hold, by the function that will make it: the state as it stands, under no question yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import cast

from langchain_core.messages import AnyMessage

from graph import choice, memory
from graph.chunk import chunk_messages
from graph.context import Changing, Prompt, build
from graph.documents import offered
from graph.engine import Engine
from graph.node.summary import MOST_DUE, leaving, within
from graph.rebuild import fits, made
from graph.report import ContextReport
from graph.runtime import TurnContext
from graph.state import ChatState, SummaryRecord
from graph.system import system_prompt
from graph.turns import closing, due_chunks, question
from memory import MemoryView
from model.modelset import ModelSet
from model.profile import Profile
from store import Session


@dataclass(frozen=True, slots=True)
class Preview:
    """``report`` of the next prompt, were it sent now; ``making``: turns whose summary is still to be made.

    Those are raw where a model writes it in the background, and count as long as they are meant to be where the turn
    itself has it made. What tools will say, and passages that a search will find, come on top.
    """

    report: ContextReport
    making: tuple[str, ...]


def preview(engine: Engine, session_id: str) -> Preview:
    """The next prompt of a session. Calls no model. Raises what resolving the models raises, and ``ContextTooLong``."""
    session, models = engine.store.session(session_id), engine.models()
    number, state = session.turn_count + 1, _state(engine, session)
    messages = [*state["messages"], *closing(state["messages"], number - 1), question("", number, session_id)]
    remembered = memory.before(engine, session, models, number)
    unfolded, ledger = memory.unfolded(remembered), engine.store.ledger
    turn = TurnContext(models, engine.settings, engine.budgets, ledger=ledger, unfolded=unfolded)
    later = models.side.summaries == "model" and engine.settings.ahead
    records, making = _due(engine, session, messages, list(state["summary_history"]), later)
    kept = within(records[len(leaving(records, turn)) :], session_id, turn)
    given = changing(engine, session, remembered, models.profile)
    return Preview(next_prompt(engine, session, models, messages, kept, given).report, making)


def changing(engine: Engine, session: Session, remembered: MemoryView | None, profile: Profile) -> tuple[Changing, ...]:
    """What changes from turn to turn in the next prompt."""
    parts = memory.parts(remembered, engine, session.language, session.turn_count + 1, profile)
    return parts if profile.prompt == "bare" else (*parts, *engine.changing(session))


def next_prompt(
    engine: Engine,
    session: Session,
    models: ModelSet,
    messages: Sequence[AnyMessage],
    records: Sequence[SummaryRecord],
    given: Sequence[Changing],
) -> Prompt:
    """The prompt that the next turn of a session would have, made of these messages and summaries and of what is
    ``given`` before the question. Raises ``ContextTooLong``."""
    number = session.turn_count + 1
    tools = [*engine.tools, *memory.tools(engine, session, number, models.profile), *offered(engine)]
    return build(
        messages,
        records,
        number,
        language=session.language,
        system=system_prompt(models.profile, session.language, tools),
        count=models.count,
        exact=models.exact,
        limits=TurnContext(models, engine.settings, engine.budgets).limits(),
        changing=given,
        history_tokens=session.history_tokens,
        beside=choice.form_tokens(models, tools),
        layout=choice.layout(models.profile),
    )


def _state(engine: Engine, session: Session) -> ChatState:
    """The state that the next turn starts from; nothing is written."""
    state = engine.state(session.id)
    return state if state and fits(state, session, session.turn_count) else made(engine, session, session.turn_count)


def _due(
    engine: Engine, session: Session, messages: list[AnyMessage], records: list[SummaryRecord], later: bool
) -> tuple[list[SummaryRecord], tuple[str, ...]]:
    """The records that the next turn will have, and which are not made yet.

    ``later``: it takes none that is not ready.
    """
    making = []
    for chunk in islice(due_chunks(session.turn_count + 1, records), MOST_DUE):
        ready = engine.store.ledger.ready(session.id, chunk, session.compression_rate)
        if ready is None:
            making.append(f"{chunk[0]}-{chunk[-1]}")
        if ready is None and later:
            break
        records.append(cast(SummaryRecord, ready.record) if ready else _meant(session, messages, chunk))
    return records, tuple(making)


def _meant(session: Session, messages: list[AnyMessage], chunk: list[int]) -> SummaryRecord:
    """A stand-in for a summary: as much of the original as it may be long (``graph.summary.source``)."""
    original = "".join(str(each.text) for each in chunk_messages(messages, session.turn_count + 1, chunk))
    length = int(len(original) * session.compression_rate)
    return SummaryRecord(
        thread_id=session.id,
        turns=chunk,
        turn_length=len(chunk),
        original_chars=len(original),
        summary_chars=length,
        compression_rate=session.compression_rate,
        summary=original[:length],
    )
