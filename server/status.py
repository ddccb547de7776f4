"""How every error looks through a door that speaks a protocol: one table from the classes of ``errors.py``.

A row of its own for each class: whoever adds an error decides here what its callers see. The text of an error is its
own (``GieokError.text``); the table holds what programs read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import errors
from errors import GieokError

Type = Literal[
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "conflict_error",
    "rate_limit_error",
    "api_error",
]
TaskState = Literal["TASK_STATE_REJECTED", "TASK_STATE_AUTH_REQUIRED", "TASK_STATE_FAILED"]
Ending = Literal["result", "error"]
REJECTED: TaskState = "TASK_STATE_REJECTED"
FAILED: TaskState = "TASK_STATE_FAILED"
INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR, SERVER_ERROR = -32600, -32602, -32603, -32000
TASK_NOT_FOUND, CONTENT_TYPE_NOT_SUPPORTED = -32001, -32005
"""Codes of A2A's own."""
SAID = -1
"""In the column ``wait``: the error says how long, as its value ``seconds``."""


_A2A = {404: TASK_NOT_FOUND, 415: CONTENT_TYPE_NOT_SUPPORTED}


@dataclass(frozen=True, slots=True)
class ErrorStatus:
    """A row. ``http``: the status code; ``type``, ``code``: of OpenAI's error object; ``rpc``: the code of JSON-RPC,
    for MCP; ``task``: the state of an A2A task that ends so; ``wait``: the seconds until another try makes sense, 0 for
    never; ``a2a``: the code of JSON-RPC, for A2A. An empty ``code`` stands for the error's own. ``mcp``: how a tool
    call of MCP ends so: with a ``result`` that says what failed, which the calling model reads and can act on, or with
    an ``error`` of the protocol.
    """

    http: int
    type: Type
    code: str = ""
    rpc: int = INTERNAL_ERROR
    task: TaskState = FAILED
    wait: int = 0
    a2a: int = INTERNAL_ERROR
    mcp: Ending = "error"


def _build_refused_status(
    http: int, kind: Type = "invalid_request_error", code: str = "", wait: int = 0
) -> ErrorStatus:
    """Returns the row of an error that the caller can avoid."""
    return ErrorStatus(http, kind, code, INVALID_PARAMS, REJECTED, wait, _A2A.get(http, INVALID_PARAMS), "result")


def _build_away_status(http: int, wait: int = 0, kind: Type = "api_error", code: str = "") -> ErrorStatus:
    """Returns the row of an error of something that we depend on."""
    return ErrorStatus(http, kind, code, SERVER_ERROR, FAILED, wait, mcp="result")


BAD, UNKNOWN, CONFLICT = (
    _build_refused_status(400),
    _build_refused_status(404, "not_found_error"),
    _build_refused_status(409, "conflict_error"),
)
FORBIDDEN, TOO_LARGE, WRONG_KIND, UNUSABLE = (
    _build_refused_status(403, "permission_error"),
    _build_refused_status(413),
    _build_refused_status(415),
    _build_refused_status(422),
)
BUSY = replace(CONFLICT, wait=2, rpc=SERVER_ERROR)
TOO_LONG_FOR_MODEL = _build_refused_status(400, code="context_length_exceeded")
FAULT, UNAVAILABLE, NO_ANSWER = ErrorStatus(500, "api_error"), _build_away_status(503), _build_away_status(502)
STARTING = _build_away_status(503, wait=30)

