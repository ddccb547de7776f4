"""The weights of the embedded model: found or fetched, verified, put in place whole or not at all (design 9.6).

``python -m model.embedded.weights`` fetches them in a terminal when they are needed; ``make run`` calls it first.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from errors import BadSetting, DiskFull, WeightsCancelled, WeightsCorrupt, WeightsMissing
from model.choice import default
from model.embedded.catalogue import WeightsFile
from model.embedded.download import (
    CHUNK,
    SOURCES,
    Fetch,
    SourceFailed,
    format_download_size,
    need_space,
    remove_left_wheels,
)
from model.file_lock import hold_file_lock, translate_disk_errors
from settings import Settings, find_variable_name
from text.clean import parse_json

log = logging.getLogger(__name__)
MAGIC = b"GGUF"


@dataclass(frozen=True)
class FetchProgress:
    """The progress of a download. ``source``: a source's name, ``verify``, or ``wait`` while another process fetches.

    ``done`` and ``total`` in bytes, ``speed`` in bytes a second, ``left`` in seconds (None: unknown).
    """

    source: str
    done: int
    total: int
    speed: float = 0.0
    left: float | None = None


Report = Callable[[FetchProgress], None]


def _ignore_progress(_: FetchProgress) -> None:
    pass


def ensure_weights(
    settings: Settings, progress: Report = _ignore_progress, cancel: threading.Event | None = None
) -> Path:
    """Returns the path of verified weights; fetches the weights when they are missing.

    The user's own file (``GIEOK_EMBEDDED_PATH``) comes first and is taken as it is. Otherwise ``model.choice.default``
    says which weights, and the sources are tried in the order of the settings. Only one process fetches; others wait
    for it. ``progress`` is called at least every few hundred milliseconds while bytes arrive or are verified. Raises
    ``BadSetting``, ``WeightsMissing``, ``WeightsCorrupt``, ``DiskFull`` or ``WeightsCancelled``; after an error, a
    resumable part file may stay.
    """
    if settings.embedded_path is not None:
        return _own_file(settings.embedded_path)
    try:
        return _ensure_chosen_weights(settings, progress, cancel or threading.Event())
    except (WeightsMissing, WeightsCorrupt):
        default.forget_chosen_weights(settings)
        raise


def has_ready_weights(settings: Settings) -> bool:
    """Returns whether ``ensure_weights`` would return without fetching; reads no weights and asks no server."""
    if settings.embedded_path is not None:
        return True
    try:
        weights = default.predict_weights(settings)
    except BadSetting:
        return False
    return weights is not None and _build_weights_place(settings, weights).is_unchanged()


def _ensure_chosen_weights(settings: Settings, progress: Report, cancel: threading.Event) -> Path:
    """Returns the path of the weights that ``model.choice.default`` chooses, or of its alternative when they cannot be
    had."""
    weights = default.choose_weights(settings)
    try:
        return _ensure_weights_file(settings, weights, progress, cancel)
    except (WeightsMissing, WeightsCorrupt) as error:
        alternative = default.choose_alternative_weights(settings, weights)
        if alternative is None:
            raise
        log.warning("%s; %s is fetched instead", error, alternative.name)
    return _ensure_weights_file(settings, alternative, progress, cancel)


def _ensure_weights_file(settings: Settings, weights: WeightsFile, progress: Report, cancel: threading.Event) -> Path:
    place = _build_weights_place(settings, weights, progress, cancel)
    if place.is_unchanged():
        return place.path
    with translate_disk_errors(place.path), hold_file_lock(place.beside(".lock"), place.wait):
        if not place.check_hash():
            _fetch_from_sources(place, settings.weights_sources)
    return place.path


def _own_file(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            reason, code, detail = "" if file.read(4) == MAGIC else "it is not a GGUF file", "no_gguf", ""
    except FileNotFoundError:
        reason, code, detail = "there is no such file", "no_file", ""
    except OSError as error:
        reason, code, detail = f"it cannot be read ({error.strerror})", "unreadable", str(error.strerror)
    if reason:
        name = find_variable_name("embedded_path")
        raise BadSetting(name=name, value=str(path), reason=reason, reason_code=code, detail=detail)
    return path.resolve()


@dataclass(frozen=True)
class _Place:
    """The place of one weights file, with the files beside it: lock, part, and the remembered verification."""

    path: Path
    weights: WeightsFile
    progress: Report
    cancel: threading.Event
    part: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "part", self.beside(".part"))

    def beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def wait(self) -> None:
        done = self.part.stat().st_size if self.part.exists() else 0
        self.progress(FetchProgress("wait", done, self.weights.size))
        if self.cancel.is_set():
            raise WeightsCancelled(
                name=self.weights.name, done=format_download_size(done), total=format_download_size(self.weights.size)
            )

    def stamp(self) -> dict[str, object]:
        """Returns the marks of the file as it is. While a verified file keeps its marks, its hash need not be computed
        again."""
        state = self.path.stat()
        return {"size": state.st_size, "mtime_ns": state.st_mtime_ns, "sha256": self.weights.sha256}

    def is_unchanged(self) -> bool:
        """Returns whether the file is there and has not changed since its verification."""
        try:
            return bool(parse_json(self.beside(".verified").read_text()) == self.stamp())
        except (OSError, ValueError):
            return False

    def check_hash(self) -> bool:
        """Returns whether the file is there with the right hash; removes a wrong file from Gieok's own folder."""
        if self.is_unchanged():
            return True
        if not self.path.exists():
            return False
        if self.hash(self.path) == self.weights.sha256:
            self.remember()
            return True
        log.warning("%s is not the expected file; it is fetched again", self.path)
        self.path.unlink()
        return False

    def remember(self) -> None:
        self.beside(".verified").write_text(json.dumps(self.stamp()))

    def hash(self, path: Path) -> str:
        digest, done = hashlib.sha256(), 0
        say = _make_progress_meter("verify", self.weights.size, self.progress)
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                done += len(chunk)
                say(done)
        return digest.hexdigest()


