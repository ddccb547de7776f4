"""Chunk summaries on a real model: length error, facts kept and seconds at rates 0.1, 0.3 and 0.5."""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AnyMessage

from bench import dialogue
from bench.models import add_arguments as add_model_arguments
from bench.models import codes, models
from errors import SummaryRejected
from graph.context.turns import CHUNK
from graph.summary import SLACK, SMALL, ChunkSource, Made, Writer, make_chunk_summary
from model.modelset import ModelSet
from text.fact import fact

HEADLINE = 0.3
RATES = (HEADLINE, 0.1, 0.5)


@dataclass(frozen=True)
class Chunk:
    """Three consecutive turns of a sample dialogue."""

    dialogue: dialogue.Dialogue
    turns: tuple[int, ...]

    @property
    def messages(self) -> list[AnyMessage]:
        return [message for number in self.turns for message in self.dialogue.turns[number - 1].messages]

    @property
    def listed(self) -> list[str]:
        """Returns the facts that were listed by hand, each fact once."""
        return list(
            dict.fromkeys(listed_fact for number in self.turns for listed_fact in self.dialogue.turns[number - 1].facts)
        )


@dataclass(frozen=True)
class SummaryOutcome:
    """The summary of a chunk at a rate; ``made`` is None when the summary was rejected."""

    chunk: Chunk
    rate: float
    made: Made | None

    @property
    def error(self) -> float:
        """Returns the distance from the target length as a share of the target; 1 for a rejected summary."""
        if self.made is None:
            return 1.0
        return abs(self.made.record["summary_chars"] - self.target) / max(1, self.target)

    @property
    def target(self) -> int:
        return int(sum(len(message.text) for message in self.chunk.messages) * self.rate)

    @property
    def over(self) -> bool:
        """Returns whether the summary is longer than allowed: than ``SLACK`` times a target above ``SMALL``."""
        summary = self.made
        return summary is not None and self.target > SMALL and summary.record["summary_chars"] > SLACK * self.target

    @property
    def listed_kept(self) -> int:
        """Returns how many of the facts listed by hand are in the summary."""
        text = self.made.record["summary"] if self.made else ""
        return sum(_in(listed_fact, text) for listed_fact in self.chunk.listed)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    add_model_arguments(parser)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, help="compression rates to measure")
    parser.add_argument("--writer", choices=("model", "extracted"), help="who writes (default: as the profile says)")
    parser.add_argument("--set", choices=("all", "tuned", "held"), default="all", help="which dialogues")
    parser.add_argument("--show", action="store_true", help="list every summary with what it lost")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Summarises every three-turn chunk at every rate; the headline figures are those of rate 0.3.

    ``facts_kept``: the share of the facts that Gieok's own extractor finds; ``listed_kept``: the share of the facts
    listed by hand. ``held.…``: the figures of the dialogues that were kept out of tuning.
    """
    chunks = [chunk for chunk in samples() if args.set in ("all", "held" if chunk.dialogue.held else "tuned")]
    chosen = codes() if args.writer == "extracted" else models(args)
    return measure(chosen, chunks, args.rates, show=args.show, writer=args.writer or chosen.side.summaries)


def measure(
    chosen: ModelSet, chunks: Sequence[Chunk], rates: Sequence[float], *, show: bool, writer: Writer
) -> dict[str, object]:
    """Returns the figures of these chunks at these rates."""
    outcomes = [
        summarise(chosen, chunk, rate, writer) for chunk in chunks for rate in rates
    ]  # all rates of a chunk share one prompt
    head = [outcome for outcome in outcomes if outcome.rate == (HEADLINE if HEADLINE in rates else rates[0])]
    result: dict[str, object] = {
        "model": chosen.name,
        "profile": chosen.side.name,
        "writer": writer,
        "chunks": len(chunks),
        **figures(head),
    }
    for rate in sorted(rates):
        result |= _named(f"r{rate:g}", figures([outcome for outcome in outcomes if outcome.rate == rate]))
    held_out = [outcome for outcome in head if outcome.chunk.dialogue.held]
    result |= _named("held", figures(held_out)) if held_out and len(held_out) < len(head) else {}
    result["over"] = sum(outcome.over for outcome in outcomes)
    return result | ({"summaries": [_row(outcome) for outcome in outcomes]} if show else {})


def samples() -> list[Chunk]:
    """Returns the three-turn chunks of all sample dialogues, as a conversation summarises them."""
    return [
        Chunk(sample, tuple(range(first, first + CHUNK)))
        for sample in dialogue.samples()
        for first in range(1, len(sample.turns) - CHUNK + 2, CHUNK)
    ]


def summarise(chosen: ModelSet, chunk: Chunk, rate: float, writer: Writer) -> SummaryOutcome:
    """Summarises one chunk at one rate; a rejected summary gives an outcome, too."""
    try:
        source = ChunkSource(chunk.messages, list(chunk.turns), chunk.dialogue.id, rate, chunk.dialogue.language)
        summary = make_chunk_summary(source, chosen, None, writer=writer)
    except SummaryRejected:
        summary = None
    return SummaryOutcome(chunk, rate, summary)


def figures(outcomes: Sequence[SummaryOutcome]) -> dict[str, object]:
    """Returns medians and shares over all outcomes together; a rejected summary counts as an error of 1."""
    summaries = [outcome.made for outcome in outcomes if outcome.made]
    kept, lost = sum(len(summary.kept) for summary in summaries), sum(len(summary.lost) for summary in summaries)
    listed = sum(len(outcome.chunk.listed) for outcome in outcomes)
    return {
        "median_error": round(statistics.median(outcome.error for outcome in outcomes), 3),
        "worst_error": round(max(outcome.error for outcome in outcomes), 3),
        "facts_kept": round(kept / max(1, kept + lost), 3),
        "listed_kept": round(sum(outcome.listed_kept for outcome in outcomes) / max(1, listed), 3),
        "seconds": round(statistics.median(summary.seconds for summary in summaries), 3) if summaries else None,
        "calls": sum(summary.calls for summary in summaries),
        "rejected": len(outcomes) - len(summaries),
        "over": sum(outcome.over for outcome in outcomes),
    }


def _in(listed: str, text: str) -> bool:
    """Returns whether a fact listed by hand is in a text: by value where the fact has one, else by its letters."""
    facts = fact.find_facts(listed)
    if facts:
        return all(fact.has_fact_value(text, value) for value in facts)
    return re.sub(r"\s", "", listed).casefold() in re.sub(r"\s", "", text).casefold()


def _row(outcome: SummaryOutcome) -> dict[str, object]:
    summary = outcome.made
    return {
        "dialogue": outcome.chunk.dialogue.id,
        "turns": f"{outcome.chunk.turns[0]}-{outcome.chunk.turns[-1]}",
        "rate": outcome.rate,
        "target": outcome.target,
        "length": summary.record["summary_chars"] if summary else 0,
        "summary": summary.record["summary"] if summary else "",
        "lost": ", ".join(summary.lost) if summary else "",
    }


def _named(prefix: str, figures: dict[str, object]) -> dict[str, object]:
    return {f"{prefix}.{name}": value for name, value in figures.items()}
