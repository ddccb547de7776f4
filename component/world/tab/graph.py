"""Places as a map and relations as a graph, in Graphviz's language; the browser draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from text.cut import cut_graphemes
from world.story.state import StoryState

MOST = 60
"""The most places or people in one picture; what lies nearest to the player comes first."""
NAME_CHARS = 30


def place_map(state: StoryState, dark: bool) -> str:
    """Returns the known places with their ways; the player's place is marked, and every place names who is there."""
    here = state.me.location
    people: dict[str, list[str]] = {}
    for character in state.characters.values():
        if character.location and not character.dead:
            people.setdefault(character.location, []).append(character.name)
    names = _list_nearest_names(
        here, {name: place.adjacent for name, place in state.locations.items()}, (here, *people)
    )
    lines = [
        _render_graph_node(name, _label_with_people(name, people.get(name, ())), dark, marked=name == here)
        for name in names
    ]
    known = set(names)
    ways = {
        tuple(sorted((name, other)))
        for name in names
        for other in (state.locations[name].adjacent if name in state.locations else ())
        if other in known and other != name
    }
    lines += [f"{_quote_graph_text(one)} -- {_quote_graph_text(other)}" for one, other in sorted(ways)]
    return _render_graph("graph", lines, dark)


def relation_graph(state: StoryState, dark: bool) -> str:
    """Returns who stands how to whom: an arrow for each relation, red for enmity, thicker the stronger it is."""
    links: dict[str, set[str]] = {}
    for one, other in state.relations:
        links.setdefault(one, set()).add(other)
        links.setdefault(other, set()).add(one)
    names = _list_nearest_names(state.player, links, links)
    known, lines = set(names), []
    for name in names:
        character = state.characters.get(name)
        lines.append(
            _render_graph_node(name, name, dark, marked=name == state.player, gone=bool(character and character.dead))
        )
    for (one, other), relation in sorted(state.relations.items()):
        if one in known and other in known:
            colour = _ENMITY[dark] if relation.strength < 0 else _LINE[dark]
            label = f"{relation.rel_type} {relation.strength:+d}" if relation.strength else relation.rel_type
            width = 1 + min(abs(relation.strength), 10) / 4
            lines.append(
                f"{_quote_graph_text(one)} -> {_quote_graph_text(other)} [label={_quote_graph_text(label)}, "
                f'color="{colour}",'
                f' fontcolor="{colour}", penwidth={width:.1f}]'
            )
    return _render_graph("digraph", lines, dark)


_LINE, _ENMITY = {False: "#6b7d7d", True: "#8fa3a3"}, {False: "#b3372f", True: "#ef8a80"}
_TEXT, _FILL, _MARK = {False: "#1d2b2b", True: "#e6efef"}, {False: "#eef4f4", True: "#1f2b2b"}, "#0b7a75"


def _list_nearest_names(start: str, links: Mapping[str, Iterable[str]], others: Iterable[str]) -> list[str]:
    """Returns at most ``MOST`` names, by their distance from the start; the unconnected ones come last."""
    names = [start] if start else []
    at = 0
    while at < len(names) < MOST:
        names += [name for name in links.get(names[at], ()) if name not in names]
        at += 1
    names += [name for name in (*links, *others) if name and name not in names]
    return list(dict.fromkeys(names))[:MOST]


def _label_with_people(name: str, people: Iterable[str]) -> str:
    some = sorted(people)
    return "\n".join((name, ", ".join(some[:4]) + (" …" if len(some) > 4 else ""))) if some else name


def _render_graph_node(name: str, label: str, dark: bool, *, marked: bool = False, gone: bool = False) -> str:
    border = _MARK if marked else _LINE[dark]
    style = "rounded,filled,dashed" if gone else "rounded,filled"
    return (
        f'{_quote_graph_text(name)} [label={_quote_graph_text(label)}, color="{border}", penwidth='
        f'{2.5 if marked else 1}, style="{style}"]'
    )


def _render_graph(kind: str, lines: Iterable[str], dark: bool) -> str:
    look = (
        'bgcolor="transparent"; rankdir="LR"; pad="0.2"; nodesep="0.35"; ranksep="0.5";'
        f' node [shape="box", fontname="sans-serif", fontsize="13", fillcolor="{_FILL[dark]}",'
        f' fontcolor="{_TEXT[dark]}"];'
        f' edge [fontname="sans-serif", fontsize="11", color="{_LINE[dark]}"];'
    )
    return f"{kind} {{ {look} {'; '.join(lines)} }}"


def _quote_graph_text(text: str) -> str:
    """Returns a text as a string of Graphviz's language, whatever stands in it."""
    lines = [cut_graphemes(part, NAME_CHARS) + ("…" if len(part) > NAME_CHARS else "") for part in text.split("\n")]
    escaped = (part.replace("\\", "\\\\").replace('"', '\\"') for part in lines)
    return '"' + "\\n".join(escaped) + '"'
