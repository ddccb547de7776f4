"""Takes what only one session told out of its user's memories.

When the session is erased, the content goes for good. When its conversation is deleted and may be restored, the content
can be put back (docs/decision/0027-forgetting-with-a-way-back.md). Every step may be repeated: content is saved before
it is taken out, so the next process completes the work of one that was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from memory.archive import Archive
from memory.change import user_memory
from memory.change.drop import rid
from memory.change.telling import Kept, Telling
from memory.key import Scope
from memory.line import JOINT, bare, letters_of, lines, parts, same
from memory.redis.address import Client
from memory.redis.redis_store import RedisStore, plain_version
from memory.state import MOST_ENTITIES, Entity, State, Version, same_key

Taken = dict[str, Any]
"""What was taken out of one memory, as plain data.

``lines``: triples of the line before, the line itself, and the rest of it that stayed; ``entities``, ``pins``;
``versions`` as they were; ``forgotten``: the texts that the user had forgotten by then.
"""
Marks = tuple[str, str]
"""The marks (``State.mark``) of the user's memory before and after a change."""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The removal of one session's content (``scope``) from the memories of its user, over a Redis that can be used
    now."""

    client: Client
    redis: RedisStore
    archive: Archive
    scope: Scope
    user: str

    def erase(self, own: Kept) -> None:
        """Takes the content out for good; ``own``: the memory of the erased session, which the stores no longer
        have."""
        memories = self._memories()
        telling = self._telling(own, memories)
        self._take_out(memories, telling, keep=False)
        for session, memory, taken in self.archive.withheld(self.scope.tenant, self.user):
            self.archive.withhold(session, memory, self.user, _less_taken(taken, telling))

    def settle(self) -> None:
        """Withholds the content of a deleted session if the user wanted that; otherwise puts it back."""
        if self.archive.forgets(self.scope):
            self._withhold()
        else:
            self._put_back()

    def _withhold(self) -> None:
        session_memory = self._kept(self.scope)
        if session_memory[0].apart and not self.archive.taken(self.scope, self.scope):
            return  # the session was kept apart from its beginning
        if not session_memory[0].apart:
            self.archive.withhold(self.scope, self.scope, self.user, {"apart": True})
            self._keep_apart()
        memories = self._memories()
        self._take_out(memories, self._telling(session_memory, memories), keep=True)

    def _keep_apart(self) -> None:
        """Keeps the session apart, so that none of it reaches the user's memory, not even a turn being answered."""
        self._restore(self.scope)
        self.redis.change(
            self.client, self.scope, lambda state: replace(state, apart=True, user=state.user or self.user)
        )
        self._save(self.scope)

    def _take_out(self, memories: Mapping[Scope, Kept], telling: Telling, *, keep: bool) -> None:
        """Takes the content out of all memories; ``keep``: saves it first, so that it can be put back.

        Prevents a fold under way from writing its result, which may hold the content.
        """
        less_version = partial(_less_version, telling=telling)
        marks = ("", "")
        for memory, (state, versions) in memories.items():
            self.redis.fence(self.client, memory)
            unchanged = _less(state, telling) == state and all(less_version(version) == version for version in versions)
            if memory == self._owner or not unchanged or state.start == marks[0]:
                saved = self.archive.versions(memory, undone=True)
                first = partial(self._withheld, memory, telling, saved) if keep else None
                before, after = self._revise(memory, self._less(telling, marks, keep), less_version, first)
                marks = (before.mark, after.mark) if memory == self._owner else marks

    def _less(self, telling: Telling, marks: Marks, keep: bool) -> Callable[[State], State]:
        """Returns the function that takes the content out of one memory."""

        def less(state: State) -> State:
            after = user_memory.moved(_less(state, telling), *marks)
            others = tuple(entry for entry in after.carried if entry[0] != self.scope.tag)
            return after if keep else replace(after, carried=others)

        return less

    def _withheld(
        self, memory: Scope, telling: Telling, kept: Sequence[Version], state: State, newest: Sequence[Version]
    ) -> None:
        """Saves what is about to be taken out of a memory."""
        if taken := _taken(state, _less(state, telling), [*kept, *newest], telling):
            known = self.archive.taken(self.scope, memory)
            self.archive.withhold(self.scope, memory, self.user, _together(known, taken))

    def _put_back(self) -> None:
        """Puts everything back that was withheld, except texts that the user has forgotten since."""
        withheld = self.archive.withheld(self.scope.tenant, self.user)
        rows = {memory: taken for session, memory, taken in withheld if session == self.scope}
        forgotten = self._kept(self._owner)[0].forgotten
        marks = ("", "")
        for memory in sorted(rows, key=lambda target: target != self._owner):
            if rows[memory].get("apart"):
                self._revise(memory, lambda state: replace(state, apart=False))
                continue
            more = partial(_more, taken=rows[memory], forgotten=forgotten, marks=marks)
            earlier = partial(_earlier, taken=rows[memory], forgotten=forgotten)
            before, after = self._revise(memory, more, earlier)
            marks = (before.mark, after.mark) if memory == self._owner else marks
        for taken in (taken for session, memory, taken in withheld if session != self.scope and memory == self._owner):
            shared = _of_both(taken, self._telling(self._kept(self.scope), self._memories()))
            self._revise(self._owner, partial(_more, taken=shared, forgotten=forgotten, marks=("", "")))
        self.archive.release(self.scope)

    def _revise(
        self,
        memory: Scope,
        new: Callable[[State], State],
        version: Callable[[Version], Version] = lambda version: version,
        first: Callable[[State, Sequence[Version]], None] | None = None,
    ) -> tuple[State, State]:
        """Changes a memory and its versions in Redis and in the archive; returns its states before and after. ``first``
        is called before the change."""
        self._restore(memory)

        def revised(state: State, versions: Sequence[Version]) -> tuple[State, Sequence[Version]]:
            if not state.revision:
                return state, versions
            if first is not None:
                first(state, versions)
            return new(state), tuple(version(item) for item in versions)

        before, after = self.redis.revise(self.client, memory, revised)
        self.archive.rewrite(memory, version)
        self._save(memory)
        return before, after

    def _restore(self, memory: Scope) -> None:
        """Writes a memory to Redis when only the archive has it."""
        if not self.redis.revision(self.client, memory):
            self.archive.restore(self.client, self.redis, memory)

    def _save(self, memory: Scope) -> None:
        state, versions = self.redis.look(self.client, memory)
        if state.revision:
            self.archive.save(memory, state, versions, state.user)

    @property
    def _owner(self) -> Scope:
        return Scope(self.scope.tenant, "", self.user)

    def _telling(self, own: Kept, memories: Mapping[Scope, Kept]) -> Telling:
        others = [kept for memory, kept in memories.items() if memory.session and not kept[0].apart]
        withheld = [memory.tag for memory, kept in memories.items() if memory.session and kept[0].apart]
        return Telling(self.scope.tag, own, memories[self._owner], others, withheld)

    def _memories(self) -> dict[Scope, Kept]:
        """Returns the user's memory first, then those of all the user's other sessions."""
        sessions = [memory for memory, *_ in self.archive.scopes(self.scope.tenant, self.user) if memory.session]
        return {memory: self._kept(memory) for memory in (self._owner, *sessions) if memory != self.scope}

    def _kept(self, memory: Scope) -> Kept:
        """Returns a memory with all its versions, from Redis or else the archive; does not count as a use."""
        state, newest = self.redis.look(self.client, memory)
        if not state.revision:
            return self.archive.load(memory) or (State(), ())
        versions = {
            version.number: version for version in self.archive.versions(memory) if version.number <= state.version
        }
        versions |= {version.number: version for version in newest}
        return state, [versions[number] for number in sorted(versions)]


