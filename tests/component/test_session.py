"""A conversation taken along as Markdown."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from component.page.catalogue import Words
from component.sidebar import export
from component.sidebar.export import build_markdown_writer
from errors import ModelUnreachable
from graph.turn.finish import plain_error
from store import Finished, Store


def test_it_is_told_in_the_readers_language_and_by_the_readers_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(f"sqlite:///{tmp_path / 'gieok.db'}")
    own = store.create_session("ko", 0.3).id
    error = plain_error(ModelUnreachable(url="http://127.0.0.1:9/v1"))
    store.finish_turn(own, store.begin_turn(own, "질문").number, Finished("failed", error=error))
    monkeypatch.setattr(export, "find_reader_zone", lambda: ZoneInfo("Pacific/Kiritimati"))
    far = build_markdown_writer(Words("ko"), store, own)()
    assert "> 답변하지 못했습니다: http://127.0.0.1:9/v1의 모델에 연결할 수 없습니다" in far
    assert "cannot" not in far
    monkeypatch.setattr(export, "find_reader_zone", lambda: ZoneInfo("Pacific/Midway"))
    assert moments(far) != moments(build_markdown_writer(Words("ko"), store, own)())
    store.close()


def moments(told: str) -> list[str]:
    return [line for line in told.splitlines() if line.startswith("## ")]
