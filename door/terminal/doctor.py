"""The checks of this machine: what is there, and what to do about the rest; ``python cli.py doctor`` shows the
findings.

A check is one function in ``CHECKS``. No check changes, fetches or starts anything.
"""

from __future__ import annotations

import importlib.metadata
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from errors import (
    GieokError,
    KeyRejected,
    MemoryAway,
    MissingExtra,
    ModelUnreachable,
    Unexpected,
    format_error_trace,
    hide_address_secrets,
)
from model.choice import default, kept, resolve
from model.choice.probe import ListingRefusal, list_server_models
from model.embedded import weights
from model.embedded.catalogue import WeightsFile
from model.embedded.download import format_download_size
from model.embedded.machine import describe_machine, measure_machine_resources
from model.endpoint import Found
from model.profile import ProfileChoice
from retrieval.answer.fallback import load_menu_entries
from server.network.reach import is_free
from server.phrase import ErrorText, Language, render_phrase
from settings import Settings, find_variable_name

log = logging.getLogger(__name__)

Mark = Literal["ok", "info", "warn", "problem"]
FREE_SPACE = 500_000_000  # bytes: sessions, logs and a database that grows
MEMORY = 2_000_000_000  # bytes that a small model takes with its context
ANSWER_SECONDS = 5.0  # within which a hosted server must list its models
_ROOT = Path(__file__).parents[2]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


@dataclass(frozen=True)
class CheckFinding:
    """The result of one check. ``found`` is a sentence, ``do`` the remedy (empty when nothing is to be done), ``data``
    the same as plain values."""

    name: str
    mark: Mark
    found: str
    do: str = ""
    data: dict[str, object] = field(default_factory=dict)

    def plain(self) -> dict[str, object]:
        """Returns the finding as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class CheckInput:
    """The input of a check: the settings, the language of its sentences, and whether the page has its own login."""

    settings: Settings
    language: Language
    login: bool = False

    def __call__(self, key: str, **values: object) -> str:
        return render_phrase(self.language, key, **values)

    @cached_property
    def effective_settings(self) -> Settings:
        """The settings with the model that was chosen in the page."""
        return kept.apply_stored_choice(self.settings)

    @cached_property
    def endpoint(self) -> Found | None:
        """The hosted or local server that the app would use; None for the embedded model, which is not started."""
        settings, configured = (
            self.effective_settings,
            bool(self.effective_settings.openai_api_key or self.effective_settings.openai_base_url),
        )
        if settings.provider == "hosted" or (settings.provider == "auto" and configured):
            return resolve.find_endpoint(settings)
        if settings.provider == "embedded":
            return None
        try:
            return resolve.find_endpoint(settings.model_copy(update={"provider": "local"}))
        except ModelUnreachable:
            if settings.provider == "local":
                raise
            return None

    @cached_property
    def weights(self) -> WeightsFile | None:
        """The weights of the embedded model, here or still to be fetched; None: the user's own file."""
        return (
            default.choose_weights(self.effective_settings) if self.effective_settings.embedded_path is None else None
        )

    @property
    def roles(self) -> tuple[ProfileChoice, ProfileChoice]:
        """The profiles of the model: for answers, and for side work."""
        if self.endpoint is None:
            return resolve.embedded_roles(self.effective_settings, self.weights)
        return self.endpoint.chat, self.endpoint.utility


def run_all_checks(
    settings: Settings, language: Language, error_text: ErrorText, login: Callable[[], bool] = lambda: False
) -> list[CheckFinding]:
    """Runs every check and returns the findings. ``error_text`` words an error in a check, which then is its
    finding; ``login`` returns whether Streamlit's login is set up, or raises what is wrong with it."""
    try:
        look = CheckInput(settings, language, login())
    except GieokError as error:
        others = [finding for finding in run_all_checks(settings, language, error_text) if finding.name != "reach"]
        return [*others, build_failure_finding("reach", error, error_text)]
    return [_run_check_safely(name, check, look, error_text) for name, check in CHECKS.items()]


def build_failure_finding(name: str, error: GieokError, error_text: ErrorText) -> CheckFinding:
    """Returns an error as a finding."""
    message, do = error_text(error.code, error.text(), error.values)
    return CheckFinding(name, "problem", message, do, {"code": error.code})


def can_chat(findings: list[CheckFinding]) -> bool:
    """Returns whether no finding prevents a chat."""
    return all(finding.mark != "problem" for finding in findings)


