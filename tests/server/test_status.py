"""The table of errors: every class has a row, and the rows say what programs expect."""

from __future__ import annotations

import inspect
from typing import get_args

import pytest

import errors
from errors import GieokError
from server.status import SAID, TABLE, ErrorStatus, TaskState, Type, retry_after, status_of
from tests.table import table

CLASSES = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, GieokError)]
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    503: "api_error",
    504: "api_error",
}


class Values(dict[str, object]):
    """Values of an error, whichever its sentences ask for."""

    def __missing__(self, name: str) -> int:
        return 7


def raised(kind: type[GieokError]) -> GieokError:
    """An error of this class, whatever its message needs."""
    error = kind.__new__(kind)
    error.values = Values()
    return error


def test_every_error_has_a_row_of_its_own() -> None:
    assert [kind.__name__ for kind in CLASSES if kind not in TABLE] == []


def test_the_table_of_errors_has_no_row_for_anything_else() -> None:
    assert set(TABLE) == set(CLASSES)


@table("kind", CLASSES)
def test_the_row_of_an_error_is_usable_in_every_protocol(kind: type[GieokError]) -> None:
    status = status_of(raised(kind))
    assert TYPES[status.http] == status.type
    assert status.type in get_args(Type)
    assert status.task in get_args(TaskState)
    assert status.code
    assert -32768 <= status.rpc <= -32000
    assert status.wait >= SAID


@table("kind", CLASSES)
def test_who_must_act_on_an_error_decides_between_the_callers_fault_and_ours(kind: type[GieokError]) -> None:
    status = status_of(raised(kind))
    if issubclass(kind, errors.CallerError) and kind is not errors.EvaluationFailed:
        assert 400 <= status.http < 500
    if issubclass(kind, errors.OperatorError):
        assert status.http >= 500
    assert (status.http < 500 or status.http == 429) or status.task == "TASK_STATE_FAILED"


@table("kind", CLASSES)
def test_only_an_error_that_may_pass_says_when_to_try_again(kind: type[GieokError]) -> None:
    assert kind.retryable or not status_of(raised(kind)).wait


@table("kind", CLASSES)
def test_an_error_of_the_models_server_never_asks_the_caller_for_a_key(kind: type[GieokError]) -> None:
    if issubclass(kind, errors.UpstreamError):
        assert status_of(raised(kind)).http not in (401, 403, 404)


KNOWN: list[tuple[GieokError, int, str, str]] = [
    (errors.SessionBusy(session="s"), 409, "conflict_error", "session_busy"),
    (errors.SessionUnknown(session="s"), 404, "not_found_error", "session_unknown"),
    (errors.NoUserMessage(field="messages"), 400, "invalid_request_error", "no_user_message"),
    (errors.ContextTooLong(tokens=9, limit=8), 400, "invalid_request_error", "context_length_exceeded"),
    (errors.ContextOverflow(), 400, "invalid_request_error", "context_length_exceeded"),
    (errors.NoCredit(url="u"), 429, "rate_limit_error", "insufficient_quota"),
    (errors.KeyRejected(url="u", status=401), 502, "api_error", "key_rejected"),
    (errors.ModelTimeout(url="u", seconds=60), 504, "api_error", "model_timeout"),
    (errors.AnswerRefused(), 400, "invalid_request_error", "content_filter"),
    (errors.Unexpected(kind="KeyError"), 500, "api_error", "unexpected"),
]


@table(("error", "http", "kind", "code"), KNOWN, ids=[type(row[0]).__name__ for row in KNOWN])
def test_errors_that_clients_act_upon(error: GieokError, http: int, kind: str, code: str) -> None:
    status = status_of(error)
    assert (status.http, status.type, status.code) == (http, kind, code)


def test_a_later_error_without_a_row_counts_as_what_it_is_derived_from() -> None:
    class Later(errors.SessionUnknown):
        code = "later"

    base = status_of(errors.SessionUnknown(session="s"))
    assert status_of(Later(session="s")) == ErrorStatus(
        404, "not_found_error", "later", base.rpc, "TASK_STATE_REJECTED", a2a=base.a2a, mcp="result"
    )


@table(
    ("error", "code"),
    [
        (errors.SessionUnknown(session="s"), -32001),
        (errors.DocumentMislabelled(name="n", claimed="c", found="f"), -32005),
        (errors.Empty(what="message"), -32602),
        (errors.StoreUnavailable(where="w", reason="r"), -32603),
    ],
)
def test_errors_have_the_codes_of_a2a(error: GieokError, code: int) -> None:
    assert status_of(error).a2a == code


@pytest.mark.parametrize(("seconds", "after"), [(30, 30), (0.2, 1), (12.4, 13)])
def test_an_error_that_says_how_long_to_wait_is_believed(seconds: float, after: int) -> None:
    paused = errors.ModelPaused.__new__(errors.ModelPaused)
    paused.values = {"url": "u", "seconds": seconds}
    assert retry_after(paused) == after


def test_the_wait_after_other_errors_is_that_of_the_table() -> None:
    assert retry_after(errors.SessionBusy(session="s")) == 2
    assert retry_after(errors.ModelTimeout(url="u", seconds=60)) is None
    assert retry_after(errors.SessionUnknown(session="s")) is None


def test_a_call_of_a_tool_ends_with_a_result_that_its_model_can_act_on_unless_the_fault_is_ours() -> None:
    endings = {kind: status_of(raised(kind)) for kind in CLASSES}
    assert {status.mcp for status in endings.values() if status.http == 500} == {"error"}
    results = {kind for kind, status in endings.items() if status.mcp == "error"}
    assert {status_of(raised(kind)).http for kind in results} == {401, 500}
