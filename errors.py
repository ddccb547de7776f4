"""All errors of Gieok: one class per cause, grouped by who must act (design 1.5).

Every error carries a stable ``code`` (doors and the app translate by it), the values that the sentence needs, and a
hint that says what to do. Third-party exceptions are translated once, at the boundary where they arise.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

_SCHEME = re.compile(r"^[\w+.-]+://")
_ADDRESS = re.compile(r"[a-z][\w+.-]*://\S+", re.IGNORECASE)


class GieokError(Exception):
    """Base of all errors that Gieok raises on purpose.

    ``code``: stable identifier; ``message``: what failed, with the value and the limit; ``single``: the same where its
    turns, from ``first`` to ``last``, are one; ``hint``: what to do about it;
    ``values``: the numbers and names inside the message, for translation; ``retryable``: whether the same call may
    succeed later; ``outside``: what a caller through a door reads in place of both, where they speak to the operator.

    ``values`` are plain JSON data, because they are written into rows, without the secrets of addresses; a value of any
    other type, a path for instance, becomes its text.
    """

    code: ClassVar[str] = "error"
    message: ClassVar[str] = "Something went wrong."
    single: ClassVar[str] = ""
    hint: ClassVar[str] = "Try again; if this keeps happening, look at the program's log."
    outside: ClassVar[str] = ""
    retryable: ClassVar[bool] = False

    def __init__(self, **values: Any) -> None:
        self.values: dict[str, Any] = redact_json_data(values)
        super().__init__(self.text())

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns the error as plain data for pickling, so that an error of another process arrives."""
        return partial(type(self), **self.values), ()

    def text(self) -> str:
        """Returns the message with its values and, when there is one, the hint."""
        is_single = bool(self.single) and self.values.get("first") == self.values.get("last")
        sentence = (self.single if is_single else self.message).format(**self.values)
        advice = self.hint.format(**self.values)
        return f"{sentence} {advice}".strip()