TABLE: dict[type[GieokError], ErrorStatus] = {
    GieokError: FAULT,
    # the operator must act: a caller learns that the service cannot answer now
    errors.OperatorError: FAULT,
    errors.BadSetting: FAULT,
    errors.NeedsKey: FAULT,
    errors.NeedsLogin: FAULT,
    errors.BadLogin: FAULT,
    errors.BadAddress: FAULT,
    errors.PortTaken: FAULT,
    errors.MissingExtra: FAULT,
    errors.DiskFull: UNAVAILABLE,
    errors.StoreUnavailable: _build_away_status(503, wait=5),
    errors.StoreDamaged: UNAVAILABLE,
    errors.StoreEmptied: UNAVAILABLE,
    errors.KeyLocked: UNAVAILABLE,
    errors.WeightsMissing: STARTING,
    errors.WeightsCorrupt: UNAVAILABLE,
    errors.WeightsCancelled: UNAVAILABLE,
    errors.EmbeddedFailed: STARTING,
    errors.MemoryAway: STARTING,
    errors.LibraryCorrupt: UNAVAILABLE,
    errors.LibraryModelChanged: UNAVAILABLE,
    errors.EmbeddingFailed: NO_ANSWER,
    # the model's server must act; its 401 is not ours, because the caller's key is right
    errors.UpstreamError: NO_ANSWER,
    errors.ModelUnreachable: _build_away_status(503, wait=5),
    errors.ModelTimeout: _build_away_status(504),
    errors.ModelBroken: NO_ANSWER,
    errors.ModelOverloaded: _build_away_status(429, 10, "rate_limit_error", "rate_limit_exceeded"),
    errors.ModelPaused: _build_away_status(429, SAID, "rate_limit_error", "rate_limit_exceeded"),
    errors.NoCredit: _build_away_status(429, 0, "rate_limit_error", "insufficient_quota"),
    errors.ModelServerError: NO_ANSWER,
    errors.KeyRejected: NO_ANSWER,
    errors.ModelsUnlisted: NO_ANSWER,
    errors.ModelUnknown: NO_ANSWER,
    errors.RequestRejected: BAD,
    errors.ToolsRejected: NO_ANSWER,
    errors.ImagesRejected: BAD,
    errors.ContextTooLong: TOO_LONG_FOR_MODEL,
    errors.SystemTextTooLong: TOO_LONG_FOR_MODEL,
    errors.ContextOverflow: TOO_LONG_FOR_MODEL,
    # the model's output cannot be used
    errors.ModelOutputError: NO_ANSWER,
    errors.EmptyAnswer: NO_ANSWER,
    errors.AnswerCutOff: NO_ANSWER,
    errors.ToolsUsedUp: NO_ANSWER,
    errors.AnswerRefused: _build_refused_status(400, code="content_filter"),
    errors.FormUnmet: NO_ANSWER,
    errors.SummaryRejected: NO_ANSWER,
    errors.FoldRejected: NO_ANSWER,
    # the author of a document must act
    errors.DocumentError: UNUSABLE,
    errors.DocumentEmpty: UNUSABLE,
    errors.DocumentRowless: UNUSABLE,
    errors.DocumentScanned: UNUSABLE,
    errors.DocumentBroken: UNUSABLE,
    errors.DocumentMissing: UNKNOWN,
    errors.DocumentEncrypted: UNUSABLE,
    errors.DocumentNotEmbedded: UNUSABLE,
    errors.DocumentTooLarge: TOO_LARGE,
    errors.DocumentTooLong: TOO_LARGE,
    errors.DocumentTooSlow: UNUSABLE,
    errors.DocumentTooHeavy: UNUSABLE,
    errors.DocumentUnread: FAULT,
    errors.DocumentOutside: FORBIDDEN,
    errors.PageError: UNUSABLE,
    errors.PageAddress: BAD,
    errors.PagePrivate: FORBIDDEN,
    errors.PageUnread: NO_ANSWER,
    errors.PageGone: UNKNOWN,
    errors.PageRobots: FORBIDDEN,
    errors.PageKind: WRONG_KIND,
    errors.PageLimit: TOO_LARGE,
    errors.DocumentMislabelled: WRONG_KIND,
    errors.DocumentKindUnknown: WRONG_KIND,
    # the caller must act
    errors.CallerError: BAD,
    errors.Empty: BAD,
    errors.TooLong: BAD,
    errors.OutOfRange: BAD,
    errors.UnknownChoice: BAD,
    errors.NoUserMessage: BAD,
    errors.BadUserName: BAD,
    errors.BadImage: BAD,
    errors.ImageUnreadable: BAD,
    errors.ImagesUnsupported: BAD,
    errors.BadTextFile: BAD,
    errors.FileTaken: CONFLICT,
    errors.FileUnwritten: BAD,
    errors.BadScenario: BAD,
    errors.EvaluationFailed: FAULT,
    errors.PresetTaken: CONFLICT,
    errors.PresetUnknown: UNKNOWN,
    errors.SessionBusy: BUSY,
    errors.LoggedOut: ErrorStatus(401, "authentication_error", "", SERVER_ERROR, "TASK_STATE_AUTH_REQUIRED"),
    errors.SessionUnknown: UNKNOWN,
    errors.WorldUnknown: UNKNOWN,
    errors.NothingBeside: CONFLICT,
    errors.StorySideQuestion: CONFLICT,
    errors.WorldTurnTaken: CONFLICT,
    errors.WorldMendOverwritten: CONFLICT,
    errors.WorldTurnRaw: CONFLICT,
    errors.FolderUnknown: UNKNOWN,
    errors.SessionDeleted: CONFLICT,
    errors.PrivateEnded: UNKNOWN,
    errors.TurnUnknown: UNKNOWN,
    errors.QuestionUnknown: UNKNOWN,
    errors.QuestionAnswered: CONFLICT,
    errors.SummaryUnknown: UNKNOWN,
    errors.NothingToRetry: CONFLICT,
    errors.NothingToAnswer: CONFLICT,
    errors.ServersUnreadable: FAULT,
    errors.ServerEntryWrong: BAD,
    errors.ServerUnreachable: _build_away_status(503, wait=5),
    errors.PinsFull: CONFLICT,
    errors.NothingToUndo: CONFLICT,
    errors.BadBackup: BAD,
    errors.BackupTaken: CONFLICT,
    errors.NotSqlite: BAD,
    errors.BadImport: BAD,
    errors.BadConversation: BAD,
    errors.BadBook: BAD,
    errors.ConversationTooNew: BAD,
    errors.BadWorldFile: UNUSABLE,
    errors.FileTooLarge: TOO_LARGE,
    errors.DocumentUnknown: UNKNOWN,
    errors.PassageUnknown: UNKNOWN,
    errors.LibraryBusy: BUSY,
    errors.TableQueryFailed: UNUSABLE,
    # faults of Gieok
    errors.PromptError: FAULT,
    errors.ScriptExhausted: FAULT,
    errors.Interrupted: FAULT,
    errors.Unexpected: FAULT,
}


def status_of(error: GieokError) -> ErrorStatus:
    """Returns the row of an error, with its code. A class without a row has that of the class it is derived from."""
    row = next(TABLE[base] for base in type(error).__mro__ if base in TABLE)
    return row if row.code else replace(row, code=error.code)


def retry_after(error: GieokError) -> int | None:
    """Returns the whole seconds after which another try makes sense (HTTP's ``Retry-After``); None for never."""
    wait = status_of(error).wait
    if wait == SAID:
        return max(1, math.ceil(float(error.values["seconds"])))
    return wait or None
