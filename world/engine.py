"""The engine of story worlds, which every way in uses: the endpoint, the page, the benches.

A turn: the line of the story is recognised by the texts of the client's history, the context is built without any model
call, one call upstream answers (``door.openai.world.build_roleplay_work``), and the answer is stored as it came and
worked off behind it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from errors import EmbeddingFailed, GieokError, WorldMendOverwritten, format_error_trace
from history.script import read_script
from model.call.token import estimate_tokens
from model.embedding import Embedder, Vectors
from model.modelset import ModelSet
from settings import Settings
from store import Finished, Store
from store.session.opening import TurnPlace
from store.world import change
from store.world.change import ChangedValue
from store.world.record import Changes, KnownHistory, NewNode, StoryFinding, StoryNode, World
from store.world.worlds import DEFAULT_PLAYER
from text.cut import cut_graphemes
from text.language import Language, detect_language
from world.block import build_block_instruction
from world.extraction.extract import Extractor
from world.file.file import WorldFiles
from world.file.front import WHOLE_LORE
from world.lore.lorebook import Lorebook
from world.lore.macro import Moment
from world.lore.standing import ROOM
from world.naming.merge import merge_names
from world.naming.resolve import PLAYER
from world.naming.spelling import reduce_name
from world.prompt.budget import SMALL, AuthorRoom, Budgets, choose_smaller_budgets
from world.prompt.context import Given, WorldContext, build_world_context
from world.prompt.placement import Placed
from world.prompt.receipt import read_usage
from world.prompt.scan import Fit, read_scan
from world.prompt.source import Source, cut_query_text
from world.story.state import IMPORTANT, RECENT, StoryState
from world.story.story import Stories
from world.story.told import StoryMessage, ToldStory, build_told_story
from world.turn.ahead import build_next_beginning

log = logging.getLogger("gieok.world")

WAIT_SECONDS = 0.3
"""How long a request waits until the turn before it is worked off."""
NOTHING = KnownHistory(None, 0)
COMPARED = 10
"""Lorebook entries up to which none is compared with the question: all are candidates then."""
NAME_WORDS, NAME_CHARS = 6, 60
Recall = Callable[[Sequence[int]], Sequence[tuple[str, str]]]
"""Returns what a story remembers of itself for a prompt that holds these turns: texts by the names of their parts."""
UNNAMED: dict[Language, str] = {"ko": "이야기", "en": "Story"}


def recall_nothing(shown: Sequence[int]) -> Sequence[tuple[str, str]]:
    """The ``Recall`` of a story that does not remember."""
    return ()


@dataclass(frozen=True, slots=True)
class RecognisedRequest:
    """A request that is recognised.

    ``world``: None for a world that does not exist yet. ``parent``: the turn that the new one follows, after ``given``:
    the turns that only the client knows. ``base``: the turn whose state counts: the parent, or the turn whose answer
    goes on. ``number``: of the new turn. ``known``: what else the client's history says of the turns up to ``parent``.
    ``place``: of the row of the new turn, where it was begun already; ``began``: when the request came.
    ``told_numbers``: of the told turns, where turns between them failed: those have a number, and are not told.
    ``waits``: the mark under which the client waits for the answer (``NewNode.waits``). ``recalled``: what the story
    remembers of itself (``world.prompt.context.Given``).
    """

    world: World | None
    told_story: ToldStory
    parent: StoryNode | None
    base: StoryNode | None
    given: tuple[tuple[str, str], ...]
    fit: Fit
    number: int
    known: KnownHistory = NOTHING
    place: TurnPlace | None = None
    began: float = field(default_factory=time.monotonic)
    told_numbers: tuple[int, ...] = ()
    waits: str | None = None
    recalled: tuple[tuple[str, str], ...] = ()

    @property
    def question(self) -> str:
        return self.told_story.question

    @property
    def turn_numbers(self) -> tuple[int, ...]:
        """The numbers of the told turns, and of the new one."""
        told = self.told_numbers or range(self.number - len(self.told_story.turns), self.number)
        return (*told, self.number)


@dataclass(frozen=True, slots=True)
class Prompted:
    """What a request gets beside the client's messages (``world.prompt.context.WorldContext``). ``late``: how many
    turns before it are not in the state yet. ``before``: the receipt of the request before, or None. ``last``: what
    stands behind the last message, each text with its role; ``deep``: what stands further up, with its depth;
    ``standing``: what stands with a turn, with its number."""

    prefix: str
    changing: str
    report: dict[str, Any]
    late: int = 0
    before: Mapping[str, Any] | None = None
    last: tuple[tuple[str, str], ...] = ()
    deep: tuple[tuple[int, str, str], ...] = ()
    standing: tuple[tuple[int, str], ...] = ()


class WorldEngine:
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
    ) -> WorldEngine:
        """Opens the engine, and works off the turns that an earlier process left."""
        from model import embedding

        embedder = embedder or embedding.choose_embedder(settings)
        files = WorldFiles(settings.data_dir / "world")
        source = Source(
            files, Budgets.of(settings), embedder.name, lambda language: _choose_block_instruction(models(), language)
        )
        stories = Stories(store.everyone.worlds)
        extractor = Extractor(store.everyone, stories, source, files, models, embedder, settings)
        return cls(settings, store, models, embedder, stories, source, extractor)

    def of(self, user: str) -> WorldEngine:
        """Returns the same engine for another user."""
        return self.using(self.store.of(user))

    def using(self, store: Store, models: Callable[[], ModelSet] | None = None) -> WorldEngine:
        """Returns the same engine on the store of another user. ``models``: that answer; None: the same."""
        return WorldEngine(
            self.settings, store, models or self.models, self._embedder, self._stories, self._source, self._extractor
        )

    def close(self) -> None:
        """Ends the work behind answers; what is left is worked off at the next start."""
        self._extractor.close()

    def idle(self, seconds: float) -> bool:
        """Waits until nothing is left to do behind answers, at most so long; returns whether it is so."""
        return self._extractor.idle(seconds)

    def state(self, node: StoryNode | None, world: World | None = None) -> StoryState:
        """Returns the state after a turn, as far as turns are worked off; of a world before its first turn."""
        assert node is not None or world is not None
        return self._stories.state(node, world or self.store.worlds.world(node.world if node else ""))

    # --- a turn ---------------------------------------------------------------------------------

    def begin(self, lines: Sequence[StoryMessage], world: World | None = None) -> RecognisedRequest:
        """Recognises the line of a story by a client's messages; writes nothing. ``world``: the one that the client
        named; None for whichever of the user's worlds knows the history, or a new one."""
        request = build_told_story(lines)
        pairs = [*request.turns, *([(request.question, request.before)] if request.before else [])]
        named = world.id if world else None
        known = self.store.worlds.find_known_history(named, pairs) if pairs else NOTHING
        if not pairs and (script := read_script(request.question)):
            known = self.store.worlds.find_known_history(named, script.turns)
            if known.node is not None:  # else it is a message with labels
                request, pairs = replace(request, turns=script.turns, question=script.question), [*script.turns]
        home = known.node.world if known.node else known.world
        world = world or (self.store.worlds.world(home) if home else None)
        node, count = known.node, known.count
        if request.before and node is not None and count == len(pairs):
            parent = self.store.worlds.node(node.parent) if node.parent else None
            return RecognisedRequest(world, request, parent, node, (), "continues", node.turn, known)
        given = request.turns[count:]
        number = (node.turn if node else 0) + len(given) + (1 if request.question else 0)
        if node is None and given and not given[0][0]:
            number -= 1  # a greeting is turn 0
        fit = self._fit(world, request, node, given)
        fit = "ambiguous" if known.ambiguous and fit in ("goes_on", "again") else fit
        return RecognisedRequest(world, request, node, node, given, fit, number, known)

    def _fit(self, world: World | None, request: ToldStory, node: StoryNode | None, given: Sequence[Any]) -> Fit:
        if request.before and not request.tools:
            return "continues"
        if given and (node is not None or any(question for question, _ in given)):
            return "given"
        siblings = self.store.worlds.children(world.id, node.id) if world and node and not given else []
        if any(one.question.split() == request.question.split() for one in siblings):
            return "again"
        return "goes_on" if node is not None else "new"

    def find_undelivered_turn(self, begun: RecognisedRequest) -> StoryNode | None:
        """Returns the turn that a request asks for once more, where it was answered whole and its client never got the
        answer; None where there is none: another answer is wanted, or a half one was cut off when its client left."""
        if begun.given or begun.told_story.before:
            return None
        worlds, undelivered = self.store.worlds, self.store.undelivered
        if begun.waits:  # a first message
            lasts = (worlds.last_before(session, begun.number + 1) for session in undelivered.find(begun.waits))
            asked = [one for one in lasts if one is not None and (begun.world is None or one.world == begun.world.id)]
        else:
            before = begun.parent
            asked = worlds.children(before.world, before.id)[::-1] if before is not None else []
        question = begun.question.split()
        last = next((one for one in asked if (one.turn, one.question.split()) == (begun.number, question)), None)
        if last is None or (last.report or {}).get("stopped") or not undelivered.is_noted(last.session, last.id):
            return None
        return last

    def prompt(self, begun: RecognisedRequest, deepest: int = 1, *, stands: bool = False) -> Prompted:
        """Builds the context of a request; calls no chat model. ``deepest``: the greatest depth in the chat at which an
        entry may stand; a model that reads ahead would have to read what stands behind it. ``stands``: whether lore may
        stand with the turns of the client's messages. Waits a moment for the turn
        before, if that is still being worked off; else the older state counts, and the report says so."""
        self._extractor.give_way()
        base, late = begun.base, self._late(begun.base)
        ahead = self.reads_ahead
        context = self._context(begun, late, 1 if ahead else deepest, stands=stands and not ahead)
        before = base.receipt if base else None
        return Prompted(
            context.prefix,
            context.changing,
            context.report,
            late,
            before,
            context.last,
            context.deep,
            context.standing,
        )

    def preview(self, begun: RecognisedRequest) -> dict[str, Any]:
        """Returns the report of a request that nobody sends (``world.prompt.context.WorldContext``): what its prompt
        would have, and why. Waits for nothing and interrupts nothing."""
        return self._context(begun, 0, stands=not self.reads_ahead).report

    def prefix(self, begun: RecognisedRequest) -> str:
        """Returns the part of a request's context that stands first. Waits for nothing and interrupts nothing."""
        return self._context(begun, 0).prefix

    def finish(
        self,
        begun: RecognisedRequest,
        raw: str,
        shown: str,
        receipt: Mapping[str, Any] | None,
        report: Mapping[str, Any] | None,
        stopped: bool = False,
    ) -> StoryNode:
        """Stores an answer as it came and works it off (``keep``, ``work_off``)."""
        node = self.keep(begun, raw, shown, receipt, report, stopped)
        self.work_off(node)
        return node

    def keep(
        self,
        begun: RecognisedRequest,
        raw: str,
        shown: str,
        receipt: Mapping[str, Any] | None,
        report: Mapping[str, Any] | None,
        stopped: bool = False,
        model: str = "",
    ) -> StoryNode:
        """Stores an answer as it came, after the turns that only the client knew. ``stopped``: the reader ended the
        answer; what was shown is kept. ``model``: the one that answered."""
        world = self._take_player_name(begun.world or self.create(begun), begun)
        parent = self._keep_history(begun, world)
        if stopped:
            report = {**(report or {}), "stopped": True}
        seconds = time.monotonic() - begun.began
        new = NewNode(
            begun.question,
            begun.told_story.answers(shown),
            _join_grown_answer(begun, raw),
            "raw",
            dict(receipt) if receipt is not None else None,
            dict(report) if report is not None else None,
            estimate_tokens(begun.question) + estimate_tokens(shown),
            read_usage(receipt, model) if receipt else None,
            seconds,
            waits=begun.waits,
            began=time.time() - seconds,
        )
        return self.store.worlds.add(world.id, parent, new, begun.place)

    def keep_failed(self, begun: RecognisedRequest, end: Finished) -> None:
        """Stores a turn that has no answer, after the turns that only the client knew, so that it is seen and can be
        tried again, as on the page; nothing where the story has not begun, or shows an answer there already. That this
        could not be done fails nothing more."""
        if begun.world is None or begun.told_story.before or not begun.question:
            return
        try:
            parent = self._keep_history(begun, begun.world)
            place = parent and self.store.worlds.begin_after(parent, begun.question, time.time() - (end.seconds or 0.0))
            if place:
                self.store.finish_turn(place.session_id, place.number, end, place=place)
        except GieokError as error:
            log.warning("that a turn failed was not noted: %s", error.code)

    def _keep_history(self, begun: RecognisedRequest, world: World) -> StoryNode | None:
        """Stores what a client's history says that nobody knew; returns the last turn before the new one."""
        worlds, parent = self.store.worlds, begun.parent
        if begun.known.wordings and begun.known.node is not None:
            worlds.learn(begun.known.node, begun.known.wordings)
        if begun.known.edits and parent is not None:
            parent = worlds.rebase(parent, begun.known.edits)
        told_turns = list[StoryNode]()
        for question, answer in begun.given:
            given = NewNode(
                question, (answer,), answer, "given", tokens=estimate_tokens(question) + estimate_tokens(answer)
            )
            parent = worlds.add(world.id, parent, given)
            told_turns.append(parent)
        self._extractor.read_told(told_turns)
        return parent

    def settle_waiting(self, node: StoryNode, begun: RecognisedRequest) -> None:
        """Notes that the client that waited for a turn has its answer, or has its end before it; that this could not be
        noted fails nothing."""
        if begun.waits is None:
            return
        try:
            self.store.undelivered.settle(node.session, begun.waits or str(node.id))
        except GieokError as error:
            log.warning("that the answer of turn %d went out was not noted: %s", node.turn, error.code)

    def work_off(self, node: StoryNode) -> None:
        """Works off an answer: what code can read at once, the rest behind."""
        if not self._work_at_once(node):
            self._extractor.submit(node)

    def take_up_line(self, node: StoryNode) -> None:
        """Has the turns up to this one worked off and read, without a wait: where many are to be, code takes its time,
        too. The story goes on with them now."""
        self._extractor.take_up_line(node)

    def _work_at_once(self, node: StoryNode) -> bool:
        """Works a turn off as far as code can; returns False when something is left. A fault leaves it to the worker:
        the story goes on without it."""
        try:
            return self._extractor.work(node)
        except Exception as error:
            log.error("turn %d was not worked off: %s", node.turn, format_error_trace(error))
            return False

    def read_ahead(self, node: StoryNode, given: Placed) -> None:
        """Lets a model that reads ahead read the beginning of the prompt that follows a turn, behind the answer."""
        if self.reads_ahead:
            self._extractor.read_ahead(node.world, partial(build_next_beginning, given, node.answer))

    @property
    def reads_ahead(self) -> bool:
        """Whether the model reads ahead, and may. A model that is being changed does not."""
        try:
            return self.settings.ahead and self.models().read is not None
        except GieokError:
            return False

    def _take_player_name(self, world: World, begun: RecognisedRequest) -> World:
        """Gives the player of a world the name that the client says, where nobody has given one."""
        name = begun.told_story.player
        if not name or reduce_name(world.player) not in PLAYER:
            return world
        try:
            self.rename_player(world, name)
        except GieokError as error:
            log.warning("a player's name was not taken: %s", error.code)
        return self.store.worlds.world(world.id)

    def rename_player(self, world: World, name: str) -> None:
        """Gives the user's character another name. Whom the stories know under that name already is the same. Raises
        ``Empty``, ``TooLong``, ``WorldUnknown``."""
        worlds, old = self.store.worlds, world.player
        ends = [(node, self.state(node, world)) for node in worlds.leaves(world.id)]
        worlds.set_player(world.id, name)
        new = worlds.world(world.id).player
        for node, before in ends:
            if new != old and new in before.characters and node.status != "raw":
                merged = merge_names(before, "person", new, old)
                worlds.amend(node, replace(change.rename_person_rows(merged, (old,), new), aliases=()))
                self._extractor.take_in_edit(node)

    def create(self, begun: RecognisedRequest) -> World:
        """Creates the world of a story that nobody knew."""
        told_world = build_unsaved_world(begun)
        return self.store.worlds.create(told_world.name, told_world.language, told_world.player)

    # --- the page -------------------------------------------------------------------------------

    def play(
        self,
        world_id: str,
        parent: StoryNode | None,
        question: str,
        stop: threading.Event,
        emit: Callable[[str], object],
        place: TurnPlace | None = None,
        recall: Recall = recall_nothing,
    ) -> StoryNode:
        """Answers a message of the player without a client (``world.turn.play.play_story_turn``)."""
        from world.turn.play import play_story_turn  # which uses this module

        return play_story_turn(self, world_id, parent, question, stop, emit, place, recall)

    def expect(self, world_id: str, parent: StoryNode | None) -> None:
        """Lets a model that reads ahead read the beginning of the next prompt: a player has opened the story. Raises
        ``WorldUnknown``."""
        from world.turn.play import build_prompt_beginning

        self.store.worlds.world(world_id)
        if self.reads_ahead:
            self._extractor.read_ahead(world_id, partial(build_prompt_beginning, self, world_id, parent))

    def learn(self, world_id: str) -> None:
        """Computes the vectors of a lorebook that has just come, behind the page."""
        self._extractor.learn(world_id)

    def after(self, world_id: str, parent: StoryNode | None, question: str) -> RecognisedRequest:
        """Returns the request for the turn after ``parent``. Raises ``WorldUnknown``."""
        world = self.store.worlds.world(world_id)
        request = ToldStory((), question)
        number = (parent.turn if parent else 0) + 1
        return RecognisedRequest(world, request, parent, parent, (), self._fit(world, request, parent, ()), number)

    def correct(self, node: StoryNode, changes: Changes) -> StoryNode:
        """Changes by hand what is so after the last turn of a story (``store.worlds.correct_turn``)."""
        self._extractor.work(node)
        corrected = self.store.worlds.correct_turn(node, changes)
        self._extractor.take_in_edit(corrected)
        return corrected

    def list_mended_values(self, finding: StoryFinding) -> list[ChangedValue]:
        """Returns the values that the curator has put right and that can be taken back: nobody has changed them at that
        turn since. Raises ``WorldUnknown``."""
        old, new = _read_mend(finding)
        return change.list_changed_values(old, new, self.state(self.store.worlds.node(finding.node)).changes())

    def undo_mend(self, finding: StoryFinding, only: ChangedValue | None = None) -> None:
        """Takes back what the curator has put right in a table, where nobody has changed it at that turn since.
        ``only``: one value of it; the finding stays open while others are left. Raises ``WorldUnknown``;
        ``WorldMendOverwritten`` where all of it was changed, and the finding stays open."""
        worlds, node = self.store.worlds, self.store.worlds.node(finding.node)
        old, new = _read_mend(finding)
        now = self.state(node).changes()
        back = change.take_back(old, new, now, only)
        if back == Changes():
            raise WorldMendOverwritten
        left = only is not None and change.list_changed_values(old, new, now) != [only]
        with worlds.together() as rows:
            rows.amend(node, back)
            if not left:
                rows.set_finding(finding.id, "dismissed")
        self._extractor.take_in_edit(node)

    def render_story(self, node: StoryNode) -> str:
        """Returns the story up to this turn as story.md tells it."""
        return self._extractor.story(node).whole.strip()

    @property
    def files(self) -> WorldFiles:
        """Returns the Markdown files of the worlds. Ask the store first whose world it is."""
        return self._source.files

    # --- parts ----------------------------------------------------------------------------------

    def _context(self, begun: RecognisedRequest, late: int, deepest: int = 1, *, stands: bool = False) -> WorldContext:
        given = self._gather_prompt_input(begun.world, begun, late) if begun.world is not None else self._nothing(begun)
        if self.models().profile.prompt == "bare":
            given = replace(given, budgets=choose_smaller_budgets(given.budgets, SMALL))
            stands = False
        if stands:
            report = begun.base.report if begun.base else None
            given = replace(given, before=report, first=begun.turn_numbers[0], room=ROOM * given.budgets.lore)
        constant = self.constant_room(given.lore, given.budgets.lore)
        whole = given.files.prefix is not None and given.files.prefix.head.get(WHOLE_LORE) is True
        given = replace(given, constant=constant.choose_budget(whole) or 0)
        return build_world_context(replace(given, turn=begun.number, deepest=deepest))

    def constant_room(self, lore: Lorebook, budget: int | None = None) -> AuthorRoom:
        """Returns what the entries take that are always active. ``budget``: None for that of the settings."""
        budget = self.settings.world_budget_lore if budget is None else budget
        return AuthorRoom.of(lore.constant_tokens, budget, self.models().context_size)

    def _gather_prompt_input(self, world: World, begun: RecognisedRequest, late: int) -> Given:
        """Returns what the prompt of a turn in a known world is made from."""
        worlds, base = self.store.worlds, begun.base
        before = begun.turn_numbers[0] if begun.told_story.turns else None
        told_so_far = self._extractor.story(base).within(self.settings.world_budget_files, before) if base else ""
        given = self._source.gather_prompt_input(
            worlds,
            world,
            base,
            self._stories.state(base, world),
            begun.question,
            self._query(begun),
            before,
        )
        scan = read_scan(worlds, world, given.lore, self._source.card(world), given.files, begun)
        moment = Moment(scan.seed or f"{world.id}|{begun.number}", datetime.now(), world.language)
        return replace(given, story=told_so_far, late=late, scan=scan, moment=moment, recalled=begun.recalled)

    def _nothing(self, begun: RecognisedRequest) -> Given:
        """Returns what the first prompt of a new world is made from."""
        world = build_unsaved_world(begun)
        asks = _choose_block_instruction(self.models(), world.language)
        return Given(world, StoryState(world.player), begun.number, begun.question, Lorebook.of(()), instruction=asks)

    def _late(self, base: StoryNode | None) -> int:
        """Returns how many turns up to this one are not worked off, after a short wait."""
        if base is None or base.status == "done" or self._work_at_once(base):
            return 0
        return self._extractor.wait(base, WAIT_SECONDS)

    def _query(self, begun: RecognisedRequest) -> Vectors | None:
        """Returns the question's vector; None where nothing is compared with it."""
        world, base = begun.world, begun.base
        if world is None or not begun.question.strip():
            return None
        few = len(self._source.lorebook(self.store.worlds, world, self.store.worlds.revision(world.id)).entries)
        if few <= COMPARED and (base is None or base.turn <= RECENT + IMPORTANT):
            return None
        try:
            return self._embedder.query(cut_query_text(begun.question))
        except EmbeddingFailed as error:
            log.warning("a question has no vector: %s", error.code)
            return None


