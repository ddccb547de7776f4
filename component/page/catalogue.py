"""The words of the interface: one flat catalogue per language, and the lookup of a sentence.

``component/page/text/<language>.json`` maps a key to a sentence; ``{name}`` marks what is filled in, and «(|s)» what
its number decides. Every class of
``errors.py`` has the keys ``error.<code>`` and ``error.<code>.hint``: their English is that of the class, their Korean
stands in ``ko.json``. A test checks that both languages have the same keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from errors import GieokError
from graph.context.turns import CHUNK
from text.hangul import fit_particles

Language = Literal["ko", "en"]
LANGUAGES: tuple[Language, ...] = ("ko", "en")
_PLACE = re.compile(r"\{(\w+)[^{}]*\}")
_FORMS = re.compile(r"\(([\w, ]*)\|([\w, ]*)\)")
"""Two forms of a word: of one, and of any other number."""
_FOLDER = Path(__file__).parent / "text"
_CONSTANT: Mapping[str, object] = {"chunk": CHUNK}
"""Values that every sentence may name: the turns of a summary."""


@dataclass(frozen=True, slots=True)
class Words:
    """The catalogue of one language: ``words("chat.ask")``, ``words("summary.range", first=1, last=3)``."""

    language: Language

    def __call__(self, key: str, **values: object) -> str:
        """Returns the sentence of ``key`` with ``values`` filled in. Raises ``KeyError`` when the key is unknown."""
        return self._fill_template(self._find_template(key, values), values)

    def _find_template(self, key: str, values: Mapping[str, object]) -> str:
        """Returns the sentence of ``key``; for turns from one to the same one that of ``<key>.one``, if there is one.
        Raises ``KeyError``."""
        catalogue = _load_catalogue(self.language)
        is_one = "first" in values and values["first"] == values.get("last")
        return catalogue.get(f"{key}.one", catalogue[key]) if is_one else catalogue[key]

    def _fill_template(self, template: str, values: Mapping[str, object]) -> str:
        values = {**_CONSTANT, **values}
        text = _choose_number_forms(template, values).format(**values)
        return fit_particles(text) if self.language == "ko" else text

    def __contains__(self, key: str) -> bool:
        return key in _load_catalogue(self.language)

    def error(self, code: str, message: str, values: Mapping[str, Any]) -> tuple[str, str]:
        """Returns two sentences: what failed, and what to do. When the code or a value is unknown: ``message`` and ''.

        Translates a ``reason`` or ``place`` among the values, too, when the values hold its code (``reason_code``), and
        a ``what`` that has a noun in the catalogue (``what.<…>``). The sentence of a reason is
        ``error.<code>.reason.<…>``, or ``error.reason.<…>`` for a message of pydantic.
        """
        catalogue = _load_catalogue(self.language)
        try:
            translated = {name: self.reason(code, values, name) for name in ("reason", "place") if name in values}
            if "what" in values:
                noun = f"what.{str(values['what']).replace(' ', '_')}"
                translated["what"] = catalogue.get(noun, str(values["what"]))
            values = {**values, **translated}
            sentence = self._fill_template(self._find_template(f"error.{code}", values), values)
            return sentence, self._fill_template(catalogue[f"error.{code}.hint"], values)
        except (KeyError, ValueError, TypeError):
            return message, ""

    def reason(self, code: str, values: Mapping[str, Any], name: str = "reason") -> str:
        """Returns the ``reason`` (or ``place``) among the values of an error, translated if its code is known."""
        catalogue, suffix = _load_catalogue(self.language), f"{name}.{values.get(f'{name}_code')}"
        template = catalogue.get(f"error.{code}.{suffix}") or catalogue.get(f"error.{suffix}")
        return self._fill_template(template, values) if template else str(values.get(name, ""))

    def keys(self) -> list[str]:
        """Returns every key of this language, in the order of the file."""
        return list(_load_catalogue(self.language))

    def raw(self, key: str) -> str:
        """Returns the sentence of ``key`` as it stands in the file, without values."""
        return _load_catalogue(self.language)[key]


def _choose_number_forms(template: str, values: Mapping[str, object]) -> str:
    """Returns the sentence with the form that fits the number before it: «{count} line(|s)», «entr(y|ies)»."""

    def choose(match: re.Match[str]) -> str:
        names = _PLACE.findall(template, 0, match.start())
        return match[1] if names and str(values.get(names[-1])) == "1" else match[2]

    return _FORMS.sub(choose, template)


def choose_interface_language(asked: str | None, fixed: str, locale: str | None) -> Language:
    """Returns the page's language: ``asked`` in the address, ``fixed`` in the settings, or the browser's ``locale``."""
    for candidate in (asked, fixed):
        if candidate in LANGUAGES:
            return "ko" if candidate == "ko" else "en"
    return "ko" if (locale or "").lower().startswith("ko") else "en"


@cache
def _load_catalogue(language: Language) -> dict[str, str]:
    loaded: dict[str, str] = json.loads((_FOLDER / f"{language}.json").read_text("utf-8"))
    return loaded if language == "ko" else {**_collect_english_texts(GieokError), **loaded}


def _collect_english_texts(error: type[GieokError]) -> dict[str, str]:
    """Returns the sentences of an error class and of all classes below it."""
    texts = {f"error.{error.code}": error.message, f"error.{error.code}.hint": error.hint}
    if error.single:
        texts[f"error.{error.code}.one"] = error.single
    for below in error.__subclasses__():
        if below.__module__ == error.__module__:  # benches have errors of their own
            texts |= _collect_english_texts(below)
    return texts
