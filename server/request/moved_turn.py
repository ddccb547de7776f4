"""Turns that a client has taken apart: it moved a message out of its place into a text of its own (SillyTavern's Vector
Storage puts old messages that fit into a system message), or deleted one between two of the same speaker, which then
are told as one message.

Which messages these programs move changes with every request: without this each request would be another history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from history.align import MOST_GAP, NEXT, Pair
from history.form import ComparableForm, read_form
from server.request.told_request import ToldRequest
from store import GivenTurn
from store.session.history import PathTurn
from text.fence import find_words

Read = Callable[[Sequence[int]], Mapping[int, PathTurn]]


def restore_turns(request: ToldRequest, pairs: Sequence[Pair], read: Read) -> tuple[GivenTurn, ...]:
    """Returns the told turns, and in their places what a session has of those that were taken apart: a message that
    stands in the client's system text counts as told; an answer without its question stays one. ``pairs``: the told
    turns that the session has; ``read`` returns turns of its path by their numbers."""
    known = {pair.sent: pair for pair in pairs if pair.kind != "edited"}
    hidden, before = dict[int, range](), 0
    for sent, pair in known.items():
        if numbers := _list_numbers(pair, before):
            hidden[sent] = numbers
        before = pair.number
    if not hidden:  # as usual: then no text is read
        return request.turns
    stored = read(sorted({number for numbers in hidden.values() for number in numbers}))
    moved, turns = read_form(request.system), list[GivenTurn]()
    for sent, turn in enumerate(request.turns):
        here = {number: stored[number] for number in hidden.get(sent, ()) if number in stored}
        restored = list(_take_turn_apart(turn, here, moved))
        is_whole = restored and restored[-1][0] == known[sent].number
        turns += [each for _, each in restored] if is_whole else [turn]
    return tuple(turns)


def _list_numbers(pair: Pair, before: int) -> range:
    """Returns the numbers of the stored turns that a told one may hold or hide: from the last known one, ``before``, up
    to its own; none for a turn that follows it and says no more. Of the beginning, which clients leave out, only what
    the first known turn holds itself."""
    is_more = "more" in (pair.question, pair.answer)
    if not is_more and (not before or pair.number == before + 1):
        return range(0)
    reach = MOST_GAP if before else NEXT
    return range(max(before + 1, pair.number - reach), pair.number + 1)


def _take_turn_apart(
    turn: GivenTurn, stored: Mapping[int, PathTurn], moved: ComparableForm
) -> Iterator[tuple[int, GivenTurn]]:
    """Yields the stored turns that a told one holds, with what stands in the text that the client moved them to, by
    their numbers; none where the told answer says something else beside theirs."""
    asked, answered = read_form(find_words(turn.question)), read_form(turn.answer)
    found, words = list[tuple[int, GivenTurn]](), 0
    for number in sorted(stored):
        one = stored[number]
        question, answer = read_form(find_words(one.question)), read_form(one.answer)
        is_answered = answered.holds(answer)
        if (asked.holds(question) or moved.holds(question)) and (is_answered or moved.holds(answer)):
            found.append((number, GivenTurn(one.question, one.answer, tokens=0)))
        elif is_answered:
            found.append((number, GivenTurn("", one.answer, tokens=0)))
        words += len(answer.flat.split()) if is_answered else 0
    if words == len(answered.flat.split()):
        yield from found
