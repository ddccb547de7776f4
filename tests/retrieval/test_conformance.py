"""What holds for every look-up, whether a model judges and cites or code quotes (specification 7.2, design 7.4)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from model import scripted
from model.call.stream import Stopped
from model.profile import SMALL, STRONG
from model.scripted import ScriptedModel
from retrieval import Filters, Library, LookUp
from retrieval.answer.fallback import NOT_FOUND, NOT_READY
from retrieval.answer.loop import LookUpOptions
from retrieval.answer.tool import render_search_result
from tests.retrieval.conftest import Opened, Words
from tests.retrieval.test_loop import said
from tests.retrieval.test_tool import HOSTILE

PEARS = [("fruit.md", b"# Fruit\n\n## Pears\n\nPears are green.\n\n## Plums\n\nPlums are blue.\n")]
Look = Callable[..., LookUp]
ENOUGH, DOUBTFUL = said([1], sufficient=True), said([1], sufficient=True, confidence=0.2)


@pytest.fixture(params=["cited", "quoted"])
def look(request: pytest.FixtureRequest) -> Look:
    """Looks something up; ``judge``: what a model says of what was found, ``delay`` seconds before each word. Code asks
    none: its script is empty."""

    def run(library: Library, question: str, judge: str = ENOUGH, delay: float = 0.0, **more: Any) -> LookUp:
        strong = request.param == "cited"
        judging = ScriptedModel([judge] if strong else [], delay=delay)
        models = scripted.build_scripted_models(utility=judging, profile=STRONG if strong else SMALL)
        return library.look_up(question, models, "en", **more)

    return run


def test_the_best_passage_is_given_under_number_one_with_its_place(library: Library, look: Look) -> None:
    library.add(PEARS)
    found = look(library, "Which colour have pears?")
    cited = found.passages[0]
    assert (cited.number, cited.label, cited.text) == (1, "fruit.md › Pears", "Pears are green.")
    assert library.section(cited.passage.section_id).text == cited.text
    assert (found.fallback, found.language, found.question) == (None, "en", "Which colour have pears?")


def test_the_trace_names_the_tool_and_every_hit(library: Library, look: Look) -> None:
    library.add(PEARS)
    plain = look(library, "Which colour have pears?").plain()
    assert json.loads(json.dumps(plain)) == plain
    (step,) = plain["trace"]
    assert (step["tool"], step["arguments"]) == ("search_all", {"query": "Which colour have pears?"})
    assert {"dense", "lexical", "fused", "reranked"} <= step["hits"][0].keys()


def test_what_the_documents_do_not_hold_is_answered_with_the_specified_sentence(
    opened: Opened, words: Words, look: Look
) -> None:
    words.near = 2.0  # nothing comes near
    library = opened()
    library.add(PEARS)
    found = look(library, "Who won the cup?", DOUBTFUL)
    assert found.passages == ()
    assert found.fallback is not None
    assert (found.fallback.kind, found.fallback.text) == ("not_found", NOT_FOUND["en"])
    assert found.fallback.links
    assert NOT_FOUND["en"] in render_search_result(found)


def test_without_a_document_the_topic_is_not_ready(library: Library, look: Look) -> None:
    found = look(library, "Which colour have pears?")
    assert found.fallback is not None
    assert (found.fallback.text, found.fallback.links) == (NOT_READY["en"], ())


def test_nothing_but_what_the_caller_filters_for_is_found(library: Library, look: Look) -> None:
    library.add([("fruit-faq.md", b"# Fruit\n\nPears are green.\n"), *PEARS])
    found = look(library, "Which colour have pears?", options=LookUpOptions(Filters("faq")))
    assert [each.label for each in found.passages] == ["fruit-faq.md"]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_document_asks_for_stays_data(library: Library, look: Look, text: str) -> None:
    library.add([("fruit.md", f"# Fruit\n\nPears are green. {text}\n".encode())])
    given = render_search_result(look(library, "Which colour have pears?"))
    assert given.count("<passage number=") == given.lower().count("</passage>") == 1


def test_a_stop_ends_it(library: Library, look: Look) -> None:
    library.add(PEARS)
    stop = threading.Event()
    stop.set()
    with suppress(Stopped):  # one search may be over before it could look
        look(library, "Which colour have pears?", stop=stop, delay=3600.0)