def _run_check_safely(
    name: str, check: Callable[[CheckInput], CheckFinding], look: CheckInput, error_text: ErrorText
) -> CheckFinding:
    try:
        return check(look)
    except GieokError as error:
        return build_failure_finding(name, error, error_text)
    except Exception as error:  # a check that crashes must not hide the findings of the others
        log.error("the check %s failed: %s", name, format_error_trace(error))
        return build_failure_finding(name, Unexpected(kind=type(error).__name__), error_text)


def _check_python(look: CheckInput) -> CheckFinding:
    version = ".".join(map(str, sys.version_info[:3]))
    new_enough = sys.version_info >= (3, 11)
    data: dict[str, object] = {"version": version, "executable": sys.executable}
    return CheckFinding(
        "python", "ok" if new_enough else "problem", version, "" if new_enough else look("python.do"), data
    )


def _check_machine(look: CheckInput) -> CheckFinding:
    data, needed = describe_machine(), _memory_needed(look)
    short = measure_machine_resources().free < needed
    do = look("memory.do", needed=format_download_size(needed)) if short else ""
    return CheckFinding("machine", "warn" if short else "ok", look("machine.found", **data), do, data)


def _memory_needed(look: CheckInput) -> int:
    """Returns the bytes of memory that the model takes on this machine, as far as the settings tell."""
    try:
        if look.effective_settings.provider not in ("auto", "embedded"):
            return 0
        return 0 if look.endpoint else look.weights.memory if look.weights else MEMORY
    except GieokError:
        return MEMORY


def _check_packages(look: CheckInput) -> CheckFinding:
    pinned = dict(_parse_pins((_ROOT / "requirements.txt").read_text("utf-8")))
    installed = {name: _find_package_version(name) for name in pinned}
    missing = [name for name, version in installed.items() if version is None]
    differing = [f"{name} {installed[name]}" for name in pinned if installed[name] not in (None, pinned[name])]
    data: dict[str, object] = {"installed": installed, "missing": missing, "differing": differing}
    if missing:
        message = look("packages.missing", names=", ".join(missing))
        return CheckFinding("packages", "problem", message, look("packages.do"), data)
    if differing:
        message = look("packages.differing", names=", ".join(differing))
        return CheckFinding("packages", "warn", message, look("packages.do"), data)
    return CheckFinding("packages", "ok", look("packages.found", count=len(pinned)), "", data)


def _check_settings(look: CheckInput) -> CheckFinding:
    changed = [find_variable_name(name) for name in sorted(look.settings.model_fields_set)]
    names = f": {', '.join(changed)}" if changed else ""
    return CheckFinding(
        "settings", "ok", look("settings.found", count=len(changed), names=names), "", {"changed": changed}
    )


def _check_model(look: CheckInput) -> CheckFinding:
    endpoint = look.endpoint
    if endpoint is None:
        name = look.weights.name if look.weights else str(look.effective_settings.embedded_path)
        return CheckFinding("model", "ok", look("model.embedded", name=name), "", {"kind": "embedded", "name": name})
    if endpoint.kind == "hosted":
        _check_endpoint(endpoint)
    url = hide_address_secrets(endpoint.url)
    data: dict[str, object] = {"kind": endpoint.kind, "name": endpoint.chat_model, "url": url}
    return CheckFinding("model", "ok", look(f"model.{endpoint.kind}", name=endpoint.chat_model, url=url), "", data)


def _check_profile(look: CheckInput) -> CheckFinding:
    """Reports the profiles of both roles and the reasons for them."""
    try:
        chat, side = look.roles
    except GieokError:  # the check of the model reports the error
        return CheckFinding("profile", "info", look("profile.unknown"), "", {})
    writes = f"profile.side.{side.profile.summaries}"
    lines = [(f"profile.{chat.profile.name}", chat.why), (writes, side.why)]
    text = "\n".join(look("profile.line", does=look(does), why=look(f"profile.why.{why}")) for does, why in lines)
    data: dict[str, object] = {"chat": chat.profile.name, "why": chat.why}
    data |= {"utility": side.profile.name, "utility_why": side.why}
    return CheckFinding("profile", "ok", text, "", data)


def _check_endpoint(found: Found) -> None:
    """Checks whether the server answers and takes the key. A server that lists no models may still chat. Raises
    ``ModelUnreachable`` and ``KeyRejected``."""
    try:
        list_server_models(found.url, found.key, ANSWER_SECONDS)
    except ListingRefusal as error:
        if error.status is None:
            raise ModelUnreachable(url=found.url) from error
        if error.status in (401, 403):
            raise KeyRejected(url=found.url, status=error.status) from error