def _build_weights_place(
    settings: Settings, weights: WeightsFile, progress: Report = _ignore_progress, cancel: threading.Event | None = None
) -> _Place:
    return _Place(
        default.locate_weights_folder(settings) / weights.file, weights, progress, cancel or threading.Event()
    )


def _make_progress_meter(source: str, total: int, progress: Report, pause: float = 0.1) -> Callable[[int], None]:
    """Returns a function that turns bytes in place into ``FetchProgress``, at most every ``pause`` seconds. The speed
    counts from the first bytes reported."""
    start, first, last = time.monotonic(), -1, 0.0

    def say(done: int) -> None:
        nonlocal first, last
        now = time.monotonic()
        first = done if first < 0 else first
        if now - last < pause and done < total:
            return
        last = now
        speed = (done - first) / (now - start) if now > start else 0.0
        progress(FetchProgress(source, min(done, total), total, speed, (total - done) / speed if speed > 0 else None))

    return say


def _fetch_from_sources(place: _Place, sources: tuple[str, ...]) -> None:
    """Tries the sources in order until one completes the part file with the right hash."""
    tried: list[str] = []
    corrupt: WeightsCorrupt | None = None
    for name in sources:
        try:
            _attempt_source(place, name)
            return
        except SourceFailed as error:
            tried.append(f"{name}: {error}")
            log.info("no weights from %s: %s", name, error)
        except WeightsCorrupt as error:
            corrupt = error
            log.warning("wrong weights from %s: %s", name, error)
    raise corrupt or WeightsMissing(name=place.weights.name, tried="; ".join(tried) or "no source is set")


def _attempt_source(place: _Place, source: str) -> None:
    """Completes the part file from one source; tries once more from the start when an older part file spoilt the
    hash."""
    resumed = _prepare_part_file(place)
    try:
        SOURCES[source](
            Fetch(
                place.weights,
                place.part,
                _make_progress_meter(source, place.weights.size, place.progress),
                place.cancel,
            )
        )
    except (OSError, ValueError, ImportError) as error:  # the last two: an invalid proxy, or one that needs a package
        if not (isinstance(error, OSError) and error.errno == errno.ENOSPC):
            raise SourceFailed(str(error)) from error
        place.part.unlink(missing_ok=True)
        need_space(place.path.parent, place.weights.size)
        raise DiskFull(
            path=str(place.path), needed=format_download_size(place.weights.size), free="too little"
        ) from error
    actual = place.hash(place.part)
    if actual == place.weights.sha256:
        return _install_part_file(place)
    place.part.unlink()
    if not resumed:
        raise WeightsCorrupt(path=str(place.path), actual=actual, expected=place.weights.sha256)
    _attempt_source(place, source)


def _prepare_part_file(place: _Place) -> bool:
    """Tidies up and checks the space; returns True when the attempt continues an older part file."""
    remove_left_wheels(place.part)
    have = place.part.stat().st_size if place.part.exists() else 0
    if have > place.weights.size:
        place.part.unlink()
        have = 0
    need_space(place.path.parent, place.weights.size - have)
    return have > 0


def _install_part_file(place: _Place) -> None:
    with place.part.open("rb+") as file:
        os.fsync(file.fileno())
    place.part.replace(place.path)
    folder = os.open(place.path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    place.remember()


def fetch_weights_in_terminal() -> int:
    """Fetches the weights when the settings need them, with a progress bar; returns 0 when nothing is left to do."""
    from model.embedded import terminal

    return terminal.fetch_needed_weights()


if __name__ == "__main__":
    raise SystemExit(fetch_weights_in_terminal())
