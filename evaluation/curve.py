"""The compression curve of a conversation: how long its summaries are at every rate, and which facts they keep.

The summaries are made as the product makes them. Versions in the ledger are used again, and nothing is stored.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from errors import GieokError
from graph.context.compare import REQUEST_TOKENS, make_at, version_at
from graph.context.turns import due_chunks
from graph.summary import is_hopeless
from graph.turn.process.engine import TurnEngine
from model.call.stream import Stopped
from model.modelset import ModelSet
from model.price import price_side_calls
from store import Session

RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
MOST_CHUNKS = 6
"""How many chunks are summarised unless more are asked for."""
NEWEST = 20
"""How many of the newest summaries tell how long a summary takes."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What the summaries of one rate are like.

    ``summaries``: how many there are; ``failed``: chunks for which none could be made. ``original``, ``length``:
    characters of their turns and of the summaries; ``tokens``: of the summaries. ``kept``, ``told``: facts that the
    summaries hold, of those that the turns tell.
    """

    rate: float
    summaries: int = 0
    failed: int = 0
    original: int = 0
    length: int = 0
    tokens: int = 0
    kept: int = 0
    told: int = 0

    @property
    def share(self) -> float | None:
        """The share of the facts that the summaries hold; None where the turns tell none."""
        return self.kept / self.told if self.told else None

    @property
    def length_share(self) -> float | None:
        """The length of the summaries as a share of their turns; None without a summary."""
        return self.length / self.original if self.original else None


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve so far.

    ``points``: one per rate, all over the same chunks as far as summaries could be made. ``chunks``: first and last
    turn of every chunk that the points cover. ``done``, ``steps``: summaries that are there, and that were asked for.
    ``reused``: of those there, how many the ledger had. ``calls``, ``prompt_tokens``, ``answer_tokens``, ``seconds``,
    ``usd``: what the others cost; ``usd`` is None when the price is unknown. ``stopped``:
    before its end.
    """

    points: tuple[CurvePoint, ...] = ()
    chunks: tuple[tuple[int, int], ...] = ()
    done: int = 0
    steps: int = 0
    reused: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0
    usd: float | None = 0.0
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class CurveCost:
    """What a curve would need, estimated: ``calls`` of the model and their ``tokens``.

    ``seconds``: by the newest summaries of this conversation, None when none was timed. ``usd``: None
    when the price is unknown. All are 0 where code writes the summaries, and for summaries that the ledger has.
    """

    calls: int = 0
    tokens: int = 0
    seconds: float | None = 0.0
    usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class _CurveSample:
    """The summary of one chunk at one rate; a failed one has no length."""

    chunk: tuple[int, int]
    rate: float
    original: int = 0
    length: int = 0
    tokens: int = 0
    kept: int = 0
    lost: int = 0
    failed: bool = False


@dataclass
class _CurveSpending:
    """What the calls cost so far."""

    reused: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    began: float = field(default_factory=time.monotonic)


def finished_chunks(turn_count: int) -> list[list[int]]:
    """Returns the chunks whose turns have all ended, oldest first."""
    return list(due_chunks(turn_count + 1, []))


def choose_spread_chunks(chunks: Sequence[list[int]], most: int = MOST_CHUNKS) -> list[list[int]]:
    """Returns at most ``most`` of the chunks, evenly spread, with the first and the last one."""
    if len(chunks) <= most:
        return list(chunks)
    if most == 1:
        return [chunks[-1]]
    return [chunks[round(place * (len(chunks) - 1) / (most - 1))] for place in range(most)]


def estimate_curve_cost(engine: TurnEngine, session_id: str, most: int = MOST_CHUNKS) -> CurveCost:
    """Returns what ``measure_compression_curve`` would need, without calling the model."""
    session, models = engine.store.session(session_id), engine.models()
    if models.side.summaries != "model":
        return CurveCost()
    missing = [
        (chunk, rate)
        for chunk in choose_spread_chunks(finished_chunks(session.turn_count), most)
        for rate in RATES
        if version_at(engine, session_id, chunk[0], rate) is None
    ]
    if not missing:
        return CurveCost()
    raw = {chunk[0]: _count_chunk_tokens(engine, session_id, chunk) for chunk, _ in missing}
    prompt = sum(raw[chunk[0]] + REQUEST_TOKENS for chunk, _ in missing)
    answer = sum(round(raw[chunk[0]] * rate) for chunk, rate in missing)
    per_call = _average_summary_seconds(engine, session_id, models)
    return CurveCost(
        calls=len(missing),
        tokens=prompt + answer,
        seconds=None if per_call is None else per_call * len(missing),
        usd=price_side_calls(models, prompt, answer),
    )


