"""Commands that look and change nothing: ``/memory``, ``/entities``, ``/eval``, ``/rag`` and ``/context``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evaluation.judge import calibration
from evaluation.judge.criterion import CRITERIA, find_score_band
from evaluation.judge.judge import Rating, judge_memory
from evaluation.look import load_last_question
from evaluation.run import is_judge_trusted
from graph.answer.documents import build_turn_search_scope
from graph.context.preview import preview_next_prompt
from graph.context.report import ContextReport
from memory import Entity, MemoryView, Rooms
from model.call.stream import Stopped
from model.call.token import estimate_tokens
from model.modelset import ModelSet
from retrieval.answer.lookup import Cited, LookUp
from retrieval.answer.loop import LookUpOptions
from retrieval.document import EVERYBODYS, Hit
from text.clean import collapse_spaces
from text.cut import cut_graphemes

if TYPE_CHECKING:
    from door.terminal.terminal import Terminal

EXCERPT_CHARS = 300
"""The longest excerpt of a passage, in characters."""
OTHERS = 5
"""The most candidates that are listed beside the passages that the model would be given."""


# --- /memory and /entities ------------------------------------------------------------------------


def print_memory(terminal: Terminal, _value: str) -> None:
    """Prints the profile, and the long-term memory with its version and tokens, what waits, what was cut, and what is
    being done beside the answers."""
    view = _read_memory_view(terminal, terminal.models_ready)
    if view is None:
        return
    _tell_profile(terminal, view)
    room = terminal.agent.prompting.budget_memory
    if view.text or view.cut:
        version = f" M{view.version}" if view.version else ""
        terminal.tell(terminal.say("memory.head", version=version, tokens=view.tokens, room=room))
    else:
        terminal.tell(terminal.say("memory.none"))
    for line in view.text.splitlines():
        terminal.tell(f"  {line}")
    if view.cut:
        terminal.tell(terminal.say("memory.cut", count=len(view.cut)))
        for line in view.cut:
            terminal.tell(f"  {line}")
    _print_waiting_turns(terminal, view)
    _tell_work(terminal)


def print_entities(terminal: Terminal, _value: str) -> None:
    """Prints the remembered values, oldest first, with the turns that they come from."""
    view = _read_memory_view(terminal, terminal.models_ready)
    if view is None:
        return
    room, listed = terminal.agent.prompting.budget_entities, (*view.cut_entities, *view.entities)
    if listed:
        terminal.tell(terminal.say("entities.head", count=len(listed), tokens=view.entity_tokens, room=room))
    else:
        terminal.tell(terminal.say("entities.none"))
    for entity in listed:
        cut = f" · {terminal.say('entities.cut')}" if entity in view.cut_entities else ""
        terminal.tell(f"  {entity.describe(terminal.language)} ({_render_entity_source(terminal, entity)}){cut}")
    _print_waiting_turns(terminal, view)


def _read_memory_view(terminal: Terminal, models: ModelSet | None) -> MemoryView | None:
    """Returns the memory of the conversation, or the memory that a new conversation would start from; None, with the
    reason printed, where there is no long-term memory."""
    agent, session = terminal.agent, terminal.begun_session
    if agent.memory is None:
        terminal.refuse(terminal.say("memory.private" if terminal.is_private else "memory.off"))
        return None
    limits = agent.prompting
    return agent.memory.reader.read_view(
        agent.tenant,
        session.id if session else "",
        session.language if session else terminal.language,
        user=agent.user,
        count=models.count if models else estimate_tokens,
        rooms=Rooms(limits.budget_memory, limits.budget_entities, limits.budget_profile),
    )


def _tell_profile(terminal: Terminal, view: MemoryView) -> None:
    """Prints the facts of the user that all conversations share, each with its day."""
    room, lines = (
        terminal.agent.prompting.budget_profile,
        (*view.covered_profile, *view.profile, *view.cut_profile),
    )
    if lines:
        terminal.tell(terminal.say("profile.head", tokens=view.profile_tokens, room=room))
    for line in lines:
        pinned = f" ({terminal.say('memory.pinned')})" if line.row.pinned else ""
        cut = f" · {terminal.say('entities.cut')}" if line in view.cut_profile else ""
        terminal.tell(f"  {line.day}: {line.describe(terminal.language)}{pinned}{cut}")


def _print_waiting_turns(terminal: Terminal, view: MemoryView) -> None:
    if view.waiting:
        terminal.tell(terminal.say("memory.waiting", turns=_render_turn_range(view.waiting)))


def _tell_work(terminal: Terminal) -> None:
    """Prints in one line the work beside the answers: what runs, with its seconds, and what waits."""
    session_id, now = terminal.opened.id if terminal.opened else "", time.time()
    said = dict.fromkeys(
        terminal.say(
            "work.running" if work.is_running else "work.waiting",
            name=terminal.say(f"work.name.{work.name.replace(' ', '_')}"),
            seconds=max(0, round(now - work.since)),
        )
        for work in terminal.agent.background.list_work()
        if work.is_for(session_id, terminal.agent.user)
    )
    if said:
        terminal.tell(terminal.say("work.head", work=", ".join(said)))


def _render_turn_range(turns: Sequence[int]) -> str:
    return str(turns[0]) if len(turns) == 1 else f"{turns[0]}-{turns[-1]}"


def _render_entity_source(terminal: Terminal, entity: Entity) -> str:
    return terminal.say("entities.turn", turn=entity.turn) if entity.turn else terminal.say("entities.before")


# --- /eval ----------------------------------------------------------------------------------------


def print_memory_rating(terminal: Terminal, value: str) -> None:
    """Has the utility model judge whether the long-term memory helps with a query, or with the last question."""
    session = terminal.begun_session
    query = value or (load_last_question(terminal.agent.store, session) if session else "")
    if not query:
        terminal.refuse(terminal.say("judge.no_question"))
        return
    models = terminal.models() if terminal.agent.memory is not None else None
    view = _read_memory_view(terminal, models)
    if view is None or models is None:
        return
    try:
        with terminal.side.status(terminal.say("judge.running")), terminal.stoppable() as stop:
            rating = judge_memory(models, query, view.text, view.entity_text, language=terminal.language, stop=stop)
    except Stopped:
        terminal.note(terminal.say("chat.interrupted"))
        return
    terminal.tell(terminal.say("judge.query", query=collapse_spaces(query)))
    if rating.status == "unscored":
        why = " ".join(terminal.error_text(rating.why, rating.why, {})).strip()
        terminal.refuse(terminal.say("judge.unscored", why=why))
    elif rating.status == "empty":
        terminal.tell(terminal.say("judge.empty", overall=rating.overall))
    else:
        for line in _render_rating_lines(terminal, rating, models):
            terminal.tell(line)
    _print_waiting_turns(terminal, view)


def _render_rating_lines(terminal: Terminal, rating: Rating, models: ModelSet) -> Iterator[str]:
    """Yields the lines of a rating: the scores, how far they can be relied on, and what the judge says."""
    say = terminal.say
    yield say("judge.overall", overall=rating.overall)
    known = calibration.load_calibration(terminal.agent.settings.data_dir, models, terminal.language)
    yield say(f"judge.{calibration.classify_judge_standing(known)}", model=models.side_name)
    if not is_judge_trusted(models):
        yield say("judge.small")
    if rating.differs:
        yield say("judge.stated", stated=rating.stated)
    for name in CRITERIA:
        score, label = rating.scores[name], say(f"judge.{name}")
        yield say("judge.score", criterion=label, score=score, band=say(f"band.{name}.{find_score_band(name, score)}"))
        if rating.reasons[name]:
            yield f"  {collapse_spaces(rating.reasons[name])}"
    for key, facts in (("helpful", rating.helpful), ("missing", rating.missing)):
        if facts:
            yield say(f"judge.{key}")
            yield from (f"  - {collapse_spaces(fact)}" for fact in facts)
    if rating.summary:
        yield say("judge.summary", summary=collapse_spaces(rating.summary))


# --- /rag -----------------------------------------------------------------------------------------


def print_document_search(terminal: Terminal, value: str) -> None:
    """Searches the documents as the agent's tool does. The chat model is not asked."""
    agent, session = terminal.agent, terminal.begun_session
    if not value:
        terminal.refuse(terminal.say("chat.wants", command="/rag", example=terminal.say("rag.example")))
        return
    if agent.library is None:
        terminal.refuse(terminal.say("rag.off"))
        return
    within = build_turn_search_scope(session, with_files=False) if session else EVERYBODYS
    if agent.library.is_empty(within):
        terminal.tell(terminal.say("rag.none"))
        return
    models, options = terminal.models(), LookUpOptions(budget=agent.prompting.budget_retrieval)
    try:
        with terminal.stoppable() as stop:
            found = agent.library.look_up(value, models, terminal.language, stop, scope=within, options=options)
    except Stopped:
        terminal.note(terminal.say("chat.interrupted"))
        return
    _show_passages(terminal, found)


