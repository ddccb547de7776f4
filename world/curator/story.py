"""The story so far as text: what the curator shortened, then a line for each turn since (specification 12.8)."""

from __future__ import annotations

from dataclasses import dataclass

from model.call.token import estimate_tokens
from store.world.record import Episode, StoryNode
from world.curator.notebook import read_planned_events
from world.curator.row import StoryRows
from world.story.state import RECENT

LINES = 50
"""The most lines of turns; a story of as many turns since it was last shortened is due to be shortened."""
SHORT = 1200
"""The most characters of the shortened story."""
AHEAD = 3
"""How many turns before its own a planned event is told to the narrator."""


@dataclass(frozen=True, slots=True)
class Story:
    """``text``: the shortened story up to turn ``until``, empty when nobody shortened it. ``episodes``: the turns
    since, oldest first, at most ``LINES``. ``turns``: how many turns passed since, with those that left no episode.
    ``coming``: lines about planned events."""

    text: str = ""
    until: int = 0
    episodes: tuple[Episode, ...] = ()
    turns: int = 0
    coming: tuple[str, ...] = ()

    @property
    def due(self) -> bool:
        """Whether the story is long enough to be shortened."""
        return self.turns >= LINES

    @property
    def whole(self) -> str:
        """Returns the story for story.md and the page."""
        return "\n".join(filter(None, (self.text, *(one.line for one in self.episodes))))

    def within(self, budget: int, before: int | None = None) -> str:
        """Returns the story for a prompt: the shortened text, the newest lines that the budget holds beside it, and
        what is planned. The last turns are left out: a prompt has them as its recent episodes. So are turn ``before``
        and later ones, whose words stand in the prompt themselves (decision 20); None: no turn stands there."""
        budget -= sum(estimate_tokens(line) for line in (self.text, *self.coming))
        lines: list[str] = []
        older = self.episodes[: max(0, len(self.episodes) - RECENT)]
        for one in reversed([one for one in older if before is None or one.turn < before]):
            budget -= estimate_tokens(f"{one.line}\n")
            if budget < 0:
                break
            lines.insert(0, one.line)
        return "\n".join(filter(None, (self.text, *lines, *self.coming)))


def load_curated_story(rows: StoryRows, node: StoryNode) -> Story:
    """Returns the story up to and including this turn."""
    block, memory = rows.block(node, "story"), rows.block(node, "narrative_memory")
    until = rows.node(block.node).turn if block is not None else 0
    nodes = [one for one in rows.path(node, LINES) if one.turn > until]
    told = rows.episodes(node.world, [one.id for one in nodes])
    episodes = tuple(told[one.id] for one in nodes if one.id in told)
    events = read_planned_events(memory.text) if memory is not None else []
    coming = tuple(f"[Turn {one.turn}] {one.text}" for one in events if node.turn < one.turn <= node.turn + AHEAD)
    return Story(block.text if block is not None else "", until, episodes, node.turn - until, coming)
