"""What a refusal tells a client: the fault, whether to try again, and nothing about the machine."""

from __future__ import annotations

import string

import pytest

import errors
from errors import GieokError
from graph.turn.event import Failed
from server import refusal
from server.status import TABLE, status_of
from tests.table import table

CLASSES = sorted(TABLE, key=lambda kind: kind.__name__)
SECRET = "/home/anna/gieok http://10.0.0.7:8080"


def raised(kind: type[GieokError]) -> GieokError:
    """An error of this class, with a number where it writes a number, and a path and an address in all else."""
    values: dict[str, object] = {}
    for sentence in (kind.message, kind.hint):
        for _, name, form, _ in string.Formatter().parse(sentence):
            if name:
                values[name] = 7 if form else values.get(name, SECRET)
    if "seconds" in values:
        values["seconds"] = 7
    return kind(**values)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_of_ours_names_no_place_of_the_machine(kind: type[GieokError]) -> None:
    error = raised(kind)
    told = refusal.build_error_refusal(error)
    if told.http >= 500:
        assert "anna" not in str(told.error)
        assert "10.0.0.7" not in str(told.error)
    assert told.error["message"]


@table(
    ("error", "hidden", "shown"),
    [
        (errors.RequestRejected(url="http://10.0.0.7/v1", status=400, reason="bad tool"), "10.0.0.7", "bad tool"),
        (errors.ModelUnreachable(url="http://10.0.0.7/v1"), "10.0.0.7", "cannot be reached"),
        (errors.StoreUnavailable(where="/home/anna/gieok.db", reason="/home/anna: denied"), "anna", "again"),
        (errors.SessionUnknown(session="abc"), "10.0.0.7", "abc"),
    ],
)
def test_the_client_is_told_what_it_can_act_upon(error: GieokError, hidden: str, shown: str) -> None:
    message = str(refusal.build_error_refusal(error).error["message"])
    assert hidden not in message
    assert shown in message


def test_a_failed_turn_with_an_unknown_code_tells_nothing_of_its_own() -> None:
    told = refusal.build_turn_refusal(Failed(1, message=f"it broke at {SECRET}", code="unheard_of", retryable=False))
    assert (told.http, told.error["code"]) == (500, "unheard_of")
    assert "anna" not in str(told.error)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_client_library_is_told_whether_another_try_makes_sense(kind: type[GieokError]) -> None:
    answer = refusal.build_error_refusal(raised(kind)).response()
    wanted = kind.retryable or status_of(raised(kind)).wait != 0
    assert answer.headers["x-should-retry"] == ("true" if wanted else "false")
    assert wanted or "retry-after" not in answer.headers


def test_what_the_client_must_change_is_not_tried_again() -> None:
    assert refusal.build_field_refusal("n", "n is 1 here").response().headers["x-should-retry"] == "false"
