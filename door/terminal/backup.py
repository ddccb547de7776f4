"""A backup of an installation in one file, taken while it runs, and back into an empty data folder.

SQLite copies each database as it is at one moment, whoever writes meanwhile. Left out are what comes anew (weights, the
search's fast copies, locks) and the key of the model's server, which no file should carry around.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath

import private
from errors import BackupTaken, BadBackup, FileTaken, FileUnwritten, NotSqlite
from model.choice.kept import KEY_FILE
from settings import Settings
from store.database.engine import file_of, find_leftover_file, parse_database_url

FORM = "gieok-backup-1"
"""The comment of the file, by which a backup is known."""
LEFT_OUT = frozenset({"weights", "memory", "lock", KEY_FILE})
"""Files and folders of the data folder that no backup has."""
DATABASE = "gieok.db"
"""The name of the conversations in a backup, and in the data folder without ``DATABASE_URL``."""
JOURNALS = ("-wal", "-shm", "-journal", ".lock")


def back_up(settings: Settings, file: Path) -> int:
    """Writes the backup, which only the user may read; returns its bytes. Raises ``NotSqlite`` where the conversations
    lie on a database server, ``FileTaken``, ``FileUnwritten``, and ``BadBackup`` for a database that is damaged."""
    database = _find_database(settings)
    if file.exists():
        raise FileTaken(path=str(file))
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        private.make_file(new)
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive, _make_backup_folder(settings) as folder:
            archive.comment = FORM.encode()
            for name, path in _name_files(settings.data_dir, database):
                archive.write(_copy_database(path, Path(folder)) if name.endswith(".db") else path, name)
        new.rename(file)
    except OSError as error:
        raise FileUnwritten(path=str(file), reason=error.strerror or str(error)) from error
    finally:
        new.unlink(missing_ok=True)
    return file.stat().st_size


def restore_backup(settings: Settings, file: Path) -> int:
    """Puts a backup into the data folder; returns the number of files. Everything is checked before anything is put.
    Raises ``NotSqlite`` where the conversations lie on a database server, ``BackupTaken`` where conversations are there
    already, ``BadBackup`` and ``FileUnwritten``."""
    target, database = settings.data_dir, _find_database(settings)
    if any(target.glob("*.db")) or database.exists():
        raise BackupTaken(place=str(target))
    try:
        private.make_folder(target)
        with zipfile.ZipFile(file) as archive, _make_backup_folder(settings) as name:
            folder = Path(name)
            _check_names(archive)
            archive.extractall(folder)
            for path in folder.rglob("*.db"):
                _check_database(path)
            private.restrict_folder_to_owner(folder)
            entries = sorted(folder.iterdir(), key=lambda path: path.suffix == ".db")  # whole where a database is
            private.make_folder(database.parent)
            for entry in entries:
                shutil.move(entry, database if entry.name == DATABASE else target / entry.name)
            return sum(not item.is_dir() for item in archive.infolist())
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise BadBackup(file=str(file), reason=str(error)) from error
    except OSError as error:
        raise FileUnwritten(path=str(target), reason=error.strerror or str(error)) from error


def _make_backup_folder(settings: Settings) -> tempfile.TemporaryDirectory[str]:
    """Returns a private folder beside the data: what is put together there can be moved into place at once."""
    return tempfile.TemporaryDirectory(prefix=".backup-", dir=settings.data_dir)


def _find_database(settings: Settings) -> Path:
    """Returns the file of the conversations, which may lie outside of the data folder. Raises ``NotSqlite``."""
    file = file_of(parse_database_url(settings.database))
    if file is None:
        raise NotSqlite
    return file.absolute()


def _name_files(folder: Path, database: Path) -> Iterator[tuple[str, Path]]:
    """Yields the files of a backup by their names in it, where the database of the conversations has one name wherever
    it lies. A database of that name that is not in use is left out."""
    if database.exists():
        yield DATABASE, database
    for path in _list_files(folder):
        name = path.relative_to(folder).as_posix()
        if name != DATABASE and path.absolute() != database:
            yield name, path


def _list_files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name in LEFT_OUT or entry.name.startswith(".") or entry.is_symlink():
            continue
        inside = sorted(entry.rglob("*")) if entry.is_dir() else [entry]
        yield from (path for path in inside if path.is_file() and not path.name.endswith(JOURNALS))


def _copy_database(path: Path, folder: Path) -> Path:
    if beside := find_leftover_file(path):
        raise BadBackup(file=str(path), reason=f"it has 0 bytes, though {beside} beside it holds data")
    copy = folder / path.name
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as source, closing(sqlite3.connect(copy)) as target:
        try:
            source.backup(target)
        except sqlite3.DatabaseError as error:
            raise BadBackup(file=str(path), reason=str(error)) from error
    _check_database(copy)
    return copy


def _check_database(path: Path) -> None:
    """Raises ``BadBackup`` for a database that is damaged."""
    with closing(sqlite3.connect(path)) as connection:
        try:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        except sqlite3.DatabaseError as error:
            found = str(error)
    if found != "ok":
        raise BadBackup(file=path.name, reason=found)


def _check_names(archive: zipfile.ZipFile) -> None:
    """Raises ``BadBackup`` for a file that is no backup, or would be put elsewhere than into the data folder."""
    if archive.comment != FORM.encode():
        raise BadBackup(file=str(archive.filename), reason="it is no backup of Gieok")
    for name in archive.namelist():
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or "\\" in name or ".." in parts or parts[0] in LEFT_OUT:
            raise BadBackup(file=str(archive.filename), reason=f"it has a file {name!r}")
    if damaged := archive.testzip():
        raise BadBackup(file=str(archive.filename), reason=f"{damaged} is damaged")


__all__ = ["back_up", "restore_backup"]
