"""Previews the next prompt with the function that will build it: from the present state, under an empty question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

from langchain_core.messages import AnyMessage

from graph import choice
from graph.answer.documents import list_document_tools
from graph.context.chunk import chunk_messages
from graph.context.past import FoundPast
from graph.context.prompt import BuiltPrompt, Changing, PromptMaterial, build_turn_prompt
from graph.context.report import ContextReport
from graph.context.system_prompt import system_prompt
from graph.context.turns import due_chunks, make_question_message
from graph.node.summary import MOST_DUE, list_leaving_records, select_records_within_budget
from graph.state import ChatState, SummaryRecord
from graph.summary import backlog
from graph.turn import outside
from graph.turn.image import add_stored_images
from graph.turn.memory import long_term, past_turns
from graph.turn.process.engine import TurnEngine
from graph.turn.request import Request
from graph.turn.runtime import Inputs, TurnContext
from graph.turn.session import repair
from graph.turn.session.rebuild import build_session_state, is_state_current
from memory import MemoryView
from model.modelset import ModelSet
from model.profile import Profile
from store import Session


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview of the next prompt. ``report``: as if it were sent now; ``making``: turns whose summary is still to be
    made.

    When a model writes that summary in the background, these turns count raw. When the next turn itself makes the
    summary, they count with the length the summary is meant to have. Tool results and passages of a search are not
    counted.
    """

    report: ContextReport
    making: tuple[str, ...]


def preview_next_prompt(engine: TurnEngine, session_id: str) -> Preview:
    """Returns the preview of a session's next prompt. Calls no model. Raises the errors of resolving the models, and
    ``ContextTooLong``."""
    prompt, making = build_upcoming_prompt(engine, session_id)
    return Preview(prompt.report, making)


def build_upcoming_prompt(
    engine: TurnEngine, session_id: str, text: str = "", cites: bool = True
) -> tuple[BuiltPrompt, tuple[str, ...]]:
    """Returns the next prompt under the question ``text``, and the turns whose summary is still to be made. ``cites``:
    whether a reader is shown what the answer cites. Raises as ``preview_next_prompt`` does."""
    session, models = engine.store.session(session_id), engine.models()
    number, (state, is_filled) = session.turn_count + 1, _load_next_state(engine, session)
    messages = [
        *state["messages"],
        *repair.close_last_turn(engine, session, state["messages"], number - 1),
        make_question_message(text, number, session_id),
    ]
    remembered = long_term.load_memory_view(engine, session, models)
    inputs, ledger = Inputs(budgets=engine.budgets), engine.store.ledger
    turn = TurnContext(models, engine.settings, inputs=inputs, ledger=ledger)
    later = models.side.summaries == "model" and engine.settings.ahead and not is_filled
    most = None if is_filled else MOST_DUE
    records, making = _collect_due_records(engine, session, messages, list(state["summary_history"]), later, most)
    shown = select_records_within_budget(records[len(list_leaving_records(records, turn)) :], session_id, turn)
    parts = build_changing_parts(engine, session, remembered, models.profile, text)
    past = past_turns.find_past(engine, session, text, number, models.profile, cites)
    return next_prompt(engine, session, models, messages, shown, parts, past), making


def build_changing_parts(
    engine: TurnEngine, session: Session, remembered: MemoryView | None, profile: Profile, question: str
) -> tuple[Changing, ...]:
    """Returns the parts of the next prompt that change from turn to turn."""
    facts = long_term.choose_facts(remembered, profile, question, engine.now())
    parts = long_term.build_memory_parts(remembered, engine, session.language, session.turn_count + 1, profile, facts)
    return parts if profile.prompt == "bare" else (*parts, *engine.changing(session, engine.now()))


def next_prompt(
    engine: TurnEngine,
    session: Session,
    models: ModelSet,
    messages: Sequence[AnyMessage],
    records: Sequence[SummaryRecord],
    given: Sequence[Changing],
    past: FoundPast | None = None,
    is_whole: bool = False,
) -> BuiltPrompt:
    """Returns the prompt that the next turn of a session would have, built from these messages and summaries, from the
    parts before the question (``given``), and from what a search in past turns found. ``is_whole``: with all raw
    messages, whatever their budget. Raises ``ContextTooLong``."""
    number, options = session.turn_count + 1, engine.store.options.of(session.id)
    inputs = Inputs(budgets=engine.budgets, options=options, client_system=session.client_system)
    own = [
        *engine.tools,
        *long_term.make_turn_memory_tools(engine, session, number, models.profile),
        *list_document_tools(engine, session),
    ]
    tools = [*own, *outside.list_outside_tools(engine, models)]
    limits = TurnContext(models, engine.settings, inputs=inputs).limits()
    seen = Request(session.id)
    if models.takes_images:
        seen = add_stored_images(engine, session, number, seen)
    return build_turn_prompt(
        messages,
        records,
        number,
        PromptMaterial(
            language=session.language,
            system=system_prompt(models.profile, session.language, tools, own=inputs.own_role),
            count=models.count,
            exact=models.exact,
            changing=given,
            beside=choice.count_form_tokens(models, tools),
            layout=choice.choose_prompt_layout(models.profile),
            instructions=options.system_prompt,
            client_system=session.client_system,
            images=seen.images,
            earlier_images=seen.earlier_images,
        ),
        replace(limits, unsummarised=None) if is_whole else limits,
        history_tokens=session.history_tokens,
        past_turns=past,
    )


def _load_next_state(engine: TurnEngine, session: Session) -> tuple[ChatState, bool]:
    """Returns the state that the next turn starts from, and whether that turn first extracts all missing summaries
    (``graph.turn.session.repair.build_turn_input``); writes nothing."""
    state = engine.state(session.id)
    if state and is_state_current(state, session, session.turn_count):
        return state, backlog.is_behind(state, session.turn_count)
    return build_session_state(engine, session, session.turn_count), True


def _collect_due_records(
    engine: TurnEngine,
    session: Session,
    messages: list[AnyMessage],
    records: list[SummaryRecord],
    later: bool,
    most: int | None,
) -> tuple[list[SummaryRecord], tuple[str, ...]]:
    """Returns the records that the next turn will have, and the turns whose record is not made yet.

    ``later``: the next turn takes only records that are ready; ``most``: how many it takes.
    """
    making = []
    for chunk in islice(due_chunks(session.turn_count + 1, records), most):
        ready = engine.store.ledger.ready(session.id, chunk, session.compression_rate)
        if ready is None:
            making.append(f"{chunk[0]}-{chunk[-1]}")
        if ready is None and later:
            break
        records.append(cast(SummaryRecord, ready.record) if ready else _make_stand_in_summary(session, messages, chunk))
    return records, tuple(making)


def _make_stand_in_summary(session: Session, messages: list[AnyMessage], chunk: list[int]) -> SummaryRecord:
    """Returns a stand-in for a summary: the first characters of the original, as many as the summary may have
    (``graph.summary.original``)."""
    original = "".join(str(message.text) for message in chunk_messages(messages, session.turn_count + 1, chunk))
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
