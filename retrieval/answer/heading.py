"""Ranking of sections by heading and text together, because a section that answers a question shows it in both (small
profile)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from model.embedding import Vectors
from retrieval.document import Hit
from retrieval.index.row import embedded_text

LEAD = 0.25
"""The weight of the lead over the next section: where two sections are equally near, the question may mean neither."""
WORDS = 0.1
"""The weight of the question's words that a section has (``Hit.cover``): a rare word that both have says more than a
small difference of their vectors."""


def build_heading_text(title: str, path: Sequence[str], text: str) -> str:
    """Returns title and headings above a passage as one text to embed; without any, the passage's own text."""
    return embedded_text(title, path, "").strip() or text


def rank_sections(hits: Sequence[Hit], question: Vectors, texts: Vectors, titles: Vectors) -> list[Hit]:
    """Returns the best passage of each section, best first. ``texts``, ``titles``: vectors of the passages and of their
    headings, a row for each hit.

    The question's words that a section has count beside the vectors.
    """
    cover = np.asarray([hit.cover for hit in hits])
    scores = (texts + titles) @ question + WORDS * cover
    scored = [
        replace(hit, score=float(score), heading=float(cosine))
        for hit, score, cosine in zip(hits, scores, titles @ question, strict=True)
    ]
    best = {hit.passage.section_id: hit for hit in sorted(scored, key=lambda hit: hit.score)}
    return sorted(best.values(), key=lambda hit: -hit.score)


def measure_nearness(hits: Sequence[Hit]) -> float:
    """Returns how near the first hit of ``rank_sections`` comes to the question: the mean cosine of its text and its
    headings, plus parts of its lead in its collection and of the question's words that it has; -1 without hits. The
    scale depends on the embedding model (``Embedder.near``)."""
    if not hits:
        return -1.0
    first, *rest = hits
    following = next((hit for hit in rest if hit.passage.collection == first.passage.collection), None)
    lead = first.score - following.score if following else 0.0
    return (first.cosine + first.heading) / 2 + LEAD * lead + WORDS * first.cover


def measure_vector_nearness(hits: Sequence[Hit]) -> float:
    """Returns ``measure_nearness`` of these sections, in their order, without the words' part, to compare documents of
    different origin: «How do I delete it?» shares its words with any manual, and with no file in another language."""
    return measure_nearness([replace(hit, score=hit.score - WORDS * hit.cover, cover=0.0) for hit in hits])
