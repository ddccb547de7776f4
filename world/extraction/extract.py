"""From raw answers to changes: every turn once, the turns of a line in their order (specification 12.7).

What code can read is in effect before the answer's request ends. What needs a call of the utility model is worked off
behind it, one call of a world at a time, also between processes. A turn that nobody can read is worked off as one that
changes nothing and says so, so that a story never stands still.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from errors import GieokError, SessionBusy, WorldUnknown
from model.call.stream import Stopped
from model.embedding import Embedder
from model.modelset import ModelSet
from settings import Settings
from store import Store
from store.lock import session_lock
from store.world import change
from store.world.record import Changes, Origin, StoryNode, World
from store.world.turns import needs_snapshot
from world.block import Fields, find_contradictions, read_answer_blocks, read_cut_blocks
from world.block.reading.read import read_parsed_fields, unknown_fields
from world.block.refusal import render_refusal
from world.curator.curator import curate_story_line
from world.curator.desk import NotedFinding, is_curation_due
from world.curator.story import Story
from world.extraction.behind import Behind
from world.extraction.light_call import Later, LightCalls
from world.extraction.queue import Queue
from world.extraction.worked import Worked, drop_unsure_stay, work_out_changes
from world.file.file import WorldFiles
from world.lore.lorebook import Lorebook
from world.prompt.source import Source
from world.story.story import Stories, build_state_snapshot
from world.turn import ahead

log = logging.getLogger("gieok.world")

BUSY_SECONDS = 0.2
"""After how long a world is tried again whose light call runs in another process."""
LEFT = 10_000
"""How many turns of an earlier process are picked up at the start."""
STEP = 50
"""How many turns are read at once on the way back to the last one that is worked off."""
MOST_NAMED = 8
"""Fields that are not kept and are told for a turn, at most."""
MOST_TOLD = 20
"""The most turns of one request that only a client knew and that are read behind the answer."""
MOST_LINE = 200
"""The last turns of a line that are looked through for those that only a client knew."""
MOST_TOLD_ALONE = 3
"""As many where one model serves everything, and each call takes its time from the story."""
BLOCK: Origin = "block"
_START = ""
"""The key of what is done at the start."""


class Extractor:
    """Works off the turns of all users' stories. ``store``: of all users. Many threads may use it; several processes
    may work on one database. The turns that an earlier process left are picked up at once."""

    def __init__(
        self,
        store: Store,
        stories: Stories,
        source: Source,
        files: WorldFiles,
        models: Callable[[], ModelSet],
        embedder: Embedder,
        settings: Settings,
    ) -> None:
        self._rows, self._stories, self._source, self._models = store.worlds, stories, source, models
        self._closed = threading.Event()
        self._behind = Behind(store.worlds, files, embedder, self._closed)
        self._busy = session_lock(store.engine, settings.data_dir)
        self._change = threading.Condition()
        self._raw: dict[str, set[int]] = defaultdict(set)
        self._newest: dict[str, int] = {}
        self._books: set[str] = set()
        self._told: dict[str, list[int]] = {}
        self._curated: dict[str, int] = {}
        self._ahead: dict[str, Callable[[], ahead.Messages | None]] = {}
        self._light = LightCalls(models, store.worlds.note_side_usage)
        self._queue = Queue("world", self._run)
        self._curators = Queue("curator", self._curate)
        self._queue.put(_START)

    # --- for the engine -------------------------------------------------------------------------

    def work(self, node: StoryNode) -> bool:
        """Works off the turn and the raw ones before it, as far as code can; returns False when a model is needed."""
        return self._work(node, None)

    def submit(self, node: StoryNode) -> None:
        """Has the worker do what code cannot."""
        with self._change:
            self._raw[node.world].add(node.id)
        self._queue.put(node.world)

    def wait(self, node: StoryNode, seconds: float) -> int:
        """Waits until the turn is worked off, at most so long; returns how many turns up to it are still raw."""
        end = time.monotonic() + seconds
        while late := len(self._line(self._rows.node(node.id))):
            left = end - time.monotonic()
            if left <= 0:
                return late
            with self._change:
                self._change.wait(min(left, 0.05))  # another process tells nothing
        return 0

    def read_ahead(self, world_id: str, make: Callable[[], ahead.Messages | None]) -> None:
        """Has the worker let the model read the beginning of the next prompt, once the story is worked off."""
        with self._change:
            self._ahead[world_id] = make
        self._queue.put(world_id)

    def read_told(self, nodes: Sequence[StoryNode]) -> None:
        """Has the worker read what turns changed that only a client knew: the newest ``MOST_TOLD``, the last first,
        each for itself, so that the story does not wait for them."""
        told = [node for node in nodes if node.status == "given" and node.origin == "none" and node.question.strip()]
        if not told:
            return
        try:
            most = MOST_TOLD_ALONE if self._models().alone else MOST_TOLD
        except GieokError:  # it is away, and may be any when it is there again
            most = MOST_TOLD_ALONE
        with self._change:
            self._told.setdefault(told[0].world, []).extend(node.id for node in told[-most:])
        self._queue.put(told[0].world)

    def take_up_line(self, node: StoryNode) -> None:
        """Has the worker do what code cannot of the turns up to this one, and read those that only a client knew
        (``read_told``); of the story's other lines it reads none any more, until it takes one of them up."""
        told = [one for one in self._rows.path(node, MOST_LINE) if one.status == "given" and one.question.strip()]
        with self._change:
            waiting = [*self._told.get(node.world, ())]
        left = {id for id in waiting if self._is_there(id) and self._rows.node(id).session == node.session}
        with self._change:
            if node.world in self._told:
                self._told[node.world] = [id for id in self._told[node.world] if id not in left]
        self.submit(node)
        self.read_told(told[-MOST_TOLD:])

    def learn(self, world_id: str) -> None:
        """Has the worker compute the vectors of a lorebook that has just come, before its first turn needs them."""
        with self._change:
            self._books.add(world_id)
        self._queue.put(world_id)

    def give_way(self) -> None:
        """Interrupts calls of the model for the turn that begins now, where one model serves everything."""
        if self._models().alone:
            self._queue.interrupt()
            self._curators.interrupt()

    def story(self, node: StoryNode) -> Story:
        """Returns the story up to this turn as text."""
        return self._behind.story(node)

    def take_in_edit(self, node: StoryNode) -> None:
        """Takes in that the user has changed the state at this turn by hand."""
        self._stories.forget(node)
        self._behind.forget(node)
        self._queue_following(node)

    def idle(self, seconds: float) -> bool:
        """Waits until all work is done, at most so long; returns whether it is."""
        end = time.monotonic() + seconds
        while self._queue.idle(end - time.monotonic()) and self._curators.idle(end - time.monotonic()):
            if self._queue.idle(0):  # the curator leaves something to do
                return True
        return False

    def close(self) -> None:
        """Ends at once. What is left is picked up at the next start."""
        self._closed.set()
        self._queue.close()
        self._curators.close()

    # --- turns ----------------------------------------------------------------------------------

    def _work(self, node: StoryNode, stop: threading.Event | None) -> bool:
        """Works off the turn and the raw ones before it, oldest first. ``stop``: of the worker; None: no model is
        asked."""
        return all(self._settle(raw, stop) for raw in self._line(node))

    def _line(self, node: StoryNode) -> list[StoryNode]:
        """Returns the raw turns up to this one, oldest first. Turns that a client told may stand between them."""
        raw: list[StoryNode] = []
        while True:
            nodes = self._rows.path(node, STEP)
            for one in reversed(nodes):
                if one.status == "done":
                    return raw[::-1]
                if one.status == "raw":
                    raw.append(one)
            if not nodes or not nodes[0].parent:
                return raw[::-1]
            node = self._rows.node(nodes[0].parent)

    def _settle(self, node: StoryNode, stop: threading.Event | None) -> bool:
        """Works off one turn, whose ancestors are worked off. Returns False when a model is needed and not allowed."""
        world = self._rows.world(node.world)
        parent = self._rows.node(node.parent) if node.parent else None
        revision, before = self._rows.revision(world.id), self._stories.state(parent, world)
        broken, origin, refusals = read_cut_blocks(node.raw), BLOCK, tuple[str, ...]()
        told = blocks = read_answer_blocks(node.raw) if broken is None else broken
        if broken is not None or not blocks:
            if node.block is not None:  # it stood on another branch, where a model has read it
                blocks, origin = [cast(Fields, node.block)], "light"
            elif stop is None:
                return False
            else:
                blocks, origin, refusals = self._light.ask(node, world, before, blocks, stop)
        else:
            unknown = unknown_fields(node.raw)[:MOST_NAMED]
            refusals = tuple(render_refusal(name, "not_kept", world.language) for name in unknown)
        book = self._source.lorebook(self._rows, world, revision)
        blocks, told = ([drop_unsure_stay(fields, parent, origin) for fields in given] for given in (blocks, told))
        done = work_out_changes(blocks, before, book, node, world.language, told if origin == "light" else None)
        self._note(node, done)
        corrected = self._find_corrections(node, world, book)
        is_corrected = corrected != Changes()
        whole = needs_snapshot(node) and not is_corrected  # else the next turn's is
        taken = self._rows.settle(
            node.id,
            change.merge_changes(done.changes, corrected),
            origin=origin,
            block=done.block,
            refusals=(*refusals, *done.refusals),
            snapshot=build_state_snapshot(done.state, self._rows.begin_state(world.id)) if whole else None,
        )
        if taken:
            if not is_corrected:
                self._stories.keep(node, done.state, revision)
            self._queue_following(node)
        return True

    def _find_corrections(self, node: StoryNode, world: World, book: Lorebook) -> Changes:
        """Returns what the user or the curator has changed at the turn that this one says once more: all of it that was
        not read in the turn."""
        try:
            old = self._rows.node(node.source) if node.source else None
        except WorldUnknown:  # it was removed
            return Changes()
        if old is None or old.status != "done":
            return Changes()
        parent = self._rows.node(old.parent) if old.parent else None
        blocks = read_answer_blocks(old.raw) if read_cut_blocks(old.raw) is None else []
        origin: Origin = BLOCK if blocks else "light"
        if not blocks and old.block is not None:
            blocks = [cast(Fields, old.block)]
        blocks = [drop_unsure_stay(fields, parent, origin) for fields in blocks]
        read = work_out_changes(blocks, self._stories.state(parent, world), book, old, world.language)
        added = change.find_added_rows(self._rows.changes_at(old), read.changes)
        marks = tuple(replace(one, last_mentioned=min(one.last_mentioned, node.turn)) for one in added.lore)
        told = added.episode and replace(added.episode, turn=node.turn, node=node.id)
        return replace(added, lore=marks, episode=told)

    def _note(self, node: StoryNode, done: Worked) -> None:
        """Stores the contradictions that code has noticed, unless they are known or intended."""
        for one in done.noticed:
            self._rows.add_finding(node, one.kind, one.subject, one.text)

    def _queue_following(self, node: StoryNode) -> None:
        """Plans what follows."""
        with self._change:
            self._newest[node.world] = max(node.id, self._newest.get(node.world, 0))
            self._change.notify_all()
        self._queue.put(node.world)

    # --- the worker -----------------------------------------------------------------------------

    def _run(self, key: str, stop: threading.Event) -> float | None:
        """Works off what waits in a world, oldest first, then what follows."""
        if key == _START:
            for node in self._rows.raw(LEFT):
                self.submit(node)
            return None
        try:
            again = self._waiting(key, stop)
            self._follow(key)
            self._learn(key)
            if again is None:
                again = self._read_one_told(key, stop)
            if again is None:
                with self._change:
                    make = self._ahead.pop(key, None)
                ahead.read_next_prompt(self._models(), make, stop)
        except WorldUnknown:
            if not self._drop_gone(key):
                raise
            return 0.0
        return again

    def _waiting(self, key: str, stop: threading.Event) -> float | None:
        """Works off the turns that wait; returns after how long the others are to be tried."""
        with self._change:
            ids = sorted(self._raw.get(key, ()))
        try:
            for id in ids:
                with self._busy.hold(f"world:{key}"):
                    self._work(self._rows.node(id), stop)
                with self._change:
                    self._take_off(key, id)
        except SessionBusy:
            return BUSY_SECONDS
        except Later as later:
            return later.seconds
        return None

    def _read_one_told(self, key: str, stop: threading.Event) -> float | None:
        """Reads the newest told turn that waits; returns after how long the next one is to be read."""
        with self._change:
            waiting = self._told.get(key, [])
            if not waiting:
                self._told.pop(key, None)
                return None
            id = waiting.pop()
        try:
            node, world = self._rows.node(id), self._rows.world(key)
            parent = self._rows.node(node.parent) if node.parent else None
            before = self._stories.state(parent, world)
            blocks, origin, refusals = self._light.ask(node, world, before, [], stop)
            book = self._source.lorebook(self._rows, world, self._rows.revision(key))
            blocks = [drop_unsure_stay(fields, parent, origin) for fields in blocks]
            done = work_out_changes(blocks, before, book, node, world.language, [])
            self._rows.settle_given(
                id, done.changes, origin=origin, block=done.block, refusals=(*refusals, *done.refusals)
            )
        except Later as later:
            with self._change:
                waiting.append(id)
            return later.seconds
        except Stopped:
            with self._change:
                waiting.append(id)
            raise
        return 0.0

    def _take_off(self, key: str, id: int) -> None:
        """Takes a turn off those that wait; nothing is left of a world in which none waits."""
        left = self._raw.get(key, set())
        left.discard(id)
        if not left:
            self._raw.pop(key, None)

    def _follow(self, key: str) -> None:
        """Does what follows the newest turn that was worked off, and plans the curator."""
        with self._change:
            id = self._newest.pop(key, 0)
        if not id:
            return
        node, world = self._rows.node(id), self._rows.world(key)
        if self._behind.follow(world, node, self._stories.state(node, world)):
            self._queue_following(node)
        if is_curation_due(self._rows, node):
            with self._change:
                self._curated[key] = id
            self._curators.put(key)

    def _learn(self, key: str) -> None:
        """Computes some vectors of a lorebook that has just come; the rest follows after other worlds."""
        with self._change:
            if key not in self._books:
                return
        if self._behind.learn(key):
            self._queue.put(key)
        else:
            with self._change:
                self._books.discard(key)

    def _drop_gone(self, key: str) -> bool:
        """Forgets the turns that are gone, because their story was deleted or they are answered once more, and all that
        waits where the world itself is gone; returns whether anything was forgotten."""
        try:
            self._rows.world(key)
        except WorldUnknown:
            self._drop_world(key)
            return True
        with self._change:
            waiting = {*self._raw.get(key, ()), *self._told.get(key, ()), *filter(None, [self._newest.get(key)])}
        gone = {id for id in waiting if not self._is_there(id)}
        with self._change:
            for id in gone:
                self._take_off(key, id)
            if key in self._told:
                self._told[key] = [id for id in self._told[key] if id not in gone]
            if self._newest.get(key) in gone:
                del self._newest[key]
        return bool(gone)

    def _is_there(self, id: int) -> bool:
        try:
            self._rows.node(id)
        except WorldUnknown:
            return False
        return True

    def _drop_world(self, key: str) -> None:
        """Forgets a world that was deleted."""
        with self._change:
            self._raw.pop(key, None)
            self._newest.pop(key, None)
            self._books.discard(key)
            self._told.pop(key, None)
            self._ahead.pop(key, None)

    # --- the curator ----------------------------------------------------------------------------

    def _curate(self, key: str, stop: threading.Event) -> float | None:
        """Lets the curator look at the line of the newest turn, unless it has done so."""
        with self._change:
            id = self._curated.get(key, 0)
        if not id:
            return None
        try:
            with self._busy.hold(f"curator:{key}"):
                node, world = self._rows.node(id), self._rows.world(key)
                if is_curation_due(self._rows, node):
                    state = self._stories.state(node, world)
                    curate_story_line(self._rows, world, node, state, self._models(), self._look, stop)
                    self._behind.forget(node)
                    self._queue_following(node)
        except SessionBusy:
            return BUSY_SECONDS
        except WorldUnknown:
            pass
        with self._change:
            if self._curated.get(key) == id:
                del self._curated[key]
        return None

    def _look(self, node: StoryNode) -> list[NotedFinding]:
        """Returns the contradictions that code sees in a turn."""
        world = self._rows.world(node.world)
        before = self._stories.state(self._rows.node(node.parent) if node.parent else None, world)
        book = self._source.lorebook(self._rows, world, self._rows.revision(world.id))
        seen = find_contradictions(read_parsed_fields(node.block), before, node.answer, world.language, book)
        return [NotedFinding(one.kind, one.subject, one.text) for one in seen]
