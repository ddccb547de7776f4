"""The names of the tags between which models write their thoughts, in small letters."""

from __future__ import annotations

THOUGHT_NAMES = ("think", "thinking", "thought", "thoughts")
"""Thoughts wherever they stand at the beginning of an answer: a reader finds them folded above it."""
INNER_NAMES = (*THOUGHT_NAMES, "reasoning")
"""What is no part of a summary, nor of what two texts are compared by. A reader sees ``<reasoning>`` as it came, for
prompts ask for an answer in such parts."""