def measure_compression_curve(
    engine: TurnEngine,
    session_id: str,
    most: int = MOST_CHUNKS,
    *,
    stop: threading.Event | None = None,
    heard: Callable[[Curve], None] = lambda curve: None,
) -> Curve:
    """Returns the curve over at most ``most`` chunks, and tells ``heard`` of it after every summary.

    Once ``stop`` is set it returns what is done. A summary that the model cannot make counts as failed. Raises the
    model's errors that have nothing to do with the text, such as a server that is away.
    """
    session, models = engine.store.session(session_id), engine.models()
    chunks = choose_spread_chunks(finished_chunks(session.turn_count), most)
    samples, spent, stopped = list[_CurveSample](), _CurveSpending(), False
    steps = len(chunks) * len(RATES)
    for chunk, rate in ((chunk, rate) for chunk in chunks for rate in RATES):
        try:
            if stop is not None and stop.is_set():
                raise Stopped
            samples.append(_sample_chunk_summary(engine, session, models, chunk, rate, stop, spent))
        except Stopped:
            stopped = True
            break
        heard(_build_curve(samples, spent, models, steps))
    return _build_curve(samples, spent, models, steps, stopped)


def _sample_chunk_summary(
    engine: TurnEngine,
    session: Session,
    models: ModelSet,
    chunk: list[int],
    rate: float,
    stop: threading.Event | None,
    spent: _CurveSpending,
) -> _CurveSample:
    """Returns the summary of a chunk at a rate, out of the ledger if it has one. Raises ``Stopped``."""
    ends, version = (chunk[0], chunk[-1]), version_at(engine, session.id, chunk[0], rate)
    if version is not None and version.record is not None:
        spent.reused += 1
        text, original = str(version.record["summary"]), int(version.record["original_chars"])
        return _CurveSample(ends, rate, original, len(text), models.count(text), len(version.kept), len(version.lost))
    try:
        made = make_at(engine, session, chunk, rate, models, stop)
    except GieokError as error:
        if not is_hopeless(error):
            raise
        spent.calls += 1
        return _CurveSample(ends, rate, failed=True)
    spent.calls += made.calls
    spent.prompt_tokens += made.prompt_tokens
    spent.answer_tokens += made.answer_tokens
    text, original = made.record["summary"], made.record["original_chars"]
    return _CurveSample(ends, rate, original, len(text), models.count(text), len(made.kept), len(made.lost))


def _build_curve(
    samples: Sequence[_CurveSample], spent: _CurveSpending, models: ModelSet, steps: int, stopped: bool = False
) -> Curve:
    """Returns the curve over the chunks that have a summary at every rate, so that the points can be compared; over the
    first chunk until it is complete."""
    complete = len(samples) // len(RATES) * len(RATES)
    shown = samples[:complete] or samples
    return Curve(
        points=tuple(_build_curve_point(rate, shown) for rate in RATES if any(sample.rate == rate for sample in shown)),
        chunks=tuple(dict.fromkeys(sample.chunk for sample in shown)),
        done=len(samples),
        steps=steps,
        reused=spent.reused,
        calls=spent.calls,
        prompt_tokens=spent.prompt_tokens,
        answer_tokens=spent.answer_tokens,
        seconds=time.monotonic() - spent.began,
        usd=price_side_calls(models, spent.prompt_tokens, spent.answer_tokens) if spent.calls else 0.0,
        stopped=stopped,
    )


def _build_curve_point(rate: float, samples: Sequence[_CurveSample]) -> CurvePoint:
    of_rate = [sample for sample in samples if sample.rate == rate]
    there = [sample for sample in of_rate if not sample.failed]
    return CurvePoint(
        rate=rate,
        summaries=len(there),
        failed=len(of_rate) - len(there),
        original=sum(sample.original for sample in there),
        length=sum(sample.length for sample in there),
        tokens=sum(sample.tokens for sample in there),
        kept=sum(sample.kept for sample in there),
        told=sum(sample.kept + sample.lost for sample in there),
    )


def _count_chunk_tokens(engine: TurnEngine, session_id: str, chunk: Sequence[int]) -> int:
    """Returns the raw tokens of a chunk's turns."""
    before = engine.store.tokens_before
    return before(session_id, chunk[-1] + 1) - before(session_id, chunk[0])


def _average_summary_seconds(engine: TurnEngine, session_id: str, models: ModelSet) -> float | None:
    """Returns the mean seconds of this conversation's newest summaries by the same model; None where there is none."""
    newest = engine.store.ledger.summaries(session_id, limit=NEWEST, superseded=True)
    timed = [row.seconds for row in newest if row.record and row.model == models.side_name and row.seconds]
    return fmean(timed) if timed else None
