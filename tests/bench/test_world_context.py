"""The bench of the world's context, small: over a real database and real indexes."""

from __future__ import annotations

import argparse

from bench import world_context


def test_a_small_run_gives_every_figure() -> None:
    parser = argparse.ArgumentParser()
    world_context.add_arguments(parser)
    sizes = ("--rounds", "3", "--lore", "260", "--episodes", "50", "--people", "20", "--turns", "8")
    result = world_context.run(parser.parse_args(sizes))
    assert {"p95_ms", "p95_ms_with_embedding", "growth", "opening_ms", "first", "later"} <= set(result)
    first = result["first"]
    assert isinstance(first, dict)
    assert 0 < first["median_ms"] <= first["p95_ms"] < first["embedded_p95_ms"]
    tokens = result["tokens"]
    assert isinstance(tokens, dict)
    assert min(tokens[part] for part in ("prefix", "state", "files", "episodes", "lore")) > 100
