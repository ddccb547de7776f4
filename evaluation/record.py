"""What an evaluation has so far: in memory, or in a folder of its own that survives kill -9.

A folder holds ``plan.json`` and ``results.jsonl``, one line per play and per result. Every line is on disk before the
next piece of work begins, so a crash loses at most the piece that was running.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

import private
from evaluation.result import EvaluationResult, Key, PlayedScenario
from model.file_lock import translate_disk_errors
from text.clean import escape_surrogates, parse_json

FOLDER = "evaluation"
PLAN, RESULTS, REPORT = "plan.json", "results.jsonl", "report.html"

_PLAY, _RESULT = TypeAdapter(PlayedScenario), TypeAdapter(EvaluationResult)


class Record:
    """The plays and results of one evaluation so far. Threads may share it."""

    def __init__(self) -> None:
        self.plays: dict[tuple[str, float], PlayedScenario] = {}
        self.results: dict[Key, EvaluationResult] = {}
        self._change = threading.Lock()

    def keep(self, item: PlayedScenario | EvaluationResult) -> None:
        """Keeps a play or a result; one in the same place is replaced."""
        with self._change:
            self._write(item)
            self._take(item)

    def has_result(self, key: Key) -> bool:
        """Returns whether a place has its result; a result that failed does not count."""
        result = self.results.get(key)
        return result is not None and not result.failed

    def _take(self, item: PlayedScenario | EvaluationResult) -> None:
        if isinstance(item, EvaluationResult):
            self.results[item.key] = item
        else:
            self.plays[item.scenario, item.rate] = item

    def _write(self, item: PlayedScenario | EvaluationResult) -> None:
        """Writes nothing: this record lives in memory."""


class FileRecord(Record):
    """A record in a folder. One process at a time may have it open."""

    def __init__(self, folder: Path) -> None:
        """Opens the folder; reads what is there and drops a last line that was cut off.

        Raises ``BlockingIOError`` when another process has it open, ``StoreUnavailable`` and ``DiskFull``.
        """
        super().__init__()
        self.folder = folder
        path = folder / RESULTS
        with translate_disk_errors(path):
            private.make_folder(folder)
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise
        private.restrict_to_owner(folder, path)
        self._read(self._file.readall())

    def close(self) -> None:
        """Closes the file; another process may then go on with it."""
        self._file.close()

    def _read(self, content: bytes) -> None:
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            self._file.truncate(len(whole))
        for line in whole.splitlines():
            item = _parse_record_line(line)
            if item is not None:
                self._take(item)

    def _write(self, item: PlayedScenario | EvaluationResult) -> None:
        line = escape_surrogates(json.dumps({"type": _choose_line_kind(item), **asdict(item)}, ensure_ascii=False))
        with translate_disk_errors(self.folder / RESULTS):
            self._file.write(f"{line}\n".encode())
            os.fsync(self._file.fileno())


def create_evaluation_record(data_dir: Path, plan: Mapping[str, Any]) -> FileRecord:
    """Returns a new record in a folder of its own below the data folder. Raises as ``FileRecord``."""
    folder = data_dir / FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 10**9:09d}"
    with translate_disk_errors(folder):
        private.write_private_file(
            folder / PLAN, escape_surrogates(json.dumps({"digest": hash_plan(plan), **plan}, ensure_ascii=False))
        )
    return FileRecord(folder)


def find_unfinished_record(data_dir: Path, plan: Mapping[str, Any], keys: list[Key]) -> FileRecord | None:
    """Returns the newest record of the same plan that lacks one of these results; None where there is none, or where
    another process has it open."""
    for folder in sorted((data_dir / FOLDER).glob("*"), reverse=True):
        if _digest_of(folder) != hash_plan(plan):
            continue
        try:
            record = FileRecord(folder)
        except BlockingIOError:
            continue
        if not all(map(record.has_result, keys)):
            return record
        record.close()
    return None


def hash_plan(plan: Mapping[str, Any]) -> str:
    """Returns the SHA-256 of a plan: two evaluations with the same one may share results."""
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def _digest_of(folder: Path) -> str:
    try:
        plan = parse_json((folder / PLAN).read_text("utf-8"))
        return str(plan["digest"])
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def _choose_line_kind(item: PlayedScenario | EvaluationResult) -> str:
    return "result" if isinstance(item, EvaluationResult) else "play"


def _parse_record_line(line: bytes) -> PlayedScenario | EvaluationResult | None:
    """Returns the play or the result of a line; None for a line that is neither, such as a damaged one."""
    try:
        value = parse_json(line)
        if not isinstance(value, dict):
            return None
        return _RESULT.validate_python(value) if value.pop("type") == "result" else _PLAY.validate_python(value)
    except (ValueError, KeyError):
        return None
