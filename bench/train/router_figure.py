"""Measures the router on messages that it did not learn from: ``python -m bench.train.router_figure [FILE]``.

``MARGIN`` was chosen on the development set, the default file, and examples were added after a look at the errors on
it. Nothing was tuned on the rows of ``bench decide``, nor on those of ``fresh.jsonl``: 180 questions that the product's
documents answer, with their sections, and 428 messages that they do not answer, all in free words.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from bench.train.router import load_router_examples
from graph.choice.feature import LABELS, Label
from graph.choice.router import load_router

DEVELOPMENT = Path(__file__).with_name("router_data") / "development.jsonl"


def print_router_measures() -> None:
    """Prints a row for each label: the labels that its messages were routed to, and the share that is right."""
    routed: Counter[tuple[Label, Label]] = Counter()
    milliseconds = []
    for row in load_router_examples(Path(sys.argv[1]) if sys.argv[1:] else DEVELOPMENT):
        started = time.perf_counter()
        routed[row.label, load_router().route(row.question, row.previous).label] += 1
        milliseconds.append(1000 * (time.perf_counter() - started))
    lines = [" " * 10 + "".join(f"{label:>10}" for label in LABELS) + "     right"]
    for label in LABELS:
        counts = [routed[label, other] for other in LABELS]
        share = routed[label, label] / max(1, sum(counts))
        lines.append(f"{label:10}" + "".join(f"{count:>10}" for count in counts) + f"{share:>10.2f}")
    right = sum(count for (label, other), count in routed.items() if label == other) / routed.total()
    lines.append(f"right {right:.3f}, median {statistics.median(milliseconds):.1f} ms")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    print_router_measures()
