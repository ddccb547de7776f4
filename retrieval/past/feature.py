"""What a search knows of a turn that may say what is asked for: the numbers that ``retrieval.past.rank`` weighs.

All turns get two scores: the cosine with the query, and BM25, each scaled to 0…1 among the turns that are searched.
Their sum, with a share of the neighbours' because who answers a question often does not repeat its words, chooses
``CANDIDATES``. A second hop adds turns that share rare words of the best finds. The features are of these alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from retrieval.index.lexical import K1, B
from retrieval.index.segment import hash_term
from retrieval.index.word import cut_text_words, find_installed_cut
from retrieval.past.asked_day import asked_days, is_within
from retrieval.past.posting import Posting
from retrieval.past.row import Terms
from retrieval.past.turn_table import NOWHERE, Mask, Positions, TurnTable
from text.language import has_korean

_GENERAL = (
    "sum",
    "share",
    "side_share",
    "cosine_spread",
    "neighbour",
    "around",
    "length",
    "number",
    "hop",
    "generic",
    "day",
)
FEATURES = (*_GENERAL, *(f"{name} ko" for name in _GENERAL))
"""The features of any query, then the same once more for a Korean one and 0 for others: of Korean words, cut into
letter pairs, many are endings that tell nothing, so meaning counts more there.

``sum``: both scaled scores and 0.3 of each neighbour's. ``share``: of the query's rarity that its words cover;
``side_share``: that one side of it covers. ``cosine_spread``: of the cosine, in standard deviations from the mean.
``neighbour``: the better neighbour's score. ``around``: the share of the rarity that only the neighbours cover.
``length``: logarithm of its words. ``number``: the query asks for one and the turn has one. ``hop``: the share of the
best finds' rare words. ``generic``: how near it is to the mean of all turns. ``day``: it was on a day that the query
names."""
CANDIDATES, NEAREST = 50, 25
"""Turns with the highest sums, and turns with the highest cosines; many are both."""
HOP_CANDIDATES = 10
NEIGHBOUR = 0.3
"""The share of a neighbour's score that a turn gets."""
MOST_WORDS = 32
"""Words of a query that are searched, the rarest of a long one."""
HOP_FINDS, HOP_WORDS = 3, 8
HOP_LEAST = 0.6
"""A find leads on when its score is at least this share of the best one's."""
HOP_COMMON = 0.03
"""The largest share of turns that may say a word that leads on."""
LEAST_COUNT = 100
"""Turns that the rarity of a word is counted among at least: among four turns every word would be common."""
USUAL_COSINE, USUAL_SPREAD, USUAL_COUNT = 0.79, 0.02, 30
"""Mean and standard deviation of the cosines of a query with any turns, and how many turns it takes until those that
are searched count as much."""
LEAST_SPREADS = 2.3
"""How many standard deviations the least cosine usually lies below the mean."""
_NUMBER_ASKED = re.compile(
    r"\b(how much|how many|how old|how big|how far|how wide|price|cost|number)\b|얼마|몇|값", re.IGNORECASE
)

