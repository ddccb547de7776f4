"""The figures of both sides: shares of right answers, failed checks, seconds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bench.everyday.check import Given, failed
from bench.everyday.conversation import KINDS, Conversation, EverydayTurn
from bench.everyday.side import Played
from bench.everyday.spelling import Span

Kept = dict[str, list[Played]]
"""The turns of one side by the name of the conversation."""
COUNTED = ("echo", "leak", "repeat")


@dataclass(frozen=True)
class Judged:
    """One turn of one side with the checks that its answer fails."""

    conversation: Conversation
    turn: EverydayTurn
    played: Played
    failed: tuple[str, ...]


def judge(chosen: Iterable[Conversation], kept: Kept) -> list[Judged]:
    """Returns every played turn of the chosen conversations with the checks that it fails."""
    return [
        judged
        for conversation in chosen
        if conversation.name in kept
        for judged in _judged(conversation, kept[conversation.name])
    ]


def figures(ours: Sequence[Judged], theirs: Sequence[Judged]) -> dict[str, object]:
    """Returns the figures that ``bench.plain.run`` explains. Shares, medians and ratios are None when a side that they
    need was not played."""
    right, plain = share(ours), share(theirs)
    held_out, plain_held_out = ([answer for answer in side if answer.conversation.held_out] for side in (ours, theirs))
    languages = sorted({answer.conversation.language for answer in ours})
    return {
        "turns": len(ours),
        "right_share": right,
        "plain_right_share": plain,
        "gain": None if right is None or plain is None else round(right - plain, 3),
        "held_out_right_share": share(held_out),
        "held_out_plain_right_share": share(plain_held_out),
        **{name: _failing(ours, name) for name in COUNTED},
        **{f"plain_{name}": _failing(theirs, name) for name in COUNTED},
        **_times(ours, theirs),
        "by_language": [
            {"language": language, **_both(_speaking(ours, language), _speaking(theirs, language))}
            for language in languages
        ],
        "by_kind": [
            {"kind": kind, **_both(_of_kind(ours, kind), _of_kind(theirs, kind))}
            for kind in KINDS
            if _of_kind(ours, kind)
        ],
    }


def rows(ours: Sequence[Judged], theirs: Sequence[Judged]) -> list[Mapping[str, object]]:
    """Returns one row per question: both answers and the checks that they fail."""
    plain = {_key(answer): answer for answer in theirs}
    return [_row(answer, plain.get(_key(answer))) for answer in ours]


def share(judged: Sequence[Judged]) -> float | None:
    """Returns the share of right turns; None without turns."""
    return round(sum(not answer.failed for answer in judged) / len(judged), 3) if judged else None


def _judged(conversation: Conversation, played: Sequence[Played]) -> Iterator[Judged]:
    listed, typed, before = "", "", tuple[str, ...]()
    for turn, result in zip(conversation.turns, played, strict=True):
        typed += f"\n{result.question}"
        span = Span(*(datetime.fromtimestamp(moment).astimezone() for moment in (result.began, result.ended)))
        language = turn.language or conversation.language
        given = Given(turn, result.question, result.answer, language, span, listed, typed, before)
        yield Judged(conversation, turn, result, tuple(failed(given)))
        listed, before = result.answer if turn.items else listed, (*before, result.answer)


def _times(ours: Sequence[Judged], theirs: Sequence[Judged]) -> dict[str, object]:
    """Returns the seconds of both sides. The ratios mean something only when both sides played the same
    conversations."""
    seconds, plain = ([answer.played.seconds for answer in side] for side in (ours, theirs))
    first, plain_first = (_median(answer.played.first for answer in side) for side in (ours, theirs))
    return {
        "first_token_ratio": _ratio(first, plain_first),
        "seconds_ratio": _ratio(sum(seconds), sum(plain)),
        "calls_per_turn": _mean(answer.played.calls for answer in ours),
        "first_token_seconds": first,
        "plain_first_token_seconds": plain_first,
        "slowest_seconds": round(max(seconds, default=0.0), 1),
        "plain_slowest_seconds": round(max(plain, default=0.0), 1),
        "seconds": round(sum(seconds), 1),
        "plain_seconds": round(sum(plain), 1),
    }


def _both(ours: Sequence[Judged], theirs: Sequence[Judged]) -> dict[str, object]:
    return {"turns": len(ours), "right_share": share(ours), "plain_right_share": share(theirs)}


def _speaking(judged: Sequence[Judged], language: str) -> list[Judged]:
    return [answer for answer in judged if answer.conversation.language == language]


def _of_kind(judged: Sequence[Judged], kind: str) -> list[Judged]:
    return [answer for answer in judged if answer.turn.kind == kind]


def _failing(judged: Sequence[Judged], name: str) -> int:
    return sum(name in answer.failed for answer in judged)


def _key(judged: Judged) -> tuple[str, int]:
    return judged.conversation.name, judged.conversation.turns.index(judged.turn)


def _row(ours: Judged, theirs: Judged | None) -> dict[str, object]:
    name, index = _key(ours)
    row: dict[str, object] = {"name": name, "turn": index + 1, "kind": ours.turn.kind, "question": ours.played.question}
    for prefix, judged in (("", ours), ("plain_", theirs)):
        if judged is not None:
            failing = ", ".join(judged.failed) + (f" ({judged.played.fault})" if judged.played.fault else "")
            row |= {f"{prefix}failed": failing, f"{prefix}answer": judged.played.answer}
            row |= {f"{prefix}seconds": round(judged.played.seconds, 1)}
    return row


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return round(statistics.median(known), 2) if known else None


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return round(statistics.fmean(known), 2) if known else None


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return round(ours / theirs, 2) if ours is not None and theirs else None
