"""M_i = LLM(M_{i-1}, new turns): the new memory and its entities, judged before they count (copilot-rag.md §3.4, §3.5).

Knows neither Redis nor the database. A model that writes well rewrites the whole memory. One that needs help writes
short notes of the new turns in a constrained shape, and code does the rest: old sentences are copied word for word,
changed values put in their place, an earlier topic shortened to one line. One sentence per line, oldest first.
What tools said never enters; what the caller recalled for the model is not in the turns it hands over.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

import prompt
from memory import change, entities
from memory.ask import Talk, bare, notes_shape, pairs_shape, read_notes, read_pairs
from memory.line import alike, choose, holds_all, plain, repeats, shorten
from memory.source import LABEL, Source, opening
from memory.state import Entity
from memory.stated import contradicted
from memory.topic import is_topic, parts, rejoined, shortened, without
from memory.value import tells
from memory.view import Count
from model.modelset import ModelSet
from text import fact, sentence
from text.clean import clean
polite = lambda _: False

MOST_SENTENCES = 20
ENOUGH = 0.6
"""Share of the user's facts that must survive the notes of a small model: code copies what it can of the rest."""
MOST_FACTS = 40
"""Of the user's facts in the new turns, a model that writes well may lose none; of more than these, those beyond."""
OLD_ENOUGH = 0.5
"""Share of the facts of the memory so far that must survive: an earlier topic may become one line, not vanish."""
NOTE = {"ko": 60, "en": 120}
"""Most characters of a note, by language."""
NOTES, PAIRS = 6, 6
LINE_CHARS = 160
"""Room for an earlier topic."""
_OWN = re.compile(
    r"좋아|싫어|선호|알레르기|못 먹|즐겨|관심|원해|하고 싶|할 거|하기로|정했|결정"
    r"|\b(?:i|we)(?:'m| am|'ve| have)? (?:like|love|hate|prefer|want|plan|decided|always|never|allergic|vegetarian)"
    r"|\bfavou?rite\b|\ballerg",
    re.IGNORECASE,
)
"""What the user says of their own tastes and plans is kept although it may hold no value."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A memory that may replace the old one. ``kept``, ``lost``: facts of the new turns as they were written."""

    text: str
    entities: tuple[Entity, ...]
    kept: tuple[str, ...]
    lost: tuple[str, ...]
    seconds: float = 0.0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    calls: int = 0
    model: str = ""


Fault = dict[str, Any]
"""Why a new memory is not taken, as values of ``FoldRejected``: ``reason`` and ``reason_code``; empty: it is taken."""


def make(
    source: Source,
    models: ModelSet,
    room: int,
    stop: threading.Event | None,
    step: Callable[[str], None] = lambda _: None,
) -> Folded:
    """The next memory, of at most 20 sentences and ``room`` tokens, and the entities with it.

    ``step`` is told how far it is (tests stop there). Raises ``FoldRejected`` when what must survive did not, also
    after one repair; ``Stopped``; and the model's own errors.
    """
    begun, talk = time.monotonic(), Talk(models, stop, opening(source, models))
    written = _notes(source, talk, step) if (models.side.folds == "extracted") else _prose(source, talk, room, step)
    held = [pin for pin in source.pins if (models.side.folds == "extracted") or _has(_text(written), pin)]
    made = _finished(source, written, held, models.count, room)
    made = replace(
        made,
        seconds=time.monotonic() - begun,
        prompt_tokens=talk.prompt_tokens,
        answer_tokens=talk.answer_tokens,
        calls=talk.calls,
        model=models.side_name,
    )
    if why := _fault(source, written, made, (models.side.folds == "extracted")):
        raise source.rejected(why, cost(made))
    return made


def word_for_word(source: Source, count: Count, room: int, spent: dict[str, Any]) -> Folded:
    """The next memory without a model: the old sentences, and those of the user that hold facts, as they are.

    For turns that no fold is accepted for. ``spent``: what the last try took (``cost``).
    """
    written = _Written([*source.lines, *_chosen(source, [])], entities.stated_in(source))
    return replace(_finished(source, written, source.pins, count, room), **spent)


