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
from graph.summary import SLACK, SMALL, Made, Writer, make
from graph.turns import CHUNK
from model.modelset import ModelSet
from text import fact

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
        """The facts that were listed by hand, each once."""
        return list(dict.fromkeys(each for number in self.turns for each in self.dialogue.turns[number - 1].facts))


@dataclass(frozen=True)
class Outcome:
    """One summary, or None when it was rejected."""

    chunk: Chunk
    rate: float
    made: Made | None

    @property
    def error(self) -> float:
        """Distance from the target as a share of it; 1 for a rejected summary."""
        if self.made is None:
            return 1.0
        return abs(self.made.record["summary_chars"] - self.target) / max(1, self.target)

    @property
    def target(self) -> int:
        return int(sum(len(message.text) for message in self.chunk.messages) * self.rate)

    @property
    def over(self) -> bool:
        """Whether it is longer than a summary may be."""
        made = self.made
        return made is not None and self.target > SMALL and made.record["summary_chars"] > SLACK * self.target

    @property
    def listed_kept(self) -> int:
        """How many of the facts listed by hand are in the summary."""
        text = self.made.record["summary"] if self.made else ""
        return sum(_in(each, text) for each in self.chunk.listed)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this bench."""
    add_model_arguments(parser)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, help="compression rates to measure")
    parser.add_argument("--writer", choices=("model", "extracted"), help="who writes (default: as the profile says)")
    parser.add_argument("--set", choices=("all", "tuned", "held"), default="all", help="which dialogues")
    parser.add_argument("--show", action="store_true", help="list every summary with what it lost")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Summarises every three-turn chunk at every rate; the headline figures are those of rate 0.3.

    ``facts_kept``: by our own extractor; ``listed_kept``: of the facts listed by hand. ``held.…``: the dialogues that
    were kept out of tuning.
    """
    chunks = [each for each in samples() if args.set in ("all", "held" if each.dialogue.held else "tuned")]
    chosen = codes() if args.writer == "extracted" else models(args)
    return measure(chosen, chunks, args.rates, show=args.show, writer=args.writer or chosen.side.summaries)


def measure(
    chosen: ModelSet, chunks: Sequence[Chunk], rates: Sequence[float], *, show: bool, writer: Writer
) -> dict[str, object]:
    """The figures of these chunks at these rates."""
    outcomes = [
        summarise(chosen, chunk, rate, writer) for chunk in chunks for rate in rates
    ]  # one prompt for all rates
    head = [each for each in outcomes if each.rate == (HEADLINE if HEADLINE in rates else rates[0])]
    result: dict[str, object] = {
        "model": chosen.name,
        "profile": chosen.side.name,
        "writer": writer,
        "chunks": len(chunks),
        **figures(head),
    }
    for rate in sorted(rates):
        result |= _named(f"r{rate:g}", figures([each for each in outcomes if each.rate == rate]))
    held = [each for each in head if each.chunk.dialogue.held]
    result |= _named("held", figures(held)) if held and len(held) < len(head) else {}
    result["over"] = sum(each.over for each in outcomes)
    return result | ({"summaries": [_row(each) for each in outcomes]} if show else {})


def samples() -> list[Chunk]:
    """The three-turn chunks of all sample dialogues, as a chat would summarise them."""
    return [
        Chunk(each, tuple(range(first, first + CHUNK)))
        for each in dialogue.samples()
        for first in range(1, len(each.turns) - CHUNK + 2, CHUNK)
    ]


def summarise(chosen: ModelSet, chunk: Chunk, rate: float, writer: Writer) -> Outcome:
    """One chunk at one rate; a rejected summary is an outcome too."""
    try:
        made = make(
            chunk.messages,
            list(chunk.turns),
            thread_id=chunk.dialogue.id,
            rate=rate,
            models=chosen,
            language=chunk.dialogue.language,
            stop=None,
            writer=writer,
        )
    except SummaryRejected:
        made = None
    return Outcome(chunk, rate, made)


def figures(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Medians and shares over all chunks together; rejected summaries count as an error of 1."""
    done = [each.made for each in outcomes if each.made]
    kept, lost = sum(len(made.kept) for made in done), sum(len(made.lost) for made in done)
    listed = sum(len(each.chunk.listed) for each in outcomes)
    return {
        "median_error": round(statistics.median(each.error for each in outcomes), 3),
        "worst_error": round(max(each.error for each in outcomes), 3),
        "facts_kept": round(kept / max(1, kept + lost), 3),
        "listed_kept": round(sum(each.listed_kept for each in outcomes) / max(1, listed), 3),
        "seconds": round(statistics.median(made.seconds for made in done), 3) if done else None,
        "calls": sum(made.calls for made in done),
        "rejected": len(outcomes) - len(done),
        "over": sum(each.over for each in outcomes),
    }


def _in(listed: str, text: str) -> bool:
    """Whether a fact listed by hand is in a text: by value where it has one, else by its letters."""
    found = fact.facts(listed)
    if found:
        return all(fact.holds(text, each) for each in found)
    return re.sub(r"\s", "", listed).casefold() in re.sub(r"\s", "", text).casefold()


def _row(outcome: Outcome) -> dict[str, object]:
    made = outcome.made
    return {
        "dialogue": outcome.chunk.dialogue.id,
        "turns": f"{outcome.chunk.turns[0]}-{outcome.chunk.turns[-1]}",
        "rate": outcome.rate,
        "target": outcome.target,
        "length": made.record["summary_chars"] if made else 0,
        "summary": made.record["summary"] if made else "",
        "lost": ", ".join(made.lost) if made else "",
    }


def _named(prefix: str, figures: dict[str, object]) -> dict[str, object]:
    return {f"{prefix}.{name}": value for name, value in figures.items()}
