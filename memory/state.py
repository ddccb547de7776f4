"""What one memory holds, and its rules as pure functions (copilot-rag.md §3.2–3.5, §8).

``short``: the last five turns, and any older ones that are not in the memory yet. The memory takes over the oldest
five as soon as more than five are waiting: a fold comes every five turns, and what was said last stays word for word.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from errors import MemoryBlank, MemoryTooLarge
from text.clean import clean

SHORT_TURNS = 5
"""Turns kept word for word, and turns per fold."""
MOST_ENTITIES = 25
KEY_CHARS, VALUE_CHARS, PIN_CHARS = 100, 1000, 300
MOST_PINS = 20
PATIENCE = 3
"""Rejections in a row after which the turns are kept word for word, by code, instead of waiting for ever."""
TEXT_CHARS = 16_000
"""Longest memory that somebody may write by hand; the context takes its budget of it."""
TURN_BYTES = 1_000_000
"""A larger turn is kept in the transcript only; memory holds its beginning and end."""

Origin = Literal["fold", "rewritten", "edit", "undo", "forget", "import", "merge"]
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn as memory takes it: what the user and the assistant said; what tools said is kept apart, as context."""

    number: int
    question: str
    answer: str
    tools: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A value worth keeping, under its key, from this turn (copilot-rag.md §3.5)."""

    key: str
    value: str
    turn: int

    @property
    def line(self) -> str:
        """``budget: $10,000``, as it is told wherever it is (copilot-rag.md §5.1)."""
        return f"{self.key}: {self.value}"


@dataclass(frozen=True, slots=True)
class Version:
    """One M_i: its text, the turns it was made from, the entities before and after. ``created``: Unix seconds.

    ``kept``, ``lost``: facts of the turns. Of a change by hand, which has no turns: ``prior`` is the text that it
    changed, ``dropped`` the entities it removed.
    """

    number: int
    text: str
    origin: Origin
    created: float
    turns: tuple[Turn, ...] = ()
    before: tuple[Entity, ...] = ()
    after: tuple[Entity, ...] = ()
    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    cost: dict[str, Any] = field(default_factory=dict)
    prior: str = ""
    dropped: tuple[Entity, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why the last fold was not taken, over which turns, how often in a row; ``seen``: the newest turn at that time.

    ``cost``: what all folds that were rejected in a row took; the version that follows counts it. ``why``: the reason
    for translation (``memory.fold.by_model.Fault``).
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
    """One memory. ``revision`` 0: it does not exist yet. ``folded``: turns that are in the memory, as ranges.

    ``start``: what the user's memory held when this session started from it, or last put its own there
    (``mark``). ``carried``, of a user's memory: the version of each session that it has taken over, of the last
    two hundred; ``taken``, of a session: the same as the session knows it, which a crash may leave behind.
    ``forgotten``: (what, newest turn then): turns up to that one do not bring it back. ``apart``, of a user's memory:
    the user has switched it off: sessions neither start from it nor write there.
    """

    revision: int = 0
    token: int = 0
    text: str = ""
    version: int = 0
    updated: float = 0.0
    entities: tuple[Entity, ...] = ()
    short: tuple[Turn, ...] = ()
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

    @property
    def waiting(self) -> tuple[Turn, ...]:
        """Turns that are not in the memory yet, oldest first."""
        return tuple(turn for turn in self.short if not within(self.folded, turn.number))

    @property
    def newest(self) -> int:
        """The number of the newest turn that memory has seen."""
        return max([turn.number for turn in self.short] + [last for _, last in self.folded], default=0)

    @property
    def batch(self) -> tuple[Turn, ...]:
        """The turns that the next fold takes: five, or fewer after it was rejected; five again when code will do it, or
        more would come in than are ever folded."""
        times = self.rejection.times if self.rejection and not self.stuck else 0
        return self.waiting[: max(1, SHORT_TURNS >> times)]

    @property
    def due(self) -> bool:
        """More than five turns wait, and something was said since the last fold was rejected."""
        return len(self.open) > SHORT_TURNS

    @property
    def open(self) -> tuple[Turn, ...]:
        """Turns that wait for a fold that has not been rejected over them."""
        tried = self.rejection is not None and self.rejection.seen >= self.newest
        return () if tried else self.waiting

    @property
    def mark(self) -> str:
        """What the memory holds, as a digest: two are the same when their texts and entities are."""
        held = json.dumps([self.text, [asdict(each) for each in self.entities]])
        return hashlib.sha256(held.encode()).hexdigest()[:16]

    @property
    def owed(self) -> int:
        """What is left to do for a session that nobody speaks in: turns to fold, and versions to carry to the user."""
        return len(self.waiting) + (bool(self.session) and self.version != self.taken)

    @property
    def stuck(self) -> bool:
        """Whether folds of the oldest turns that wait were rejected again and again."""
        return self.rejection is not None and self.rejection.times >= PATIENCE

    @property
    def empty(self) -> bool:
        return not (self.text or self.entities or self.short or self.pins)


def note(state: State, turn: Turn) -> State:
    """With this turn, once: one that waits is replaced (it was answered again), one in the memory stays as it is."""
    if within(state.folded, turn.number):
        return state
    others = [each for each in state.short if each.number != turn.number]
    return trimmed(replace(state, short=tuple(sorted([*others, turn], key=lambda each: each.number))))


def trimmed(state: State) -> State:
    """``short`` with the last five turns and those that wait."""
    first = [turn.number for turn in state.short][-SHORT_TURNS:][:1]
    keep = (turn for turn in state.short if turn.number >= first[0] or not within(state.folded, turn.number))
    return replace(state, short=tuple(keep))


def fitted(turn: Turn) -> Turn:
    """The turn without what no JSON takes; of one above ``TURN_BYTES``, beginning and end of each part."""
    clear = Turn(turn.number, clean(turn.question), clean(turn.answer), clean(turn.tools))
    size = len((clear.question + clear.answer + clear.tools).encode())
    if size <= TURN_BYTES:
        return clear
    most = TURN_BYTES // 12  # characters of each of three parts, at up to four bytes
    return Turn(turn.number, *(_ends(part, most) for part in (clear.question, clear.answer, clear.tools)))


def put(entities: Iterable[Entity], new: Entity) -> tuple[Entity, ...]:
    """The same key is overwritten and moves to the end; of more than 25 the oldest go (copilot-rag.md §3.5)."""
    others = [each for each in entities if same_key(each.key) != same_key(new.key)]
    return (*others, new)[-MOST_ENTITIES:]


def entity(key: str, value: str, turn: int) -> Entity:
    """A checked entity in one line each. Raises ``MemoryTooLarge``, ``MemoryBlank``."""
    return Entity(filled("key", key, KEY_CHARS), filled("value", value, VALUE_CHARS), turn)


def same_key(key: str) -> str:
    """What two spellings of one key share: ``Top Service``, ``top_service``; not ``C`` and ``C++``."""
    return "".join(letter for letter in key.casefold() if letter.isalnum() or letter in "+#*") or key


def filled(what: str, text: str, limit: int) -> str:
    """As ``checked``, and not blank. Raises ``MemoryTooLarge``, ``MemoryBlank``."""
    if not (clear := checked(what, text, limit)):
        raise MemoryBlank(what=what)
    return clear


def checked(what: str, text: str, limit: int) -> str:
    """The text, clean and without line breaks. Raises ``MemoryTooLarge``."""
    if len(text) > limit:
        raise MemoryTooLarge(what=what, size=len(text), limit=limit)
    return " ".join(clean(text).split())


def within(ranges: Ranges, number: int) -> bool:
    return any(first <= number <= last for first, last in ranges)


def added(ranges: Ranges, numbers: Iterable[int]) -> Ranges:
    """The ranges with these numbers, neighbours joined."""
    return _ranges({each for first, last in ranges for each in range(first, last + 1)} | set(numbers))


def removed(ranges: Ranges, numbers: Iterable[int]) -> Ranges:
    """The ranges without these numbers."""
    return _ranges({each for first, last in ranges for each in range(first, last + 1)} - set(numbers))


def _ranges(numbers: set[int]) -> Ranges:
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


def _ends(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} […] {text[-most // 2 :]}"


def undone(state: State, current: Version, text: str) -> State:
    """The state without its newest version: its text as it was, its turns waiting again, its entities taken back."""
    numbers = [turn.number for turn in current.turns]
    fresh = {each.number: each for each in (*current.turns, *state.short)}
    return replace(
        state,
        text=text,
        folded=removed(state.folded, numbers),
        short=tuple(fresh[number] for number in sorted(fresh)),
        entities=_taken_back(state.entities, current.before, current.after),
        rejection=None,
    )


def _taken_back(now: Sequence[Entity], before: Sequence[Entity], after: Sequence[Entity]) -> tuple[Entity, ...]:
    """Entities that stand as the version set them, as they were before it; later changes stay."""
    kept = [each for each in now if each in before or each not in after]
    keys = {same_key(each.key) for each in kept}
    back = [each for each in before if same_key(each.key) not in keys and each not in after]
    return (*back, *kept)[-MOST_ENTITIES:]
