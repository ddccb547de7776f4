"""JSON in a reply, wherever it stands."""

from __future__ import annotations

import pytest

from model.call.json_reply import MOST_TRIES, find_json_objects


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": [{"b": "}"}]}\n```', {"a": [{"b": "}"}]}),
        ('<think>{so} {"a": 0}</think> {"a": 1} Anything else?', {"a": 1}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": 1} {"b": ', {"a": 1}),
    ],
)
def test_the_last_whole_object_comes_first(text: str, first: dict[str, object]) -> None:
    assert next(find_json_objects(text)) == first


def test_what_an_object_holds_comes_after_it_and_before_earlier_ones() -> None:
    found = [*find_json_objects('{"draft": 1} {"result": {"a": 1}}')]
    assert found == [{"result": {"a": 1}}, {"a": 1}, {"draft": 1}]


@pytest.mark.parametrize("text", ["", "no JSON at all", "{" * 100_000, '{"a": ' * 3000, "[1, 2]"])
def test_a_reply_without_an_object_gives_none(text: str) -> None:
    assert [*find_json_objects(text)] == []


def test_not_every_brace_is_tried() -> None:
    assert [*find_json_objects("{ " * MOST_TRIES + '{"a": 1}')] == []