def _finished(source: Source, written: _Written, pins: Sequence[str], count: Count, room: int) -> Folded:
    """Text and entities of what was written, with the values of now, within 20 sentences and ``room`` tokens.

    ``pins``: statements that come back where the new values have taken their place.
    """
    named, left = entities.renewed(source, written.pairs)
    changes = [*source.changes, *entities.changes(source, named)]
    lines = [line if _is_pinned(source, line) else change.apply(line, changes) for line in written.lines]
    lines = entities.listed(lines, [each for each in left if not source.is_forgotten(each.line)])
    text = _settled(source, [*_lacking(lines, pins), *lines], named, count, room)
    whole = _whole(text, named)
    return Folded(
        text=text,
        entities=named,
        kept=tuple(each.text for each in source.wanted if fact.holds(whole, each)),
        lost=tuple(each.text for each in source.wanted if not fact.holds(whole, each)),
    )


def _is_pinned(source: Source, line: str) -> bool:
    """Whether a line is the user's word, which stays as it is: a new value stands beside it."""
    return any(plain(pin) in plain(line) for pin in source.pins)


def _lacking(lines: Sequence[str], pins: Sequence[str]) -> list[str]:
    return [pin for pin in pins if not any(_has(line, pin) for line in lines)]


@dataclass(frozen=True, slots=True)
class _Written:
    """What came of the model: the sentences of the new memory, oldest first, and the values it named."""

    lines: list[str]
    pairs: list[tuple[str, str]]


# --- a model that writes well: the whole memory anew ---------------------------------------------


def _prose(source: Source, talk: Talk, room: int, step: Callable[[str], None]) -> _Written:
    keys = ", ".join(each.key for each in source.entities) or "–"
    listed = "\n".join(f"- {each}" for each in source.pins)
    pins = prompt.render("memory_fold_pins", source.language, pins=listed) if source.pins else ""
    request = {"sentences": MOST_SENTENCES, "tokens": room, "pins": pins, "keys": keys}
    written = _read_text(talk.ask(prompt.render("memory_fold_text", source.language, **request)))
    step("asked")
    lost = _lost(source, written)
    if not lost:
        return written
    missing = ", ".join(lost)
    repaired = _read_text(talk.ask(prompt.render("memory_fold_text_repair", source.language, lost=missing)))
    step("repaired")
    return min((repaired, written), key=lambda each: len(_lost(source, each)))


def _read_text(answer: str) -> _Written:
    """Sentences, a line with dashes, then ``name: value`` lines."""
    body, _, values = clean(answer).partition("\n---")
    lines = [bare(line) for line in sentence.split(body)]
    named = (bare(line).partition(":") for line in values.splitlines())
    return _Written(
        [line for line in lines if line], [(key.strip(), value.strip()) for key, _, value in named if value]
    )


def _lost(source: Source, written: _Written) -> list[str]:
    """What to ask for again: pinned statements, what the user said or asked for, and too much of the memory so far."""
    held = _whole(_text(written), entities.renewed(source, written.pairs)[0])
    pins = [each for each in source.pins if not _has(held, each)]
    new = [each.text for each in (*source.wanted, *source.asked) if not fact.holds(held, each)]
    return list(dict.fromkeys([*pins, *new, *_old_lost(source, held)]))


def _old_lost(source: Source, held: str) -> list[str]:
    """Facts of the memory so far that are gone, when they are too many."""
    lost = [each.text for each in source.before if not fact.holds(held, each)]
    return lost if len(lost) > (1 - OLD_ENOUGH) * len(source.before) else []


# --- a model that needs help: notes of the new turns, the rest by code ---------------------------


