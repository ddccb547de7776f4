"""The instruction stands in every request of a story, so it must be short."""

from __future__ import annotations

import pytest

from model.call.token import estimate_tokens
from text.language import Language
from world.block import build_block_instruction, read_answer_blocks
from world.block.field import FIELDS

MOST = 250
"""Tokens. The embedded model's own tokenizer counts a little more than the estimate, hence the margin."""


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_instruction_is_short_and_names_the_fields(language: Language) -> None:
    text = build_block_instruction(language)
    assert estimate_tokens(text) * 1.15 <= MOST
    assert {name for name in FIELDS if name in text} == set(FIELDS) - {"location_status", "items_used"}


@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_model_that_repeats_the_instruction_writes_a_block(language: Language) -> None:
    assert len(read_answer_blocks(build_block_instruction(language))) == 1
