"""Search over titles and everything that was said, in Korean and English: any part of a word finds it.

The database proposes texts, newest first, and each is looked at again here: a hit holds every word of the query.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, CursorResult, text

from store.index import PADDING, folded
from store.path import branch_at, plain
from store.schema import LISTED, ExactText, PlainData

CANDIDATES = 3000
"""Texts that one search looks at: of a word that nearly every text holds, the newest hits are found."""
PER_SESSION = 5
TERMS = 300
"""A sign that starts more trigrams than this stands nearly everywhere, and is looked for in the newest texts."""
NOWHERE = PADDING[0] * 3
"""A trigram that no text has."""
QUERY_CHARS, MOST_WORDS = 400, 8
AROUND = (40, 120)
"""Characters of the snippet before and after the match."""

_WORDS = re.compile(r'"([^"]+)"|(\S+)')
_SPACES = re.compile(r"\s+")
_PATTERN = re.compile(r"[%_\\]")

_COLUMNS = "turn.session_id, turn.branch, turn.number, turn.started AS moment, session.title, session.path"
_INDEXED = f"""
SELECT {_COLUMNS}, CASE turn_search.rowid & 1 WHEN 0 THEN turn.question ELSE turn.answer END AS said, NULL AS also
FROM turn_search CROSS JOIN turn ON turn.id = turn_search.rowid >> 1
CROSS JOIN session ON session.id = turn.session_id
WHERE turn_search MATCH :wanted AND session.deleted IS NULL AND (:within = '' OR turn.session_id = :within)
ORDER BY turn_search.rowid DESC LIMIT :most"""
_SCANNED = f"""
SELECT {_COLUMNS}, turn.question AS said, turn.answer AS also
FROM turn JOIN session ON session.id = turn.session_id
WHERE session.deleted IS NULL AND (:within = '' OR turn.session_id = :within) AND {{holds}}
ORDER BY turn.id DESC LIMIT :most"""
_TITLES = f"SELECT id AS session_id, updated AS moment, title FROM session WHERE {LISTED.text} AND {{holds}}"
_STARTING = "SELECT term FROM turn_search_term WHERE term >= :first AND term < :last LIMIT :most"


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where the query was found: in a turn, or in a title (``number`` and ``branch`` None).

    ``current``: whether the turn lies on the session's path, else ``store.tree.switch`` leads there. ``before``,
    ``match``, ``after``: the snippet, in one line. ``moment``: Unix seconds of the turn, or of the last activity.
    """

    session_id: str
    title: str
    number: int | None
    branch: int | None
    current: bool
    before: str
    match: str
    after: str
    moment: float


def search(connection: Connection, query: str, limit: int, within: str | None, indexed: bool) -> list[Hit]:
    """The newest hits; at most ``PER_SESSION`` of a session, unless ``within`` names the only one to look at."""
    words = _words(query)
    if not words:
        return []
    titles = [] if within else list(_titles(connection, words, limit))
    with closing(_turns(connection, words, within or "", indexed)) as turns:
        hits = [*titles, *islice(_chosen(turns, None if within else PER_SESSION), limit)]
    return sorted(hits, key=lambda hit: -hit.moment)[:limit]


def _words(query: str) -> list[str]:
    """The words of the query, or its phrases in quotation marks."""
    plain_query = unicodedata.normalize("NFC", query[:QUERY_CHARS])
    found = [phrase or word for phrase, word in _WORDS.findall(plain_query)]
    return list(dict.fromkeys(folded(each) or "" for each in found if each.strip()))[:MOST_WORDS]


def _titles(connection: Connection, words: Sequence[str], limit: int) -> Iterator[Hit]:
    holds, values = _holding(connection, words, ("title",))
    statement = text(f"{_TITLES.format(holds=holds)} ORDER BY updated DESC LIMIT :most").columns(title=ExactText)
    for row in connection.execute(statement, {**values, "most": limit}):
        yield Hit(row.session_id, row.title, None, None, True, *_snippet(row.title, words), row.moment)


