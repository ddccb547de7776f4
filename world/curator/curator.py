"""Who curates a line of a story: an agent, else one plain call, else code (specification 12.8)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from errors import GieokError
from model.modelset import ModelSet
from store.world.record import StoryNode, World
from world.curator import agent, plain
from world.curator.desk import EVERY, Desk, NotedFinding, build_curator_desk
from world.curator.notebook import Unfit
from world.curator.row import CuratorRows
from world.prompt.side_call import note_side_calls, sum_side_calls
from world.story.state import StoryState

log = logging.getLogger("gieok.world")

Way = Literal["agent", "plain", "code"]
Look = Callable[[StoryNode], list[NotedFinding]]
"""Returns the contradictions that code sees in a turn."""


def curate_story_line(
    rows: CuratorRows,
    world: World,
    node: StoryNode,
    state: StoryState,
    models: ModelSet,
    look: Look,
    stop: threading.Event | None,
) -> Way:
    """Curates the line that ends with the turn ``node`` and writes the result; returns who did it.

    The profile of the curator's model says whether it calls tools itself and whether it is trusted with the memory of a
    story at all. Raises ``Stopped``; then nothing was written.
    """
    table = build_curator_desk(rows, world, node, state, models.context_size)
    profile = models.curator_profile or models.profile
    ways: list[tuple[Way, Callable[[Desk], object]]] = [("code", lambda one: _report_code_findings(one, look))]
    if profile.folds == "model":
        ways.insert(0, ("plain", lambda one: plain.curate_by_call(one, models.curator or models.chat, stop)))
        if profile.tools == "native":
            ways.insert(0, ("agent", lambda one: agent.curate_by_agent(one, models.curator or models.chat, stop)))
    try:
        way, worked = _run_first_way(table, ways)
    finally:  # what was asked has been used, also by a look that was stopped
        _note_calls(table, models)
    worked.put_down()
    log.info("curator of turn %d: %s, %d findings", node.turn, way, len(worked.notes))
    return way


def _run_first_way(table: Desk, ways: list[tuple[Way, Callable[[Desk], object]]]) -> tuple[Way, Desk]:
    """Returns the first way that works, and its desk; what a failed one did on its desk is dropped."""
    for way, work in ways[:-1]:
        own = replace(table, notes=[], mends=[])
        try:
            work(own)
        except (GieokError, agent.CuratorFailed) as error:
            reason = error.code if isinstance(error, GieokError) else str(error)
            log.warning("curator of turn %d: %s failed: %s", table.node.turn, way, reason)
        else:
            return way, own
    way, work = ways[-1]
    work(table)
    return way, table


def _note_calls(table: Desk, models: ModelSet) -> None:
    """Stores what the calls of the curator took."""
    name = str(getattr(models.curator, "model_name", "")) or models.name
    note_side_calls(table.rows.note_side_usage, table.node, sum_side_calls("curator", table.calls, name, models))


def _report_code_findings(table: Desk, look: Look) -> None:
    """Reports what code sees in the last turns."""
    for node in table.turns(table.node.turn - EVERY + 1, table.node.turn):
        for one in look(node):
            with suppress(Unfit):
                table.note(one.kind, one.subject, one.text)
