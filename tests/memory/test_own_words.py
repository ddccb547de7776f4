"""What the product says in the user's role is never the user's, in the memory of today and in that of earlier
releases."""

from __future__ import annotations

import pytest

from memory.export.conversion import convert_memory
from prompt import render_prompt
from tests.memory.conversation import Conversations


@pytest.mark.parametrize("language", ["ko", "en"])
def test_a_request_to_go_on_is_no_statement_of_the_user(talks: Conversations, language: str) -> None:
    talks.say("My dog is called Bori.", render_prompt("go_on", language))
    talks.tell(range(1, 11))
    talks.fold()
    text = talks.view().text
    assert "Bori" in text
    assert render_prompt("go_on", language).rstrip(".") not in text


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_memory_of_an_earlier_release_loses_it(language: str) -> None:
    sentence = render_prompt("go_on", language)
    text = f"My dog is called Bori.\nearlier: {sentence}"
    memory = {"memory": text, "updated": 1.0, "version": 1}
    converted = convert_memory({"meta": {"session": "s"}, "memory": memory, "entities": []}, [])
    texts = [line["text"] for line in converted["lines"]]
    assert any("Bori" in each for each in texts)
    assert not any(sentence.rstrip(".") in each for each in texts)
