"""Search in titles, questions and answers, in Korean and English: any part of a word matches.

The database proposes texts, newest first. This module checks every proposed text again: a hit holds every word of the
query.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, CursorResult, bindparam, text

from store.database.schema import LISTED, ExactName, ExactText, PlainData
from store.database.substring_index import PADDING, fold_in_postgres
from store.owner import EVERYONE, key_of, user_of
from store.path import branch_at, parse_path
from text.cut import cut_graphemes, cut_graphemes_before
from text.fold import fold_text, fold_with_places

CANDIDATES = 3000
"""Maximum number of texts that one search checks. For a word that nearly every text holds, the search finds the newest
hits.
"""
PER_SESSION = 5
TERMS = 300
"""A word of one or two characters that starts this many trigrams occurs nearly everywhere: search then reads the newest
texts without the index.
"""
NOWHERE = PADDING[0] * 3
"""A trigram that occurs in no text."""
QUERY_CHARS, MOST_WORDS = 400, 8
AROUND = (40, 120)
"""Characters of the snippet before and after the match."""

_WORDS = re.compile(r'"([^"]+)"|(\S+)')
_SPACES = re.compile(r"\s+")
_CUT_NUMBER = re.compile(r"[\d.,:]{2}")
_PATTERN = re.compile(r"[%_\\]")

_COLUMNS = "turn.session_id, turn.branch, turn.number, turn.started AS moment, session.title, session.path"
_INDEXED = f"""
SELECT {_COLUMNS}, CASE turn_search.rowid & 1 WHEN 0 THEN turn.question ELSE turn.answer END AS said, NULL AS also
FROM turn_search CROSS JOIN turn ON turn.id = turn_search.rowid >> 1
CROSS JOIN session ON session.id = turn.session_id
WHERE turn_search MATCH :wanted AND session.deleted IS NULL AND (:within = '' OR turn.session_id = :within)
AND {{own}}
ORDER BY turn_search.rowid DESC LIMIT :most"""
_SCANNED = f"""
SELECT {_COLUMNS}, turn.question AS said, turn.answer AS also
FROM turn JOIN session ON session.id = turn.session_id
WHERE session.deleted IS NULL AND (:within = '' OR turn.session_id = :within) AND {{own}} AND {{holds}}
ORDER BY turn.id DESC LIMIT :most"""
_TITLES = f"""
SELECT id AS session_id, updated AS moment, title FROM session WHERE {LISTED.text} AND {{own}} AND {{holds}}
ORDER BY updated DESC LIMIT :most"""
_STARTING = "SELECT term FROM turn_search_term WHERE term >= :first AND term < :last LIMIT :most"


@dataclass(frozen=True, slots=True)
class TextHit:
    """A place where the query was found: in a turn, or in a title (``number`` and ``branch`` None).

    ``current``: whether the turn lies on the session's path; ``store.tree.Tree.switch`` leads to any other turn.
    ``before``, ``match``, ``after``: the parts of the snippet, in one line. ``moment``: Unix seconds of the turn, or of
    the session's last activity.
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


def search_texts(connection: Connection, query: str, limit: int, within: str | None, indexed: bool) -> list[TextHit]:
    """Returns the newest hits: at most ``PER_SESSION`` per session, or all within the only session ``within``."""
    words = _split_query_words(query)
    if not words:
        return []
    titles = [] if within else list(_search_titles(connection, words, limit))
    with closing(_search_turns(connection, words, within or "", indexed)) as turns:
        hits = [*titles, *islice(_choose_hits(turns, None if within else PER_SESSION), limit)]
    return sorted(hits, key=lambda hit: -hit.moment)[:limit]


def _split_query_words(query: str) -> list[str]:
    """Returns the words of the query, and its phrases in quotation marks."""
    parts = [phrase or word for phrase, word in _WORDS.findall(query[:QUERY_CHARS])]
    return list(dict.fromkeys(fold_text(part) for part in parts if part.strip()))[:MOST_WORDS]


def _search_titles(connection: Connection, words: Sequence[str], limit: int) -> Iterator[TextHit]:
    holds, values = _build_holding_condition(connection, words, ("title",))
    own, owner = _build_owner_clause(connection)
    typed = text(_TITLES.format(holds=holds, own=own)).columns(title=ExactText)
    for row in connection.execute(typed, {**values, **owner, "most": limit}):
        yield TextHit(row.session_id, row.title, None, None, True, *_cut_snippet(row.title, words), row.moment)


def _search_turns(
    connection: Connection, words: Sequence[str], within: str, indexed: bool
) -> Generator[TextHit, None, None]:
    with closing(_load_candidate_rows(connection, words, within, indexed)) as rows:
        for row in rows:
            for content in (row.said, row.also):
                lowered = fold_text(content or "")
                if content and all(word in lowered for word in words):
                    yield _build_text_hit(row, content, words)
                    break


def _build_text_hit(row: Any, said: str, words: Sequence[str]) -> TextHit:
    current = branch_at(parse_path(row.path), row.number) == row.branch
    place = (row.session_id, row.title, row.number, row.branch, current)
    return TextHit(*place, *_cut_snippet(said, words), row.moment)