def _check_weights(look: CheckInput) -> CheckFinding:
    settings = look.effective_settings
    if look.endpoint is not None:
        return CheckFinding("weights", "info", look("weights.unneeded"), "", {"needed": False})
    if settings.embedded_path is not None:
        path = weights.ensure_weights(settings)
        size = path.stat().st_size
        text = look("weights.own", size=format_download_size(size), path=path)
        return CheckFinding(
            "weights", "ok", text, "", {"needed": True, "present": True, "path": str(path), "bytes": size}
        )
    entry = default.choose_weights(settings)
    path = default.locate_weights_folder(settings) / entry.file
    ready, present = weights.has_ready_weights(settings), path.exists()
    data: dict[str, object] = {
        "needed": True,
        "present": present,
        "verified": ready,
        "path": str(path),
        "bytes": entry.size,
    }
    key = "weights.verified" if ready else "weights.unverified" if present else "weights.missing"
    text = look(key, size=format_download_size(entry.size), path=path)
    return CheckFinding(
        "weights", "ok" if ready else "warn", text, "" if ready or present else look("weights.do"), data
    )


def _check_store(look: CheckInput) -> CheckFinding:
    from store import Store
    from store.database.engine import parse_database_url, where_is

    address = parse_database_url(look.settings.database)
    file = Path(address.database or "") if address.get_backend_name() == "sqlite" else None
    where = str(file) if file else where_is(address)
    data: dict[str, object] = {"where": where}
    if file and not _can_write_file(file):
        return CheckFinding("store", "problem", look("store.readonly", where=where), look("store.do"), data)
    if file and not file.exists():
        return CheckFinding("store", "ok", look("store.new", where=where), "", data)
    store = Store(look.settings.database)
    sessions, size = len(store.everyone.sessions(limit=1_000_000)), file.stat().st_size if file else 0
    store.close()
    text = look("store.found", sessions=sessions, size=format_download_size(size), where=where)
    return CheckFinding("store", "ok", text, "", data | {"sessions": sessions, "bytes": size})


def _is_new(chosen: Settings) -> bool:
    """Returns whether the database is a file that does not exist yet."""
    from store.database.engine import parse_database_url

    address = parse_database_url(chosen.database)
    return address.get_backend_name() == "sqlite" and not Path(address.database or "").exists()


def _check_documents(look: CheckInput) -> CheckFinding:
    """Checks the menu, and the library when there is one; does not open the library before the database exists."""
    if not look.settings.retrieval:
        return CheckFinding("documents", "info", look("documents.off"), "", {"on": False})
    if look.settings.menu is not None:
        load_menu_entries(look.settings.menu)
    if _is_new(look.settings):
        return CheckFinding("documents", "ok", look("documents.new"), "", {"on": True, "documents": 0})
    return _check_library(look)


def _check_library(look: CheckInput) -> CheckFinding:
    from retrieval import Library
    from store import Store

    store = Store(look.settings.database)
    try:
        status = Library.open(look.settings, store).status
    finally:
        store.close()
    data: dict[str, object] = {"on": True, **asdict(status)}
    if status.rebuild is not None:
        return CheckFinding(
            "documents", "warn", look(f"documents.{status.rebuild}"), look("documents.do.rebuild"), data
        )
    if not status.documents:
        return CheckFinding("documents", "ok", look("documents.new"), "", data)
    counts = {"documents": status.documents, "passages": status.passages, "failed": status.failed}
    text = look("documents.found", **counts, model=status.model)
    if status.failed:
        return CheckFinding("documents", "warn", text, look("documents.do.failed"), data)
    return CheckFinding("documents", "ok", text, "", data)


def _check_remembering(look: CheckInput) -> CheckFinding:
    """Checks long-term memory. An unreachable memory is no problem, because the chat goes on without it."""
    from memory.redis import address
    from memory.redis.server import find_server_binary

    settings, name = look.settings, "remembering"
    if not settings.memory:
        return CheckFinding(name, "info", look("remembering.off"), "", {"on": False})
    where = address.parse_redis_url(settings.redis_url) if settings.redis_url else None
    place = where.url_without_login if where else str(settings.data_dir / "memory")
    data: dict[str, object] = {"on": True, "embedded": where is None, "where": place, **_count_memories(settings)}
    try:
        address.ping_redis_server(where) if where else find_server_binary()
    except (MemoryAway, MissingExtra) as error:
        data |= {"away": str(error)}
        reason = error.values.get("reason", error.text())
        return CheckFinding(name, "warn", look("remembering.away", **data, reason=reason), look("remembering.do"), data)
    return CheckFinding(name, "ok", look("remembering.external" if where else "remembering.embedded", **data), "", data)


