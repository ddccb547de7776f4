"""A task that goes on with a story: the message's metadata names a world of the user, and a context is one story in it.

``{"gieok": {"world": "short name"}}``. The turn is the one of the page (``world.engine.WorldEngine.play``).
"""

from __future__ import annotations

import threading
import time

from door.a2a.message.form import read_gieok_entry
from door.a2a.task.task import WORLD, task_of
from errors import WorldUnknown
from graph.turn.agent import Agent
from graph.turn.event import Done, Ended, Token
from model.call.stream import Stopped
from server.request.running import BegunRequest, Emit, Work
from store import Store
from store.world.record import StoryNode, World
from world.engine import WorldEngine

NODE = "node"
"""Our entry in a task's metadata: the last turn of the story."""
LOOKED = 20
"""The newest tasks of a context among which the last turn of its story is looked for."""


def build_story_work(worlds: WorldEngine, agent: Agent, context: str, slug: str, text: str) -> Work:
    """Returns the work that goes on with the story of a context. It raises ``WorldUnknown``, and gives the id of the
    story's new turn as the number of the turn."""

    def run(stop: threading.Event, emit: Emit) -> Ended:
        began, engine = time.monotonic(), worlds.using(agent.store)
        world = engine.store.worlds.by_slug(slug)
        if world is None:
            raise WorldUnknown(world=slug)
        parent = _find_last_story_node(engine.store, context, world)
        emit(BegunRequest(world.id, (parent.turn if parent else 0) + 1, WORLD))
        try:
            node = engine.play(world.id, parent, text, stop, lambda piece: emit(Token(piece)))
        except Stopped:
            return Done(0, "", stopped=True)
        return Done(node.id, node.answer, stop.is_set(), seconds=time.monotonic() - began)

    return run


def can_play(agent: Agent) -> bool:
    """Returns whether there is a world, and a model that is ready to play in it."""
    known = getattr(agent.models, "ready_models", None)
    return known is not None and known.raw is not None and bool(agent.store.everyone.worlds.all())


def _find_last_story_node(store: Store, context: str, world: World) -> StoryNode | None:
    """Returns the last turn of the context's story in a world; None before its first."""
    for row in store.tasks.page(LOOKED, context=context, states=("completed", "canceled"))[0]:
        entry = read_gieok_entry(task_of(row).metadata)
        if entry.get(WORLD) == world.id and entry.get(NODE):
            return store.worlds.node(int(entry[NODE]))
    return None
