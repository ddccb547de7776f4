"""Models for folds: a strong one that answers as a capable model would, one that says what it is told, and none."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

from model import scripted
from model.modelset import ModelSet
from model.profile import SMALL


def reply(
    *memory: str, entities: dict[str, str] | None = None, gone: Sequence[str] = (), lasting: Sequence[str] = ()
) -> str:
    """A structured reply with these sentences, values, reasons, and keys of values that last."""
    pairs = [
        {"key": key, "value": value, "replaces": None, "lasting": key in lasting}
        for key, value in (entities or {}).items()
    ]
    return json.dumps({"memory": memory, "entities": pairs, "gone": list(gone)}, ensure_ascii=False)


def faithful(messages: list[BaseMessage]) -> str:
    """Writes the memory as a good model does: the old lines, one for each thing the user said, what was pinned."""
    material = str(messages[1].content)
    memory = [line for line in _between(material, "memory").splitlines() if line != "–"]
    said = re.findall(r"\[(?:User|사용자)\] (.+)", _between(material, "dialogue"))
    lines = [*memory, *(f"User said: {each}" for each in said)]
    pins = re.findall(r"^- (.+)", material.partition("</dialogue>")[2].partition("word for word")[2], re.MULTILINE)
    missing = [pin for pin in pins if not any(pin in line for line in lines)]
    values = dict(pair for each in said for pair in re.findall(r"(item \d+) costs (\S+\d)", each))
    left = 20 - len(missing)
    return reply(*missing, *lines[-left:], entities=values, gone=lines[:-left])


def _between(text: str, tag: str) -> str:
    return text.split(f"<{tag}>")[1].split(f"</{tag}>")[0].strip()


def good() -> ModelSet:
    """A strong model, as often as it is asked."""
    return scripted.build_scripted_models(utility=faithful)


def saying(*answers: str | AIMessage | BaseException) -> ModelSet:
    """A strong model that says these things."""
    return scripted.build_scripted_models(utility=answers)


def small() -> ModelSet:
    """A small model, which nobody may call."""
    return scripted.build_scripted_models(profile=SMALL)
