"""Names as the story has them: models change case, spaces and articles from turn to turn."""

from __future__ import annotations

import re
from collections.abc import Iterable

from text.fold import fold_text

_ARTICLE = re.compile(r"^(?:the|an?)\s+")


def bare(name: str) -> str:
    """Returns a name without case, article and spaces."""
    return "".join(_ARTICLE.sub("", fold_text(name.strip())).split())


def spelled(name: str, known: Iterable[str]) -> str:
    """Returns the known name that a name is but for case, article and spaces; the name itself where none is."""
    names = list(known)
    if name in names:
        return name
    wanted = bare(name)
    return next((one for one in names if bare(one) == wanted), name)
