"""What the answers of both sides come to."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bench.everyday.check import Given, failed
from bench.everyday.conversation import KINDS, Conversation, Turn
from bench.everyday.side import Played
from bench.everyday.spelling import Span

Kept = dict[str, list[Played]]
"""The turns of one side by the name of the conversation."""
COUNTED = ("echo", "leak", "repeat")


@dataclass(frozen=True)
class Judged:
    """One turn of one side with the checks that it fails."""

    conversation: Conversation
    turn: Turn
    played: Played
    failed: tuple[str, ...]


def judge(chosen: Iterable[Conversation], kept: Kept) -> list[Judged]:
    """Every turn that was played."""
    return [judged for each in chosen if each.name in kept for judged in _judged(each, kept[each.name])]


def figures(ours: Sequence[Judged], theirs: Sequence[Judged]) -> dict[str, object]:
    """The figures that ``bench.plain.run`` explains; what needs a side that was left out is None."""
    right, plain = share(ours), share(theirs)
    held, plain_held = ([each for each in some if each.conversation.held_out] for some in (ours, theirs))
    languages = sorted({each.conversation.language for each in ours})
    return {
        "turns": len(ours),
        "right_share": right,
        "plain_right_share": plain,
        "gain": None if right is None or plain is None else round(right - plain, 3),
        "held_out_right_share": share(held),
        "held_out_plain_right_share": share(plain_held),
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
    """Every question with both answers and the checks that they fail."""
    plain = {_key(each): each for each in theirs}
    return [_row(each, plain.get(_key(each))) for each in ours]


def share(judged: Sequence[Judged]) -> float | None:
    """How many of the turns are right; None where there are none."""
    return round(sum(not each.failed for each in judged) / len(judged), 3) if judged else None


def _judged(conversation: Conversation, played: Sequence[Played]) -> Iterator[Judged]:
    listed, typed, before = "", "", tuple[str, ...]()
    for turn, each in zip(conversation.turns, played, strict=True):
        typed += f"\n{each.question}"
        span = Span(*(datetime.fromtimestamp(moment).astimezone() for moment in (each.began, each.ended)))
        language = turn.language or conversation.language
        given = Given(turn, each.question, each.answer, language, span, listed, typed, before)
        yield Judged(conversation, turn, each, tuple(failed(given)))
        listed, before = each.answer if turn.items else listed, (*before, each.answer)


def _times(ours: Sequence[Judged], theirs: Sequence[Judged]) -> dict[str, object]:
    """Ratios are of the conversations that both sides played."""
    seconds, plain = ([each.played.seconds for each in some] for some in (ours, theirs))
    first, plain_first = (_median(each.played.first for each in some) for some in (ours, theirs))
    return {
        "first_token_ratio": _ratio(first, plain_first),
        "seconds_ratio": _ratio(sum(seconds), sum(plain)),
        "calls_per_turn": _mean(each.played.calls for each in ours),
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
    return [each for each in judged if each.conversation.language == language]


def _of_kind(judged: Sequence[Judged], kind: str) -> list[Judged]:
    return [each for each in judged if each.turn.kind == kind]


def _failing(judged: Sequence[Judged], name: str) -> int:
    return sum(name in each.failed for each in judged)


def _key(judged: Judged) -> tuple[str, int]:
    return judged.conversation.name, judged.conversation.turns.index(judged.turn)


def _row(ours: Judged, theirs: Judged | None) -> dict[str, object]:
    name, index = _key(ours)
    row: dict[str, object] = {"name": name, "turn": index + 1, "kind": ours.turn.kind, "question": ours.played.question}
    for before, judged in (("", ours), ("plain_", theirs)):
        if judged is not None:
            failing = ", ".join(judged.failed) + (f" ({judged.played.fault})" if judged.played.fault else "")
            row |= {f"{before}failed": failing, f"{before}answer": judged.played.answer}
            row |= {f"{before}seconds": round(judged.played.seconds, 1)}
    return row


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return round(statistics.median(known), 2) if known else None


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return round(statistics.fmean(known), 2) if known else None


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return round(ours / theirs, 2) if ours is not None and theirs else None