Values = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Turns that may say what is asked for, in no order. ``features``: a row per turn, a column per name of
    ``FEATURES``; ``cut_text_words``: BM25; ``meaning``: the cosine, NaN without a vector; ``hop``: 2 where only words
    of other finds led here."""

    positions: Positions
    features: Values
    words: Values
    meaning: Values
    hop: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Lexical:
    """Scores by words of all turns. ``covered``: the rarity that a turn's words cover, and each of its sides;
    ``says``: which turns say each word; ``total``: the rarity of the query."""

    bm25: Values
    covered: Values
    question: Values
    answer: Values
    says: NDArray[np.bool_]
    rarity: Values
    total: float


def find_candidates(table: TurnTable, searched: Mask, vector: Values, query: str, now: datetime) -> Candidates:
    """Returns the turns among those ``searched`` that may say what is asked for. ``vector``: of the query; ``now``:
    what «yesterday» counts from, in the user's time zone."""
    places = table.places
    query_terms = np.unique(
        np.array([hash_term(word) for word in cut_text_words(query, find_installed_cut())], np.uint64)
    )
    lexical = _score_by_words(table, searched, query_terms)
    cosines, has_vector = _score_by_meaning(table, searched, vector)
    by_words = lexical.bm25 / (float(lexical.bm25[searched].max()) or 1.0)
    mean, spread = _usual_cosines(cosines[searched & has_vector])
    # where a turn has no vector yet, its words stand for the meaning too
    by_meaning = np.where(
        has_vector, _scale_cosines(cosines, searched & has_vector, mean - LEAST_SPREADS * spread), by_words
    )
    own = np.where(searched, by_words + by_meaning, 0.0).astype(np.float32)
    before, after = places["before"], places["after"]
    total = own + NEIGHBOUR * (_scores_at(own, before) + _scores_at(own, after))
    first = _choose_candidates(searched, total, cosines)
    hop, led = _score_hop(table, searched, query_terms, first, total)
    at = np.concatenate([first, led])
    before, after = before[at], after[at]
    said_around = lexical.says[:, before] & (before != NOWHERE) | lexical.says[:, after] & (after != NOWHERE)
    around = (said_around & ~lexical.says[:, at]).T @ lexical.rarity
    columns = {
        "sum": total[at],
        "share": lexical.covered[at] / lexical.total,
        "side_share": np.maximum(lexical.question, lexical.answer)[at] / lexical.total,
        "cosine_spread": np.where(has_vector[at], (cosines[at] - mean) / spread, 3 * by_words[at]),
        "neighbour": np.maximum(_scores_at(own, before), _scores_at(own, after)) / 2,
        "around": around / lexical.total,
        "length": np.log1p(places["length"][at]),
        "number": places["has_number"][at] * float(bool(_NUMBER_ASKED.search(query))),
        "hop": hop[at],
        "generic": _measure_mean_nearness(table, at, has_vector[at]),
        "day": _on_asked_day(places["at"][at], query, now),
    }
    general = np.column_stack([columns[name] for name in _GENERAL]).astype(np.float32)
    features = np.column_stack([general, general * has_korean(query)])
    meaning = np.where(has_vector[at], cosines[at], np.nan).astype(np.float32)
    hops = np.where(np.arange(len(at)) < len(first), 1, 2)
    return Candidates(at, features, lexical.bm25[at], meaning, hops)


def _score_by_words(table: TurnTable, searched: Mask, terms: Terms) -> _Lexical:
    """Returns what the words of the query find, with the rarity of words among the turns that are searched."""
    count, lengths = int(searched.sum()), table.places["length"]
    norms = K1 * (1 - B + B * lengths / (float(lengths[searched].mean()) or 1.0))
    found = [_keep_searched(table.postings.find(int(word)), searched) for word in terms]
    rarities = [float(_compute_rarity(len(one.rows), count)) for one in found]
    rarest = sorted(range(len(found)), key=lambda at: -rarities[at])[:MOST_WORDS]
    bm25, covered, question, answer = (np.zeros(len(table), np.float32) for _ in range(4))
    says = np.zeros((len(rarest), len(table)), bool)
    for row, at in enumerate(rarest):
        (rows, in_question, in_answer), rarity = found[at], rarities[at]
        times = in_question + in_answer
        bm25[rows] += rarity * times / (times + norms[rows])
        covered[rows] += rarity
        question[rows] += rarity * (in_question > 0)
        answer[rows] += rarity * (in_answer > 0)
        says[row, rows] = True
    rarity_of = np.array([rarities[at] for at in rarest], np.float32)
    return _Lexical(bm25, covered, question, answer, says, rarity_of, float(rarity_of.sum()) or 1.0)


def _score_by_meaning(table: TurnTable, searched: Mask, vector: Values) -> tuple[Values, Mask]:
    """Returns the cosine of every turn, and which turns have one. A turn without a vector gets the mean of the others:
    its words alone decide."""
    has_vector = table.places["has_vector"]
    if table.vectors.shape[1] != len(vector):
        return np.zeros(len(table), np.float32), np.zeros(len(table), bool)
    cosines = table.vectors @ vector
    known = cosines[searched & has_vector]
    return np.where(has_vector, cosines, known.mean() if len(known) else 0.0).astype(np.float32), has_vector


