"""Prompt texts: one file per prompt and language, and the loader that checks their variables.

``prompt/<language>/<name>.md`` holds the text; ``$variable`` marks a value to fill in (``$$`` is a dollar sign). A new
prompt is just a file in each language.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

from errors import PromptError

LANGUAGES = ("ko", "en")
_FOLDER = Path(__file__).parent
_FORMER_SENTENCES = ("멈춘 곳부터 이어서 써 줘.", "Go on from where you stopped.")
"""What earlier versions of the page said in the user's role; it stands in their questions."""


def render_prompt(name: str, language: str, **variables: object) -> str:
    """Returns the prompt with its variables filled in.

    Raises ``PromptError`` that lists every missing and every unknown variable, or the files that exist.
    """
    template = _load_prompt_template(name, language)
    expected, received = set(template.get_identifiers()), set(variables)
    problems = [
        f"{kind} {', '.join(sorted(identifiers))}"
        for kind, identifiers in (("missing variable", expected - received), ("unknown variable", received - expected))
        if identifiers
    ]
    if problems:
        raise PromptError(name=name, language=language, reason="; ".join(problems))
    return template.substitute(variables)


@cache
def sentences_of_ours() -> frozenset[str]:
    """Returns what the product says in the user's role where a client or the page only asks for more. It is never the
    user's."""
    return frozenset((*(render_prompt("go_on", language) for language in LANGUAGES), *_FORMER_SENTENCES))


def list_prompt_names(language: str) -> list[str]:
    """Returns the names of one language's prompts, sorted."""
    return sorted(path.stem for path in (_FOLDER / language).glob("*.md"))


@cache
def _load_prompt_template(name: str, language: str) -> Template:
    path = _FOLDER / language / f"{name}.md"
    if language not in LANGUAGES or not path.is_file():
        available = ", ".join(
            f"{known_language}/{prompt}" for known_language in LANGUAGES for prompt in list_prompt_names(known_language)
        )
        raise PromptError(name=name, language=language, reason=f"there is no such file; there are {available}")
    return Template(path.read_text("utf-8").strip())
