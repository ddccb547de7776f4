"""What a story remembers of itself, where its player wants that: summaries of the turns that its prompt holds no more,
a long-term memory, and earlier turns that fit the message.

All of it is the story's own: the session is kept apart, so nothing of other conversations stands in it and nothing told
in it stands elsewhere. Off by default: places, people and episodes are the world's to remember.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from graph.context.past import choose_entries, render_entries
from graph.context.prompt import drop_redundant_summaries, over_budget, render_chunk_summaries
from graph.state import SummaryRecord
from graph.summary import backlog
from graph.turn.memory import long_term, past_turns
from graph.turn.process.engine import TurnEngine
from memory.reader import MemoryReading
from model.modelset import ModelSet
from store import Session
from store.session.opening import TurnPlace


@dataclass(frozen=True, slots=True)
class StoryMemory:
    """The memory of a story as a turn reads it. ``reading``: None where there is none: the player or the settings want
    it so, or it is away."""

    engine: TurnEngine
    session: Session
    place: TurnPlace
    reading: MemoryReading | None = None

    @classmethod
    def read(cls, engine: TurnEngine, session: Session, place: TurnPlace) -> StoryMemory:
        """Reads the memory for a turn, and keeps it apart from what other conversations share."""
        if not session.remembers or engine.memory is None:
            return cls(engine, session, place)
        long_term.keep_apart(engine, session)
        return cls(engine, session, place, long_term.read_for_turn(engine, session, engine.models()))

    def recall(self, shown: Collection[int]) -> list[tuple[str, str]]:
        """Returns the texts for a prompt that holds the turns ``shown`` itself, each with the name of its part; none
        where the story does not remember."""
        if not self.session.remembers:
            return []
        models = self.engine.models()
        texts = {
            "summaries": self._render_summaries(models, shown),
            "memory": self._render_memory(models),
            "turns": self._render_past_turns(models, shown),
        }
        return [(name, text) for name, text in texts.items() if text]

    def plan_side_work(self) -> None:
        """Plans what follows an answer: the fold that is due, and the index of the turns."""
        if self.reading is not None:
            long_term.plan_memory_fold(self.engine, self.session.id, self.reading)
            past_turns.plan_index(self.engine, self.session.id, self.reading.past)

    def _render_summaries(self, models: ModelSet, shown: Collection[int]) -> str:
        """Renders the summaries of the turns before this one, without those whose turns the prompt holds; makes those
        that are missing."""
        engine, session, last = self.engine, self.session, self.place.number - 1
        backlog.fill_gaps(engine, session, last)
        rows = engine.store.ledger.on_path(session.id, last)
        records = drop_redundant_summaries([cast(SummaryRecord, row.record) for row in rows if row.record], shown)
        left = over_budget(records, engine.prompting.budget_summaries, models.count)
        is_bare = models.profile.prompt == "bare"
        return render_chunk_summaries(records[len(left) :], session.language, "bare" if is_bare else "messages")

    def _render_memory(self, models: ModelSet) -> str:
        engine, place, profile = self.engine, self.place, models.profile
        view = self.reading.view if self.reading else None
        facts = long_term.choose_facts(view, profile, place.question, engine.now())
        parts = long_term.build_memory_parts(view, engine, self.session.language, place.number, profile, facts)
        return "\n".join(part.text for part in parts if part.text)

    def _render_past_turns(self, models: ModelSet, shown: Collection[int]) -> str:
        if self.reading is None:
            return ""
        place, language = self.place, self.session.language
        found = past_turns.find_past(
            self.engine, self.session, place.question, place.number, models.profile, False, self.reading.past
        )
        if found is None:
            return ""
        entries = choose_entries(found, shown, language, models.count)
        return render_entries(entries, language, found.frame)
