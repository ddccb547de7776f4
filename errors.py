"""The error taxonomy: one class per cause, grouped by who must act (design §1, style «errors»).

Every error carries a stable ``code`` (doors and the app translate by it), the values that the
sentence needs, and a hint that says what to do. Third-party exceptions are translated once, at the
boundary where they arise.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar


class GieokError(Exception):
    """Base of all errors that Gieok raises on purpose.

    ``code``: stable identifier; ``message``: what failed, with the value and the limit;
    ``hint``: what to do about it; ``values``: the numbers and names inside the message, for translation, as plain JSON
    data (they are written into rows); whatever else is given, a path for instance, becomes its text;
    ``retryable``: whether the same call may succeed later.
    """

    code: ClassVar[str] = "error"
    message: ClassVar[str] = "Something failed."
    hint: ClassVar[str] = ""
    retryable: ClassVar[bool] = False

    def __init__(self, **values: Any) -> None:
        self.values: dict[str, Any] = _plain(values)
        super().__init__(self.text())

    def __reduce__(self) -> tuple[Any, ...]:
        """As plain data, so that an error of another process arrives."""
        return partial(type(self), **self.values), ()

    def text(self) -> str:
        """The message with its values and, when there is one, the hint."""
        said = self.message.format(**self.values)
        advice = self.hint.format(**self.values)
        return f"{said} {advice}".strip()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def why(problem: Mapping[str, Any]) -> dict[str, Any]:
    """What pydantic complains about as values of an error: ``reason`` in its words, ``reason_code`` and limits for
    translation. The input is not among them."""
    limits = {name: value for name, value in (problem.get("ctx") or {}).items() if name != "error"}
    return {**limits, "reason": str(problem["msg"]).removeprefix("Value error, "), "reason_code": problem["type"]}


# --- the operator must act: settings, disk, installation ---------------------------------------


class OperatorError(GieokError):
    code = "operator"


class BadSetting(OperatorError):
    code = "bad_setting"
    message = "The setting {name} has the value {value!r}, which is not usable: {reason}."
    hint = "Correct it in the environment or in .env."


class MissingExtra(OperatorError):
    code = "missing_extra"
    message = "{feature} needs the package {package!r}, which is not installed."
    hint = "Install it with: pip install {package}"


class DiskFull(OperatorError):
    code = "disk_full"
    message = "No space is left on the disk that holds {path} ({needed} needed, {free} free)."
    hint = "Free some space and try again; nothing half-written was kept."


class StoreUnavailable(OperatorError):
    code = "store_unavailable"
    message = "The store at {where} cannot be used: {reason}."
    hint = "Check that the folder or the database exists and can be written."


class WeightsMissing(OperatorError):
    code = "weights_missing"
    message = "The weights of {name} could not be had from any source ({tried})."
    hint = "Check the network, point GIEOK_EMBEDDED_PATH at a GGUF file, or set OPENAI_API_KEY."
    retryable = True


class WeightsCorrupt(OperatorError):
    code = "weights_corrupt"
    message = "{path} is not the expected file: SHA-256 is {actual}, {expected} was expected."
    hint = "The file was not used. Delete it or choose another source, then try again."


class WeightsCancelled(OperatorError):
    code = "weights_cancelled"
    message = "Fetching the weights of {name} was stopped after {done} of {total}."
    hint = "What has arrived is kept; the next start goes on from there."
    retryable = True


class EmbeddedFailed(OperatorError):
    code = "embedded_failed"
    message = "The embedded model {name} did not start: {reason}."
    hint = "See {log} for what it printed; a smaller GIEOK_EMBEDDED_CONTEXT needs less memory."
    retryable = True


class MemoryAway(OperatorError):
    """Long-term memory cannot be reached; the chat goes on without it (design §6)."""

    code = "memory_away"
    message = "The long-term memory at {where} is away: {reason}."
    hint = "The chat goes on; missed turns are remembered when it is back. Check REDIS_URL if you set it."
    retryable = True


class LibraryCorrupt(OperatorError):
    """The index file is damaged; documents, passages and vectors are kept apart from it (design §7)."""

    code = "library_corrupt"
    message = "The search index {path} is damaged: {reason}."
    hint = (
        "Rebuild it on the documents page or with `python cli.py index --rebuild`; nothing is embedded again, and "
        "documents and conversations are not affected."
    )


class LibraryModelChanged(OperatorError):
    """Vectors of two models cannot be compared."""

    code = "library_model_changed"
    message = "The documents were embedded with {old}, and the setting now says {new}."
    hint = (
        "Rebuild the index on the documents page or with `python cli.py index --rebuild` (every passage is embedded "
        "again), or change EMBEDDING_MODEL back."
    )


class EmbeddingFailed(OperatorError):
    code = "embedding_failed"
    message = "The embedding model {model} failed: {reason}."
    hint = "What was embedded so far is kept. Check the model's settings and try again."
    retryable = True


# --- upstream must act: the model's server ------------------------------------------------------


class UpstreamError(GieokError):
    code = "upstream"
    retryable = True


class ModelUnreachable(UpstreamError):
    code = "model_unreachable"
    message = "The model at {url} cannot be reached."
    hint = "Check that the server runs and the network is up, then retry."


class ModelTimeout(UpstreamError):
    code = "model_timeout"
    message = "The model at {url} did not answer within {seconds:g} s."
    hint = "Retry, or raise GIEOK_MODEL_TIMEOUT."


class ModelBroken(UpstreamError):
    code = "model_broken"
    message = "The model at {url} failed in mid-answer: {reason}."
    hint = "What had arrived is kept, but is no answer. Retry."


class ModelOverloaded(UpstreamError):
    code = "model_overloaded"
    message = "The model at {url} is overloaded or out of quota (HTTP 429)."
    hint = "Wait a little and retry; check the account's limits if it stays so."


class ModelPaused(ModelOverloaded):
    """Overloaded, by a server that says for how long."""

    code = "model_paused"
    hint = "Its server asks to wait {seconds:,} s before the next try."


class NoCredit(UpstreamError):
    code = "no_credit"
    message = "The account at {url} has no credit left."
    hint = "Top it up or choose another model, then retry."


class ModelServerError(UpstreamError):
    code = "model_server_error"
    message = "The model at {url} failed on its side (HTTP {status}): {reason}."
    hint = "Retry; if it stays so, look at that server's log."


class KeyRejected(UpstreamError):
    code = "key_rejected"
    message = "The model at {url} rejected the key (HTTP {status})."
    hint = "Check OPENAI_API_KEY."
    retryable = False


class ModelUnknown(UpstreamError):
    code = "model_unknown"
    message = "The server at {url} has no model {model!r}."
    hint = "Check CHAT_MODEL and OPENAI_BASE_URL."
    retryable = False


class RequestRejected(UpstreamError):
    code = "request_rejected"
    message = "The model at {url} rejected the request (HTTP {status}): {reason}."
    hint = "Change the question, or check the settings of the model."
    retryable = False


class ToolsRejected(UpstreamError):
    code = "tools_rejected"
    message = "The model {model!r} at {url} takes no tools."
    hint = "Set GIEOK_NATIVE_TOOLS=false: then code chooses the tools."
    retryable = False


class ContextTooLong(UpstreamError):
    code = "context_too_long"
    message = "The question needs about {tokens:,} tokens, and the model takes {limit:,}."
    hint = "Shorten the message or split it into parts."
    retryable = False


class ContextOverflow(ContextTooLong):
    """Too long, by a server that does not say by how much (OpenAI's newer models)."""

    code = "context_overflow"
    message = "The question is longer than the model takes."


# --- the model's output cannot be used ----------------------------------------------------------


class ModelOutputError(GieokError):
    code = "model_output"
    retryable = True


class EmptyAnswer(ModelOutputError):
    code = "empty_answer"
    message = "The model gave an empty answer."
    hint = "Retry, or ask in other words."


class AnswerCutOff(ModelOutputError):
    """The model's thinking, or whatever it sends that is no answer, took all of the answer's tokens."""

    code = "answer_cut_off"
    message = "The model used up its {tokens:,} tokens before it began to answer."
    hint = "Raise GIEOK_ANSWER_TOKENS, or choose a model that thinks less."


class ToolsUsedUp(ModelOutputError):
    code = "tools_used_up"
    message = "After {limit} rounds of tools the model asked for more of them and gave no answer."
    hint = "Retry, ask for less at once, or raise GIEOK_TOOL_LIMIT."


class AnswerRefused(ModelOutputError):
    code = "answer_refused"
    message = "The model's server withheld the answer (content filter)."
    hint = "Ask in other words."


class SummaryRejected(ModelOutputError):
    """A summary that must not replace its turns (design §5 «Checked before it counts»)."""

    code = "summary_rejected"
    message = "The summary of turns {first}-{last} was not used: {reason}."
    hint = "The turns stay in the context as they are; it is tried again at the next turn."


class FoldRejected(ModelOutputError):
    """A new memory that must not replace the old one (design §6)."""

    code = "fold_rejected"
    message = "The memory of turns {first}-{last} was not used: {reason}."
    hint = "The memory stays as it was and the turns are kept; it is tried again after a later turn."


# --- the author of a document must act ----------------------------------------------------------


class DocumentError(GieokError):
    """A file that cannot be taken into the library; the others go on."""

    code = "document"


class DocumentEmpty(DocumentError):
    code = "document_empty"
    message = "{name!r} has no text."
    hint = "A scanned document needs its text recognised (OCR) first."


class DocumentBroken(DocumentError):
    code = "document_broken"
    message = "{name!r} cannot be read: {reason}."
    hint = "Open it in its own program, save it again and add that."


class DocumentMissing(DocumentError):
    code = "document_missing"
    message = "{name!r} is not there: {path}."
    hint = "Check the path. What was read from it before stays as it was."


class DocumentEncrypted(DocumentError):
    code = "document_encrypted"
    message = "{name!r} is protected by a password."
    hint = "Save it without a password and add that."


class DocumentNotEmbedded(DocumentError):
    """The embedding model works, but refuses a passage of this document."""

    code = "document_not_embedded"
    message = "{name!r} cannot be embedded by {model}: {reason}."
    hint = "Divide its long tables and lines, or choose an embedding model that reads more at once."


class DocumentTooLarge(DocumentError):
    code = "document_too_large"
    message = "{name!r} has {size:,} bytes; the limit is {limit:,}."
    hint = "Split it, or raise GIEOK_DOCUMENT_LIMIT."


class DocumentMislabelled(DocumentError):
    code = "document_mislabelled"
    message = "{name!r} calls itself {claimed}, and its content is {found}."
    hint = "Give it the right ending and add it again."


class DocumentKindUnknown(DocumentError):
    code = "document_kind_unknown"
    message = "{name!r} is of no kind that can be read; known are {known}."
    hint = "Save it as one of these."


# --- the caller must act ------------------------------------------------------------------------


class CallerError(GieokError):
    code = "caller"


class EmptyMessage(CallerError):
    code = "empty_message"
    message = "The message is empty."
    hint = "Write something first."


class EmptySummary(CallerError):
    code = "empty_summary"
    message = "The summary is empty."
    hint = "Write something first."


class MessageTooLong(CallerError):
    code = "message_too_long"
    message = "The message has {size:,} characters; the limit is {limit:,}."
    hint = "Shorten it or split it into parts. It was not sent."


class SessionBusy(CallerError):
    code = "session_busy"
    message = "The session {session!r} is still answering another message."
    hint = "Wait for that answer or stop it."
    retryable = True


class SessionUnknown(CallerError):
    code = "session_unknown"
    message = "There is no session {session!r}."
    hint = "Choose one from the list or start a new one."


class SessionDeleted(CallerError):
    """A session that was put away takes no message until it is brought back (``store.store.Store.put_away``)."""

    code = "session_deleted"
    message = "The session {session!r} was deleted."
    hint = "Bring it back before you go on with it."


class TurnUnknown(CallerError):
    code = "turn_unknown"
    message = "The session {session!r} has no turn {turn}."
    hint = "Reload the session and choose one of its turns."


class QuestionUnknown(CallerError):
    """A turn asks the user before memory is changed; another version of the turn asks for itself."""

    code = "question_unknown"
    message = "Turn {turn} of session {session!r} asks nothing that can be answered now."
    hint = "Reload the session. Memory was not changed."


class QuestionAnswered(CallerError):
    code = "question_answered"
    message = "This question of turn {turn} in session {session!r} was answered already."
    hint = "Reload the session to see the answer. It was not changed."


class SummaryUnknown(CallerError):
    code = "summary_unknown"
    message = "The session {session!r} has no summary of turns from {turn} on (version {version})."
    hint = "Reload the session and choose one of its summaries."


class NothingToRetry(CallerError):
    code = "nothing_to_retry"
    message = "The last turn of session {session!r} is complete; there is nothing to retry."


class BadRate(CallerError):
    code = "bad_rate"
    message = "The compression rate {value!r} is outside 0.1 to 0.5."
    hint = "Choose a rate from 0.1 (short) to 0.5 (detailed)."


class MemoryTooLarge(CallerError):
    code = "memory_too_large"
    message = "The {what} has {size:,} characters; memory takes {limit:,}."
    hint = "Shorten it. Memory was not changed."


class MemoryBlank(CallerError):
    code = "memory_blank"
    message = "The {what} is blank."
    hint = "Write something first. Memory was not changed."


class PinsFull(CallerError):
    code = "pins_full"
    message = "Memory holds {limit} pinned facts already, no more."
    hint = "Take a pin off first. Memory was not changed."


class NothingToUndo(CallerError):
    code = "nothing_to_undo"
    message = "The memory of session {session!r} has no earlier version."


class BadImport(CallerError):
    code = "bad_import"
    message = "The file is not an export of memory: {reason}."
    hint = "Choose a file that Gieok exported. Nothing was changed."


class BadConversation(CallerError):
    code = "bad_conversation"
    message = "The file cannot be imported: {reason} (at {place})."
    hint = "Choose a file that Gieok exported, or ChatGPT's export (.zip or conversations.json). Nothing was imported."


class ConversationTooNew(CallerError):
    code = "conversation_too_new"
    message = "The file was written by a newer Gieok: its form is {found}, and this one reads up to {known}."
    hint = "Update Gieok and import it again. Nothing was imported."


class FileTooLarge(CallerError):
    code = "file_too_large"
    message = "The file has {size:,} bytes; the limit is {limit:,}."
    hint = "Import a smaller one, or raise GIEOK_IMPORT_LIMIT. Nothing was imported."


class DocumentUnknown(CallerError):
    code = "document_unknown"
    message = "There is no document {document!r}."
    hint = "Reload the list and choose one of its documents."


class PassageUnknown(CallerError):
    code = "passage_unknown"
    message = "There is no passage {passage!r} any more."
    hint = "Its document was changed or removed; ask again."


class LibraryBusy(CallerError):
    code = "library_busy"
    message = "The library is being changed by another program."
    hint = "Wait until that is done and try again."
    retryable = True


class PromptError(GieokError):
    """A prompt file and its use disagree: the author of the prompt must act."""

    code = "prompt"
    message = "The prompt {name!r} ({language}): {reason}."


class ScriptExhausted(GieokError):
    """The scripted test model was called more often than its script has answers."""

    code = "script_exhausted"
    message = "The scripted model was called {calls} times, and its script has {answers} answers."


class Interrupted(GieokError):
    """The process that ran the turn ended before its answer did (design §3)."""

    code = "interrupted"
    message = "The answer to turn {turn} was cut off because the program that made it ended."
    hint = "Retry it; nothing that was said is lost."
    retryable = True


class Unexpected(GieokError):
    """An exception that nobody foresaw: a fault of Gieok or of something it uses."""

    code = "unexpected"
    message = "Something unexpected failed ({kind})."
    hint = "Nothing that was said is lost. Retry; the log says where it failed."
    retryable = True


def trace(error: BaseException) -> str:
    """Kind and place of an exception for the log, without its message: that may hold what somebody said."""
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"