def _score_hop(
    table: TurnTable, searched: Mask, terms: Terms, first: Positions, total: Values
) -> tuple[Values, Positions]:
    """Returns for every turn its share of the rare words of the best finds that the query does not have, and the turns
    that only these words lead to. The finds themselves get nothing."""
    shares = np.zeros(len(table), np.float32)
    none = np.zeros(0, np.int64)
    finds = [at for at in first[:HOP_FINDS] if total[at] >= HOP_LEAST * total[first[0]]]
    said = [known.terms for at in finds if (known := table.words[at]) is not None]
    if not said:
        return shares, none
    candidates, times = np.unique(np.concatenate(said), return_counts=True)
    is_new = ~np.isin(candidates, terms)
    candidates, times = candidates[is_new], times[is_new]
    count = int(searched.sum())
    frequency = table.postings.count(candidates)
    is_rare = (frequency > 1) & (frequency <= max(2, HOP_COMMON * count))
    candidates, times, frequency = candidates[is_rare], times[is_rare], frequency[is_rare]
    rarity = _compute_rarity(frequency, count)
    best = np.argsort(-rarity * times, kind="stable")[:HOP_WORDS]
    if not len(best):
        return shares, none
    for at in best:
        shares[_keep_searched(table.postings.find(int(candidates[at])), searched).rows] += (
            rarity[at] / rarity[best].sum()
        )
    shares[finds] = 0.0
    is_led = shares > 0
    is_led[first] = False
    led = np.flatnonzero(is_led)
    return shares, led[np.argsort(-shares[led], kind="stable")[:HOP_CANDIDATES]]


def _choose_candidates(searched: Mask, total: Values, cosines: Values) -> Positions:
    """Returns the turns with the highest sums and those with the highest cosines, the highest sum first."""
    count = int(searched.sum())
    by_sum = _find_best(np.where(searched, total, -np.inf), min(CANDIDATES, count))
    nearest = _find_best(np.where(searched, cosines, -np.inf), min(NEAREST, count))
    return np.concatenate([by_sum, nearest[~np.isin(nearest, by_sum)]])


def _measure_mean_nearness(table: TurnTable, at: Positions, has_vector: Mask) -> Values:
    """Returns how near turns are to the mean of all, in standard deviations among these; 0 without a vector."""
    if not has_vector.any():
        return np.zeros(len(at), np.float32)
    nearness = table.vectors[at] @ table.mean_vector
    known = nearness[has_vector]
    return np.where(has_vector, (nearness - known.mean()) / (float(known.std()) or 1.0), 0.0).astype(np.float32)


def _on_asked_day(moments: NDArray[np.float64], query: str, now: datetime) -> Values:
    """Returns 1 for the turns of days that the query names, else 0."""
    is_on = np.zeros(len(moments), np.float32)
    asked = asked_days(query, now)
    if asked:
        for row, moment in enumerate(moments):
            day = datetime.fromtimestamp(moment, now.tzinfo).date()
            is_on[row] = any(is_within(day, named) for named in asked)
    return is_on


def _keep_searched(posting: Posting, searched: Mask) -> Posting:
    return posting.choose(searched[posting.rows])


def _compute_rarity(frequency: int | NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Returns how much a word tells that ``frequency`` of ``count`` turns say (the IDF of BM25)."""
    return np.log1p((np.maximum(max(count, LEAST_COUNT) - frequency, 0) + 0.5) / (np.maximum(frequency, 1) + 0.5))


def _usual_cosines(known: Values) -> tuple[float, float]:
    """Returns mean and standard deviation of the cosines, drawn to the usual ones where these are few."""
    share = len(known) / (len(known) + USUAL_COUNT)
    mean, spread = (float(known.mean()), float(known.std())) if len(known) else (0.0, 0.0)
    return share * mean + (1 - share) * USUAL_COSINE, share * spread + (1 - share) * USUAL_SPREAD


def _scale_cosines(scores: Values, searched: Mask, least: float) -> Values:
    """Returns the scores on a scale from 0 (``least``, or the least of those searched) to 1 (the best)."""
    if not searched.any():
        return np.zeros_like(scores)
    known = scores[searched]
    least = min(least, float(known.min()))
    return (scores - least) / max(float(known.max()) - least, 1e-9)


def _scores_at(scores: Values, positions: Positions) -> Values:
    """Returns the scores at positions, 0 for ``NOWHERE``."""
    return np.where(positions == NOWHERE, 0.0, scores[positions]).astype(np.float32)


def _find_best(scores: Values, count: int) -> Positions:
    """Returns the positions of the highest scores, the best first, earlier turns first among equals."""
    some = np.argpartition(-scores, count - 1)[:count] if count < len(scores) else np.arange(len(scores))
    return some[np.lexsort((some, -scores[some]))][:count]