def redact_json_data(value: Any) -> Any:
    """Returns a value as plain JSON data, without the secrets of addresses."""
    if isinstance(value, Mapping):
        return {str(name): redact_json_data(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json_data(item) for item in value]
    return value if value is None or isinstance(value, int | float) else redact_addresses(str(value))


def redact_addresses(text: str) -> str:
    """Returns the text with every address as ``hide_address_secrets`` gives it, for a page, a row, a log or an
    export."""
    return _ADDRESS.sub(lambda match: hide_address_secrets(match[0]), text)


def hide_address_secrets(address: str) -> str:
    """Returns an address without its secrets: user, password, query and fragment, where servers take keys.

    Only the scheme is left where the secrets cannot be told from the host, as with a «?» in a password.
    """
    scheme = "".join(_SCHEME.findall(address))
    where, _, options = address.removeprefix(scheme).partition("?")
    if "@" in options:
        return f"{scheme}…"
    return scheme + (where if where.startswith("/") else where.rpartition("@")[2].partition("#")[0])


def explain_validation_problem(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Returns pydantic's complaint as values of an error: ``reason`` in pydantic's words, ``reason_code`` and limits
    for translation. The input is not among them."""
    limits = {name: value for name, value in (problem.get("ctx") or {}).items() if name != "error"}
    return {**limits, "reason": str(problem["msg"]).removeprefix("Value error, "), "reason_code": problem["type"]}


def ensure_gieok_error(error: Exception, log: logging.Logger, task: str) -> GieokError:
    """Returns an error of Gieok's as it is. Logs any other one with its trace and returns ``Unexpected`` in its place.

    ``task``: what failed, for the log, without any content of a message.
    """
    if isinstance(error, GieokError):
        return error
    log.error("%s failed unexpectedly: %s", task, format_error_trace(error))
    return Unexpected(kind=type(error).__name__)


# --- the operator must act: settings, disk, installation ---------------------------------------


class OperatorError(GieokError):
    code = "operator"
    message = "Something is wrong with the settings or the installation."
    hint = "Look at the program's log."


class BadSetting(OperatorError):
    code = "bad_setting"
    message = "The setting {name} has the value {value!r}, which is not usable: {reason}."
    hint = "Correct it in the environment or in .env."


class NeedsLogin(OperatorError):
    """The page is to be reached from elsewhere, and nobody would know who reaches it (``server.network.reach``)."""

    code = "needs_login"
    message = "Without a login the page does not open at {address}: whoever reaches it would see every conversation."
    hint = (
        "Set up [auth] in .streamlit/secrets.toml, or name the header of your reverse proxy in GIEOK_USER_HEADER"
        " (docs/guide/en/several-users.md). Without either it opens at 127.0.0.1 only."
    )


class NeedsKey(OperatorError):
    """The endpoint is to be reached from elsewhere, and nobody would need a key (``server.network.serving``)."""

    code = "needs_key"
    message = "Without a key the endpoint does not open at {address}: whoever reaches it would see every conversation."
    hint = "Create one with: python cli.py key add NAME. Without a key it opens at 127.0.0.1 only."


class BadLogin(OperatorError):
    """The login of the page is set up in a way that cannot work."""

    code = "bad_login"
    message = "The section [auth] of .streamlit/secrets.toml is not usable: {reason}."
    hint = "docs/guide/en/several-users.md has an example."


class BadAddress(OperatorError):
    """Nothing can be served at an address that this machine does not have, or at a port that it may not use."""

    code = "bad_address"
    message = "Nothing can be served at {address}: {reason}."
    hint = "Name an address of this machine (0.0.0.0 stands for all of them) and a port from 1024 on."


class PortTaken(OperatorError):
    code = "port_taken"
    message = "Another program listens at port {port} of {address}."
    hint = "End it, or choose another port with --port."


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
    outside = (
        "The service cannot use its database at the moment. Send the same request again after the seconds of"
        " Retry-After; if that does not help, tell whoever runs the service."
    )
    retryable = True


class StoreDamaged(StoreUnavailable):
    """A database has pages that cannot be read; nobody's rights are at fault, and trying again does not help."""

    code = "store_damaged"
    message = "The database {where} is damaged: {reason}."
    hint = (
        "Stop Gieok and copy the data folder before anything else. Then bring back the newest backup (python cli.py"
        ' restore), or rescue the copy with: sqlite3 gieok.db ".recover" | sqlite3 new.db (docs/guide/en/backup.md).'
    )
    outside = (
        "The service's database is damaged, and trying again does not help: tell whoever runs the service, who finds"
        " what to do in the log."
    )
    retryable = False


class StoreEmptied(StoreUnavailable):
    """The database is a file of 0 bytes beside data of an earlier use; to begin anew unasked would hide the loss."""

    code = "store_emptied"
    message = "The database {where} has 0 bytes, though {beside} beside it holds data: something has emptied it."
    hint = (
        "Bring back the newest backup (docs/guide/en/backup.md). To begin anew without the conversations, delete"
        " the empty file."
    )
    outside = "The service's database is empty, and trying again does not help: tell whoever runs the service."
    retryable = False


class KeyLocked(OperatorError):
    """The stored key of the chosen model cannot be read (``model.choice.kept``)."""

    code = "key_locked"
    message = "The API key cannot be read from {place}."
    hint = "Unlock the keyring and try again, or enter the key again in the settings."
    retryable = True


class WeightsMissing(OperatorError):
    code = "weights_missing"
    message = "The weights of {name} could not be downloaded from any source ({tried})."
    hint = "Check the network, point GIEOK_EMBEDDED_PATH at a GGUF file, or set OPENAI_API_KEY."
    retryable = True


class WeightsCorrupt(OperatorError):
    code = "weights_corrupt"
    message = "{path} is not the expected file: its SHA-256 is {actual} instead of {expected}."
    hint = "The file was not used. Delete it or choose another source, then try again."


class WeightsCancelled(OperatorError):
    code = "weights_cancelled"
    message = "The download of {name} was stopped after {done} of {total}."
    hint = "What was downloaded is kept; the next start continues from there."
    retryable = True


class EmbeddedFailed(OperatorError):
    code = "embedded_failed"
    message = "The embedded model {name} did not start: {reason}."
    hint = "See {log} for what it printed; a smaller GIEOK_EMBEDDED_CONTEXT needs less memory."
    retryable = True


class MemoryAway(OperatorError):
    """Redis cannot be reached; memory is read from the database meanwhile (design 6.7)."""

    code = "memory_away"
    message = "Redis at {where} is unavailable: {reason}."
    hint = "Nothing is lost: only the fast copy of memory is missing. Check REDIS_URL if you set it."
    retryable = True


class LibraryCorrupt(OperatorError):
    """The index file is damaged; documents, passages and vectors are kept apart from it (design 7.1)."""

    code = "library_corrupt"
    message = "The search index {path} is damaged: {reason}."
    hint = (
        "Rebuild it on the documents page or with `python cli.py index --rebuild`; nothing is embedded again, and "
        "documents and chats are not affected."
    )


class LibraryModelChanged(OperatorError):
    """The setting names another embedding model than the index was made with; their vectors cannot be compared."""

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
    message = "The model's server has a problem."
    hint = "Wait a little and try again."
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
    message = "The model at {url} failed in the middle of an answer: {reason}."
    hint = "What had arrived is kept, but does not count as an answer. Try again."


class ModelOverloaded(UpstreamError):
    code = "model_overloaded"
    message = "The model at {url} is overloaded or out of quota (HTTP 429)."
    hint = "Wait a little and retry; check the account's limits if this keeps happening."


class ModelPaused(ModelOverloaded):
    """An overload of a server that says how long to wait."""

    code = "model_paused"
    hint = "Its server asks to wait {seconds:,} s before the next try."


class NoCredit(UpstreamError):
    code = "no_credit"
    message = "The account at {url} has no credit left."
    hint = "Top it up or choose another model, then retry."


class ModelServerError(UpstreamError):
    code = "model_server_error"
    message = "The model at {url} returned an error (HTTP {status}): {reason}."
    hint = "Retry; if this keeps happening, look at that server's log."


class KeyRejected(UpstreamError):
    code = "key_rejected"
    message = "The API key is not valid for the model at {url} (HTTP {status})."
    hint = "Check the key, in the settings or as OPENAI_API_KEY."
    retryable = False


class ModelsUnlisted(UpstreamError):
    """The server does not say which models it has; it may still work."""

    code = "models_unlisted"
    message = "The server at {url} does not list its models."
    hint = "Type the name of the model. If the address is not right, correct it: it ends with /v1 on most servers."
    retryable = False


class ModelUnknown(UpstreamError):
    code = "model_unknown"
    message = "The server at {url} has no model {model!r}."
    hint = "Check the model's name and the address, in the settings or as CHAT_MODEL and OPENAI_BASE_URL."
    retryable = False


class RequestRejected(UpstreamError):
    code = "request_rejected"
    message = "The model at {url} rejected the request (HTTP {status}): {reason}."
    hint = "Change the question, or check the settings of the model."
    retryable = False


class ToolsRejected(UpstreamError):
    code = "tools_rejected"
    message = "The model {model!r} at {url} does not support tools."
    hint = "Set GIEOK_NATIVE_TOOLS=false to let code choose the tools."
    retryable = False


class ImagesRejected(RequestRejected):
    """The model's server refused a request because of its images. ``lasting``: the model takes none at all, so that it
    need not be asked again; else it refused these."""

    code = "images_rejected"
    message = "The model {model!r} at {url} did not take the images."
    hint = "Leave the images out, or choose a model that takes images."


class ContextTooLong(UpstreamError):
    code = "context_too_long"
    message = "The question needs about {tokens:,} tokens, and the model's context window is {limit:,}."
    hint = "Shorten the message or split it into parts."
    retryable = False


class SystemTextTooLong(ContextTooLong):
    """The client's system text crowds the question out of the context window. ``limit``: the tokens of a prompt."""

    code = "system_text_too_long"
    message = "The client's system text needs about {tokens:,} tokens, and a prompt has room for {limit:,}."
    hint = "Shorten the system text, or choose a model with a larger context window."


class ContextOverflow(ContextTooLong):
    """A prompt that is too long for a server that does not name its limit (OpenAI's newer models)."""

    code = "context_overflow"
    message = "The question is longer than the model's context window."


# --- the model's output cannot be used ----------------------------------------------------------


class ModelOutputError(GieokError):
    code = "model_output"
    message = "The model's output could not be used."
    hint = "Try again."
    retryable = True


class EmptyAnswer(ModelOutputError):
    code = "empty_answer"
    message = "The model gave an empty answer."
    hint = "Retry, or rephrase the question."


class AnswerCutOff(ModelOutputError):
    """The model's thinking, or other output that is no answer, used up all of the answer's tokens."""

    code = "answer_cut_off"
    message = "The model used up its {tokens:,} tokens before it began to answer."
    hint = "Raise GIEOK_ANSWER_TOKENS, or choose a model that thinks less."


class ToolsUsedUp(ModelOutputError):
    code = "tools_used_up"
    message = "After {limit} rounds of tools the model asked for more instead of answering."
    hint = "Retry, ask for less at a time, or raise GIEOK_TOOL_LIMIT."


class AnswerRefused(ModelOutputError):
    code = "answer_refused"
    message = "The model's server withheld the answer (content filter)."
    hint = "Rephrase the question."


class FormUnmet(ModelOutputError):
    code = "form_unmet"
    message = "The model's answer is not the JSON that was asked for: {reason}."
    hint = "Retry, or ask for a simpler schema."


class SummaryRejected(ModelOutputError):
    """A summary that must not replace its turns (design 5.3)."""

    code = "summary_rejected"
    message = "The summary of turns {first}-{last} was not used: {reason}."
    single = "The summary of turn {first} was not used: {reason}."
    hint = "The turns stay in the context in full; it is retried at the next turn."


class FoldRejected(ModelOutputError):
    """A new memory that must not replace the old one (design 6.2)."""

    code = "fold_rejected"
    message = "The memory of turns {first}-{last} was not used: {reason}."
    single = "The memory of turn {first} was not used: {reason}."
    hint = "The memory stays as it was and the turns are kept; it is retried after a later turn."


# --- the author of a document must act ----------------------------------------------------------


class DocumentError(GieokError):
    """A file that cannot be taken into the library; the other files are not affected."""

    code = "document"
    message = "The document could not be used."
    hint = "Try another file."


class DocumentEmpty(DocumentError):
    code = "document_empty"
    message = "{name!r} has no text."
    hint = "It is blank, or a page that a script draws: save it from the browser, and add that file."


class DocumentRowless(DocumentError):
    code = "document_rowless"
    message = "{name!r} is a table without rows: it has only the columns {columns}."
    hint = "Add the rows below these columns."


class DocumentScanned(DocumentError):
    """A file of pictures; ``tool``: the program that would recognise their text, and is not installed."""

    code = "document_scanned"
    message = "{name!r} holds pictures of its pages and no text, and {tool} is not installed here."
    hint = "Install it (Debian: apt-get install tesseract-ocr tesseract-ocr-kor), or add a file with recognised text."


class DocumentBroken(DocumentError):
    code = "document_broken"
    message = "{name!r} cannot be read: {reason}."
    hint = "Open it in its original program, save it again, and add the new file."


class DocumentMissing(DocumentError):
    code = "document_missing"
    message = "{name!r} does not exist: {path}."
    hint = "Check the path. What was read from it before stays as it was."


class DocumentEncrypted(DocumentError):
    code = "document_encrypted"
    message = "{name!r} is password-protected."
    hint = "Save it without a password and add it again."


class DocumentNotEmbedded(DocumentError):
    """The embedding model works, but refuses a passage of this document."""

    code = "document_not_embedded"
    message = "{name!r} cannot be embedded by {model}: {reason}."
    hint = "Split its long tables and lines, or choose an embedding model that takes longer texts."


class DocumentTooLarge(DocumentError):
    code = "document_too_large"
    message = "{name!r} has {size:,} bytes; the limit is {limit:,}."
    hint = "Split it, or raise GIEOK_DOCUMENT_LIMIT."


class DocumentTooLong(DocumentError):
    code = "document_too_long"
    message = "{name!r} has {size:,} passages; the limit is {limit:,}."
    hint = "Split it."


class DocumentTooSlow(DocumentError):
    code = "document_too_slow"
    message = "{name!r} was not read within {limit:g} s of processor time."
    hint = "Split it, save it in a simpler form, or raise GIEOK_DOCUMENT_SECONDS."


class DocumentTooHeavy(DocumentError):
    code = "document_too_heavy"
    message = "Reading {name!r} needs more than {limit:,} bytes of memory."
    hint = "Split it, save it in a simpler form, or raise GIEOK_DOCUMENT_MEMORY."


class DocumentUnread(DocumentError):
    """The process that reads documents ended unexpectedly."""

    code = "document_unread"
    message = "{name!r} was not read: the process that reads it ended ({reason})."
    hint = "Try again. If it stays so, save it in another form and add that."


class DocumentOutside(DocumentError):
    code = "document_outside"
    message = "{name!r} is a link that leads out of its folder, to {path}, and was left out."
    hint = "Add that file itself, or follow links: python cli.py index --follow-links."


class PageError(DocumentError):
    """A page of the web that cannot be taken into the library; the other pages are not affected."""

    code = "page"
    message = "The page could not be used."
    hint = "Try another page."


class PageAddress(PageError):
    code = "page_address"
    message = "{name!r} is not a usable web address: {reason}."
    hint = "Copy the address from the browser; it begins with https:// or http://."


class PagePrivate(PageError):
    code = "page_private"
    message = "{name!r} leads to {address}, which is not a public address."
    hint = "To read pages of your own network, set GIEOK_PRIVATE_PAGES to true."


class PageUnread(PageError):
    code = "page_unread"
    message = "{name!r} could not be read: {reason}."
    hint = "Open it in a browser to check, and try again. What was read from it before stays as it was."
    retryable = True


class PageGone(PageError):
    code = "page_gone"
    message = "{name!r} does not exist (status {status})."
    hint = "Check the address. What was read from it before stays as it was."


class PageRobots(PageError):
    code = "page_robots"
    message = "The site does not want programs to read {name!r} (robots.txt)."
    hint = "Save the page with your browser and add the file, if you may."


class PageKind(PageError):
    code = "page_kind"
    message = "{name!r} is of the type {kind}; only HTML, text, Markdown and PDF are read from the web."
    hint = "Download it and add the file, if it is of a supported type."


class PageLimit(PageError):
    code = "page_limit"
    message = "Below {name!r} there is more than one addition reads; {pages:,} pages were read."
    hint = "Add the parts that are missing by their own addresses."


class DocumentMislabelled(DocumentError):
    code = "document_mislabelled"
    message = "{name!r} has the file extension {claimed}, but its content is {found}."
    hint = "Correct the extension and add it again."


class DocumentKindUnknown(DocumentError):
    code = "document_kind_unknown"
    message = "{name!r} is not a supported file type; supported are {known}."
    hint = "Save it as one of these types. A picture: as PNG or JPEG, for a model that sees images."


# --- the caller must act ------------------------------------------------------------------------


class CallerError(GieokError):
    code = "caller"
    message = "The request cannot be carried out."
    hint = "Check what was sent."


class Empty(CallerError):
    """``what``: the thing that may not be empty, such as message or summary; the page has ``what.<…>`` for each."""

    code = "empty"
    message = "The {what} is empty."
    hint = "Write something first. Nothing was changed."


class TooLong(CallerError):
    """``what``: as of ``Empty``."""

    code = "too_long"
    message = "The {what} has {size:,} characters; the limit is {limit:,}."
    hint = "Shorten it or split it into parts. Nothing was sent or changed."


class OutOfRange(CallerError):
    """``what``: as of ``Empty``; ``value``: the number that does not lie between ``low`` and ``high``."""

    code = "out_of_range"
    message = "The {what} {value} cannot be used; it lies between {low} and {high}."
    hint = "Choose a value in this range. Nothing was changed."


class UnknownChoice(CallerError):
    """A name that is not among those to choose from. ``what``: as of ``Empty``; ``ensure_gieok_error``: the names that
    there are."""

    code = "unknown_choice"
    message = "There is no {what} {value!r}; there are {known}."
    hint = "Choose one of these. Nothing was run."


class NoUserMessage(CallerError):
    """A client's request without anything to answer. ``field``: where its messages stand."""

    code = "no_user_message"
    message = "The field {field!r} holds no message of the user."
    hint = "Send at least one message with the role user. Nothing was sent."


class BadUserName(CallerError):
    """A name that can stand neither for a user nor for a key (``text.user_name``)."""

    code = "bad_user_name"
    message = "The name {name!r} cannot be used: it is empty, too long, or has characters that cannot be seen."
    hint = "Choose a name of at most 200 visible characters. Nothing was changed."


class BadImage(CallerError):
    """``number``: the place of the image in its message, from 1 on."""

    code = "bad_image"
    message = "Image {number} cannot be passed on: its address is neither a data: URL nor an https address."
    hint = "Send the image itself as a data: URL. Nothing was sent."


class ImageUnreadable(CallerError):
    code = "image_unreadable"
    message = "The image {name!r} cannot be read."
    hint = "Save it anew as PNG or JPEG, at most 40 MB and 50 million pixels. Nothing was sent."


class ImagesUnsupported(CallerError):
    """The chat model reads no images (``model.profile.Profile.images``)."""

    code = "images_unsupported"
    message = "The model {model} takes no images."
    hint = "Leave the images out, or choose a model that takes images. Nothing was sent."


class BadTextFile(CallerError):
    code = "bad_text_file"
    message = "The file {path} cannot be read as text: {reason}."
    hint = "Name a text file in UTF-8."


class FileTaken(CallerError):
    """A file that would be written exists already."""

    code = "file_taken"
    message = "There is a file {path} already."
    hint = "Choose another name, or replace it with: /export --force {path}"


class FileUnwritten(CallerError):
    """``path``: the file that could not be written; what stood there before is unchanged."""

    code = "file_unwritten"
    message = "The file {path} cannot be written: {reason}."
    hint = "Name a file in a folder that exists and that you may write to. Nothing was written."


class BadScenario(CallerError):
    """A scenario for the evaluation has a mistake; ``line`` counts from 1, 0 where no line is to blame."""

    code = "bad_scenario"
    message = "The scenario {file} has a mistake in line {line}, field {field!r}: {reason}."
    hint = "Correct it; nothing was run."


class EvaluationFailed(CallerError):
    """A turn of a recorded conversation did not end well while it was played."""

    code = "evaluation_failed"
    message = "Turn {turn} of the recorded conversation did not end well: {reason}."
    hint = "Look at the program's log; the other scenarios go on."


class PresetTaken(CallerError):
    code = "preset_taken"
    message = "There is a preset {name!r} already."
    hint = "Choose another name."


class PresetUnknown(CallerError):
    code = "preset_unknown"
    message = "There is no preset {name!r}."
    hint = "It was renamed or deleted elsewhere. Choose another one."


class SessionBusy(CallerError):
    code = "session_busy"
    message = "This conversation is still answering another message."
    hint = "Wait for that answer or stop it."
    retryable = True


class LoggedOut(CallerError):
    """Work for a user was asked of a page on which nobody is logged in."""

    code = "logged_out"
    message = "Nobody is logged in on this page any more."
    hint = "Load the page again and log in."


class SessionUnknown(CallerError):
    code = "session_unknown"
    message = "There is no conversation {session!r}."
    hint = "Choose one from the list or start a new one."


class ServersUnreadable(OperatorError):
    code = "servers_unreadable"
    message = "The list of MCP servers ({path}) cannot be used: {reason}."
    hint = "Correct the file, or remove it to begin anew. It was not changed."


class ServerEntryWrong(CallerError):
    code = "server_entry_wrong"
    message = "The MCP server {server!r} is set up wrongly: {field}: {reason}."
    hint = "Correct this field. The other servers can be used."


class ServerUnreachable(UpstreamError):
    code = "server_unreachable"
    message = "The MCP server cannot be reached: {reason}."
    hint = "Check its command or address, and whether it runs."


class WorldUnknown(CallerError):
    code = "world_unknown"
    message = "There is no such world."
    hint = "It may have been deleted. Open another one."


class NothingBeside(CallerError):
    """A side question without a conversation that it could stand beside."""

    code = "nothing_beside"
    message = "There is no conversation yet to ask beside."
    hint = "Send it as a message, without /btw."


class StorySideQuestion(CallerError):
    """A side question in a story, whose prompts its world builds."""

    code = "story_side_question"
    message = "A story takes no side questions."
    hint = "Ask in another conversation, or send the words as a turn of the story."


class WorldTurnTaken(CallerError):
    """A correction by hand of a turn that other turns build on."""

    code = "world_turn_taken"
    message = "Turn {turn} cannot be corrected any more: the story has gone on after it."
    hint = "Correct the last turn, or go back to this one first."


class WorldTurnRaw(CallerError):
    code = "world_turn_raw"
    message = "Turn {turn} is still being read for what it has changed."
    hint = "Try again in a moment."
    retryable = True


class WorldMendOverwritten(CallerError):
    """A correction of the curator whose rows somebody has changed since."""

    code = "world_mend_overwritten"
    message = "This correction cannot be undone: what it corrected was changed again since."
    hint = "Correct it by hand."


class FolderUnknown(CallerError):
    code = "folder_unknown"
    message = "There is no such folder any more."
    hint = "It was deleted elsewhere. Choose another folder or make a new one."


class SessionDeleted(CallerError):
    """A session that was put away takes no message until it is brought back (``store.store.Store.put_away``)."""

    code = "session_deleted"
    message = "The message was not sent, because this conversation was deleted."
    hint = "Restore the conversation, then send it again."


class PrivateEnded(CallerError):
    """A private chat ends with the connection of its page (``component.work.resource.open_private_chat``)."""

    code = "private_ended"
    message = "The private chat has ended, and nothing of it was kept."
    hint = "The page had lost its connection. You can start a new one."


class TurnUnknown(CallerError):
    code = "turn_unknown"
    message = "The conversation {session!r} has no turn {turn}."
    hint = "Reload the conversation and choose one of its turns."


class QuestionUnknown(CallerError):
    """A turn that asks the user nothing about memory now; another version of the turn asks its own question."""

    code = "question_unknown"
    message = "Turn {turn} of conversation {session!r} asks nothing that can be answered now."
    hint = "Reload the conversation. Memory was not changed."


class QuestionAnswered(CallerError):
    code = "question_answered"
    message = "This question of turn {turn} in conversation {session!r} was answered already."
    hint = "Reload the conversation to see the answer. Nothing was changed."


class SummaryUnknown(CallerError):
    code = "summary_unknown"
    message = "The conversation {session!r} has no summary of turns from {turn} on (version {version})."
    hint = "Reload the conversation and choose one of its summaries."


class NothingToRetry(CallerError):
    code = "nothing_to_retry"
    message = "The last answer is complete; there is nothing to retry."
    hint = ""


class NothingToAnswer(CallerError):
    code = "nothing_to_answer"
    message = "The conversation {session!r} waits for no answer."
    hint = "It was answered already, perhaps elsewhere. Reload the conversation."


class PinsFull(CallerError):
    code = "pins_full"
    message = "{limit} facts are pinned already, which is the limit."
    hint = "Unpin one first. Memory was not changed."


class NothingToUndo(CallerError):
    code = "nothing_to_undo"
    message = "The memory of conversation {session!r} has no earlier version."
    hint = ""


class BadImport(CallerError):
    code = "bad_import"
    message = "The file is not an export of memory: {reason}."
    hint = "Choose a file of exported memory. Nothing was changed."


class BadBackup(CallerError):
    code = "bad_backup"
    message = "{file} cannot be used as a backup: {reason}."
    hint = "Choose another backup. Nothing was changed. A damaged database may be read with: sqlite3 FILE .recover"


class BackupTaken(CallerError):
    """A backup would be put where conversations are already."""

    code = "backup_taken"
    message = "There are conversations in {place} already."
    hint = "Name an empty folder in GIEOK_DATA_DIR, or move what is there away. Nothing was changed."


class NotSqlite(CallerError):
    code = "not_sqlite"
    message = "The conversations are on a database server."
    hint = "Back up the server with its own tools (pg_dump) and the data folder as files; see docs/guide/en/backup.md."


class BadConversation(CallerError):
    code = "bad_conversation"
    message = "The file cannot be imported: {reason} (at {place})."
    hint = "Choose an export of Gieok, ChatGPT, Claude, Open WebUI, LibreChat or SillyTavern. Nothing was imported."


class BadBook(CallerError):
    """A file of another program that holds no lorebook or card that can be read."""

    code = "bad_book"
    message = "{name!r} cannot be read: {reason}."
    hint = "Choose a lorebook or a character card of SillyTavern, RisuAI, NovelAI or Agnai. Nothing was changed."


class ConversationTooNew(CallerError):
    code = "conversation_too_new"
    message = "The file was written by a newer Gieok: its format version is {found}, and this one reads up to {known}."
    hint = "Update Gieok and import it again. Nothing was imported."


class FileTooLarge(CallerError):
    code = "file_too_large"
    message = "The file has {size:,} bytes; the limit is {limit:,}."
    hint = "Import a smaller one. Nothing was imported."


class BadWorldFile(CallerError):
    code = "bad_world_file"
    message = "The file {name!r} of the world cannot be used: {reason}."
    hint = "Correct the file or give it another name; everything else of the world goes on."


class DocumentUnknown(CallerError):
    code = "document_unknown"
    message = "There is no document {document!r}."
    hint = "Reload the list and choose one of its documents."


class PassageUnknown(CallerError):
    code = "passage_unknown"
    message = "The passage {passage!r} no longer exists."
    hint = "Its document was changed or deleted; ask again."


class TableQueryFailed(CallerError):
    code = "table_query"
    message = "The tables could not be queried: {reason}."
    hint = "Use the tables and columns that are listed, in one SELECT."


class LibraryBusy(CallerError):
    code = "library_busy"
    message = "The library is being changed by another program."
    hint = "Wait until that is done and try again."
    retryable = True


class PromptError(GieokError):
    """A prompt file and its use disagree: the author of the prompt must act."""

    code = "prompt"
    message = "The prompt {name!r} ({language}): {reason}."
    hint = "Check the prompt file."


class ScriptExhausted(GieokError):
    """The scripted test model was called more often than its script has answers."""

    code = "script_exhausted"
    message = "The scripted model was called {calls} times, and its script has {answers} answers."
    hint = "Add answers to the script."


class Interrupted(GieokError):
    """The process that ran the turn ended before its answer did (design 3.5)."""

    code = "interrupted"
    message = "The answer to turn {turn} was cut off because the program that made it ended."
    hint = "Retry it; nothing that was said is lost."
    retryable = True


class Unexpected(GieokError):
    """An exception that nobody foresaw: a fault of Gieok or of something it uses."""

    code = "unexpected"
    message = "Something unexpected went wrong ({kind})."
    hint = "Nothing that was said is lost. Retry; the log says where it failed."
    retryable = True


def format_error_trace(error: BaseException) -> str:
    """Returns kind and place of an exception for the log, without its message, which may hold what somebody said."""
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"