def _count_memories(chosen: Settings) -> dict[str, object]:
    """Counts the conversations with a memory; creates no database."""
    from memory.export.migration import open_rows
    from memory.row.rows import count_sessions
    from store import Store

    if _is_new(chosen):
        return {"memories": 0}
    store = Store(chosen.database)
    with open_rows(store).transaction() as connection:
        count = count_sessions(connection)
    store.close()
    return {"memories": count}


def _check_disk(look: CheckInput) -> CheckFinding:
    folder = _find_nearest_folder(look.settings.data_dir)
    free, needed = shutil.disk_usage(folder).free, FREE_SPACE + _to_fetch(look)
    data: dict[str, object] = {"data_dir": str(look.settings.data_dir), "free_bytes": free, "needed_bytes": needed}
    text = look("disk.found", free=format_download_size(free), where=look.settings.data_dir)
    if free < needed:
        return CheckFinding("disk", "problem", text, look("disk.do", needed=format_download_size(needed - free)), data)
    return CheckFinding("disk", "ok", text, "", data)


def _to_fetch(look: CheckInput) -> int:
    """Returns the bytes of weights that are still to be fetched; 0 where the model is not found, because another check
    reports that."""
    try:
        if look.endpoint is not None or weights.has_ready_weights(look.effective_settings):
            return 0
        return look.weights.size if look.weights else 0
    except GieokError:
        return 0


def _check_page_port(look: CheckInput) -> CheckFinding:
    port = look.settings.port
    if is_free(port):
        return CheckFinding("port", "ok", look("port.free", port=port), "", {"port": port, "free": True})
    return CheckFinding("port", "warn", look("port.taken", port=port), look("port.do"), {"port": port, "free": False})


def _check_api_port(look: CheckInput) -> CheckFinding:
    """Reports the port of the endpoint. It may be the endpoint itself that listens there."""
    port = look.settings.api_port
    free = is_free(port)
    data: dict[str, object] = {"port": port, "free": free}
    if free:
        return CheckFinding("api_port", "ok", look("port.free", port=port), "", data)
    return CheckFinding("api_port", "warn", look("port.taken", port=port), look("api_port.do"), data)


def _check_reach(look: CheckInput) -> CheckFinding:
    """Reports who reaches the page. Names of other hosts without a login are no problem: nobody gets in."""
    settings = look.settings
    way = "proxy" if settings.user_header else "login" if look.login else "alone"
    names = ", ".join(settings.trusted_proxies)
    text = look(f"reach.{way}", header=settings.user_header, proxies=names)
    data: dict[str, object] = {"way": way, "hosts": list(settings.hosts)}
    if way == "alone" and settings.hosts:
        do = look("reach.do", hosts=", ".join(settings.hosts), header=find_variable_name("user_header"))
        return CheckFinding("reach", "warn", text, do, data)
    return CheckFinding("reach", "ok", text, "", data)


def _check_chromium(look: CheckInput) -> CheckFinding:
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        return CheckFinding("chromium", "info", look("chromium.missing"), look("chromium.do"), {"path": None})
    return CheckFinding("chromium", "info", look("chromium.found", path=path), "", {"path": path})


def _parse_pins(requirements: str) -> Iterator[tuple[str, str]]:
    """Yields the name and the version of each pin that holds on this platform."""
    from packaging.requirements import Requirement

    for line in requirements.splitlines():
        if re.match(r"[A-Za-z0-9]", line):
            pin = Requirement(line)
            if pin.marker is None or pin.marker.evaluate():
                yield pin.name, str(pin.specifier).removeprefix("==")


def _find_package_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _find_nearest_folder(path: Path) -> Path:
    """Returns the path itself, or the nearest folder above it that exists."""
    return next(candidate for candidate in (path, *path.parents) if candidate.exists())


def _can_write_file(file: Path) -> bool:
    """Returns whether the file can be written or created."""
    nearest = _find_nearest_folder(file)
    return os.access(nearest, os.W_OK) and (nearest == file or nearest.is_dir())


CHECKS: dict[str, Callable[[CheckInput], CheckFinding]] = {
    "python": _check_python,
    "machine": _check_machine,
    "packages": _check_packages,
    "settings": _check_settings,
    "model": _check_model,
    "profile": _check_profile,
    "weights": _check_weights,
    "store": _check_store,
    "documents": _check_documents,
    "remembering": _check_remembering,
    "disk": _check_disk,
    "port": _check_page_port,
    "api_port": _check_api_port,
    "reach": _check_reach,
    "chromium": _check_chromium,
}
