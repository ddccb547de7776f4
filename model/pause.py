"""How long work behind the answers waits after the model's server failed: folds and chunk summaries."""

MOST_TURNS = 16
"""Most turns that a next try waits."""


def count_pause(failures: int) -> int:
    """Returns the turns until the next try after so many failures in a row, at least one: 1, 2, 4 … ``MOST_TURNS``."""
    return int(min(2 ** (min(failures, 10) - 1), MOST_TURNS))