def _show_passages(terminal: Terminal, found: LookUp) -> None:
    """Prints the passages that the model would be given, under their numbers, and below them the other candidates."""
    hits = {hit.passage.id: hit for step in found.trace for hit in step.hits}
    for cited in found.passages:
        terminal.tell(f"[{cited.number}] {cited.label}{_render_hit_score(terminal, hits.get(cited.passage.id))}")
        terminal.tell(f"    {_cut_passage_excerpt(cited)}")
    if found.fallback:
        terminal.tell(found.fallback.text)
        for link in found.fallback.links:
            terminal.tell(f"→ {link.title}: {link.command or link.url}")
    given = {cited.passage.id for cited in found.passages}
    others = sorted((hit for id_, hit in hits.items() if id_ not in given), key=lambda hit: -hit.score)[:OTHERS]
    if others:
        terminal.tell(terminal.say("rag.others"))
    for hit in others:
        terminal.tell(f"  - {hit.passage.label}{_render_hit_score(terminal, hit)}")


def _render_hit_score(terminal: Terminal, hit: Hit | None) -> str:
    return f" ({terminal.say('rag.score', score=hit.score)})" if hit else ""


def _cut_passage_excerpt(cited: Cited) -> str:
    text = collapse_spaces(cited.text)
    return text if len(text) <= EXCERPT_CHARS else f"{cut_graphemes(text, EXCERPT_CHARS).rstrip()}…"


