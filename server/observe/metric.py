"""What the endpoint counts, in Prometheus' form. No label names a user, a session or a key.

Several worker processes count into files of one folder (``settings.metrics_folder``), so that each of them can tell the
sum of all.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import psutil
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from graph.context.report import ContextReport
from graph.turn.event import Done
from settings import metrics_folder

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self._folder = metrics_folder()
        if self._folder is not None:
            _delete_dead_gauges(self._folder)
        self.requests = Counter("gieok_requests", "Requests by route and status.", ("route", "status"), registry=own)
        self.errors = Counter("gieok_errors", "Refused or failed requests by code.", ("code",), registry=own)
        self.seconds = Histogram("gieok_answer_seconds", "Seconds of an answer.", buckets=SECONDS, registry=own)
        self.first = Histogram(
            "gieok_first_token_seconds", "Seconds to the first token.", buckets=SECONDS, registry=own
        )
        self.tokens = Counter("gieok_tokens", "Tokens of answers by kind.", ("kind",), registry=own)
        self.running = Gauge("gieok_running_turns", "Answers under way.", registry=own, multiprocess_mode="livesum")
        self.memory_away = Gauge(
            "gieok_memory_away", "1 while Redis is away.", registry=own, multiprocess_mode="livemax"
        )

    def count_answer(self, done: Done, report: ContextReport | None) -> None:
        """Counts an answer. ``report``: of its last prompt, if it had one."""
        self.seconds.observe(done.seconds)
        if done.first_token_seconds is not None:
            self.first.observe(done.first_token_seconds)
        self.tokens.labels("prompt").inc(done.usage.prompt_tokens)
        self.tokens.labels("cached").inc(done.usage.cached_tokens)
        self.tokens.labels("answer").inc(done.usage.answer_tokens)
        self.tokens.labels("saved").inc(max(0, report.saved_tokens) if report is not None else 0)

    def page(self) -> bytes:
        """Returns the counters of all processes of the service."""
        registry = self._registry
        if self._folder is not None:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, path=str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def close(self) -> None:
        """Takes this process out of the sums of what is now."""
        if self._folder is not None:
            mark_process_dead(os.getpid(), str(self._folder))  # type: ignore[no-untyped-call]


def _delete_dead_gauges(folder: Path) -> None:
    """Takes processes that were killed out of the sums of what is now."""
    for file in folder.glob("gauge_live*.db"):
        with suppress(ValueError, OSError):
            process = int(file.stem.rpartition("_")[2])
            if process == os.getpid() or not psutil.pid_exists(process):
                file.unlink(missing_ok=True)