def _load_candidate_rows(connection: Connection, words: Sequence[str], within: str, indexed: bool) -> CursorResult[Any]:
    """Returns texts that may hold the words, newest first."""
    own, owner = _build_owner_clause(connection)
    values: dict[str, Any] = {"within": within, "most": CANDIDATES, **owner}
    expression = _build_match_expression(connection, words) if indexed and connection.dialect.name == "sqlite" else None
    if expression is not None:
        statement, values = _INDEXED.format(own=own), {**values, "wanted": expression}
    else:
        holds, parameters = _build_holding_condition(connection, words, ("question", "answer"))
        statement, values = _SCANNED.format(holds=holds, own=own), {**values, **parameters}
    bound = text(statement).bindparams(bindparam("within", type_=ExactName))
    typed = bound.columns(said=ExactText, also=ExactText, title=ExactText, path=PlainData)
    return connection.execute(typed, values)


def _build_owner_clause(connection: Connection) -> tuple[str, dict[str, Any]]:
    """Returns the condition that a session is the connection's user's (``store.owner.build_owner_condition``), and its
    value."""
    user = user_of(connection)
    if user is EVERYONE:
        return "true", {}
    value = {"owner": ExactName().process_bind_param(user, connection.dialect)}
    if key := key_of(connection):
        return "session.owner = :owner AND session.api_key = :key", {**value, "key": key}
    return "session.owner = :owner", value


def _build_match_expression(connection: Connection, words: Sequence[str]) -> str | None:
    """Returns the query in FTS5's language, as trigrams; None when the index does not help."""
    selective = [word for word in words if len(word) > 1] or words
    groups = []
    for word in map(_encode_stored_word, selective):
        trigrams = (
            [word[at : at + 3] for at in range(len(word) - 2)] or _list_starting_trigrams(connection, word) or [NOWHERE]
        )
        if len(trigrams) >= TERMS:
            return None
        groups.append(f"({(' AND ' if len(word) > 2 else ' OR ').join(map(_quote_term, trigrams))})")
    return " AND ".join(groups)


def _list_starting_trigrams(connection: Connection, word: str) -> list[str]:
    """Returns the trigrams that start with a word of one or two characters, at most ``TERMS``."""
    values = {"first": word, "last": f"{word}\U0010ffff", "most": TERMS}
    return list(connection.execute(text(_STARTING), values).scalars())


def _build_holding_condition(
    connection: Connection, words: Sequence[str], columns: Sequence[str]
) -> tuple[str, dict[str, str]]:
    """Returns the condition that one of the columns holds all words, and the condition's values."""
    values = {f"word{number}": _encode_stored_word(word) for number, word in enumerate(words)}
    if connection.dialect.name == "sqlite":
        pattern = "instr(folded({column}), :{name}) > 0"
    else:
        pattern = f"{fold_in_postgres('{column}')} LIKE :{{name}}"
        values = {name: f"%{_PATTERN.sub(_escape_sign, word)}%" for name, word in values.items()}
    conditions = (" AND ".join(pattern.format(column=column, name=name) for name in values) for column in columns)
    return f"({' OR '.join(f'({condition})' for condition in conditions)})", values


def _choose_hits(hits: Iterable[TextHit], most: int | None) -> Iterator[TextHit]:
    """Yields one hit per turn, the newest version; at most ``most`` hits per session."""
    seen: dict[str, set[int | None]] = {}
    for hit in hits:
        numbers = seen.setdefault(hit.session_id, set())
        if hit.number not in numbers and (most is None or len(numbers) < most):
            numbers.add(hit.number)
            yield hit


def _cut_snippet(said: str, words: Sequence[str]) -> tuple[str, str, str]:
    """Returns the text before the first match of the longest word, the match as written, and the text after it."""
    word = max(words, key=len)
    folded, (left, right) = fold_with_places(said), AROUND
    at = folded.text.find(word)
    start, end = folded.span(at, at + len(word)) if at >= 0 else (0, 0)
    before, after = cut_tail(said[:start], left), cut_head(said[end:], right)
    before = ("… " if start > left else "") + _SPACES.sub(" ", before).lstrip()
    return before, said[start:end], _SPACES.sub(" ", after).rstrip() + (" …" if end + right < len(said) else "")


def cut_head(text: str, most: int) -> str:
    """Returns the beginning of a text, at most ``most`` characters: whole words, or a piece of a longer word that does
    not cut a number or a character.
    """
    return _whole_words(text, len(cut_graphemes(text, most)))


def _whole_words(text: str, most: int) -> str:
    ends = range(most, 0, -1)
    words = (end for end in ends if text[:end].strip() and not text[end : end + 1].strip())
    pieces = (end for end in ends if not _CUT_NUMBER.fullmatch(text[end - 1 : end + 1]))
    return text[: next(words, 0) or next(pieces, 0)]


def cut_tail(text: str, most: int) -> str:
    """Returns the end of a text by the rules of ``cut_head``."""
    end = cut_graphemes_before(text, most)
    before = text[len(text) - len(end) - 1 : len(text) - len(end)]  # shows whether a word is cut
    return _whole_words((before + end)[::-1], len(end))[::-1]


def _encode_stored_word(word: str) -> str:
    """Returns the word as the database stores words."""
    return str(ExactText().process_bind_param(word, None))  # type: ignore[arg-type]


def _escape_sign(sign: re.Match[str]) -> str:
    return f"\\{sign[0]}"


def _quote_term(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
