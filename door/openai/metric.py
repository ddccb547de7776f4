"""What the endpoint counts, in Prometheus' form. No label names a user, a session or a key."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from graph.turn.event import Done

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "gieok_requests", "Requests by route and status.", ("route", "status"), registry=self.registry
        )
        self.errors = Counter("gieok_errors", "Refused or failed requests by code.", ("code",), registry=self.registry)
        self.seconds = Histogram("gieok_turn_seconds", "Seconds of a turn.", buckets=SECONDS, registry=self.registry)
        self.first = Histogram(
            "gieok_first_token_seconds", "Seconds to the first token.", buckets=SECONDS, registry=self.registry
        )
        self.tokens = Counter("gieok_tokens", "Tokens of turns.", ("kind",), registry=self.registry)
        self.running = Gauge("gieok_running_turns", "Turns that run now.", registry=self.registry)
        self.memory_away = Gauge("gieok_memory_away", "1 while Redis is away.", registry=self.registry)

    def ended(self, done: Done) -> None:
        """Counts a finished turn."""
        self.seconds.observe(done.seconds)
        if done.first_token_seconds is not None:
            self.first.observe(done.first_token_seconds)
        self.tokens.labels("prompt").inc(done.usage.prompt_tokens)
        self.tokens.labels("cached").inc(done.usage.cached_tokens)
        self.tokens.labels("answer").inc(done.usage.answer_tokens)
