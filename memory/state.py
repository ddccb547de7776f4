"""The content of one memory and its rules as pure functions (specification 6.2, specification 6.6, specification 6.10).

``short`` holds the last five turns and any older turns that the memory has not taken in yet. As soon as more than five
turns wait, the memory takes in the oldest five. So a fold runs every five turns, and the newest turns stay word for
word.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from errors import Empty, TooLong
from text.clean import clean

SHORT_TURNS = 5
"""Turns kept word for word, and turns per fold."""
MOST_ENTITIES = 25
"""Most entities of a memory (specification 6.6)."""
KEY_CHARS, VALUE_CHARS, PIN_CHARS = 100, 1000, 300
MOST_PINS = 20
PATIENCE = 3
"""Rejections in a row after which code, instead of the model, folds the turns, so that they do not wait for ever."""
TEXT_CHARS = 16_000
"""Longest memory that a user may write by hand; a prompt takes only its budget of the text."""
TURN_BYTES = 1_000_000
"""Largest turn that memory keeps whole; of a larger turn it keeps the beginning and the end, the transcript keeps
all."""

Origin = Literal["fold", "rewritten", "edit", "undo", "forget", "import", "merge"]
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class MemoryTurn:
    """One turn in memory: the texts of user and assistant; results of tools are a separate field, only for context."""

    number: int
    question: str
    answer: str
    tools: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A value worth keeping, with its key and the turn it comes from (specification 6.6)."""

    key: str
    value: str
    turn: int

    @property
    def line(self) -> str:
        """Returns ``budget: $10,000``, the form in which prompts and pages show an entity (specification 6.7)."""
        return f"{self.key}: {self.value}"


