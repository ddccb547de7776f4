"""Prompt texts: one file per prompt and language, and the loader that checks their variables.

``prompt/<language>/<name>.md`` holds the text; ``$variable`` marks what is filled in (``$$`` is a dollar sign).
A new prompt is just a file in each language.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

from errors import PromptError

LANGUAGES = ("ko", "en")
_FOLDER = Path(__file__).parent


def render(name: str, language: str, **variables: object) -> str:
    """The prompt with its variables filled in.

    Raises ``PromptError`` that lists every missing and every unknown variable, or the files that exist.
    """
    template = _template(name, language)
    wanted, given = set(template.get_identifiers()), set(variables)
    problems = [
        f"{kind} {', '.join(sorted(names))}"
        for kind, names in (("missing variable", wanted - given), ("unknown variable", given - wanted))
        if names
    ]
    if problems:
        raise PromptError(name=name, language=language, reason="; ".join(problems))
    return template.substitute(variables)


def names(language: str) -> list[str]:
    """The prompts of one language."""
    return sorted(path.stem for path in (_FOLDER / language).glob("*.md"))


@cache
def _template(name: str, language: str) -> Template:
    path = _FOLDER / language / f"{name}.md"
    if language not in LANGUAGES or not path.is_file():
        known = ", ".join(f"{tongue}/{each}" for tongue in LANGUAGES for each in names(tongue))
        raise PromptError(name=name, language=language, reason=f"there is no such file; there are {known}")
    return Template(path.read_text("utf-8").strip())
