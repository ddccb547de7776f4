"""What the product says in the user's role is never the user's, in the memory of today and in that of earlier
releases."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, update

from memory.export.conversion import convert_memory
from prompt import render_prompt
from store.database import memory_table, schema
from tests.memory.conftest import OpenMemory
from tests.memory.conversation import Conversations

OF_THE_PAGE = ("멈춘 곳부터 이어서 써 줘.", "Go on from where you stopped.")
"""What the page said for the user in earlier versions."""
SENTENCES = (*(render_prompt("go_on", language) for language in ("ko", "en")), *OF_THE_PAGE)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_request_to_go_on_is_no_statement_of_the_user(talks: Conversations, sentence: str) -> None:
    talks.say("My dog is called Bori.", sentence)
    talks.tell(range(1, 11))
    talks.fold()
    text = talks.view().text
    assert "Bori" in text
    assert sentence.rstrip(".") not in text


@pytest.mark.parametrize("sentence", OF_THE_PAGE)
def test_lines_that_the_page_said_leave_the_memory_at_the_next_start(opened: OpenMemory, sentence: str) -> None:
    talks, line = opened(), memory_table.line
    talks.say("My dog is called Bori.", "My cat is called Nabi.")
    talks.tell(range(1, 11))
    talks.fold()
    with talks.store.everyone.transaction() as connection:
        of_cat = line.c.text.contains("Nabi") & (line.c.kind == "sentence")
        changed = connection.execute(update(line).where(of_cat).values(text=f"User said: {sentence}"))
        assert changed.rowcount == 1
        of_dog = line.c.text.contains("Bori") & (line.c.kind == "sentence")
        connection.execute(update(line).where(of_dog).values(text=f"User said: My dog is called Bori. {sentence}"))
        connection.execute(delete(schema.schema_version).where(schema.schema_version.c.step == 9))
    talks.memory.close()
    text = opened().view().text
    assert "User said: My dog is called Bori." in text
    assert sentence not in text


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_memory_of_an_earlier_release_loses_it(sentence: str) -> None:
    text = f"My dog is called Bori.\nearlier: {sentence}\nturn 3: My cat is called Nabi. {sentence}"
    memory = {"memory": text, "updated": 1.0, "version": 1}
    converted = convert_memory({"meta": {"session": "s"}, "memory": memory, "entities": []}, [])
    texts = [line["text"] for line in converted["lines"]]
    assert any("Bori" in each for each in texts)
    assert any("Nabi" in each for each in texts), "what else the line says stays"
    assert not any(sentence.rstrip(".") in each for each in texts)
