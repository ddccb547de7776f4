"""Plays the conversations of a data set, and looks at every form of memory for what the questions need.

One play serves every question and every form. What a form gives does not depend on the question, except for the forms
of ``BY_QUERY``; so it is assembled once for each conversation, and once more ``SAMPLES`` times for its seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from bench.public.answer import PublicAnswer, answer_public_question
from bench.public.dataset.dataset import LANGUAGE, Conversation, Dataset, DatasetQuestion
from bench.public.evidence import GoldEvidence, measure_evidence
from errors import GieokError
from evaluation.form import Form, FormContext
from evaluation.play import IDLE_SECONDS, Play, RecordedConversation, play_turns
from graph.turn.memory.past_turns import PastQuery, recall_past
from model.call.stream import Stopped
from model.modelset import ModelSet

FORMS: tuple[Form, ...] = ("full", "turns", "chunks", "recursive")
SAMPLES = 20
"""How often a form is assembled for its seconds."""


def _with_recalled(play: Play, query: str) -> FormContext:
    """Returns the next prompt, and what ``recall`` finds when it is called with the question as it stands."""
    agent, whole = play.agent, play.context("all", query)
    found = recall_past(agent, agent.store.session(play.session), PastQuery(query, play.turns + 1))
    return FormContext((*whole.lines, *found.text.splitlines()), whole.tokens + play.models.count(found.text))


BY_QUERY: dict[str, Callable[[Play, str], FormContext]] = {
    "all": lambda play, query: play.context("all", query),
    "all_recall": _with_recalled,
}
"""The forms that depend on the question, by name."""


@dataclass(frozen=True, slots=True)
class Row:
    """One question and one form. ``turns``: of the conversation. ``tokens``: that the form gives the model;
    ``seconds``: that assembling it took; ``failed``: the code of the error where it could not be assembled."""

    dataset: str
    conversation: str
    question: str
    category: str
    adversarial: bool
    form: str
    turns: int
    evidence: GoldEvidence = field(default_factory=GoldEvidence)
    tokens: int = 0
    seconds: float = 0.0
    answer: PublicAnswer | None = None
    failed: str = ""


@dataclass(frozen=True, slots=True)
class _Assembled:
    """What a form gives, with the seconds of every time that it was assembled; or the code of the error."""

    context: FormContext
    seconds: tuple[float, ...] = (0.0,)
    failed: str = ""


def measure_conversation(
    dataset: Dataset,
    conversation: Conversation,
    models: ModelSet,
    rate: float = 0.3,
    *,
    live: bool = False,
    judged: bool = True,
    stop: threading.Event | None = None,
) -> Iterator[Row]:
    """Plays a conversation and yields the rows of its questions.

    ``live``: the chat model answers every question from every form, and with ``judged`` the judge judges the forms.
    Raises ``Stopped`` when ``stop`` is set, and ``EvaluationFailed`` when a turn does not end well.
    """
    stopped = stop.is_set if stop else (lambda: False)
    with play_turns(
        models, RecordedConversation(conversation.turns, LANGUAGE, conversation.asked_at), rate, stop=stopped
    ) as play:
        looking = _Looking(dataset, conversation, play)
        for number, question in enumerate(conversation.questions):
            for row, context in looking.rows(question, number):
                if stopped():
                    raise Stopped
                if live and not row.failed:
                    answer = answer_public_question(
                        play, conversation, question, row.form, context, judged=judged, stop=stop
                    )
                    row = replace(row, answer=answer)
                yield row


class _Looking:
    """Looks at one play for what the questions need."""

    def __init__(self, dataset: Dataset, conversation: Conversation, play: Play) -> None:
        self._dataset, self._conversation, self._play = dataset, conversation, play
        play.agent.background.idle(IDLE_SECONDS)
        self._fixed = {form: _sample_form(play, form) for form in FORMS}

    def rows(self, question: DatasetQuestion, number: int) -> Iterator[tuple[Row, FormContext]]:
        """Yields the row of every form and what the form gives; ``number``: of the question, for its sample of the
        seconds."""
        for form, given in self._fixed.items():
            yield self._row(question, form, given, given.seconds[number % len(given.seconds)]), given.context
        for name, assemble in BY_QUERY.items():
            given = _time_assembly(partial(assemble, self._play, question.text))
            yield self._row(question, name, given, given.seconds[0]), given.context

    def _row(self, question: DatasetQuestion, form: str, given: _Assembled, seconds: float) -> Row:
        talk = self._conversation
        row = Row(
            self._dataset.name,
            talk.name,
            question.name,
            question.category,
            question.adversarial,
            form,
            len(talk.turns),
            failed=given.failed,
        )
        if given.failed:
            return row
        held = measure_evidence(question.gold, given.context.text, (talk.user, talk.other))
        return replace(row, evidence=held, tokens=given.context.tokens, seconds=seconds)


def _sample_form(play: Play, form: Form) -> _Assembled:
    """Assembles a form several times, each time from a play that has kept nothing of the time before."""
    samples = [_time_assembly(partial(replace(play).context, form)) for _ in range(SAMPLES)]
    return replace(samples[0], seconds=tuple(second for sample in samples for second in sample.seconds))


def _time_assembly(assemble: Callable[[], FormContext]) -> _Assembled:
    began = time.perf_counter()
    try:
        context = assemble()
    except GieokError as error:
        return _Assembled(FormContext((), 0), failed=error.code)
    return _Assembled(context, (time.perf_counter() - began,))