# --- /context -------------------------------------------------------------------------------------


def print_next_prompt(terminal: Terminal, _value: str) -> None:
    """Prints the parts of the next prompt with tokens and budgets, what is left out, and what full history costs."""
    session = terminal.begun_session
    if session is None:
        terminal.refuse(terminal.say("chat.not_begun"))
        return
    terminal.models()
    coming = preview_next_prompt(terminal.agent, session.id)
    say, report = terminal.say, coming.report
    terminal.tell(say("context.head", number=report.turn))
    head = [say(f"context.{name}") for name in ("part", "tokens", "budget", "items")]
    terminal.tell_rows(head, _list_report_rows(terminal, report), numbers=(1, 2))
    if report.left_out:
        terminal.tell(say("context.left_out"))
        for omission in report.left_out:
            terminal.tell(f"  {say(f'reason.{omission.reason}')} {omission.what}".rstrip())
    if coming.making:
        terminal.tell(say("context.making", turns=", ".join(coming.making)))
    terminal.tell(say("context.full", full=report.full_tokens, saved=report.saved_tokens))
    if not report.exact:
        terminal.tell(say("context.estimated"))


def _list_report_rows(terminal: Terminal, report: ContextReport) -> Iterator[list[str]]:
    for part in report.parts:
        name, budget = terminal.say(f"part.{part.name}"), f"{part.budget:,}" if part.budget else ""
        yield [name, f"{part.tokens:,}", budget, ", ".join(part.items)]
    yield [terminal.say("context.total"), f"{report.total_tokens:,}", "", ""]
