"""The names of the tags between which models write their thoughts."""

from __future__ import annotations

THOUGHT_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning")
"""In small letters; ``<think>…</think>`` is the most common one."""
