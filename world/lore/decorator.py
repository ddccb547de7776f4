"""Decorators in the content of an entry: lines that begin with ``@@`` (specification of character cards v3).

What a known decorator says becomes part of the rule; none reaches a prompt. A line with ``@@@`` counts when the
decorator before it is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from world.lore.rule import FAR, POSITIONS, ROLES, Rule

_LINE = re.compile(r"(@@@?)[ \t]*([^\W\d_][\w-]*)(?:[ \t]+(.*))?[ \t]*")


@dataclass(frozen=True, slots=True)
class Decorated:
    """A content without its decorators. ``rule``: with what they say; ``unknown``: names of those that nothing was made
    of."""

    content: str
    rule: Rule
    unknown: tuple[str, ...]


def read_decorators(content: str, rule: Rule) -> Decorated:
    """Takes the decorators out of a content. The first of several with the same name counts."""
    if "@@" not in content:
        return Decorated(content, rule, ())
    kept, unknown, seen, open_ = list[str](), list[str](), set[str](), True
    for line in content.split("\n"):
        match = _LINE.fullmatch(line.strip())
        if match is None:
            kept.append(line)
            continue
        mark, name, value = match[1], match[2].casefold(), (match[3] or "").strip()
        if mark == "@@@" and not open_:
            continue
        read = _READERS.get(name.replace("-", "_"))
        changed = read(rule, value) if read is not None else None
        open_ = changed is None
        if changed is None:
            unknown.append(name)
        elif name not in seen:
            rule = changed
        seen.add(name)
    return Decorated("\n".join(kept).strip(), rule, tuple(dict.fromkeys(unknown)))


def decorator_lines(content: str) -> list[str]:
    """Returns the lines of a content that are decorators, as they are."""
    return [line for line in content.split("\n") if _LINE.fullmatch(line.strip())]


_Reader = Callable[[Rule, str], Rule | None]
"""Returns the rule with what the decorator's value says; None for a value that is none."""


def _change_rule(rule: Rule, **values: Any) -> Rule:
    return replace(rule, **values)


def _number_reader(name: str, most: int = FAR * FAR) -> _Reader:
    def read(rule: Rule, value: str) -> Rule | None:
        return _change_rule(rule, **{name: min(int(value), most)}) if re.fullmatch(r"\d{1,9}", value) else None

    return read


def _flag_reader(**values: Any) -> _Reader:
    return lambda rule, value: _change_rule(rule, **values)


def _list_reader(name: str) -> _Reader:
    def read(rule: Rule, value: str) -> Rule | None:
        keys = tuple(key for one in value.split(",") if (key := one.strip()))
        return _change_rule(rule, **{name: (*getattr(rule, name), keys)}) if keys else None

    return read


def _read_place(rule: Rule, value: str) -> Rule | None:
    places = {"before_desc": "before", "after_desc": "after", "personality": "after", "scenario": "after"}
    return _change_rule(rule, position=places[value]) if value in places else None


def _read_depth(rule: Rule, value: str) -> Rule | None:
    read = _number_reader("depth")(rule, value)
    return replace(read, position=POSITIONS[4]) if read is not None else None


def _read_role(rule: Rule, value: str) -> Rule | None:
    return _change_rule(rule, role=value) if value in ROLES else None


_READERS: dict[str, _Reader] = {
    "activate": _flag_reader(forced="on"),
    "dont_activate": lambda rule, _: rule if rule.forced == "on" else replace(rule, forced="off"),
    "activate_only_after": _number_reader("after_answers"),
    "activate_only_every": _number_reader("every_answers"),
    "keep_activate_after_match": _flag_reader(keeps=True),
    "dont_activate_after_match": _flag_reader(once=True),
    "depth": _read_depth,
    "reverse_depth": lambda rule, value: replace(rule, position="depth", depth=FAR) if value.isdecimal() else None,
    "end": _flag_reader(position="depth", depth=0),
    "role": _read_role,
    "scan_depth": _number_reader("scan_depth", FAR),
    "is_greeting": _number_reader("greeting"),
    "position": _read_place,
    "ignore_on_max_context": _flag_reader(yields=True),
    "additional_keys": _list_reader("required"),
    "exclude_keys": _list_reader("excluded"),
    "exclude_keys_all": _list_reader("excluded_all"),
    "match_full_word": _flag_reader(whole_words=True),
    "match_partial_word": _flag_reader(whole_words=False),
    "probability": _number_reader("chance"),
    "recursive": _flag_reader(recursive=True),
    "unrecursive": _flag_reader(recursion_prevented=True),
    "no_recursive_search": _flag_reader(recursion_excluded=True),
}
"""The decorators that something is made of; the names of the others are told when a file is read."""
