"""The rule by which an author's entry is active, as plain data.

Sources: the code and documentation of SillyTavern's World Info, the specification of character cards v3 (decorators),
RisuAI's lorebook. An entry without a rule is *layered* (specification 12.10); one with a rule is *keyed*: it takes part
only when its rule fires (``world.lore.activation``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from store.world.record import LoreEntry

Logic = Literal["and_any", "not_all", "not_any", "and_all"]
"""What is asked of the secondary keys; in the order of SillyTavern's numbers 0 to 3."""
Position = Literal["before", "after", "note_top", "note_bottom", "depth", "example_top", "example_bottom", "outlet"]
"""Where the author put an entry; in the order of SillyTavern's numbers 0 to 7."""
Role = Literal["system", "user", "assistant"]
"""In the order of SillyTavern's numbers 0 to 2."""
Source = Literal["persona", "description", "personality", "depth_prompt", "scenario", "notes"]
"""Texts beside the chat in which the keys may be looked for."""
LOGICS: tuple[Logic, ...] = get_args(Logic)
POSITIONS: tuple[Position, ...] = get_args(Position)
ROLES: tuple[Role, ...] = get_args(Role)
SOURCES: tuple[Source, ...] = get_args(Source)
SCAN_DEPTH, WEIGHT, DEPTH = 2, 100, 4
"""SillyTavern's defaults: messages that are looked through, weight in a group, depth in the chat."""
FAR = 1000
"""The most messages that are looked through; the depth of what its author counts from the beginning of the chat."""


@dataclass(frozen=True, slots=True)
class Rule:
    """When an entry is active and where it stands. Plain keys are the entry's own ``keys``.

    ``patterns``: keys that are regular expressions, as ``/…/flags``. ``secondary``, ``logic``: count while
    ``selective``. ``sources``: looked through beside the chat. ``chance``: in percent. ``sticky``, ``cooldown``,
    ``delay``: in messages, as SillyTavern counts. ``recursion_delay``: the level from which on other entries may bring
    this one, 0 for none. ``characters``, ``tags``: for whom it is meant, or not (``outsiders``). ``triggers``: kinds of
    requests, empty for all. ``forced``: by ``@@activate`` or ``@@dont_activate``. ``required``: of each of these lists
    one must be named; ``excluded``: of each none, ``excluded_all``: of each not all. ``after_answers``,
    ``every_answers``: answers there must be, 0 for any. ``keeps``, ``once``: after it was active once it always is, or
    never again. ``greeting``: the number of the greeting that it belongs to. ``yields``: it goes first when room is
    short. ``character``: the name for ``{{char}}``.
    """

    patterns: tuple[str, ...] = ()
    secondary: tuple[str, ...] = ()
    logic: Logic = "and_any"
    selective: bool = True
    constant: bool = False
    vectorized: bool = False
    case_sensitive: bool = False
    whole_words: bool = False
    spaceless: bool = False
    scan_depth: int = SCAN_DEPTH
    sources: tuple[Source, ...] = ()
    chance: float = 100
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    groups: tuple[str, ...] = ()
    group_first: bool = False
    group_weight: float = WEIGHT
    group_scored: bool = False
    recursive: bool = True
    recursion_excluded: bool = False
    recursion_prevented: bool = False
    recursion_delay: int = 0
    order: float = 100
    position: Position = "before"
    depth: int = DEPTH
    role: Role = "system"
    outlet: str = ""
    characters: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    outsiders: bool = False
    triggers: tuple[str, ...] = ()
    budget_free: bool = False
    forced: Literal["", "on", "off"] = ""
    required: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[tuple[str, ...], ...] = ()
    excluded_all: tuple[tuple[str, ...], ...] = ()
    after_answers: int = 0
    every_answers: int = 0
    keeps: bool = False
    once: bool = False
    greeting: int | None = None
    yields: bool = False
    character: str = ""

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Rule:
        """Returns the rule that ``plain`` wrote. Unknown names, of a later version, are left out."""
        return cls(**{name: _convert_to_tuples(value) for name, value in plain.items() if name in cls.__slots__})

    @property
    def plain(self) -> dict[str, Any]:
        """Returns what differs from the defaults, as plain JSON."""
        values = ((one.name, getattr(self, one.name), one.default) for one in fields(self))
        return {
            "keyed": True,
            **{name: _convert_to_lists(value) for name, value, default in values if value != default},
        }

    @property
    def asks_history(self) -> bool:
        """Whether the rule asks what was active in earlier turns."""
        return bool(self.sticky or self.cooldown or self.keeps or self.once)

    @property
    def asks_count(self) -> bool:
        """Whether the rule asks how many messages there are."""
        return bool(self.asks_history or self.delay or self.after_answers or self.every_answers)

    @property
    def is_lasting(self) -> bool:
        """Whether what the entry says holds beyond the moment at which the rule fires: the rule asks for words alone,
        and the entry has no place of its own."""
        momentary = self.asks_count or self.groups or self.triggers or self.greeting is not None or self.chance < 100
        negative = self.excluded or self.excluded_all or (self.secondary and self.logic in ("not_all", "not_any"))
        return not momentary and not negative and not self.forced and self.position in ("before", "after")


NO_RULE = Rule()
"""A rule that says nothing but the defaults."""


def is_keyed(entry: LoreEntry) -> bool:
    """Returns whether an entry is active by its author's rule alone."""
    return bool(entry.rule)


def rule_of(entry: LoreEntry) -> Rule:
    """Returns the rule of a keyed entry; of a layered one a rule that says nothing."""
    return Rule.of(entry.rule or {})


def _convert_to_tuples(value: Any) -> Any:
    return tuple(_convert_to_tuples(one) for one in value) if isinstance(value, list) else value


def _convert_to_lists(value: Any) -> Any:
    return [_convert_to_lists(one) for one in value] if isinstance(value, tuple) else value
