"""Plain data of story worlds: what a world knows of its story, and the rows that the tables hold.

A story is a conversation, a tree of turns (``StoryNode``). Each keeps only what it changed (``Changes``), so every turn
of every branch has a state of its own, and going back costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from text.language import Language

Layer = Literal["A1", "A2", "A3", "A4"]
"""How important a lorebook entry is: A1 the core of the world, A2 what is in play, A3 background, A4 secrets."""
LAYERS: tuple[Layer, ...] = ("A1", "A2", "A3", "A4")
NodeStatus = Literal["raw", "done", "given"]
"""``raw``: the answer is stored and not worked off yet. ``done``: its changes are in effect. ``given``: a client told
the turn; it changes nothing."""
Origin = Literal["block", "light", "none", "user"]
"""Where the changes of a turn come from: the answer's state block, one call of the utility model, nothing, or the user
by hand on the page."""
BlockName = Literal["narrative_memory", "story"]
FindingKind = Literal["dead_talks", "no_hp_fights", "two_places", "lost_item", "other"]
NoteKind = Literal["dead_talks", "no_hp_fights", "two_places", "lost_item", "other", "mended"]
"""What a finding is: a contradiction, or a table that the curator has put right."""
FindingStatus = Literal["open", "accepted", "dismissed"]


@dataclass(frozen=True, slots=True)
class World:
    """A world with its lorebook, files and stories. ``player``: the name of the character that the user plays.
    ``slug``: the short name in the model's name ``world/<upstream>/<slug>``, unique for each user."""

    id: str
    owner: str
    name: str
    slug: str
    language: Language
    player: str
    created: float
    updated: float


# --- the state --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Character:
    """A person or creature. ``location``: empty for one of whom nobody knows where. ``hp``: None where no number was
    ever told. ``companion``: travels along with the player. ``sightings``: how many turns have told of a dead one as
    alive."""

    name: str
    location: str = ""
    hp: int | None = None
    status: str = "alive"
    companion: bool = False
    sightings: int = 0

    @property
    def dead(self) -> bool:
        """Whether the character is dead, by the status that code sets (``DEAD``)."""
        return self.status == DEAD


DEAD = "dead"
ALIVE = "alive"
LOST = "lost"
HELD = "held"


@dataclass(frozen=True, slots=True)
class Relation:
    """What ``from_char`` feels or is to ``to_char``; ``strength`` is the sum of all changes, negative for enmity."""

    from_char: str
    to_char: str
    rel_type: str
    strength: int = 0


@dataclass(frozen=True, slots=True)
class Location:
    """A place. ``adjacent``: names of the places one can go to from here. ``status``: such as «burnt down»."""

    name: str
    description: str = ""
    adjacent: tuple[str, ...] = ()
    status: str = ""


@dataclass(frozen=True, slots=True)
class PlayerItem:
    """A thing of the player. ``status``: ``HELD`` or ``LOST``; ``count``: how many there are of it."""

    name: str
    status: str = HELD
    count: int = 1


@dataclass(frozen=True, slots=True)
class UsedItem:
    """A thing that a turn used or named without changing it: it stands in front of the others from then on."""

    name: str


@dataclass(frozen=True, slots=True)
class StoryTime:
    """When the story is, in its own words; empty where it does not say: ``day`` such as «day 2», ``time_of_day`` such
    as «evening»."""

    day: str = ""
    time_of_day: str = ""

    @property
    def line(self) -> str:
        """Returns both as one text."""
        return ", ".join(filter(None, (self.day, self.time_of_day)))


UNKNOWN_TIME = StoryTime()


@dataclass(frozen=True, slots=True)
class LeftOutName:
    """Whether live_state.md leaves a name out of its lists of what is past or far away."""

    name: str
    hidden: bool = True


AliasKind = Literal["person", "place"]


@dataclass(frozen=True, slots=True)
class Alias:
    """A further name of a person or place. ``of``: the name in the tables; the same as ``name`` for one that the user
    keeps apart from others like it. ``was``: the rows that went when two became one, as ``change.build_plain_changes``
    writes them, so that they can be split again."""

    kind: AliasKind
    name: str
    of: str
    was: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Episode:
    """What happened in one turn, as one line such as «Turn 5 | 어둠의 숲 | 만남: 고블린 족장» (specification 12.7).

    ``description``: the part after the place. ``importance``: 0 to 1, by code from the kinds of changes. ``node``: the
    id of the turn, 0 before it is stored.
    """

    turn: int
    location: str
    description: str
    participants: tuple[str, ...] = ()
    importance: float = 0.0
    node: int = 0

    @property
    def line(self) -> str:
        """Returns the episode as it stands in a prompt."""
        return " | ".join(filter(None, (f"Turn {self.turn}", self.location, self.description)))


