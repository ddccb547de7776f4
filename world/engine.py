"""The engine of story worlds, which every way in uses: the endpoint, the page, the benches.

A turn: the line of the story is recognised by the texts of the client's history, the context is built without any model
call, one call upstream answers (``world.turn``), and the answer is stored as it came and worked off behind it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from errors import EmbeddingFailed, GieokError, WorldMendOverwritten
from history.script import read_script
from model.embedding import Embedder, Vectors
from model.modelset import ModelSet
from settings import Settings
from store import Store
from store.world import change
from store.world.record import Changes, Finding, Known, NewNode, Node, World
from store.world.worlds import DEFAULT_PLAYER
from text.cut import cut_graphemes
from text.language import Language, detect
from world.ahead import coming
from world.block import instruction
from world.budget import SMALL, Budgets, smaller
from world.context import Context, Given, build
from world.extract import Extractor
from world.file import WorldFiles
from world.lore.lorebook import Lorebook
from world.macro import Moment
from world.placement import Placed
from world.scan import Fit, read_scan
from world.source import Source, asked
from world.state import IMPORTANT, RECENT, State
from world.story import Stories
from world.told import Line, Told, told

log = logging.getLogger("gieok.world")

WAIT_SECONDS = 0.3
"""How long a request waits until the turn before it is worked off."""
NOTHING = Known(None, 0)
COMPARED = 10
"""Lorebook entries up to which none is compared with the question: all are candidates then."""
NAME_WORDS, NAME_CHARS = 6, 60
UNNAMED: dict[Language, str] = {"ko": "이야기", "en": "Story"}


@dataclass(frozen=True, slots=True)
class Begun:
    """A request that is recognised.

    ``world``: None for a world that does not exist yet. ``parent``: the turn that the new one follows, after ``given``:
    the turns that only the client knows. ``base``: the turn whose state counts: the parent, or the turn whose answer
    goes on. ``number``: of the new turn. ``known``: what else the client's history says of the turns up to ``parent``.
    """

    world: World | None
    told: Told
    parent: Node | None
    base: Node | None
    given: tuple[tuple[str, str], ...]
    fit: Fit
    number: int
    known: Known = NOTHING

    @property
    def question(self) -> str:
        return self.told.question

    @property
    def continues(self) -> bool:
        """Whether the answer of the turn goes on."""
        return bool(self.told.before) and not self.told.tools


@dataclass(frozen=True, slots=True)
class Prompted:
    """What a request gets beside the client's messages (``world.context.Context``). ``late``: how many turns before it
    are not in the state yet. ``before``: the receipt of the request before, or None. ``last``: what stands behind the
    last message, each text with its role; ``deep``: what stands further up, with its depth."""

    prefix: str
    changing: str
    report: dict[str, Any]
    late: int = 0
    before: Mapping[str, Any] | None = None
    last: tuple[tuple[str, str], ...] = ()
    deep: tuple[tuple[int, str, str], ...] = ()


class Engine:
    """The engine as one user: other users' worlds do not exist for it. ``models``: returns the models in use."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        models: Callable[[], ModelSet],
        embedder: Embedder,
        stories: Stories,
        source: Source,
        extractor: Extractor,
    ) -> None:
        self.settings, self.store, self.models = settings, store, models
        self._embedder, self._stories, self._source, self._extractor = embedder, stories, source, extractor

    @classmethod
    def open(
        cls, settings: Settings, store: Store, models: Callable[[], ModelSet], embedder: Embedder | None = None
    ) -> Engine:
        """Opens the engine, and works off the turns that an earlier process left."""
        from model import embedding

        embedder = embedder or embedding.embedder(settings)
        files = WorldFiles(settings.data_dir / "world")
        source = Source(files, Budgets.of(settings), embedder.name, lambda language: _instruction(models(), language))
        stories = Stories(store.everyone.worlds)
        extractor = Extractor(store.everyone, stories, source, files, models, embedder, settings)
        return cls(settings, store, models, embedder, stories, source, extractor)

    def of(self, user: str) -> Engine:
        """Returns the same engine for another user."""
        return self.using(self.store.of(user))

    def using(self, store: Store) -> Engine:
        """Returns the same engine on the store of another user."""
        return Engine(self.settings, store, self.models, self._embedder, self._stories, self._source, self._extractor)

    def close(self) -> None:
        """Ends the work behind answers; what is left is worked off at the next start."""
        self._extractor.close()

    def idle(self, seconds: float) -> bool:
        """Waits until nothing is left to do behind answers, at most so long; returns whether it is so."""
        return self._extractor.idle(seconds)

    def state(self, node: Node | None, world: World | None = None) -> State:
        """Returns the state after a turn, as far as turns are worked off; of a world before its first turn."""
        assert node is not None or world is not None
        return self._stories.state(node, world or self.store.worlds.world(node.world if node else ""))

    # --- a turn ---------------------------------------------------------------------------------

    def begin(self, lines: Sequence[Line], world: World | None = None) -> Begun:
        """Recognises the line of a story by a client's messages; writes nothing. ``world``: the one that the client
        named; None for whichever of the user's worlds knows the history, or a new one."""
        request = told(lines)
        pairs = [*request.turns, *([(request.question, request.before)] if request.before else [])]
        named = world.id if world else None
        known = self.store.worlds.known(named, pairs) if pairs else NOTHING
        if not pairs and (script := read_script(request.question)):
            known = self.store.worlds.known(named, script.turns)
            if known.node is not None:  # else it is a message with labels
                request, pairs = replace(request, turns=script.turns, question=script.question), [*script.turns]
        home = known.node.world if known.node else known.world
        world = world or (self.store.worlds.world(home) if home else None)
        node, count = known.node, known.count
        if request.before and node is not None and count == len(pairs):
            parent = self.store.worlds.node(node.parent) if node.parent else None
            return Begun(world, request, parent, node, (), "continues", node.turn, known)
        given = request.turns[count:]
        number = (node.turn if node else 0) + len(given) + (1 if request.question else 0)
        if node is None and given and not given[0][0]:
            number -= 1  # a greeting is turn 0
        fit = self._fit(world, request, node, given)
        fit = "ambiguous" if known.ambiguous and fit in ("goes_on", "again") else fit
        return Begun(world, request, node, node, given, fit, number, known)

    def _fit(self, world: World | None, request: Told, node: Node | None, given: Sequence[Any]) -> Fit:
        if request.before and not request.tools:
            return "continues"
        if given and (node is not None or any(question for question, _ in given)):
            return "given"
        siblings = self.store.worlds.children(world.id, node.id) if world and node and not given else []
        if any(one.question.split() == request.question.split() for one in siblings):
            return "again"
        return "goes_on" if node is not None else "new"

    def prompt(self, begun: Begun, deepest: int = 1) -> Prompted:
        """Builds the context of a request; calls no chat model. ``deepest``: the greatest depth in the chat at which an
        entry may stand; a model that reads ahead would have to read what stands behind it. Waits a moment for the turn
        before, if that is still being worked off; else the older state counts, and the report says so."""
        self._extractor.give_way()
        base, late = begun.base, self._late(begun.base)
        context = self._context(begun, late, 1 if self.reads_ahead else deepest)
        before = base.receipt if base else None
        return Prompted(context.prefix, context.changing, context.report, late, before, context.last, context.deep)

    def preview(self, begun: Begun) -> dict[str, Any]:
        """Returns the report of a request that nobody sends (``world.context.Context``): what its prompt would have,
        and why. Waits for nothing and interrupts nothing."""
        return self._context(begun, 0).report

    def prefix(self, begun: Begun) -> str:
        """Returns the part of a request's context that stands first. Waits for nothing and interrupts nothing."""
        return self._context(begun, 0).prefix

    def finish(
        self,
        begun: Begun,
        raw: str,
        shown: str,
        receipt: Mapping[str, Any] | None,
        report: Mapping[str, Any] | None,
        stopped: bool = False,
    ) -> Node:
        """Stores an answer as it came and works it off (``keep``, ``work_off``)."""
        node = self.keep(begun, raw, shown, receipt, report, stopped)
        self.work_off(node)
        return node

    def keep(
        self,
        begun: Begun,
        raw: str,
        shown: str,
        receipt: Mapping[str, Any] | None,
        report: Mapping[str, Any] | None,
        stopped: bool = False,
    ) -> Node:
        """Stores an answer as it came, after the turns that only the client knew. ``stopped``: the reader ended the
        answer; what was shown is kept."""
        worlds = self.store.worlds
        world = begun.world or self.create(begun)
        parent = begun.parent
        if begun.known.wordings:
            worlds.learn(world.id, begun.known.wordings)
        if begun.known.edits and parent is not None:
            parent = worlds.rebase(parent, begun.known.edits)
        told_turns = list[Node]()
        for question, answer in begun.given:
            parent = worlds.add(world.id, parent, NewNode(question, (answer,), answer, "given"))
            told_turns.append(parent)
        self._extractor.read_told(told_turns)
        if stopped:
            report = {**(report or {}), "stopped": True}
        new = NewNode(
            begun.question,
            begun.told.answers(shown),
            _grown(begun, raw),
            "raw",
            dict(receipt) if receipt is not None else None,
            dict(report) if report is not None else None,
        )
        return worlds.add(world.id, parent, new)

    def work_off(self, node: Node) -> None:
        """Works off an answer: what code can read at once, the rest behind."""
        if not self._extractor.work(node):
            self._extractor.submit(node)

    def read_ahead(self, node: Node, given: Placed) -> None:
        """Lets a model that reads ahead read the beginning of the prompt that follows a turn, behind the answer."""
        if self.reads_ahead:
            self._extractor.read_ahead(node.world, partial(coming, given, node.answer))

    @property
    def reads_ahead(self) -> bool:
        """Whether the model reads ahead, and may. A model that is being changed does not."""
        try:
            return self.settings.ahead and self.models().read is not None
        except GieokError:
            return False

    def create(self, begun: Begun) -> World:
        """Creates the world of a story that nobody knew."""
        told_world = unsaved(begun)
        return self.store.worlds.create(told_world.name, told_world.language, told_world.player)

    # --- the page -------------------------------------------------------------------------------

    def play(
        self,
        world_id: str,
        parent: Node | None,
        question: str,
        stop: threading.Event,
        emit: Callable[[str], object],
    ) -> Node:
        """Answers a message of the player without a client (``world.play.play``)."""
        from world.play import play  # which uses this module

        return play(self, world_id, parent, question, stop, emit)

    def expect(self, world_id: str, parent: Node | None) -> None:
        """Lets a model that reads ahead read the beginning of the next prompt: a player has opened the story. Raises
        ``WorldUnknown``."""
        from world.play import upcoming

        self.store.worlds.world(world_id)
        if self.reads_ahead:
            self._extractor.read_ahead(world_id, partial(upcoming, self, world_id, parent))

    def learn(self, world_id: str) -> None:
        """Computes the vectors of a lorebook that has just come, behind the page."""
        self._extractor.learn(world_id)

    def after(self, world_id: str, parent: Node | None, question: str) -> Begun:
        """Returns the request for the turn after ``parent``. Raises ``WorldUnknown``."""
        world = self.store.worlds.world(world_id)
        request = Told((), question)
        number = (parent.turn if parent else 0) + 1
        return Begun(world, request, parent, parent, (), self._fit(world, request, parent, ()), number)

    def correct(self, node: Node, changes: Changes) -> Node:
        """Changes by hand what is so after the last turn of a story (``store.worlds.changed``)."""
        self._extractor.work(node)
        corrected = self.store.worlds.changed(node, changes)
        self._extractor.changed(corrected)
        return corrected

    def undo_mend(self, finding: Finding) -> None:
        """Takes back what the curator has put right in a table, where nobody has changed it at that turn since. Raises
        ``WorldUnknown``; ``WorldMendOverwritten`` where all of it was changed, and the finding stays open."""
        worlds, mend = self.store.worlds, finding.mend or {}
        node = worlds.node(finding.node)
        old, new = (change.changes_of(mend.get(name) or {}) for name in ("old", "new"))
        back = change.take_back(old, new, self.state(node).changes())
        if back == Changes():
            raise WorldMendOverwritten
        with worlds.together() as rows:
            rows.amend(node, back)
            rows.set_finding(finding.id, "dismissed")
        self._extractor.changed(node)

    @property
    def files(self) -> WorldFiles:
        """Returns the Markdown files of the worlds. Ask the store first whose world it is."""
        return self._source.files

    # --- parts ----------------------------------------------------------------------------------

    def _context(self, begun: Begun, late: int, deepest: int = 1) -> Context:
        given = self._given(begun.world, begun, late) if begun.world is not None else self._nothing(begun)
        if self.models().profile.prompt == "bare":
            given = replace(given, budgets=smaller(given.budgets, SMALL))
        return build(replace(given, turn=begun.number, deepest=deepest))

    def _given(self, world: World, begun: Begun, late: int) -> Given:
        """Returns what the prompt of a turn in a known world is made from."""
        worlds, base = self.store.worlds, begun.base
        before = begun.number - len(begun.told.turns) if begun.told.turns else None
        told_so_far = self._extractor.story(base).within(self.settings.world_budget_files, before) if base else ""
        given = self._source.given(
            worlds,
            world,
            base,
            self._stories.state(base, world),
            begun.question,
            self._query(begun),
            story=told_so_far,
            late=late,
            before=before,
        )
        scan = read_scan(worlds, world, given.lore, self._source.card(world), given.files, begun)
        moment = Moment(scan.seed or f"{world.id}|{begun.number}", datetime.now(), world.language)
        return replace(given, scan=scan, moment=moment)

    def _nothing(self, begun: Begun) -> Given:
        """Returns what the first prompt of a new world is made from."""
        world = unsaved(begun)
        asks = _instruction(self.models(), world.language)
        return Given(world, State(world.player), begun.number, begun.question, Lorebook.of(()), instruction=asks)

    def _late(self, base: Node | None) -> int:
        """Returns how many turns up to this one are not worked off, after a short wait."""
        if base is None or base.status == "done" or self._extractor.work(base):
            return 0
        return self._extractor.wait(base, WAIT_SECONDS)

    def _query(self, begun: Begun) -> Vectors | None:
        """Returns the question's vector; None where nothing is compared with it."""
        world, base = begun.world, begun.base
        if world is None or not begun.question.strip():
            return None
        few = len(self._source.lorebook(self.store.worlds, world, self.store.worlds.revision(world.id)).entries)
        if few <= COMPARED and (base is None or base.turn <= RECENT + IMPORTANT):
            return None
        try:
            return self._embedder.query(asked(begun.question))
        except EmbeddingFailed as error:
            log.warning("a question has no vector: %s", error.code)
            return None


def unsaved(begun: Begun) -> World:
    """Returns the world of a new story before it is stored: named by the first words that were said."""
    texts = [text for turn in begun.told.turns for text in turn if text.strip()]
    first = next((question for question, _ in begun.told.turns if question.strip()), begun.question)
    words = (first if first.strip() else next(iter(texts), "")).split()
    language = detect(" ".join((*texts[:4], begun.question)), "en")
    name = cut_graphemes(" ".join(words[:NAME_WORDS]), NAME_CHARS) or UNNAMED[language]
    return World("", "", name, "", language, DEFAULT_PLAYER[language], 0.0, 0.0)


def _instruction(models: ModelSet, language: Language) -> str:
    """Returns what asks the model for a state block; empty for a model that then writes nothing else."""
    return instruction(language) if models.profile.story == "block" else ""


def _grown(begun: Begun, raw: str) -> str:
    """Returns the raw answer, after what was there of it before."""
    if not begun.told.before:
        return raw
    base = begun.base
    grew = base is not None and base.question.split() == begun.question.split() and begun.fit == "continues"
    return f"{base.raw if grew and base else begun.told.before}\n\n{raw}"


__all__ = ["Begun", "Engine", "Fit", "Prompted", "unsaved"]
