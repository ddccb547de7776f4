"""Compares what a prompt holds of the turns that answer a question: our prompt, its parts, and plain searches with the
same number of tokens.

No model is called. The conversations are stored as the product stores them (``bench.public.stored``); each
question then gets the prompt that the product would send.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bench.public.dataset.dataset import Conversation, DatasetQuestion
from bench.public.share import count_held, is_right, share_words
from bench.public.stored import StoredTalk, small_models, store_talk, strong_models
from graph.context.preview import build_changing_parts
from graph.context.prompt import BuiltPrompt
from graph.turn.memory import long_term
from graph.turn.memory.past_turns import render_found, shown_turns
from graph.turn.session.rebuild import build_session_state
from model.call.token import estimate_tokens
from model.embedding import built_in
from model.modelset import ModelSet
from retrieval.index.lexical import K1, B
from retrieval.index.segment import hash_term
from retrieval.index.word import cut_text_words, find_installed_cut
from retrieval.past.rank import rank_turns
from retrieval.past.row import build_rules_name
from retrieval.past.turn_cache import current_table
from retrieval.past.turn_table import TurnTable
from store.search.turn_index import TurnKey

SIZES = (500, 1000, 1500, 3000)
"""Tokens at which the searches are compared."""
SEARCHES = ("ours", "bm25", "vectors", "fused", "last")
"""Orders of past turns: our ranking; BM25 alone; cosines alone; the sum of both, each scaled from 0 to 1; the newest
first."""
PARTS = ("summaries", "raw", "memory", "turns")
"""Parts of our prompt that are looked at alone: chunk summaries, the newest turns, which stand raw, the memory with its
entities, and past turns that the search found."""
HEADING_TOKENS = 8
"""Tokens of the line above a turn, in every search."""

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShownContext:
    """What a form shows a model. ``found``, ``right``: past turns that were found, and those of them that are gold or
    say the answer. ``milliseconds``: processor time of the search, the query's vector apart."""

    text: str
    tokens: int
    found: int = 0
    right: int = 0
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True)
class FormOutcome:
    """What one form shows for one question. ``form``: «default», «small», a part, «history», or a search with its size
    («bm25 500»). ``held``: gold turns that stand in it word for word; ``cut_text_words``: the share of the answer's
    words, None where the question has no answer."""

    dataset: str
    conversation: str
    question: DatasetQuestion
    form: str
    shown: ShownContext
    held: int
    words: float | None


def compare_forms(dataset: str, conversation: Conversation) -> Iterator[FormOutcome]:
    """Yields what every form shows for every question of one user."""
    with store_talk(conversation) as talk:
        comparison = _Comparison(talk)
        for question in conversation.questions:
            at = question.asked_at or conversation.asked_at
            for form, shown in (*comparison.prompts(question, at), *comparison.searches(question, at)):
                held, said = count_held(question, shown.text), share_words(question.answers, shown.text)
                # the text of thousands of outcomes is not kept
                yield FormOutcome(dataset, conversation.name, question, form, replace(shown, text=""), held, said)


