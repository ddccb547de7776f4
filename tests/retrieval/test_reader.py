"""A document that takes too much is told by name, and the rest go on: time, memory, passages, a dead process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from errors import DocumentError
from model.call.interrupt import stopped_by
from model.call.stream import Stopped
from retrieval.read import reader as module
from retrieval.read.content import read_content
from retrieval.read.reader import Reader, ReadLimits
from tests.retrieval.conftest import Opened
from tests.retrieval.file import word

PAGE = b"<html><body><h1>Pears</h1><p>Pears are green.</p></body></html>"
ROOT = Path(__file__).parent.parent.parent
ORPHAN = """
import sys
from retrieval.read.reader import ReadLimits, Reader
from tests.retrieval.test_reader import PAGE, many
reader = Reader(ReadLimits(10**8, 60, 10**9, 10**6))
reader.read("a.html", PAGE)
data = many(40_000)
print(reader._child.pid, flush=True)
reader.read("many.docx", data)
"""


def many(paragraphs: int) -> bytes:
    """A Word file of kilobytes that takes seconds."""
    return word(*[("", "x")] * paragraphs)


def limits(seconds: float = 60, memory: int = 10**9, passages: int = 10**5) -> ReadLimits:
    return ReadLimits(10**8, seconds, memory, passages)


def gone(process: int) -> bool:
    """Whether it ended, also when nobody has asked for its exit code."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def until_gone(process: int) -> bool:
    end = time.monotonic() + 60
    while not gone(process) and time.monotonic() < end:
        time.sleep(0.02)
    return gone(process)


def pid(reader: Reader) -> int:
    assert reader._child is not None
    return reader._child.pid


@pytest.mark.parametrize(
    ("values", "code", "setting"),
    [
        ({"document_seconds": 0.5}, "document_too_slow", "GIEOK_DOCUMENT_SECONDS"),
        ({"document_memory": 40_000_000}, "document_too_heavy", "GIEOK_DOCUMENT_MEMORY"),
    ],
    ids=["time", "memory"],
)
def test_a_small_file_that_takes_too_much_fails_alone_and_says_which_setting_allows_more(
    opened: Opened, values: dict[str, float], code: str, setting: str
) -> None:
    bomb = many(10_000)
    assert len(bomb) < 10_000
    library = opened(**values)
    done = library.add([("before.html", PAGE), ("bomb.docx", bomb), ("after.html", PAGE.replace(b"Pears", b"Plums"))])
    assert done.added == ("before.html", "after.html")
    ((name, error),) = done.failed
    assert (name, error.code, setting in error.text()) == ("bomb.docx", code, True)
    assert library.search("plums")[0].passage.text == "Plums are green."


def test_a_document_with_too_many_passages_fails_alone(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PASSAGES", 20)
    done = opened().add([("before.html", PAGE), ("bomb.docx", many(10_000))])
    ((name, error),) = done.failed
    assert (done.added, name, error.code) == (("before.html",), "bomb.docx", "document_too_long")


def test_tags_without_end_inside_each_other_are_a_broken_file() -> None:
    with Reader(limits()) as reader:
        with pytest.raises(DocumentError) as caught:
            reader.read("deep.html", b"<html>" + b"<div>" * 100_000 + b"x")
        assert caught.value.code == "document_broken"
        assert reader.read("a.html", PAGE).title == "Pears"


def test_one_process_reads_all_documents_and_none_is_started_for_short_texts(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, start = list[ReadLimits](), module._start_child

    def counted(given: ReadLimits) -> subprocess.Popen[bytes]:
        started.append(given)
        return start(given)

    monkeypatch.setattr(module, "_start_child", counted)
    library = opened()
    library.add([(f"{number}.md", f"# Apples\n\nApple {number}.".encode()) for number in range(20)])
    assert started == []
    done = library.add([(f"{number}.html", PAGE) for number in range(20)])
    assert (len(done.added), len(started)) == (20, 1)


def test_what_is_read_there_is_what_is_read_here() -> None:
    front = "---\ntitle: 설치\ntype: faq\n---\n"
    data = f"{front}# 설치\n\n|가|나|\n|-|-|\n|1|2|\n\n1. 받습니다.\n2. 실행합니다.\n".encode()
    with Reader(limits()) as reader:
        assert reader.read("a.md", data) == read_content("a.md", data, 10**6)
        assert reader._child is not None
        assert reader.read("a.md", data).said == "faq"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGSEGV, "document_unread"), (signal.SIGKILL, "document_too_heavy")]
)
def test_a_process_that_dies_costs_only_the_document_that_it_read(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: str
) -> None:
    begin = Reader._begin_reading

    def killed(self: Reader, *document: Any) -> subprocess.Popen[bytes]:
        child = begin(self, *document)
        os.kill(child.pid, number)
        return child

    with Reader(limits()) as reader:
        reader.read("a.html", PAGE)
        with monkeypatch.context() as patch:
            patch.setattr(Reader, "_begin_reading", killed)
            with pytest.raises(DocumentError) as caught:
                reader.read("many.docx", many(20_000))
        assert (caught.value.code, "many.docx" in str(caught.value)) == (code, True)
        assert reader.read("a.html", PAGE).title == "Pears"


def test_a_process_that_died_between_two_documents_costs_none() -> None:
    with Reader(limits()) as reader:
        reader.read("a.html", PAGE)
        os.kill(pid(reader), signal.SIGKILL)
        assert until_gone(pid(reader))
        assert reader.read("a.html", PAGE).title == "Pears"


def test_a_process_that_is_about_to_die_costs_no_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed after it was asked whether it runs, and before it begins."""
    with Reader(limits()) as reader:
        reader.read("a.html", PAGE)
        running = Reader._running

        def killed(self: Reader) -> subprocess.Popen[bytes]:
            child = running(self)
            monkeypatch.undo()
            os.kill(child.pid, signal.SIGKILL)
            assert until_gone(child.pid)
            return child

        monkeypatch.setattr(Reader, "_running", killed)
        assert reader.read("a.html", PAGE).title == "Pears"


def test_time_is_counted_for_each_document() -> None:
    """The limit is a process's; the process reads many."""
    with Reader(limits(seconds=1)) as reader:
        for _ in range(4):
            assert reader.read("some.docx", many(2000)).pieces


def test_a_stop_ends_the_reading_at_once() -> None:
    stop = threading.Event()
    with Reader(limits()) as reader, stopped_by(stop):
        reader.read("a.html", PAGE)
        process = pid(reader)
        threading.Timer(0.2, stop.set).start()
        with pytest.raises(Stopped):
            reader.read("many.docx", many(40_000))
        assert gone(process)


def test_a_stopped_addition_says_that_it_was_cancelled(opened: Opened) -> None:
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    done = opened().add([("a.html", PAGE), ("many.docx", many(40_000)), ("b.html", PAGE)], stop=stop)
    assert (done.cancelled, done.failed) == (True, ())


def test_the_process_ends_with_the_reader_and_with_a_parent_that_is_killed() -> None:
    with Reader(limits()) as reader:
        reader.read("a.html", PAGE)
        process = pid(reader)
    assert gone(process)
    with subprocess.Popen([sys.executable, "-c", ORPHAN], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        process = int(parent.stdout.readline())
        time.sleep(0.5)  # until it reads
        parent.kill()
    assert until_gone(process)
