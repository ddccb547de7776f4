"""The features of a message that the router sees: its meaning, its letters, and the facts that code reads in it."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graph.choice.expression import find_text_numbers, read_stated_expression
from graph.tool.calculation import zone
from text import sentence
from text.clean import collapse_spaces

Label = Literal["time", "calculate", "documents", "recall", "remember", "forget", "none"]
LABELS: tuple[Label, ...] = ("time", "calculate", "documents", "recall", "remember", "forget", "none")
Values = NDArray[np.float32]
Places = NDArray[np.intp]

BUCKETS = 1 << 14
SHORTEST, LONGEST = 3, 6
"""Letters of a run. Korean syllables are taken apart, so that endings and typing errors share runs."""
FACTS = 7 + len(LABELS) - 1
LEANING_CHARS = 40
"""A longer message stands for itself and does not refer to the message before."""
HEAD, TAIL = 100, 140
"""Characters that are read of the beginning and of the end of a long message, where a request stands."""


def extract_message_core(text: str) -> str:
    """Returns the message, or the first and the last sentences of a long one: reading all of it would take a second."""
    text = collapse_spaces(text)
    if len(text) <= HEAD + TAIL:
        return text
    sentences = [part for part in sentence.split_sentences(text) if part.strip()]
    last = sentences[-1].strip()
    for before in reversed(sentences[1:-1]):
        if len(before) + len(last) > TAIL:
            break
        last = f"{before.strip()} {last}"
    return f"{sentences[0][:HEAD].strip()} {last[-TAIL:]}"


def hash_letter_runs(text: str) -> tuple[Places, Values]:
    """Returns the buckets of the letter runs in a text, each bucket once and in order, and their weights, of norm 1."""
    plain = re.sub(r"\d", "0", unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold()))
    letters = np.frombuffer(f" {collapse_spaces(plain)} ".encode("utf-32-le", "replace"), np.uint32)
    mixed, hashes = letters, []
    for length in range(2, min(LONGEST, len(letters)) + 1):
        mixed = mixed[:-1] * np.uint32(0x01000193) + letters[length - 1 :]
        if length >= SHORTEST:
            hashes.append(mixed * np.uint32(0x9E3779B1) >> np.uint32(18))
    if not hashes:
        return np.zeros(0, np.intp), np.zeros(0, np.float32)
    places, counts = np.unique(np.concatenate(hashes), return_counts=True)
    values = np.log1p(counts).astype(np.float32)
    return places.astype(np.intp), values / np.linalg.norm(values)


def read_message_facts(question: str, previous: str | None, before: Label) -> Values:
    """Returns the facts that code reads: whether the message states a sum, names a place, has a digit or several
    numbers, and the label of the question before (``before``) when the message may refer to that question.

    Shape ``(FACTS,)``.
    """
    leaning = previous is not None and len(question) <= LEANING_CHARS
    text = extract_message_core(question)
    told = find_text_numbers(text)
    names_place = bool(zone.find_named_zones(text))
    flags = [
        read_stated_expression(text) is not None,
        names_place,
        bool(told),
        len(told) > 1,
        leaning,
        leaning and names_place and before == "time",
        leaning and bool(told) and before == "calculate",
    ]
    return np.array([*flags, *(leaning and before == label for label in LABELS[:-1])], np.float32)