@dataclass(frozen=True)
class _Comparison:
    """The forms of one user's conversations."""

    talk: StoredTalk

    @cached_property
    def _history(self) -> ShownContext:
        text = "\n".join(self.talk.turns.values())
        return ShownContext(text, estimate_tokens(text))

    @cached_property
    def _tokens(self) -> dict[TurnKey, int]:
        """The tokens that each turn takes in a search's result."""
        return {key: estimate_tokens(text) + HEADING_TOKENS for key, text in self.talk.turns.items()}

    def prompts(self, question: DatasetQuestion, at: datetime | None) -> Iterator[tuple[str, ShownContext]]:
        """Yields the prompts of both profiles, the parts of the strong one, and the whole history."""
        for form, models in (("default", strong_models()), ("small", small_models())):
            prompt, lines = self.talk.told_lines(question.text, models, at)
            found = [self.talk.turns[key] for key in shown_turns(prompt.report, self.talk.session)]
            right = sum(is_right(question, text) for text in found)
            yield form, ShownContext("\n".join(lines), prompt.report.total_tokens, len(found), right)
            if form == "default":
                for name, text in self._parts(prompt, question, models, at):
                    yield name, ShownContext(text, estimate_tokens(text))
        yield "history", self._history

    def _parts(
        self, prompt: BuiltPrompt, question: DatasetQuestion, models: ModelSet, at: datetime | None
    ) -> Iterator[tuple[str, str]]:
        """Yields the text of each of ``PARTS``."""
        agent, session = self.talk.agent_at(at), self.talk.agent.store.session(self.talk.session)
        records = build_session_state(agent, session, session.turn_count)["summary_history"]
        yield "summaries", "\n".join(record["summary"] for record in records)
        raw = {
            int(item)
            for part in prompt.report.parts
            if part.name in ("pinned", "short", "recent")
            for item in part.items
        }
        own = {key.number: text for key, text in self.talk.turns.items() if key.session_id == session.id}
        yield "raw", "\n".join(own[number] for number in sorted(raw))
        remembered = long_term.load_memory_view(agent, session, models)
        parts = build_changing_parts(agent, session, remembered, models.profile, question.text)
        yield "memory", "\n".join(part.text for part in parts if part.name in ("profile", "memory", "entities"))
        found = prompt.report.part("turns")
        yield (
            "turns",
            (found and render_found(agent, session, found.items, question.text, models.profile, cites=True)) or "",
        )

    def searches(self, question: DatasetQuestion, at: datetime | None) -> Iterator[tuple[str, ShownContext]]:
        """Yields what each search finds in each size."""
        embedder, agent = built_in(), self.talk.agent
        vector = embedder.query(question.text)
        with current_table(agent.store.turn_index, build_rules_name(embedder)) as table:
            searched = table.places["counts"].copy()
            began = time.process_time()
            best = rank_turns(table, searched, vector, question.text, at or agent.now(), len(table), embedder.name)
            milliseconds = 1000 * (time.process_time() - began)
            orders = {"ours": [turn.key for turn in best], **_plain_orders(table, vector, question.text)}
        for name in SEARCHES:
            for size in SIZES:
                chosen = self._pack(orders[name], size)
                text = "\n".join(self.talk.turns[key] for key in chosen)
                tokens = sum(self._tokens[key] for key in chosen)
                yield f"{name} {size}", ShownContext(text, tokens, milliseconds=milliseconds if name == "ours" else 0.0)

    def _pack(self, order: Sequence[TurnKey], room: int) -> list[TurnKey]:
        """Returns the turns that have room, the best first: one that is too long leaves its room to the next."""
        chosen = list[TurnKey]()
        for key in order:
            if self._tokens[key] <= room:
                room -= self._tokens[key]
                chosen.append(key)
        return chosen


def _plain_orders(table: TurnTable, vector: NDArray[np.float32], query: str) -> dict[str, list[TurnKey]]:
    """Returns the turns in the order of each search that is not ours, the best first."""
    by_words = _score_bm25(table, query)
    by_meaning = (table.vectors @ vector).astype(np.float64)
    scores = {
        "bm25": by_words,
        "vectors": by_meaning,
        "fused": _scale_scores(by_words) + _scale_scores(by_meaning),
        "last": table.places["at"] + 1e-6 * table.places["number"],
    }
    return {
        name: [table.key(int(row)) for row in np.argsort(-values, kind="stable")] for name, values in scores.items()
    }


def _score_bm25(table: TurnTable, query: str) -> Scores:
    """Returns the BM25 of every turn, as Robertson and Zaragoza (2009) give it."""
    scores, lengths = np.zeros(len(table)), table.places["length"].astype(np.float64)
    norms = K1 * (1 - B + B * lengths / lengths.mean())
    for word in {hash_term(word) for word in cut_text_words(query, find_installed_cut())}:
        posting = table.postings.find(word)
        rarity = np.log1p((len(table) - len(posting.rows) + 0.5) / (len(posting.rows) + 0.5))
        times = posting.question + posting.answer
        scores[posting.rows] += rarity * times / (times + norms[posting.rows])
    return scores


def _scale_scores(scores: Scores) -> Scores:
    spread = scores.max() - scores.min()
    scaled: Scores = (scores - scores.min()) / spread if spread > 0 else np.zeros_like(scores)
    return scaled
