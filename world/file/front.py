"""A Markdown file of a world as its text says: YAML front matter between two lines ``---``, then the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import yaml

from errors import BadWorldFile

_HEAD = re.compile(r"\A---[ \t]*\n(.{0,4000}?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


WHOLE_LORE = "whole_lore"
"""In the front matter of stable_prefix.md: the entries that are always active are given whatever they take."""


@dataclass(frozen=True, slots=True)
class WorldFile:
    """A file: its text without the front matter, and the front matter's values. ``budget``: its own token budget from
    there, None for the setting's."""

    name: str
    body: str
    budget: int | None = None
    head: Mapping[str, Any] = field(default_factory=dict)

    def choose_budget(self, budget: int) -> int:
        """Returns the file's own budget, else this one."""
        return budget if self.budget is None else self.budget


@dataclass(frozen=True, slots=True)
class LiveStateFile:
    """live_state.md: the state after turn ``turn``, whose id is ``node``; ``updated_at`` in ISO 8601."""

    updated_at: str
    turn: int
    node: int
    body: str

    @property
    def text(self) -> str:
        """Returns the content of the file."""
        return f"---\nupdated_at: {self.updated_at}\nturn: {self.turn}\nnode: {self.node}\n---\n{self.body}\n"


def parse_world_file(name: str, data: bytes) -> WorldFile:
    """Returns the file with this content. Raises ``BadWorldFile``."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise BadWorldFile(name=name, reason="it is not UTF-8", reason_code="no_utf8") from error
    match = _HEAD.match(text)
    head = _parse_front_matter(name, match[1]) if match else {}
    budget = head.get("budget")
    if budget is not None and (type(budget) is not int or budget < 0):
        raise BadWorldFile(name=name, reason="its budget is no number of tokens", reason_code="budget")
    return WorldFile(name, text[match.end() if match else 0 :].strip(), budget, head)


def with_head(text: str, **values: int | bool) -> str:
    """Returns a file with these values in its front matter, such as its token budget; what else stands there stays."""
    match = _HEAD.match(text)
    head = {**(_parse_front_matter("", match[1]) if match else {}), **values}
    body = text[match.end() if match else 0 :].lstrip("\n")
    return f"---\n{yaml.safe_dump(head, allow_unicode=True, sort_keys=False)}---\n{body}"


def parse_live_file(file: WorldFile) -> LiveStateFile:
    """Returns live_state.md with what its front matter tells. Raises ``BadWorldFile``."""
    turn, node = file.head.get("turn"), file.head.get("node")
    if type(turn) is not int or type(node) is not int:
        raise BadWorldFile(name=file.name, reason="its front matter does not tell turn and node", reason_code="front")
    updated = file.head.get("updated_at", "")
    return LiveStateFile(updated.isoformat() if isinstance(updated, date) else str(updated), turn, node, file.body)


def _parse_front_matter(name: str, text: str) -> Mapping[str, Any]:
    try:
        head = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadWorldFile(name=name, reason="its front matter is not YAML", reason_code="front") from error
    if head is not None and not isinstance(head, dict):
        raise BadWorldFile(name=name, reason="its front matter has no names with values", reason_code="front")
    return head or {}