@dataclass(frozen=True, slots=True)
class Version:
    """One M_i: its text, the turns that it took in, the entities before and after. ``created``: Unix seconds.

    ``kept``, ``lost``: facts of the turns that the text holds or lacks. A change by hand has no turns; its ``prior`` is
    the text before the change, its ``dropped`` the entities that the change removed. In a user's memory, ``source`` is
    the tag of the session whose content this version took over.
    """

    number: int
    text: str
    origin: Origin
    created: float
    turns: tuple[MemoryTurn, ...] = ()
    before: tuple[Entity, ...] = ()
    after: tuple[Entity, ...] = ()
    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    cost: dict[str, Any] = field(default_factory=dict)
    prior: str = ""
    dropped: tuple[Entity, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why the last fold was rejected, over which turns, and how often in a row.

    ``seen``: the newest turn at that time. ``cost``: the cost of all folds that were rejected in a row; the next
    version includes it. ``why``: the reason for translation (``memory.fold.by_model.Fault``).
    """

    reason: str
    first: int
    last: int
    times: int
    seen: int
    created: float
    cost: dict[str, Any] = field(default_factory=dict)
    why: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class State:
    """One memory. ``revision`` 0: it does not exist yet. ``folded``: the turns that the memory has taken in, as ranges.

    ``start``: the digest (``mark``) of the user's memory when this session started from it, or when the session last
    wrote its own content there. ``carried``, in a user's memory: the version that it has taken over from each session,
    for the last two hundred sessions. ``taken``, in a session: the same version as the session knows it; a crash may
    leave it behind. ``forgotten``: pairs of a text and the newest turn when it was forgotten; turns up to that one do
    not bring the text back. ``apart``, in a user's memory: the user has switched it off, so that sessions neither start
    from it nor write to it. ``apart``, in a session: the same for this session alone, because the user chose so at its
    beginning, or deleted it and had its content forgotten (``memory.change.withdraw``). ``pinned``, in a session: the
    pins that were set in this session, without those it took over.
    """

    revision: int = 0
    token: int = 0
    text: str = ""
    version: int = 0
    updated: float = 0.0
    entities: tuple[Entity, ...] = ()
    short: tuple[MemoryTurn, ...] = ()
    folded: Ranges = ()
    pins: tuple[str, ...] = ()
    forgotten: tuple[tuple[str, int], ...] = ()
    rejection: Rejection | None = None
    tenant: str = ""
    session: str = ""
    user: str = ""
    start: str = ""
    taken: int = 0
    carried: tuple[tuple[str, int], ...] = ()
    created: float = 0.0
    apart: bool = False
    pinned: tuple[str, ...] = ()

    @property
    def waiting(self) -> tuple[MemoryTurn, ...]:
        """Returns the turns that the memory has not taken in yet, oldest first."""
        return tuple(turn for turn in self.short if not within(self.folded, turn.number))

    @property
    def newest(self) -> int:
        """Returns the number of the newest turn that memory has seen."""
        return max([turn.number for turn in self.short] + [last for _, last in self.folded], default=0)

    @property
    def batch(self) -> tuple[MemoryTurn, ...]:
        """Returns the waiting turns that the next fold takes in, oldest first.

        A batch has five turns. After the first rejection in a row it has two, after the second one. After ``PATIENCE``
        rejections it has five again, because code then makes the fold if the model's is rejected; smaller batches would
        let turns arrive faster than folds take them in.
        """
        times = self.rejection.times if self.rejection and not self.stuck else 0
        return self.waiting[: max(1, SHORT_TURNS >> times)]

    @property
    def due(self) -> bool:
        """Tells whether a fold is due: more than five turns wait, and a turn has come in since the last rejection."""
        return len(self.open) > SHORT_TURNS

    @property
    def open(self) -> tuple[MemoryTurn, ...]:
        """Returns the waiting turns; none when the last fold was rejected and no turn has come in since."""
        tried = self.rejection is not None and self.rejection.seen >= self.newest
        return () if tried else self.waiting

    @property
    def mark(self) -> str:
        """Returns a digest of text and entities: two memories with the same content have the same mark."""
        content = json.dumps([self.text, [asdict(item) for item in self.entities]])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def owed(self) -> int:
        """Returns how much work is left for a session when nobody writes in it any more: its waiting turns, plus one if
        its version is not in the user's memory yet; 0 for a session kept apart."""
        if self.session and self.apart:
            return 0
        return len(self.waiting) + (bool(self.session) and self.version != self.taken)

    @property
    def stuck(self) -> bool:
        """Tells whether folds of the oldest waiting turns were rejected ``PATIENCE`` times in a row."""
        return self.rejection is not None and self.rejection.times >= PATIENCE

    @property
    def empty(self) -> bool:
        return not (self.text or self.entities or self.short or self.pins)


def note(state: State, turn: MemoryTurn) -> State:
    """Returns the state with this turn, once: replaces a waiting turn (answered again), leaves one already taken in."""
    if within(state.folded, turn.number):
        return state
    others = [other for other in state.short if other.number != turn.number]
    return trimmed(replace(state, short=tuple(sorted([*others, turn], key=lambda other: other.number))))


def trimmed(state: State) -> State:
    """Returns the state whose ``short`` has only the last five turns and the waiting ones."""
    first = [turn.number for turn in state.short][-SHORT_TURNS:][:1]
    keep = (turn for turn in state.short if turn.number >= first[0] or not within(state.folded, turn.number))
    return replace(state, short=tuple(keep))


def fitted(turn: MemoryTurn) -> MemoryTurn:
    """Returns the turn without characters that JSON cannot hold; shortens the texts of a turn larger than
    ``TURN_BYTES`` to their beginning and end."""
    clear = MemoryTurn(turn.number, clean(turn.question), clean(turn.answer), clean(turn.tools))
    size = len((clear.question + clear.answer + clear.tools).encode())
    if size <= TURN_BYTES:
        return clear
    most = TURN_BYTES // 12  # characters for each of the three parts, at up to four bytes a character
    return MemoryTurn(turn.number, *(_ends(part, most) for part in (clear.question, clear.answer, clear.tools)))


def put(entities: Iterable[Entity], new: Entity) -> tuple[Entity, ...]:
    """Returns the entities with the new one at the end. Drops an older one with the same key, and the oldest of more
    than 25 (specification 6.6)."""
    others = [item for item in entities if same_key(item.key) != same_key(new.key)]
    return (*others, new)[-MOST_ENTITIES:]


def entity(key: str, value: str, turn: int) -> Entity:
    """Returns a checked entity whose key and value are one line each. Raises ``TooLong``, ``Empty``."""
    return Entity(filled("key", key, KEY_CHARS), filled("value", value, VALUE_CHARS), turn)


def same_key(key: str) -> str:
    """Returns the form that spellings of one key share: ``Top Service``, ``top_service``; but not ``C`` and ``C++``."""
    return "".join(letter for letter in key.casefold() if letter.isalnum() or letter in "+#*") or key


def filled(what: str, text: str, limit: int) -> str:
    """Returns the text as ``checked`` does. Raises ``TooLong``, and ``Empty`` when nothing is left."""
    if not (clear := checked(what, text, limit)):
        raise Empty(what=what)
    return clear


def checked(what: str, text: str, limit: int) -> str:
    """Returns the text cleaned and without line breaks. Raises ``TooLong``."""
    if len(text) > limit:
        raise TooLong(what=what, size=len(text), limit=limit)
    return " ".join(clean(text).split())


def within(ranges: Ranges, number: int) -> bool:
    return any(first <= number <= last for first, last in ranges)


def added(ranges: Ranges, numbers: Iterable[int]) -> Ranges:
    """Returns the ranges with these numbers; joins neighbours."""
    return _ranges({number for first, last in ranges for number in range(first, last + 1)} | set(numbers))


def removed(ranges: Ranges, numbers: Iterable[int]) -> Ranges:
    """Returns the ranges without these numbers."""
    return _ranges({number for first, last in ranges for number in range(first, last + 1)} - set(numbers))


def _ranges(numbers: set[int]) -> Ranges:
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)


def _ends(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} […] {text[-most // 2 :]}"


def undone(state: State, current: Version, text: str) -> State:
    """Returns the state without its newest version: the text before it, its turns waiting again, its entities
    undone."""
    numbers = [turn.number for turn in current.turns]
    turns = {each.number: each for each in (*current.turns, *state.short)}
    return replace(
        state,
        text=text,
        folded=removed(state.folded, numbers),
        short=tuple(turns[number] for number in sorted(turns)),
        entities=_taken_back(state.entities, current.before, current.after),
        rejection=None,
    )


def _taken_back(now: Sequence[Entity], before: Sequence[Entity], after: Sequence[Entity]) -> tuple[Entity, ...]:
    """Returns the entities as they were before a version; keeps entities that were changed after it."""
    kept = [item for item in now if item in before or item not in after]
    keys = {same_key(item.key) for item in kept}
    back = [item for item in before if same_key(item.key) not in keys and item not in after]
    return (*back, *kept)[-MOST_ENTITIES:]
