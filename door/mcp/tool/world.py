"""The tool ``answer_world_call``: the user's story worlds, and what is so in one of them after its last turn."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from door.mcp.call import McpToolCall
from door.mcp.caller import McpCaller
from door.mcp.tool.schema import Arguments, StructuredResult
from door.mcp.tool.tool import Tool
from errors import WorldUnknown
from store.world.record import DEAD, HELD, World
from world.story.live import live_state, render_held_item
from world.story.state import StoryState


class WorldArguments(Arguments):
    """Arguments of ``answer_world_call``."""

    world: Annotated[
        str, Field(max_length=100, description="The world: its id or its short name. Empty: the one played last.")
    ] = ""


class WorldName(StructuredResult):
    """A world of the user."""

    id: str
    name: str
    short: str = Field(description="The short name.")
    language: str


class Person(StructuredResult):
    """A character of the story."""

    name: str
    location: str
    status: str
    dead: bool
    hp: int | None = None


class Bond(StructuredResult):
    """What one character is to another; ``strength`` is negative for enmity."""

    who: str
    to: str
    kind: str
    strength: int


class StoryPlace(StructuredResult):
    """A place of the story."""

    name: str
    status: str
    leads_to: list[str]


class WorldState(StructuredResult):
    """Result of ``answer_world_call``."""

    worlds: list[WorldName] = Field(description="All worlds of the user, the one played last first.")
    world: WorldName | None = Field(None, description="The world that the rest is about; missing where there is none.")
    turn: int = Field(description="The number of the story's last turn.")
    player: str = Field(description="The user's character.")
    time: str = Field(description="When it is in the story, such as: day 2, evening.")
    mood: str
    characters: list[Person]
    relations: list[Bond]
    places: list[StoryPlace]
    held: list[str] = Field(description="What the player has, what was used last first.")
    episodes: list[str] = Field(description="What happened in the last turns, oldest first.")
    text: str = Field(description="The state in words, as prompts get it.")


async def answer_world_call(call: McpToolCall, given: WorldArguments) -> WorldState:
    """Reads the state of a world."""
    return await call.run(lambda _: _read_world_state(call.caller, given.world))


def _read_world_state(caller: McpCaller, name: str) -> WorldState:
    worlds = caller.worlds.store.worlds
    known = worlds.all()
    if name:
        world: World | None = next((one for one in known if name in (one.id, one.slug)), None)
        if world is None:
            raise WorldUnknown
    else:
        world = known[0] if known else None
    names = [_build_world_name(one) for one in known]
    if world is None:
        return _build_world_state(names, None, StoryState(""), "")
    leaves = worlds.leaves(world.id, limit=1)
    state = caller.worlds.state(leaves[0] if leaves else None, world)
    return _build_world_state(names, _build_world_name(world), state, live_state(state, world.language))


def _build_world_name(world: World) -> WorldName:
    return WorldName(id=world.id, name=world.name, short=world.slug, language=world.language)


def _build_world_state(names: list[WorldName], world: WorldName | None, state: StoryState, text: str) -> WorldState:
    return WorldState(
        worlds=names,
        world=world,
        turn=state.turn,
        player=state.player,
        time=state.time.line,
        mood=state.mood,
        characters=[
            Person(name=one.name, location=one.location, status=one.status, dead=one.status == DEAD, hp=one.hp)
            for one in state.characters.values()
        ],
        relations=[
            Bond(who=one.from_char, to=one.to_char, kind=one.rel_type, strength=one.strength)
            for one in state.relations.values()
        ],
        places=[
            StoryPlace(name=one.name, status=one.status, leads_to=list(one.adjacent))
            for one in state.locations.values()
        ],
        held=[render_held_item(one) for one in [*state.items.values()][::-1] if one.status == HELD],
        episodes=[episode.line for episode in state.recent],
        text=text,
    )


TOOL = Tool(
    name="world_state",
    title="State of a story world",
    description="Returns the user's story worlds, and what is so in one of them after its last turn: who is where, "
    "who stands how to whom, places, things, and what happened last.",
    arguments=WorldArguments,
    result=WorldState,
    run=answer_world_call,
)