def _notes(source: Source, talk: Talk, step: Callable[[str], None]) -> _Written:
    usual = NOTE[source.language]
    request = prompt.render("memory_fold_notes", source.language, count=NOTES, length=usual)
    answer = talk.ask(request, **notes_shape(NOTES, usual))
    step("asked")
    said, new_topic = read_notes(answer)
    notes = [note for each in said if (note := _note(source, each, usual))]
    keys = ", ".join(each.key for each in source.entities[-12:]) or "–"
    pairs = read_pairs(talk.ask(prompt.render("memory_entities", source.language, keys=keys), **pairs_shape(PAIRS)))
    step("named")
    own = entities.stated_in(source)
    pairs = [*(pair for pair in pairs if not any(value in pair[1] for _, value in own)), *own]
    notes += _repair(source, talk, notes, pairs, step)
    fresh = _chosen(source, notes)
    old = [line for line in source.lines if not _repeated(source, line, fresh)]
    return _Written([*(_one_line(source, old) if new_topic and notes else old), *fresh], pairs)


def _repeated(source: Source, line: str, fresh: Sequence[str]) -> bool:
    """Whether the new sentences say all of an old one."""
    said = "\n".join(fresh)
    facts = [each for each in fact.facts(line) if not change.outdated(each.text, line, source.changes)]
    return any(alike(line, each) or repeats(line, each) for each in fresh) and all(
        fact.holds(said, each) for each in facts
    )


def _repair(
    source: Source, talk: Talk, notes: Sequence[str], pairs: list[tuple[str, str]], step: Callable[[str], None]
) -> list[str]:
    """One more request when much is missing; what is still missing is copied from what the user said."""
    held = _whole("\n".join([*source.lines, *notes]), entities.renewed(source, pairs)[0])
    lost = [each.text for each in source.wanted if not fact.holds(held, each)]
    if len(lost) <= (1 - ENOUGH) * len(source.wanted):
        return []
    usual, count = NOTE[source.language], min(3, len(lost))
    request = prompt.render("memory_fold_notes_repair", source.language, lost=", ".join(lost[:8]), count=count)
    said, _ = read_notes(talk.ask(request, **notes_shape(count, usual)))
    step("repaired")
    return [note for each in said if (note := _note(source, each, usual))]


def _chosen(source: Source, notes: Sequence[str]) -> list[str]:
    """The notes, and the user's own sentences for facts that they lack."""
    user, most = LABEL[source.language][0], 2 * NOTE[source.language]
    said = [part for each in (*source.said, *source.plans) for part in wrap(each, most)]
    spare = [f"{user}: {each}" for each in said]
    spare = [each for each in spare if not _superseded(source, each)]
    size = sum(len(each) + 1 for each in notes) + 6 * NOTE[source.language]
    own = [each for each in spare if _OWN.search(each) and not any(alike(each, note) for note in notes)]
    return choose([*notes, *own], spare, (*source.wanted, *source.asked), size, source.place)


def _note(source: Source, said: str, length: int) -> str:
    """A note; '' when it states what nobody said, what was replaced, or what is forgotten."""
    if len(said) >= length:  # cut off in its middle by the shape
        said = shorten(said, length - 1)
        said = said if len(said) > length // 2 else ""
    exact = [each for each in fact.facts(said) if each.kind != "name"]
    invented = any(not fact.holds(source.everything, each) for each in exact)
    invented = invented or contradicted(said, source.said)
    empty = len(said) < 5 or invented or polite(said) or source.is_forgotten(said) or _superseded(source, said)
    return "" if empty else said


def _superseded(source: Source, text: str) -> bool:
    """Whether it gives an old value without the new one."""
    return any(change.outdated(each.text, text, source.changes) for each in fact.facts(text)) and not any(
        tells(text, each.new) for each in source.changes
    )


