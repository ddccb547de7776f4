"""Markdown with its front matter, and plain text."""

from __future__ import annotations

import re

import yaml

from retrieval.read.format.loaded import Loaded, decode_file

FRONT_CHARS = 4000
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)


def read_markdown(name: str, data: bytes, _limit: int) -> Loaded:
    text, front = _split_front_matter(decode_file(name, data))
    return Loaded(name, front.get("title") or find_title(text), text, True, front)


def find_title(text: str) -> str:
    """Returns the first heading of level 1 outside code; '' without one."""
    heading = re.search(r"^# +(.+)$", _FENCED.sub("", text), re.MULTILINE)
    return heading.group(1).rstrip(" #") if heading else ""


def _split_front_matter(text: str) -> tuple[str, dict[str, str]]:
    """Returns the text without its YAML front matter, and the front matter's values that are plain text.

    Reads every value as text and does not expand aliases and merges: a few lines of them can expand to gigabytes.
    """
    match = re.match(rf"---[ \t]*\n(.{{0,{FRONT_CHARS}}}?)\n---[ \t]*(?:\n|\Z)", text, re.DOTALL)
    if not match:
        return text, {}
    try:
        front = yaml.BaseLoader(match.group(1)).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError):
        return text, {}
    if not isinstance(front, dict):
        return text, {}
    return text[match.end() :], {key: value for key, value in front.items() if isinstance(value, str)}


def read_plain_text(name: str, data: bytes, _limit: int) -> Loaded:
    return Loaded(name, "", decode_file(name, data), False, {})
