"""What the curator works on: one line of a story at one turn. Nothing is written before it has finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage

from store.world.change import PARTS
from store.world.change import build_plain_changes as plain_changes
from store.world.record import Changes, FindingKind, LoreEntry, StoryFinding, StoryNode, World
from text.clean import collapse_spaces
from text.fold import fold_name
from text.language import Language
from world.curator.notebook import Unfit
from world.curator.row import CuratorRows
from world.curator.story import SHORT, Story, load_curated_story
from world.story.state import StoryState
from world.story.story import Stories

EVERY = 10
"""The curator looks at a line of a story every so many turns."""
LEAST_CHARS, MOST_CHARS = 200, 2000
FINDINGS = 200
"""How many earlier findings it is told, at most."""


@dataclass(frozen=True, slots=True)
class NotedFinding:
    """A finding that is to be reported."""

    kind: FindingKind
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Mend:
    """What the curator puts right: the rows before and after, and why."""

    subject: str
    reason: str
    old: Changes
    new: Changes


@dataclass
class Desk:
    """A line of a story and the curator's edits of it.

    ``since``: the last turn that it looked at before. ``earlier``: the findings on this line. ``memory``: the present
    text of its notebook. ``chars``: the most characters of one text that a model is shown. ``notes``: what it reports.
    ``shortened``: the shortened story, None to leave it. ``mends``: what it puts right in the tables.
    ``calls``: the answers of its model, also those of a way that failed.
    """

    rows: CuratorRows
    world: World
    node: StoryNode
    state: StoryState
    since: int
    story: Story
    earlier: Sequence[StoryFinding]
    memory: str
    chars: int
    notes: list[NotedFinding] = field(default_factory=list)
    shortened: str | None = None
    mends: list[Mend] = field(default_factory=list)
    calls: list[AIMessage] = field(default_factory=list)

    @property
    def language(self) -> Language:
        """Returns the language of the world."""
        return self.world.language

    @property
    def intended_findings(self) -> list[StoryFinding]:
        """Returns what the user called intended."""
        return [one for one in self.earlier if one.status == "dismissed"]

    def turns(self, first: int, last: int) -> list[StoryNode]:
        """Returns the turns of the line with these numbers, oldest first."""
        depth = max(0, self.node.turn - first) + 1
        return [one for one in self.rows.path(self.node, depth) if first <= one.turn <= last]

    def lore(self, name: str) -> list[LoreEntry]:
        """Returns the enabled entries of the lorebook that have this name."""
        wanted = fold_name(name)
        entries = (one for one in self.rows.lore(self.world.id) if one.enabled)
        return [one for one in entries if wanted in map(fold_name, (one.keyword, *one.keys))]

    def note(self, kind: FindingKind, subject: str, text: str) -> None:
        """Reports a contradiction. Raises ``Unfit`` for one that the user called intended or that is known."""
        if not is_new_contradiction(self.intended_findings, kind, subject):
            raise Unfit("The user has dismissed this: it is intended. Do not report it; note in the memory that it is.")
        if not is_new_contradiction([*self.earlier, *self.notes], kind, subject):
            raise Unfit("This is reported already.")
        self.notes.append(NotedFinding(kind, collapse_spaces(subject), text.strip()))

    def mend(self, subject: str, reason: str, old: Changes, new: Changes) -> None:
        """Puts a table right. Raises ``Unfit`` where the user has undone the same, or without a reason."""
        if not reason.strip():
            raise Unfit("Say why: which turn tells it.")
        undone = {(one.subject, str((one.mend or {}).get("new"))) for one in self.intended_findings if one.mend}
        if (subject, str(plain_changes(new))) in undone:
            raise Unfit("The user has undone this. Leave it.")
        self.mends.append(Mend(subject, collapse_spaces(reason), old, new))
        self.state = self.state.after(new, self.state.turn)

    def shorten(self, text: str) -> None:
        """Takes the shortened story. Raises ``Unfit`` when it is not due, empty or too long."""
        if not self.story.due:
            raise Unfit(f"The story has only {self.story.turns} turns since it was shortened; leave it.")
        if not text.strip() or len(text.strip()) > SHORT:
            raise Unfit(f"The text has {len(text.strip())} characters; 1 to {SHORT} are allowed.")
        self.shortened = text.strip()

    def put_down(self) -> None:
        """Writes what was decided, all of it or nothing. The notebook gets a version each time, so that the next look
        begins after this turn."""
        with self.rows.together() as rows:
            rows.lock_world(self.world.id)
            for one in self.notes:
                rows.add_finding(self.node, one.kind, one.subject, one.text)
            self._put_right(rows)
            if self.shortened is not None:
                rows.put_block(self.node, "story", self.shortened)
            rows.put_block(self.node, "narrative_memory", self.memory)

    def _put_right(self, rows: CuratorRows) -> None:
        """Writes the mends whose rows are still as the curator saw them: the user may have corrected one meanwhile."""
        now = Stories(rows).state(self.node, self.world)
        for mend in self.mends:
            if not _is_current(mend.old, now):
                continue
            rows.amend(self.node, mend.new)
            both = {"old": plain_changes(mend.old), "new": plain_changes(mend.new)}
            rows.add_finding(self.node, "mended", mend.subject, mend.reason, both)
            now = now.after(mend.new, now.turn)


def _is_current(old: Changes, state: StoryState) -> bool:
    """Returns whether rows are so in a state. Of a name that nobody left out there may be no row."""
    now = state.changes()
    rows = ((getattr(old, name), getattr(now, name)) for name, _, _ in PARTS if name != "left_out")
    hidden = all(state.is_left_out(one.name) == one.hidden for one in old.left_out)
    return hidden and all(one in known for some, known in rows for one in some)


def build_curator_desk(rows: CuratorRows, world: World, node: StoryNode, state: StoryState, context_size: int) -> Desk:
    """Returns the desk for the turn ``node``, whose state is ``state``. ``context_size``: of the model in tokens; the
    texts of ten turns take about half of it."""
    block = rows.block(node, "narrative_memory")
    return Desk(
        rows,
        world,
        node,
        state,
        rows.node(block.node).turn if block is not None else 0,
        load_curated_story(rows, node),
        rows.findings(node, limit=FINDINGS),
        block.text if block is not None else "",
        max(LEAST_CHARS, min(MOST_CHARS, context_size // 4 // EVERY)),
    )


def is_curation_due(rows: CuratorRows, node: StoryNode) -> bool:
    """Returns whether the curator should look at the line that ends with this turn."""
    if node.turn < EVERY:
        return False
    block = rows.block(node, "narrative_memory")
    return block is None or node.turn - rows.node(block.node).turn >= EVERY


def is_new_contradiction(earlier: Sequence[StoryFinding | NotedFinding], kind: FindingKind, subject: str) -> bool:
    """Returns whether a contradiction is to be reported: not one that is open or that the user called intended. One
    that the user accepted is reported when it comes again."""
    about = (kind, normalise_subject(subject))
    return not any((one.kind, normalise_subject(one.subject)) == about for one in earlier if _is_blocking_finding(one))


def _is_blocking_finding(one: StoryFinding | NotedFinding) -> bool:
    return isinstance(one, NotedFinding) or one.status != "accepted"


def normalise_subject(subject: str) -> str:
    """Returns a subject in the form in which two are compared."""
    return fold_name(subject)


__all__ = ["EVERY", "Desk", "NotedFinding", "build_curator_desk", "is_curation_due", "is_new_contradiction"]
