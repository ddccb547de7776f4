"""What memory holds of one session, as plain data, and the rules that say when a fold is due (specification 6.2, 6.6,
6.10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from errors import Empty, TooLong
from memory.line import DatedStatement
from text.clean import clean_text, collapse_spaces
from text.cut import cut_to_ends
from text.fold import fold_text
from text.language import Language

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
"""Largest turn that memory reads whole; of a larger turn it reads the beginning and the end."""
MOST_WAITING = 200
"""Most older turns that are read for a fold: of a conversation that was imported, memory begins with the newest."""

Kind = Literal["sentence", "statement", "entity", "profile", "forgotten"]
LineOrigin = Literal["user", "model", "foreign"]
Origin = Literal["fold", "rewritten", "edit", "undo", "forget", "import", "merge"]


@dataclass(frozen=True, slots=True)
class MemoryTurn:
    """One turn as memory reads it: what user and assistant said. ``at``: when (Unix seconds); ``branch``: the branch of
    the conversation that holds it; ``foreign``: its prompt held text of others, so its answer may, too
    (``store.turn.foreign``); ``imported``: its question comes out of a file, so it need not be the user's."""

    number: int
    question: str
    answer: str
    at: float = 0.0
    branch: int = 0
    foreign: bool = False
    imported: bool = False

    @property
    def asker(self) -> LineOrigin:
        """Returns whose words the question is: in a file anybody may have written it."""
        return "foreign" if self.imported else "user"


@dataclass(frozen=True, slots=True)
class OldValue:
    """The value before the one of the entity in row ``make_memory_entity``, and the turn that changed it."""

    entity: int
    text: str
    until: int


