"""Notes: the sentences and clauses that a summary is packed from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from text import sentence
from text.text_cache import cache_texts

_CLAUSE = re.compile(
    r"(?<=[,;])\s+|(?<=[가-힣]고)(?<![다라냐자]고)\s+(?!있|싶|계[시신세셨])|(?<=하며|이며|으며|으니|니까|지만|는데|인데|면서)\s+"
    r"|(?<!\s)\s++[—–]\s+"
)
"""Ends of clauses; «돌고 있는» and «가고 싶은» are one verb, and what stands before «…다고» is somebody's words."""
_CLOSERS = {"(": ")", "[": "]", "{": "}", "«": "»", "“": "”", "「": "」", "『": "』", "（": "）"}
"""The closing bracket of each opening one."""
_JOINT = re.compile(
    r"^(?:(?:and|or|but|which|그리고|또|또는|그래서|그런데|그럼|다만|그중)[\s,]|(?:so|then),)\s*", re.IGNORECASE
)
"""Conjunctions at a clause's beginning; without a comma «so far» and «then again» say something of their own."""
_OPEN_END = re.compile(r"[가-힣](?:[으이하]며|[으이]니|니까|지만|[는은인]데|면서|[아어해]서|려고|[으이하]면)$")
"""Korean endings after which a sentence goes on."""
_TABLE_ROW = re.compile(r"^\|(.*?)\|?$")
_CUTS = ((r"(?<=[.!?。…])(?=\s)", 0.5), (r"(?=[,;]\s)", 0.5), (r"(?=\s)", 0.0))
_END = re.compile(r"[.!?。？！…]$")


@dataclass(frozen=True, slots=True)
class SummaryNote:
    """A piece of a summary: its text, its place in the original (characters), and its speaker.

    ``speaker``: '' for a report in the third person. ``weight``: what its new content is worth beside that of others.
    """

    text: str
    position: int
    speaker: str = ""
    weight: float = 1.0


def split_clauses(text: str) -> list[str]:
    """Returns the sentences of a text, and the clauses of every long sentence, as candidates for notes."""
    parts: list[str] = []
    for piece in sentence.split_sentences(text):
        parts.append(piece)
        if len(piece) > 40:
            clauses = [clause.strip(" ,;") for clause in _cut_clauses(piece)]
            parts += [clause for clause in clauses if 12 <= len(clause) < len(piece)]
    return list(dict.fromkeys(parts))


def _cut_clauses(text: str) -> Iterator[str]:
    """Yields the clauses of a sentence; a pair of brackets stays in one clause, because a list in brackets has commas,
    too («a model server (Ollama, LM Studio)»)."""
    start, pairs, place = 0, _find_bracket_pairs(text), 0
    for cut in _CLAUSE.finditer(text):
        while place < len(pairs) and pairs[place][1] < cut.start():
            place += 1
        if place == len(pairs) or cut.start() <= pairs[place][0]:
            yield text[start : cut.start()]
            start = cut.end()
    yield text[start:]


def _find_bracket_pairs(text: str) -> list[tuple[int, int]]:
    """Returns where each pair of brackets that lies in no other pair opens and closes, in order. A lone bracket («1)»,
    «:)») makes no pair."""
    pairs, opened = list[tuple[int, int]](), list[tuple[str, int]]()
    waiting = dict.fromkeys(_CLOSERS.values(), 0)  # how many opened brackets wait for each closing one
    for at, letter in enumerate(text):
        if letter in _CLOSERS:
            opened.append((_CLOSERS[letter], at))
            waiting[_CLOSERS[letter]] += 1
        elif waiting.get(letter):
            closer, first = "", at
            while closer != letter:  # what was opened within the pair and never closed is lone, too
                closer, first = opened.pop()
                waiting[closer] -= 1
            while pairs and pairs[-1][0] > first:
                pairs.pop()
            pairs.append((first, at))
    return pairs


def tidy_clause(text: str) -> str:
    """Returns a clause that can stand alone: without its first conjunction, with a mark where the sentence went on; an
    English clause begins with a capital. Returns a row of a Markdown table as its cells with commas between them."""
    if row := _TABLE_ROW.match(text):
        return ", ".join(filter(None, (cell.strip() for cell in row[1].split("|"))))
    bare = _JOINT.sub("", text)
    bare = f"{bare}…" if _OPEN_END.search(bare) else bare
    return re.sub(r"^[a-z]+(?=[\s,])", lambda word: word.group().capitalize(), bare)


def shorten_to_clause(text: str, most: int, *, word: bool = True) -> str:
    """Cuts the text back to the end of a sentence or clause within ``most`` characters; with ``word``, else to the end
    of a word.

    Returns '' when there is no such end.
    """
    if len(text) <= most:
        return text
    head = text[: most + 1]
    for mark, least in _CUTS if word else _CUTS[:-1]:
        ends = [match.start() for match in re.finditer(mark, head)]
        if ends and ends[-1] >= max(1, most * least):
            return head[: ends[-1]].rstrip(" ,;")
    return ""


def join_notes(notes: Iterable[SummaryNote]) -> str:
    """Joins notes into running text: every note ends in a full stop, and the text marks a change of speaker."""
    pieces, speaker = [], ""
    for note in notes:
        label = f"{note.speaker}: " if note.speaker and note.speaker != speaker else ""
        pieces.append(label + (note.text if _END.search(note.text) else f"{note.text}."))
        speaker = note.speaker
    return " ".join(pieces)


def is_similar_note(one: str, other: str) -> bool:
    """Returns whether the longer text has more than three quarters of the shorter text's letter pairs."""
    short, long = sorted((one, other), key=len)
    return measure_shared_pairs(short, long) > 0.75


def measure_shared_pairs(text: str, other: str) -> float:
    """Returns the share of a text's letter pairs that the other text has too; 1 for a text without letter pairs."""
    pairs = _list_letter_pairs(text)
    return len(pairs & _list_letter_pairs(other)) / len(pairs) if pairs else 1.0


@cache_texts(8192)
def _list_letter_pairs(text: str) -> frozenset[str]:
    letters = re.sub(r"\W+", "", text.casefold())
    return frozenset(letters[at : at + 2] for at in range(len(letters) - 1))
