"""The instruction stands in every request of a story, so it must be short."""

from __future__ import annotations

import pytest

from model.call.token import estimate
from text.language import Language
from world.block import instruction, read
from world.block.field import FIELDS

MOST = 250
"""Tokens. The embedded model's own tokenizer counts a little more than the estimate, hence the margin."""


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_instruction_is_short_and_names_the_fields(language: Language) -> None:
    text = instruction(language)
    assert estimate(text) * 1.15 <= MOST
    assert {name for name in FIELDS if name in text} == set(FIELDS) - {"location_status"}


@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_model_that_repeats_the_instruction_writes_a_block(language: Language) -> None:
    assert len(read(instruction(language))) == 1
