"""Brings the memory of a session from the form of earlier releases into the form of an export."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory.line import (
    DatedStatement,
    letters_of,
    parse_dated_line,
    split_memory_lines,
    statements_of,
    strip_line_turns,
)
from prompt import sentences_of_ours
from text.language import detect_language
from text.sentence import remove_sentences


def convert_memory(state: Mapping[str, Any], versions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the memory of an earlier release in the form of an export: ``state`` and ``versions`` as it kept them.

    A user's own memory (no session) had pins, values and a text without turns; pins and values become lines of the
    profile. Its text is left out: it is a mixture of what single conversations told, and their turns are found by
    search.
    """
    meta = state["meta"]
    session, at = str(meta.get("session", "")), float(meta.get("created") or time.time())
    made = _Converted(float(state["memory"].get("updated") or at))
    pins = [str(pin) for pin in meta.get("pinned", ()) or (meta.get("pins", ()) if not session else ())]
    for pin in pins:
        made.add("profile", pin, 0, pinned=True)
    if not session:
        for entity in state["entities"]:
            made.add("profile", str(entity["value"]), 0, key=str(entity["key"]))
    for what, number in meta.get("forgotten", ()):
        made.add("forgotten", str(what), int(number) if session else 0, forgotten_at=made.updated)
    if session:
        made.add_versions(state, versions, meta)
    return {
        "session": session,
        "apart": bool(meta.get("apart", False)) and bool(session),
        "skipped": made.skipped,
        "lines": made.lines,
        "versions": made.versions,
    }


class _Converted:
    """Lines and versions of one memory, as they are converted."""

    def __init__(self, updated: float) -> None:
        self.lines: list[dict[str, Any]] = []
        self.versions: list[dict[str, Any]] = []
        self.skipped = 0
        self.updated = updated

    def add(self, kind: str, content: str, turn: int, at: float | None = None, **values: Any) -> int:
        """Adds a line and returns its id."""
        number = len(self.lines) + 1
        moment = self.updated if at is None else at
        base = {"id": number, "kind": kind, "turn": turn, "at": moment, "origin": "user", "text": content}
        self.lines.append({**base, **values})
        return number

    def add_versions(
        self, state: Mapping[str, Any], versions: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]
    ) -> None:
        """Adds the versions of a session, and its text as it is now where a change by hand left no version."""
        known = dict[str, int]()
        folded = 0
        for version in versions:
            numbers = [int(turn["number"]) for turn in version.get("turns", ())]
            folded = max([folded, *numbers])
            self._add_version(version["number"], version["text"], version.get("after", ()), known, version, numbers)
        ends = [int(last) for _, last in meta.get("folded", ())]
        self.skipped = max(ends, default=0) if max(ends, default=0) > folded else 0
        content = state["memory"]
        if content.get("memory") and (not self.versions or versions[-1]["text"] != content["memory"]):
            latest = {"created": self.updated, "origin": "edit"}
            number = max(int(content.get("version", 0)), len(self.versions)) + 1
            self._add_version(number, content["memory"], state["entities"], known, latest, [])
        elif state["entities"] and not self.versions:
            self._add_version(1, "", state["entities"], known, {"created": self.updated, "origin": "edit"}, [])

    def _add_version(
        self,
        number: int,
        content: str,
        entities: Sequence[Mapping[str, Any]],
        known: dict[str, int],
        version: Mapping[str, Any],
        numbers: Sequence[int],
    ) -> None:
        at = float(version["created"])
        ids = [*dict.fromkeys(self._find_or_add(known, *each, at) for each in _split_lines(content))]
        values = [
            self._find_or_add(known, "entity", str(entity["value"]), int(entity["turn"]), at, str(entity["key"]))
            for entity in entities
        ]
        before = self.versions[-1]["folded"] if self.versions else 0
        folded = max([before, *numbers])
        record = {
            name: [*version[name]] if name != "cost" else version[name]
            for name in ("kept", "lost", "cost")
            if version.get(name)
        }
        self.versions.append(
            {
                "number": int(number),
                "turn": folded,
                "first": min(numbers, default=0),
                "folded": folded,
                "branch": 0,
                "origin": str(version.get("origin", "fold")),
                "language": detect_language(content),
                "created": at,
                "lines": ids,
                "entities": values,
                "record": record,
            }
        )

    def _find_or_add(self, known: dict[str, int], kind: str, content: str, turn: int, at: float, key: str = "") -> int:
        name = f"{kind} {key} {turn if kind == 'entity' else ''} {letters_of(content)}"
        if name not in known:
            known[name] = self.add(kind, content, max(0, turn), at, key=key)
        return known[name]


def _split_lines(content: str) -> Iterator[tuple[str, str, int]]:
    """Yields kind, text and turn of the lines of an old text; a line of an earlier session has no turn any more.

    Earlier releases took what the product said in the user's role for the user's words: it is left out.
    """
    for line in split_memory_lines(content):
        is_dated = parse_dated_line(line).first > 0
        for told in statements_of(line) if is_dated else [DatedStatement(0, 0, strip_line_turns(line))]:
            if text := remove_sentences(told.text, sentences_of_ours()):
                yield "statement" if is_dated else "sentence", text, told.last