@dataclass(frozen=True, slots=True)
class Entity:
    """A value worth keeping, with its key and the turn it comes from (specification 6.6). ``old``: the value before it,
    where a view shows that one."""

    key: str
    value: str
    turn: int
    old: OldValue | None = field(default=None, compare=False)

    @property
    def line(self) -> str:
        """Returns ``budget: $10,000``, the form in which prompts and pages show an entity (specification 6.7)."""
        return f"{self.key}: {self.value}"

    def describe(self, language: Language) -> str:
        """Returns ``line`` with the value before it."""
        return f"{self.key}: {self.describe_value(language)}"

    def describe_value(self, language: Language) -> str:
        """Returns the value as it is now, with the one before it: «75M (70M until turn 6)»."""
        if self.old is None:
            return self.value
        before, turn = self.old.text, self.old.until
        return f"{self.value} ({f'{turn}턴까지 {before}' if language == 'ko' else f'{before} until turn {turn}'})"


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A row of memory (``store.database.memory_table.line``)."""

    id: int
    session: str
    kind: Kind
    branch: int
    turn: int
    at: float
    origin: LineOrigin
    key: str
    text: str
    pinned: bool = False
    replaced_by: int | None = None
    forgotten_at: float | None = None
    imported: bool = False

    @property
    def is_foreign(self) -> bool:
        """Returns whether the line may say what somebody else wrote; a file may call anything the user's."""
        return self.origin == "foreign" or self.imported

    @property
    def label(self) -> str:
        """Returns the text without its turn, with its key where it has one."""
        return f"{self.key}: {self.text}" if self.key else self.text

    @property
    def statement(self) -> DatedStatement:
        """Returns the line as the text of a memory holds it: the user's own words with their turn, sentences
        without."""
        turn = self.turn if self.kind == "statement" else 0
        return DatedStatement(turn, turn, self.text)

    @property
    def entity(self) -> Entity:
        return Entity(self.key, self.text, self.turn)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why the last fold was rejected, or failed, over which turns, and how often in a row.

    ``times``: rejections in a row; ``failures``: errors of the model's server in a row, which count for no rejection.
    ``seen``: the newest turn at that time. ``pause``: turns until the next try. ``cost``: the cost of all folds that
    were rejected in a row; the next version includes it. ``why``: the reason for translation
    (``memory.fold.by_model.Fault``).
    """

    reason: str
    first: int
    last: int
    times: int
    seen: int
    created: float
    cost: dict[str, Any] = field(default_factory=dict)
    why: dict[str, Any] = field(default_factory=dict)
    failures: int = 0
    pause: int = 1


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """One M_i: its text, and the turns ``first`` to ``last`` that it took in, 0 for a change by hand. ``created``: Unix
    seconds.

    ``before``, ``after``: the entities before and after. ``kept``, ``lost``: facts of the turns that the text holds or
    lacks.
    """

    number: int
    text: str
    origin: Origin
    created: float
    first: int = 0
    last: int = 0
    before: tuple[Entity, ...] = ()
    after: tuple[Entity, ...] = ()
    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    cost: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryState:
    """The memory of one session as its rows have it. ``version`` 0: it has none yet.

    ``lines``, ``entities``: the rows of the newest version on the session's path, ``language`` its language.
    ``old_values``: what stood before the values of these entities.
    ``folded``: the newest turn that it took in. ``short``: the last five turns of the path, and older ones that wait.
    ``revision``: of the session's rows. ``version_id``: the row of the version.
    """

    version: int = 0
    version_id: int = 0
    updated: float = 0.0
    language: Language = "ko"
    lines: tuple[MemoryLine, ...] = ()
    entities: tuple[MemoryLine, ...] = ()
    old_values: tuple[OldValue, ...] = ()
    folded: int = 0
    short: tuple[MemoryTurn, ...] = ()
    rejection: Rejection | None = None
    apart: bool = False
    user: str = ""
    revision: int = 0

    @property
    def waiting(self) -> tuple[MemoryTurn, ...]:
        """Returns the turns that the memory has not taken in yet, oldest first."""
        return tuple(turn for turn in self.short if turn.number > self.folded)

    @property
    def newest(self) -> int:
        """Returns the number of the newest finished turn of the path."""
        return self.short[-1].number if self.short else self.folded

    @property
    def batch(self) -> tuple[MemoryTurn, ...]:
        """Returns the waiting turns that the next fold takes in, oldest first.

        A batch has five turns. After the first rejection in a row it has two, after the second one. After ``PATIENCE``
        rejections it has five again, because code then makes the fold if the model's is rejected; smaller batches would
        let turns arrive faster than folds take them in.
        """
        times = self.rejection.times if self.rejection and not self.is_stuck else 0
        return self.waiting[: max(1, SHORT_TURNS >> times)]

    @property
    def due(self) -> bool:
        """Tells whether a fold is due: more than five turns wait, and the last rejection or failure is long enough
        ago."""
        last = self.rejection
        paused = last is not None and self.newest < last.seen + last.pause
        return not paused and len(self.waiting) > SHORT_TURNS

    @property
    def is_stuck(self) -> bool:
        """Tells whether folds of the oldest waiting turns were rejected ``PATIENCE`` times in a row."""
        return self.rejection is not None and self.rejection.times >= PATIENCE


def shorten_turn(turn: MemoryTurn) -> MemoryTurn:
    """Returns the turn without characters that JSON cannot hold; shortens the texts of a turn larger than
    ``TURN_BYTES`` to their beginning and end."""
    question, answer = clean_text(turn.question), clean_text(turn.answer)
    if len((question + answer).encode()) > TURN_BYTES:
        most = TURN_BYTES // 8  # characters for each of the two parts, at up to four bytes a character
        question, answer = cut_to_ends(question, most), cut_to_ends(answer, most)
    return replace(turn, question=question, answer=answer)


def add_entity(entities: Iterable[Entity], new: Entity) -> tuple[Entity, ...]:
    """Returns the entities with the new one at the end. Drops an older one with the same key, and the oldest of more
    than 25 (specification 6.6)."""
    others = [item for item in entities if same_key(item.key) != same_key(new.key)]
    return (*others, new)[-MOST_ENTITIES:]


def make_memory_entity(key: str, value: str, turn: int) -> Entity:
    """Returns a checked entity whose key and value are one line each. Raises ``TooLong``, ``Empty``."""
    return Entity(clean_required_line("key", key, KEY_CHARS), clean_required_line("value", value, VALUE_CHARS), turn)


def same_key(key: str) -> str:
    """Returns the form that spellings of one key share: ``Top Service``, ``top_service``; but not ``C`` and ``C++``."""
    return "".join(letter for letter in fold_text(key) if letter.isalnum() or letter in "+#*") or key


def clean_required_line(what: str, text: str, limit: int) -> str:
    """Returns the text as ``clean_text_line`` does. Raises ``TooLong``, and ``Empty`` when nothing is left."""
    if not (clear := clean_text_line(what, text, limit)):
        raise Empty(what=what)
    return clear


def clean_text_line(what: str, text: str, limit: int) -> str:
    """Returns the text cleaned and without line breaks. Raises ``TooLong``."""
    if len(text) > limit:
        raise TooLong(what=what, size=len(text), limit=limit)
    return collapse_spaces(clean_text(text))
