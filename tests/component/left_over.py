"""What a browser still shows of an earlier run of the page while a later one lasts.

Streamlit takes nothing away before a run has ended, and a run that follows an answer, or waits for the summary after
it, lasts as long as that. Until then a node goes only when something else is drawn in its place: a block of the same
kind there keeps what is in it, and everything else takes all of it away (``AppRoot`` in Streamlit's frontend).
"""

from __future__ import annotations

from collections.abc import Iterator

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Node

UNREADABLE = ("empty", "toast")
"""What is drawn and cannot be read."""


def keep(at: AppTest) -> dict[int, Node]:
    """What a run has drawn, for ``list_left_over`` after a later one."""
    return dict(at._tree.children)


def list_left_over(before: dict[int, Node], at: AppTest) -> list[str]:
    """What can be read of ``before`` in a browser at the end of the last run, which did not draw it."""
    return list(_find_left(before, dict(at._tree.children)))


def _find_left(before: dict[int, Node], now: dict[int, Node]) -> Iterator[str]:
    for place, node in before.items():
        after = now.get(place)
        if after is None:
            yield from _read(node)
        elif isinstance(node, Block) and isinstance(after, Block) and _name_kind(node) == _name_kind(after):
            yield from _find_left(node.children, after.children)


def _name_kind(block: Block) -> str:
    """What a block is: a plain one names it itself."""
    return str(block.proto.WhichOneof("type")) if type(block) is Block and block.proto else type(block).__name__


def _read(node: Node) -> Iterator[str]:
    if isinstance(node, Block):
        for child in node.children.values():
            yield from _read(child)
    elif node.type not in UNREADABLE:
        said = [getattr(node.proto, name, "") for name in ("body", "label")]  # the value of a widget may be gone
        yield " ".join((str(node.type), *filter(None, said)))