def _turns(connection: Connection, words: Sequence[str], within: str, indexed: bool) -> Generator[Hit, None, None]:
    with closing(_rows(connection, words, within, indexed)) as rows:
        for row in rows:
            for said in (row.said, row.also):
                small = folded(said)
                if small is not None and all(word in small for word in words):
                    yield _hit(row, said, words)
                    break


def _hit(row: Any, said: str, words: Sequence[str]) -> Hit:
    current = branch_at(plain(row.path), row.number) == row.branch
    place = (row.session_id, row.title, row.number, row.branch, current)
    return Hit(*place, *_snippet(said, words), row.moment)


def _rows(connection: Connection, words: Sequence[str], within: str, indexed: bool) -> CursorResult[Any]:
    """Texts that may hold the words, newest first."""
    values: dict[str, Any] = {"within": within, "most": CANDIDATES}
    wanted = _match(connection, words) if indexed and connection.dialect.name == "sqlite" else None
    if wanted is not None:
        statement, values = _INDEXED, {**values, "wanted": wanted}
    else:
        holds, more = _holding(connection, words, ("question", "answer"))
        statement, values = _SCANNED.format(holds=holds), {**values, **more}
    typed = text(statement).columns(said=ExactText, also=ExactText, title=ExactText, path=PlainData)
    return connection.execute(typed, values)


def _match(connection: Connection, words: Sequence[str]) -> str | None:
    """The query in FTS5's words: trigrams; None when the index is no help."""
    telling = [word for word in words if len(word) > 1] or words
    groups = []
    for word in map(_stored, telling):
        terms = [word[at : at + 3] for at in range(len(word) - 2)] or _starting(connection, word) or [NOWHERE]
        if len(terms) >= TERMS:
            return None
        groups.append(f"({(' AND ' if len(word) > 2 else ' OR ').join(map(_quoted, terms))})")
    return " AND ".join(groups)


def _starting(connection: Connection, word: str) -> list[str]:
    """The trigrams that start with a word of one or two characters."""
    values = {"first": word, "last": f"{word}\U0010ffff", "most": TERMS}
    return list(connection.execute(text(_STARTING), values).scalars())


def _holding(connection: Connection, words: Sequence[str], columns: Sequence[str]) -> tuple[str, dict[str, str]]:
    """A condition that one of the columns holds all words, with its values."""
    values = {f"word{number}": _stored(word) for number, word in enumerate(words)}
    if connection.dialect.name == "sqlite":
        small = "lower" if all(sign.isascii() or sign.upper() == sign for word in words for sign in word) else "folded"
        pattern = f"instr({small}({{column}}), :{{name}}) > 0"
    else:
        pattern = "{column} ILIKE :{name}"
        values = {name: f"%{_PATTERN.sub(_escaped, word)}%" for name, word in values.items()}
    each = (" AND ".join(pattern.format(column=column, name=name) for name in values) for column in columns)
    return f"({' OR '.join(f'({part})' for part in each)})", values


def _chosen(hits: Iterable[Hit], most: int | None) -> Iterator[Hit]:
    """One hit for each turn, the newest version; at most ``most`` of a session."""
    seen: dict[str, set[int | None]] = {}
    for hit in hits:
        numbers = seen.setdefault(hit.session_id, set())
        if hit.number not in numbers and (most is None or len(numbers) < most):
            numbers.add(hit.number)
            yield hit


def _snippet(said: str, words: Sequence[str]) -> tuple[str, str, str]:
    """What stands before the longest word's first place, the word as it is written there, and what follows."""
    word = max(words, key=len)
    start = (folded(said) or "").find(word)
    end, (left, right) = start + len(word), AROUND
    before, after = said[max(0, start - left) : start], said[end : end + right]
    before = ("… " if start > left else "") + _SPACES.sub(" ", before).lstrip()
    return before, said[start:end], _SPACES.sub(" ", after).rstrip() + (" …" if end + right < len(said) else "")


def _stored(word: str) -> str:
    """The word as the database holds it."""
    return str(ExactText().process_bind_param(word, None))  # type: ignore[arg-type]


def _escaped(sign: re.Match[str]) -> str:
    return f"\\{sign[0]}"


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