def _one_line(source: Source, lines: Sequence[str]) -> list[str]:
    """The topic before in one line: the sentences with the most facts that no entity holds (copilot-rag.md §3.5). The
    lines of the topics before it stay as they are."""
    earlier = [line for line in lines if is_topic(line)]
    late = [line for line in lines if not is_topic(line)]
    if len(late) < 2:
        return list(lines)
    known = _whole("", source.entities)
    facts = [each for each in fact.facts("\n".join(late)) if not fact.holds(known, each)]
    return [*earlier, shortened(late, facts, LINE_CHARS)]


# --- what holds for both -------------------------------------------------------------------------


def _settled(source: Source, lines: Sequence[str], named: Sequence[Entity], count: Count, room: int) -> str:
    """At most 20 sentences and ``room`` tokens, pinned ones always: the oldest go first, before them those of the older
    half that the entities tell; of an earlier topic sentence by sentence."""
    kept = [line for line in dict.fromkeys(without(each, source.is_forgotten) for each in lines) if line]
    known = _whole("", named)
    while (crowded := len(kept) > MOST_SENTENCES) or count("\n".join(kept)) > room:
        loose = [(line, part) for line in kept if not _is_pinned(source, line) for part in parts(line)]
        single = [(line, part) for line, part in loose if crowded and not is_topic(line)]
        loose = single or loose
        if not loose:
            break
        older = loose[: len(loose) // 2]
        spare = [(line, part) for line, part in older if _again(part, kept)]
        spare = spare or [
            (line, part) for line, part in older if (facts := fact.facts(part)) and holds_all(known, facts)
        ]
        line, part = (spare or loose)[0]
        left = [each for each in parts(line) if each != part]
        kept = [rejoined(line, left) if each == line else each for each in kept if each != line or left]
    return "\n".join(kept)


def _again(part: str, lines: Sequence[str]) -> bool:
    """Whether a sentence of a topic stands word for word in a line of its own, too."""
    own = plain(part)
    return any(own in plain(line) for line in lines if part not in parts(line))


def _fault(source: Source, written: _Written, made: Folded, helped: bool) -> Fault:
    """Why this must not replace the memory; empty when it may.

    ``helped``: the model is a small one, and code has copied what it could of what the notes lacked.
    """
    if not made.text.strip():
        return {"reason": "it is empty", "reason_code": "empty"}
    held = _whole(made.text, made.entities)
    pins = [each for each in source.pins if not _has(held, each)]
    if pins:
        return {"reason": f"it lost what is pinned: {pins[0]}", "reason_code": "pinned", "what": pins[0]}
    wanted = len(source.wanted)
    spare = max(1, int((1 - ENOUGH) * wanted)) if helped else max(0, wanted - MOST_FACTS)
    if len(made.lost) > spare:
        return _reason(made.lost, wanted)
    old = [] if helped else _old_lost(source, _whole(_text(written), made.entities))
    return _reason(old, len(source.before)) if old else {}


def _reason(lost: Sequence[str], among: int) -> Fault:
    what, count = ", ".join(lost[:5]), len(lost)
    said = f"it lost {count} of {among} facts: {what}"
    return {"reason": said, "reason_code": "facts", "lost": count, "all": among, "what": what}


def _has(text: str, pin: str) -> bool:
    """Whether a pinned statement stands in a text: word for word, or all its facts when it has some."""
    if plain(pin) in plain(text):
        return True
    facts = fact.facts(pin)
    return bool(facts) and all(fact.holds(text, each) for each in facts)


def _whole(text: str, named: Sequence[Entity]) -> str:
    return "\n".join([text, *(each.line for each in named)])


def _text(written: _Written) -> str:
    return "\n".join(written.lines)


def cost(folded: Folded) -> dict[str, Any]:
    """What a fold cost, for the version's record."""
    names = ("seconds", "prompt_tokens", "answer_tokens", "calls", "model")
    return {name: getattr(folded, name) for name in names}


def together(costs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The sum of several; the model is that of the last."""
    made: dict[str, Any] = {}
    for each in costs:
        summed = {name: made.get(name, 0) + value for name, value in each.items() if name != "model"}
        made = {**made, **summed, "model": each["model"]} if each else made
    return made