def _read_mend(finding: StoryFinding) -> tuple[Changes, Changes]:
    """Returns the rows before and after what the curator has put right."""
    mend = finding.mend or {}
    return change.changes_of(mend.get("old") or {}), change.changes_of(mend.get("new") or {})


def build_unsaved_world(begun: RecognisedRequest) -> World:
    """Returns the world of a new story before it is stored: named by the first words that were said."""
    texts = [text for turn in begun.told_story.turns for text in turn if text.strip()]
    first = next((question for question, _ in begun.told_story.turns if question.strip()), begun.question)
    words = (first if first.strip() else next(iter(texts), "")).split()
    language = detect_language(" ".join((*texts[:4], begun.question)), "en")
    name = cut_graphemes(" ".join(words[:NAME_WORDS]), NAME_CHARS) or UNNAMED[language]
    return World("", "", name, "", language, begun.told_story.player or DEFAULT_PLAYER[language], 0.0, 0.0)


def _choose_block_instruction(models: ModelSet, language: Language) -> str:
    """Returns what asks the model for a state block; empty for a model that then writes nothing else."""
    return build_block_instruction(language) if models.profile.story == "block" else ""


def _join_grown_answer(begun: RecognisedRequest, raw: str) -> str:
    """Returns the raw answer, after what was there of it before."""
    if not begun.told_story.before:
        return raw
    base = begun.base
    grew = base is not None and base.question.split() == begun.question.split() and begun.fit == "continues"
    return f"{base.raw if grew and base else begun.told_story.before}\n\n{raw}"


__all__ = ["Fit", "Prompted", "RecognisedRequest", "WorldEngine", "build_unsaved_world"]
