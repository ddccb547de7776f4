"""What a request of a story world is given, without any model call (specification 12.6; design 4).

What never changes between two turns stands first, so that providers find it in their cache; everything else is one
block before the last message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import prompt
from model.call.token import estimate_tokens
from store.world.record import Episode, World
from text.language import Language
from world.file.file import STORY, Files
from world.lore.activation import NAMED, ActivationDecision, Scan, decide_activation
from world.lore.lorebook import Lorebook
from world.lore.macro import NOBODY, Moment, Names, expand_macros
from world.lore.pack import Packed, find_depth, pack_lore_entries
from world.lore.pack import build_lore_report as lore_report
from world.lore.rule import Role
from world.lore.score import find_nearest, score_lore_candidates
from world.lore.standing import StandingLore, choose_standing, read_standing
from world.prompt.budget import Budgets, CutText, cut_to_budget
from world.prompt.episode import Episodes, sort_episodes
from world.story.live import live_state
from world.story.state import StoryState

PREFIX = "[--- SAGA Dynamic Context ---]"
TRACKING = "[--- SAGA State Tracking ---]"
LATEST: dict[Language, str] = {"ko": "[최신 변경]", "en": "[Latest changes]"}
LORE: dict[Language, str] = {"ko": "[관련 로어북]", "en": "[Related lorebook]"}
PAST: dict[Language, str] = {"ko": "[지난 일]", "en": "[What happened]"}


@dataclass(frozen=True, slots=True)
class Given:
    """All that a prompt of a world is made from.

    ``turn``: the number of the turn that is asked. ``cosines``: of the question and every lorebook entry that has a
    vector. ``story``: what the curator wrote of the story so far. ``instruction``: how the answer's state block is to
    look. ``node``: the id of the turn before the question, 0 for none. ``late``: how many of the turns before the
    question are not in ``state`` yet. ``scan``: what the rules of keyed entries look through; None: the question alone.
    ``deepest``: the greatest depth in the chat at which an entry may stand. ``names``: for the macros in the
    files; ``moment``: None leaves macros whose text changes as they are. ``before``: the report of the turn before;
    ``first``: the first turn whose words stand in the prompt; ``room``: tokens for lore that stands with these turns.
    ``constant``: tokens for the entries that are always active, apart from the lorebook's budget. ``recalled``: what
    the story remembers of itself, texts within their budgets by the names of their parts.
    """

    world: World
    state: StoryState
    turn: int
    question: str
    lore: Lorebook
    cosines: Mapping[int, float] = field(default_factory=dict)
    episodes: Episodes = field(default_factory=Episodes)
    files: Files = field(default_factory=Files)
    story: str = ""
    instruction: str = ""
    node: int = 0
    budgets: Budgets = field(default_factory=Budgets)
    late: int = 0
    scan: Scan | None = None
    names: Names = NOBODY
    deepest: int = 1
    moment: Moment | None = None
    before: Mapping[str, Any] | None = None
    first: int = 0
    room: int = 0
    constant: int = 0
    recalled: Sequence[tuple[str, str]] = ()

    @property
    def language(self) -> Language:
        """Returns the language of the world."""
        return self.world.language

    @property
    def whole_scan(self) -> Scan:
        """Returns what the rules of keyed entries look through."""
        return self.scan if self.scan is not None else Scan(messages=(("", self.question),))


@dataclass(frozen=True, slots=True)
class WorldContext:
    """``prefix`` stands first and stays the same byte for byte while the files do. ``changing`` stands before the last
    message. ``report``: what is in, what is out and why, as plain JSON. ``last``: what stands behind the last message,
    each text with its role; ``deep``: what stands further up, with its depth and role; ``standing``: what stands before
    the question of a turn, with the turn's number, oldest first."""

    prefix: str
    changing: str
    report: dict[str, Any]
    last: tuple[tuple[Role, str], ...] = ()
    deep: tuple[tuple[int, Role, str], ...] = ()
    standing: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts within their budgets. ``files``: by name, the stable prefix not among them.
    ``mentioned``: the lorebook entries that the last two messages name; ``decision``: on the keyed ones."""

    prefix: CutText | None
    state: CutText
    files: tuple[tuple[str, CutText], ...]
    story: CutText
    episodes: tuple[tuple[Episode, int], ...]
    lore: Packed
    mentioned: set[int]
    decision: ActivationDecision
    standing: StandingLore


def build_world_context(given: Given) -> WorldContext:
    """Builds the context of a request. Calls no model and reads neither database nor disk."""
    parts = _gather_context_parts(given)
    last = tuple((one.rule.role if one.rule else "system", one.text) for one in parts.lore.last)
    deep = tuple(
        (find_depth(one, given.deepest), one.rule.role, one.text) for one in parts.lore.deep if one.rule is not None
    )
    standing = tuple((turn, _render_standing(given.language, text)) for turn, text in parts.standing.texts)
    return WorldContext(
        _render_context_prefix(given, parts),
        _render_changing_block(given, parts),
        _report_world_context(given, parts),
        last,
        deep,
        standing,
    )


def _render_standing(language: Language, text: str) -> str:
    return f"{prompt.render_prompt('world_standing', language)}\n{text}"


def _gather_context_parts(given: Given) -> _Parts:
    budgets, files, lore, scan = given.budgets, given.files, given.lore, given.whole_scan
    mentioned = lore.matcher.find("\n".join(text for _, text in scan.messages[:NAMED]))
    near = frozenset(find_nearest(lore, given.cosines)) if lore.keyed.asks_vectors else frozenset[int]()
    decision = decide_activation(lore.keyed, scan, near)
    candidates = score_lore_candidates(
        lore, given.state, mentioned, given.cosines, given.turn, decision.active, given.moment
    )
    packed = pack_lore_entries(candidates, budgets.lore, given.deepest, given.constant)
    before = (
        read_standing(given.before, lore, given.state.lore, given.first, given.turn) if given.room else StandingLore()
    )
    standing = choose_standing(before, packed.taken, lore, given.turn, given.room)
    return _Parts(
        cut_to_budget(_expand_file(given, files.prefix.body), files.prefix.choose_budget(budgets.prefix))
        if files.prefix
        else None,
        cut_to_budget(_render_context_state(given), budgets.state),
        tuple(
            (file.name, cut_to_budget(_expand_file(given, file.body), file.choose_budget(budgets.files)))
            for file in files.further
        ),
        cut_to_budget(given.story.strip(), budgets.files, "end"),
        _choose_fitting_episodes(given.episodes, budgets.episodes),
        replace(packed, standing=standing.turns),
        mentioned,
        decision,
        standing,
    )


def _expand_file(given: Given, text: str) -> str:
    """Returns a file's text with its macros expanded: the same for all turns of an hour, so that a provider finds it
    in its cache."""
    moment = given.moment
    if moment is not None:
        moment = replace(moment, seed=given.world.id, now=moment.now.replace(minute=0))
    return expand_macros(text, given.names, given.world.id, moment)


def _render_context_state(given: Given) -> str:
    """Returns the state as text: live_state.md when it is of the turn before the question, else the same text from the
    state."""
    live = given.files.live
    if live is not None and live.body and given.node and live.node == given.node and not given.late:
        return live.body
    return live_state(given.state, given.language)


def _choose_fitting_episodes(episodes: Episodes, budget: int) -> tuple[tuple[Episode, int], ...]:
    """Returns the episodes that the budget holds with their tokens, in the order of their turns."""
    taken: list[tuple[Episode, int]] = []
    for one in episodes.by_rank():
        if (size := estimate_tokens(one.line)) <= budget:
            taken.append((one, size))
            budget -= size
    return tuple(sorted(taken, key=lambda pair: pair[0].turn))


def _render_context_prefix(given: Given, parts: _Parts) -> str:
    stable = [parts.prefix.text] if parts.prefix and parts.prefix.text else []
    asked = ("", TRACKING, given.instruction.strip()) if given.instruction.strip() else ()
    return "\n".join((PREFIX, *stable, *asked))


def _render_changing_block(given: Given, parts: _Parts) -> str:
    labelled = (f"{label}\n{text}" for label, text in _list_labelled_blocks(given, parts))
    blocks = (*(text for _, text in given.recalled), *labelled)
    return "\n\n".join((prompt.render_prompt("world_changing", given.language), *blocks))


def _list_labelled_blocks(given: Given, parts: _Parts) -> list[tuple[str, str]]:
    """Returns the parts of the changing block that have a text, with their labels."""
    language = given.language
    blocks = (
        (LATEST[language], parts.state.text),
        *((f"[{name}]", file.text) for name, file in parts.files),
        (f"[{STORY}]", parts.story.text),
        (PAST[language], "\n".join(one.line for one, _ in parts.episodes)),
        (LORE[language], parts.lore.text),
    )
    return [(label, text) for label, text in blocks if text]


@lru_cache(maxsize=512)
def _label_tokens(labels: tuple[str, ...], language: Language) -> int:
    return estimate_tokens("\n".join((PREFIX, TRACKING, prompt.render_prompt("world_changing", language), *labels)))


def _report_world_context(given: Given, parts: _Parts) -> dict[str, Any]:
    tokens = _count_part_tokens(given, parts)
    files = [(given.files.prefix.name, parts.prefix)] if given.files.prefix and parts.prefix else []
    story = [(STORY, parts.story)] if given.story.strip() else []
    return {
        "turn": given.turn,
        "late": given.late,
        "tokens": {**tokens, "total": sum(tokens.values())},
        "state_lines_cut": parts.state.lines,
        "files": [
            {"name": name, "tokens": file.tokens, "lines_cut": file.lines}
            for name, file in [*files, *parts.files, *story]
        ],
        "problems": [{"file": one.values["name"], "reason": one.values["reason"]} for one in given.files.problems],
        "episodes": _report_episode_stages(given.episodes, parts),
        "lore": {
            **lore_report(parts.lore, given.lore, parts.mentioned, parts.decision),
            **({"standing": parts.standing.plain} if given.room else {}),
            **({"constant_budget": given.constant} if given.constant else {}),
        },
    }


def _count_part_tokens(given: Given, parts: _Parts) -> dict[str, int]:
    apart = (*parts.lore.last, *parts.lore.deep)
    stand = parts.lore.standing
    return {
        "prefix": parts.prefix.tokens if parts.prefix else 0,
        "instruction": estimate_tokens(given.instruction),
        "state": parts.state.tokens,
        "files": sum(file.tokens for _, file in parts.files),
        "story": parts.story.tokens,
        "episodes": sum(size for _, size in parts.episodes),
        **{name: estimate_tokens(text) for name, text in given.recalled},
        "lore": sum(one.tokens for one in parts.lore.taken if one not in apart and one.entry.id not in stand),
        **({"standing": parts.standing.tokens} if stand else {}),
        **({"depth": sum(one.tokens for one in apart)} if apart else {}),
        "labels": _label_tokens(tuple(label for label, _ in _list_labelled_blocks(given, parts)), given.language),
    }


def _report_episode_stages(episodes: Episodes, parts: _Parts) -> dict[str, Any]:
    """Returns the turns that every stage brought into the prompt, and how many found no room."""
    turns = {one.turn for one, _ in parts.episodes}
    stages = {"recent": episodes.recent, "important": episodes.important, "similar": episodes.similar}
    told = {stage: [one.turn for one in sort_episodes(found) if one.turn in turns] for stage, found in stages.items()}
    return {**told, "over_budget": sum(map(len, stages.values())) - len(turns)}