# --- taking content out of one memory -----------------------------------------------------------


def _less(state: State, telling: Telling) -> State:
    """Returns the state without the statements, values and pins that only the session told."""
    return replace(
        state,
        text=_less_text(state.text, telling),
        entities=tuple(item for item in state.entities if not telling.is_only_value(item)),
        pins=tuple(item for item in state.pins if not telling.is_only_pin(item)),
        pinned=tuple(item for item in state.pinned if not telling.is_only_pin(item)),
    )


def _less_version(version: Version, telling: Telling) -> Version:
    def less(entities: Sequence[Entity]) -> tuple[Entity, ...]:
        return tuple(entity for entity in entities if not telling.is_only_value(entity))

    return replace(
        version,
        text=_less_text(version.text, telling),
        prior=_less_text(version.prior, telling),
        before=less(version.before),
        after=less(version.after),
        dropped=less(version.dropped),
    )


def _less_text(text: str, telling: Telling) -> str:
    staying = _staying(text, telling)
    remaining = [_less_line(line, telling, staying) for line in lines(text)]
    return text if remaining == lines(text) else "\n".join(line for line in remaining if line)


def _staying(text: str, telling: Telling) -> frozenset[str]:
    """Returns the letters of the statements that stay."""
    return frozenset(letters_of(part) for part in parts(text) if not telling.is_only(part))


def _less_line(line: str, telling: Telling, held: Collection[str]) -> str:
    """Returns the line without statements that only the session told. Another conversation's own words replace a
    statement of which that conversation told a part.

    ``held``: the letters of statements that stay in the memory.
    """
    words = bare(line)
    gone = [part for part in parts(line) if telling.is_only(part)]
    if not gone:
        return line
    stay = [part for part in parts(line) if part not in gone]
    instead = (part for statement in gone for part in telling.told_elsewhere(statement) if letters_of(part) not in held)
    left = dict.fromkeys([*stay, *instead])
    return f"{line.removesuffix(words)}{JOINT.join(left)}" if left else ""