@dataclass(frozen=True, slots=True)
class LoreEntry:
    """An entry of the lorebook as its author wrote it; what the story changed about it is a ``LoreMark``.

    ``keyword``: its name. ``keys``: further words under which it is mentioned. ``location``: where it belongs, if to a
    place. ``extra``: the fields of the file it came from that Gieok does not use, kept for the export. ``rule``: when
    it is active by its author's own rule (``world.lore.rule``); empty for one that is active by its layer; None for one
    of an earlier version, where the file that it came from tells.
    """

    id: int
    keyword: str
    content: str
    category: str = ""
    layer: Layer = "A2"
    keys: tuple[str, ...] = ()
    location: str = ""
    enabled: bool = True
    extra: dict[str, Any] = field(default_factory=dict)
    rule: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LoreMark:
    """What a story has done to an entry of the lorebook. ``content``, ``location``: as code rewrote them; None: as the
    author wrote them. ``last_mentioned``: the number of the turn, 0 for never."""

    lore: int
    content: str | None = None
    location: str | None = None
    last_mentioned: int = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """What one turn changed: whole new values, not differences. Empty for a turn that changed nothing.

    ``times``: when the story is after the turn, at most one. ``mood``: None when the turn told none. ``episode``: what
    the turn is remembered by.
    """

    characters: tuple[Character, ...] = ()
    relations: tuple[Relation, ...] = ()
    locations: tuple[Location, ...] = ()
    items: tuple[PlayerItem, ...] = ()
    lore: tuple[LoreMark, ...] = ()
    aliases: tuple[Alias, ...] = ()
    left_out: tuple[LeftOutName, ...] = ()
    used: tuple[UsedItem, ...] = ()
    times: tuple[StoryTime, ...] = ()
    mood: str | None = None
    episode: Episode | None = None


# --- turns ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoryNode:
    """A finished turn of a story. ``parent``: the id of the turn before it, 0 for the first. ``turn``: its number on
    its path, from 1 on (0 for a greeting before the first message).

    ``raw``: the answer as the model gave it, with its state block; ``answer``: what the reader saw. ``block``: the
    fields that were read from the block, or None; ``refusals``: why fields of it were not taken, one sentence each.
    ``receipt``: tokens and money of the request. ``report``: what the request was given and what was left out.
    ``since``: how many turns ago the state was last stored whole. ``session``, ``branch``: the conversation that the
    story is, and where in it the turn lies (``store.path``). ``source``: the turn of another branch that this one says
    once more; what was corrected there is corrected here, too. 0 for any other.
    """

    id: int
    world: str
    parent: int
    turn: int
    question: str
    answer: str
    raw: str
    status: NodeStatus
    origin: Origin = "none"
    block: dict[str, Any] | None = None
    refusals: tuple[str, ...] = ()
    receipt: dict[str, Any] | None = None
    report: dict[str, Any] | None = None
    since: int = 0
    created: float = 0.0
    session: str = ""
    branch: int = 0
    source: int = 0


@dataclass(frozen=True, slots=True)
class NewNode:
    """A turn that is about to be stored. ``answers``: every form in which a client may send the answer back: the first
    is what the reader saw. ``tokens``: of question and answer; ``usage``: what the call took, as of every turn.
    ``is_given``: no model of ours answered it, though its world is read from it as from one that did. ``waits``: the
    mark under which its client waits for the answer (``store.session.undelivered``); '' for the id of the turn; None
    where no client waits. ``began``: when its request came (Unix seconds); None: now."""

    question: str
    answers: tuple[str, ...]
    raw: str
    status: NodeStatus
    receipt: dict[str, Any] | None = None
    report: dict[str, Any] | None = None
    tokens: int = 0
    usage: dict[str, Any] | None = None
    seconds: float | None = None
    first_token_seconds: float | None = None
    is_given: bool = False
    waits: str | None = None
    began: float | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether the answer was cut off."""
        return bool((self.report or {}).get("stopped"))


@dataclass(frozen=True, slots=True)
class Wording:
    """A turn of a branch in the words of a client."""

    branch: int
    turn: int
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A turn of a story as its client changed it."""

    turn: int
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class KnownHistory:
    """The part of a client's history that a world knows. ``node``: the last known turn, None when nothing is known.
    ``count``: how many of the history's turns lie before the first one that follows ``node`` and is new.
    ``ambiguous``: stories of several worlds fit equally well, and the one was taken that was told last. ``wordings``:
    turns that the client tells in other words; ``edits``: those that it tells otherwise, before known ones. ``world``:
    where no turn is known, the world of the turn that the last one was made from."""

    node: StoryNode | None
    count: int
    ambiguous: bool = False
    wordings: tuple[Wording, ...] = ()
    edits: tuple[Edit, ...] = ()
    world: str = ""


@dataclass(frozen=True, slots=True)
class CuratedBlock:
    """A version of a text that the curator keeps for a line of the story; the newest on the path of a node counts."""

    name: BlockName
    node: int
    version: int
    text: str
    created: float


@dataclass(frozen=True, slots=True)
class StoryFinding:
    """A contradiction that code or the curator noticed. ``subject``: the name it is about; one that was dismissed
    («intended») is not reported again for the same kind and subject on later turns of that path. ``mend``: what the
    curator has put right, the rows before (``old``) and after (``new``) as ``change.build_plain_changes`` writes them;
    a dismissed one was undone."""

    id: int
    node: int
    turn: int
    kind: NoteKind
    subject: str
    text: str
    status: FindingStatus = "open"
    created: float = 0.0
    mend: dict[str, Any] | None = None
