"""The rows of a measurement in a file, one appended line each, so that a crash loses at most the row that was at
work."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

import private
from evaluation.public.dataset.dataset import Dataset
from evaluation.public.measure import Key, Row
from evaluation.record import FOLDER
from model.file_lock import translate_disk_errors
from text.clean import escape_surrogates, parse_json

_ROW = TypeAdapter(Row)


class RowRecord:
    """The rows so far: those that the file held, and those kept since."""

    def __init__(self, path: Path) -> None:
        """Reads what is there; a line that was cut off counts for nothing. Raises ``StoreUnavailable`` and
        ``DiskFull``."""
        self.path = path
        self.rows: dict[Key, Row] = {}
        with translate_disk_errors(path):
            private.make_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._file = os.fdopen(descriptor, "r+b", buffering=0)
            content = self._file.readall()
            whole = content[: content.rfind(b"\n") + 1]
            self._file.truncate(len(whole))
        for line in whole.splitlines():
            row = _parse_row_line(line)
            if row is not None and row.is_settled:
                self.rows[row.key] = row

    def keep(self, row: Row) -> None:
        """Writes a row; it is on disk afterwards."""
        line = escape_surrogates(json.dumps(asdict(row), ensure_ascii=False))
        with translate_disk_errors(self.path):
            self._file.write(f"{line}\n".encode())
            os.fsync(self._file.fileno())
        self.rows[row.key] = row

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def create_row_record(data_dir: Path, digest: str) -> RowRecord:
    """Returns a new record. Raises as ``RowRecord``."""
    moment = f"{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 10**9:09d}"
    return RowRecord(data_dir / FOLDER / f"public-{moment}-{digest}.jsonl")


def find_newest_record(data_dir: Path, digest: str) -> RowRecord | None:
    """Returns the newest record of the same measurement; None where there is none."""
    paths = sorted((data_dir / FOLDER).glob(f"public-*-{digest}.jsonl"))
    return RowRecord(paths[-1]) if paths else None


def hash_measurement(datasets: Sequence[Dataset], *measured: object) -> str:
    """Returns the mark of a measurement: two with the same one may share rows. ``measured``: all else that a row
    depends on."""
    return hashlib.sha256(repr((datasets, measured)).encode("utf-8", "replace")).hexdigest()[:16]


def _parse_row_line(line: bytes) -> Row | None:
    """Returns the row of a line; None for a damaged one."""
    try:
        return _ROW.validate_python(parse_json(line))
    except (ValueError, ValidationError):
        return None