# --- the content that was taken out -------------------------------------------------------------


def _taken(before: State, after: State, versions: Sequence[Version], telling: Telling) -> Taken:
    """Returns what is taken out of a memory and its versions; empty when that is nothing."""
    last, moved, staying = "", list[list[str]](), _staying(before.text, telling)
    for line in lines(before.text):
        if (rest := _less_line(line, telling, staying)) != line:
            moved.append([last, line, rest])
        last = line
    taken: Taken = {
        "lines": moved,
        "entities": [asdict(item) for item in before.entities if item not in after.entities],
        "pins": [item for item in before.pins if item not in after.pins],
        "pinned": [item for item in before.pinned if item not in after.pinned],
        "versions": {_name(item): asdict(item) for item in versions if _less_version(item, telling) != item},
    }
    return {**taken, "forgotten": [what for what, _ in before.forgotten]} if any(taken.values()) else {}


def _together(first: Taken, then: Taken) -> Taken:
    """Merges what was taken out in two steps: the first step may have been cut off."""
    if not first:
        return then
    lists = {
        name: [*first[name], *(item for item in then[name] if item not in first[name])]
        for name in ("lines", "entities", "pins", "pinned")
    }
    return {**first, **lists, "versions": {**then["versions"], **first["versions"]}}


def _of_both(taken: Taken, telling: Telling) -> Taken:
    """Returns the part of another session's withheld content that this session told, too."""
    entities = [item for item in taken["entities"] if telling.has_value(Entity(**item))]
    moved = [item for item in taken["lines"] if all(telling.has_said(part) for part in parts(item[1]))]
    return {**taken, "lines": moved, "entities": entities, "pins": [], "pinned": [], "versions": {}}


def _less_taken(taken: Taken, telling: Telling) -> Taken:
    """Returns withheld content without what only an erased session told."""
    if taken.get("apart"):
        return taken
    moved = [[_less_line(line, telling, ()) for line in item] for item in taken["lines"]]
    versions = {name: asdict(_less_version(plain_version(item), telling)) for name, item in taken["versions"].items()}
    return {
        **taken,
        "lines": [item for item in moved if item[1]],
        "entities": [item for item in taken["entities"] if not telling.is_only_value(Entity(**item))],
        "pins": [item for item in taken["pins"] if not telling.is_only_pin(item)],
        "pinned": [item for item in taken["pinned"] if not telling.is_only_pin(item)],
        "versions": versions,
    }


def _more(state: State, taken: Taken, forgotten: Sequence[tuple[str, int]], marks: Marks) -> State:
    """Returns a memory with the withheld content put back; keeps newer values, and leaves out texts forgotten since."""
    since = _since(state, taken, forgotten)
    keys = {same_key(entity.key) for entity in state.entities}
    back = [Entity(**entity) for entity in taken["entities"]]
    result = replace(
        state,
        text=_with_lines(state.text, taken["lines"]),
        entities=(*(entity for entity in back if same_key(entity.key) not in keys), *state.entities)[-MOST_ENTITIES:],
    )
    pins, pinned = (tuple(dict.fromkeys([*taken[name], *getattr(state, name)])) for name in ("pins", "pinned"))
    result = replace(rid(result, since, state), pins=_unless(pins, since), pinned=_unless(pinned, since))
    return user_memory.moved(result, *marks)


def _with_lines(text: str, moved: Sequence[Sequence[str]]) -> str:
    """Returns the text with each line back in its place: in place of the rest of it, else after the line that stood
    before it, else at the start."""
    result, letters = lines(text), {letters_of(part) for part in parts(text)}
    for before, line, left in moved:
        if left in result:
            result[result.index(left)] = line
        elif not all(letters_of(part) in letters for part in parts(line)):
            result.insert(result.index(before) + 1 if before in result else 0, line)
    return "\n".join(result)


def _earlier(version: Version, taken: Taken, forgotten: Sequence[tuple[str, int]]) -> Version:
    """Returns a version as it was before content was taken out of it, without texts forgotten since."""
    saved = taken["versions"].get(_name(version))
    if saved is None:
        return version
    back, now = plain_version(saved), State(text=version.text, entities=version.after)
    result = rid(State(text=back.text, entities=back.after), _since(State(), taken, forgotten), now)
    return replace(back, text=result.text, after=result.entities)


def _since(state: State, taken: Taken, forgotten: Sequence[tuple[str, int]]) -> list[str]:
    """Returns the texts forgotten since, in this memory or in the user's (``forgotten``)."""
    return [what for what, _ in (*state.forgotten, *forgotten) if what not in taken["forgotten"]]


def _unless(pins: Sequence[str], since: Sequence[str]) -> tuple[str, ...]:
    return tuple(pin for pin in pins if not any(same(pin, what) for what in since))


def _name(version: Version) -> str:
    return f"{version.number} {version.created!r}"
