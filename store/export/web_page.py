"""A conversation as one HTML file to pass on: it needs nothing else, runs no script and loads nothing from anywhere."""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from markdown_it import MarkdownIt

from store.store import Store
from text.language import Language

_STYLE = """
:root {
  color-scheme: light dark;
  --line: #d9d4c7; --quote: #6b665c; --ground: #fbfaf7; --ink: #23211d; --code: #f1eee6;
}
@media (prefers-color-scheme: dark) {
  :root { --line: #3b3833; --quote: #aba59a; --ground: #191816; --ink: #ece9e2; --code: #262420; }
}
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.65 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.3; }
h2 { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: .95rem; color: var(--quote); }
h3 { font-size: 1rem; }
blockquote { margin: 1rem 0; padding: 0 1rem; border-left: 3px solid var(--line); color: var(--quote); }
pre, code { font-family: ui-monospace, monospace; font-size: .9em; background: var(--code); border-radius: 4px; }
code { padding: .1em .3em; }
pre { padding: .8rem 1rem; overflow-x: auto; }
pre code { padding: 0; background: none; }
table { display: block; overflow-x: auto; border-collapse: collapse; }
th, td { padding: .3rem .6rem; border: 1px solid var(--line); text-align: left; }
a { color: inherit; }
img { max-width: 100%; }
hr { border: 0; border-top: 1px solid var(--line); }
@media print { body { background: none; color: #000; } h2 { break-after: avoid; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


@cache
def _get_renderer() -> MarkdownIt:
    """Returns the renderer. Tags in a text are shown as text: questions and answers may hold anybody's."""
    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])


def load_page_images(store: Store, session_id: str) -> dict[str, str]:
    """Returns the images of a conversation's path as ``data:`` addresses, by key. Raises ``SessionUnknown``."""
    session = store.session(session_id)
    named = store.images.find_turn_keys(session_id, session.path, 0, session.turn_count)
    stored = store.images.load(session_id, [key for keys in named.values() for key in keys])
    return {key: image.address for key, image in stored.items()}


def render_web_page(transcript: str, language: Language, images: Mapping[str, str] = MappingProxyType({})) -> str:
    """Returns the HTML file of a conversation. ``transcript``: its Markdown (``store.export.transcript``), in which
    ``images`` stand by their keys."""
    body = _get_renderer().render(transcript).strip()
    for key, address in images.items():  # set in afterwards: the renderer reads addresses letter by letter
        body = body.replace(f'<img src="{key}"', f'<img src="{address}"')
    title = transcript.partition("\n")[0].removeprefix("# ").strip()
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="{language}">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            "<main>",
            body,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


__all__ = ["load_page_images", "render_web_page"]
