"""The paths of the loop (specification 7.2): enough, again, section, three calls, low confidence, empty, not judged."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from errors import BadSetting, ModelTimeout, PassageUnknown, RequestRejected
from model import scripted
from model.call.stream import Stopped
from model.modelset import ModelSet
from model.scripted import ScriptedModel
from retrieval import Filters, Hit, LookUp, Passage, Section
from retrieval.answer.fallback import find_menu_links
from retrieval.answer.judge import cut_question_excerpt, parse_judgement
from retrieval.answer.loop import LookUpOptions, look_up
from tests.table import table


def passage(id_: int, text: str = "", *, steps: bool = False, section: int | None = None) -> Passage:
    number = id_ if section is None else section
    return Passage(id_, 1, "a.md", "Title", number, (f"Part {number}",), text or f"Text {id_}.", "guide", "en", steps)


def hit(id_: int, cosine: float = 0.9, **values: Any) -> Hit:
    return Hit(passage(id_, **values), 1.0, cosine, 1.0, 0.5, id_, id_, id_)


class Shelf:
    """A library that gives what a test wants and notes what it was asked."""

    unrelated_cosine = near = 0.0

    def __init__(self, *answers: list[Hit], section: str = "The whole section.") -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, Filters]] = []
        self._section = section

    def search_all(self, query: str, filters: Filters | None = None) -> list[Hit]:
        self.asked.append(("all", query, filters or Filters()))
        return self.answers.pop(0)

    def search(self, query: str, filters: Filters | None = None, k: int = 10) -> list[Hit]:
        self.asked.append(("metadata", query, filters or Filters()))
        return self.answers.pop(0)

    def sections(self, query: str, filters: Filters | None = None) -> list[Hit]:
        self.asked.append(("sections", query, filters or Filters()))
        return self.answers.pop(0)

    def section(self, id_: str) -> Section:
        self.asked.append(("section", id_, Filters()))
        if not self._section:
            raise PassageUnknown(passage=id_)
        return Section(id_, 1, "a.md", "Title", ("Part 1",), self._section, (1,), (0,))


def said(
    ranked: list[int],
    *,
    sufficient: bool = False,
    action: str | None = None,
    query: str = "",
    confidence: float = 0.8,
    missing: tuple[str, ...] = (),
) -> str:
    return json.dumps(
        {
            "ranked_indices": ranked,
            "is_sufficient": sufficient,
            "missing": list(missing),
            "next_action": action,
            "refined_query": query,
            "confidence": confidence,
        }
    )


def models(*answers: Any) -> ModelSet:
    return scripted.build_scripted_models(utility=answers)


def prompt(models: ModelSet, call: int) -> str:
    assert isinstance(models.utility, ScriptedModel)
    return str(models.utility.calls[call][-1].content)


def run(shelf: Shelf, models: ModelSet, stop: threading.Event | None = None, **options: Any) -> LookUp:
    return look_up(shelf, "How do I do it?", models, "en", LookUpOptions(**options), stop=stop)


def test_enough_at_once_takes_one_call() -> None:
    found = run(Shelf([hit(1), hit(2), hit(3)]), models(said([3, 1], sufficient=True, confidence=0.9)))
    assert [each.passage.id for each in found.passages] == [3, 1]
    assert [each.number for each in found.passages] == [1, 2]
    assert (found.sufficiency, found.confidence, found.fallback, found.calls) == ("sufficient", 0.9, None, 1)
    assert [each.reranked for each in found.trace[0].hits] == [2, None, 1]


def test_search_again_uses_the_refined_query_and_keeps_what_was_ranked() -> None:
    shelf = Shelf([hit(1), hit(2)], [hit(7)])
    judge = models(said([2], action="search_again", query="better words"), said([1, 2], sufficient=True))
    found = run(shelf, judge)
    assert shelf.asked == [("all", "How do I do it?", Filters()), ("all", "better words", Filters())]
    assert "Text 7." in prompt(judge, 1)
    assert "Text 2." in prompt(judge, 1)
    assert [each.passage.id for each in found.passages] == [7, 2]
    assert found.trace[1].arguments == {"query": "better words"}


def test_missing_steps_are_looked_for_by_metadata() -> None:
    shelf = Shelf([hit(1)], [hit(2, steps=True)])
    judge = models(said([1], action="search_again", query="q", missing=("steps",)), said([1], sufficient=True))
    found = run(shelf, judge)
    assert shelf.asked[1] == ("metadata", "q", Filters(has_steps=True))
    assert found.trace[1].tool == "search_by_metadata"


def test_get_section_gives_the_whole_section_of_the_best_passage() -> None:
    shelf = Shelf([hit(1), hit(2)])
    judge = models(said([2, 1], action="get_section"), said([1], sufficient=True))
    found = run(shelf, judge)
    assert shelf.asked[1] == ("section", "1:2", Filters())
    assert "The whole section." in prompt(judge, 1)
    assert (found.passages[0].text, found.passages[0].expanded) == ("The whole section.", True)
    assert found.passages[0].passage.id == 2


def test_a_section_above_the_budget_gives_way_to_its_passage() -> None:
    shelf = Shelf([hit(1)], section="word " * 4000)
    found = run(shelf, models(said([1], action="get_section"), said([1], sufficient=True)))
    assert (found.passages[0].text, found.passages[0].expanded) == ("Text 1.", False)


def test_a_section_that_is_gone_meanwhile_does_no_harm() -> None:
    found = run(Shelf([hit(1)], section=""), models(said([1], action="get_section"), said([1], sufficient=True)))
    assert found.passages[0].text == "Text 1."


def test_after_three_calls_the_answer_is_made_from_what_there_is() -> None:
    shelf = Shelf([hit(1)], [hit(2)], [hit(3)])
    judge = models(*(said([1], action="search_again", query=f"q{number}") for number in range(3)))
    found = run(shelf, judge)
    assert (found.calls, len(shelf.asked), found.sufficiency) == (3, 3, "insufficient")
    assert found.fallback is not None
    assert found.fallback.kind == "best_effort"
    assert found.passages


def test_a_call_that_was_made_before_is_not_made_again() -> None:
    shelf = Shelf([hit(1)], section="")
    judge = models(*(said([1], action="search_again", query="How do I do it?") for _ in range(3)))
    assert [step.tool for step in run(shelf, judge).trace] == ["search_all", "get_section"]


@pytest.mark.parametrize(
    ("language", "text"), [("ko", "관련 문서를 찾지 못했습니다."), ("en", "No related document was found.")]
)
def test_low_confidence_offers_the_menu_instead_of_passages(language: str, text: str) -> None:
    judge = models(said([1], sufficient=True, confidence=0.49))
    found = look_up(Shelf([hit(1)]), "압축률 upload a document file", judge, language)
    assert found.passages == ()
    assert found.fallback is not None
    assert (found.fallback.kind, found.fallback.text) == ("not_found", text)
    assert "문서" in found.fallback.links[0].title or "Documents" in found.fallback.links[0].title


MENU = [{"title": {"en": "Billing"}, "url": "https://x.y"}, {"title": {"en": "Help"}, "url": "?view=help"}]


@pytest.mark.parametrize("said_words", ["refund money", ["refund", "money"]])
def test_a_menu_tells_its_words_as_text_or_as_a_list(tmp_path: Path, said_words: object) -> None:
    menu = tmp_path / "menu.json"
    menu.write_text(json.dumps([MENU[0], MENU[1] | {"words": {"en": said_words, "ko": "하기"}}]))
    assert [link.title for link in find_menu_links("Where is my refund?", "ko", menu)] == ["Help"]


@pytest.mark.parametrize(
    "menu",
    [
        "no JSON",
        '{"a": 1}',
        '[{"title": {"en": "A", "ko": null}, "url": "x"}]',
        '[{"title": {"ko": "가"}, "url": "x"}]',
        '[{"title": {"en": "A"}, "url": "x", "words": ["a"]}]',
    ],
)
def test_a_menu_that_is_wrong_is_told_as_a_bad_setting_and_fails_no_answer(tmp_path: Path, menu: str) -> None:
    path = tmp_path / "menu.json"
    path.write_text(menu)
    with pytest.raises(BadSetting, match="GIEOK_MENU"):
        find_menu_links("Where?", "en", path)
    found = run(Shelf([hit(1)]), models(said([1], sufficient=True, confidence=0.1)), menu=path).fallback
    assert found is not None
    assert (found.text, found.links) == (
        "No related document was found.",
        find_menu_links("How do I do it?", "en", None),
    )


@pytest.mark.parametrize("confidence", [0.1, 0.9])
def test_a_topic_of_which_the_judge_ranks_no_passage_is_not_ready_and_offers_the_menu(confidence: float) -> None:
    """Specification 7.5: ``ranked_indices`` is empty, as the judge's prompt asks for."""
    judge = models(*(said([], action=None, confidence=confidence) for _ in range(3)))
    found = run(Shelf([hit(1)], [hit(1)], [hit(1)]), judge)
    assert found.fallback is not None
    assert (found.fallback.kind, found.fallback.text) == ("not_ready", "This topic is not ready yet.")
    assert (len(found.fallback.links), found.passages, found.sufficiency) == (3, (), "empty")


@pytest.mark.parametrize(
    ("language", "text"), [("ko", "해당 내용은 준비 중입니다."), ("en", "This topic is not ready yet.")]
)
def test_no_hit_at_all_is_not_ready_yet(language: str, text: str) -> None:
    found = look_up(Shelf([]), "question", models(), language)
    assert (found.sufficiency, found.calls, found.trace[0].reason) == ("empty", 1, "empty")
    assert found.fallback is not None
    assert (found.fallback.kind, found.fallback.text, found.fallback.links) == ("not_ready", text, ())


WHERE = "What does the FAQ say about it?"


def test_a_kind_that_the_question_names_is_looked_through_first() -> None:
    shelf = Shelf([hit(1)])
    found = look_up(shelf, WHERE, models(said([1], sufficient=True)), "en")
    assert shelf.asked == [("metadata", WHERE, Filters("faq"))]
    assert (found.trace[0].tool, found.trace[0].arguments) == (
        "search_by_metadata",
        {"query": WHERE, "doc_type": "faq"},
    )


def test_what_that_kind_has_not_is_looked_for_everywhere() -> None:
    shelf = Shelf([hit(1)], [hit(2)])
    judge = models(said([1], action="search_again", query="better words"), said([1], sufficient=True))
    assert look_up(shelf, WHERE, judge, "en").passages[0].passage.id == 2
    assert shelf.asked[1] == ("all", "better words", Filters())


def test_a_kind_without_any_passage_is_not_the_end() -> None:
    shelf = Shelf([], [hit(2)])
    found = look_up(shelf, WHERE, models(said([1], sufficient=True)), "en")
    assert [each[0] for each in shelf.asked] == ["metadata", "all"]
    assert [each.passage.id for each in found.passages] == [2]


def test_when_neither_the_kind_nor_the_rest_comes_near_no_model_is_asked() -> None:
    far = Hit(passage(1), 1.0, 0.78, 0.1, 0.05, 1, 1, 1)
    shelf = Shelf([far], [far])
    shelf.unrelated_cosine = 0.81
    found = look_up(shelf, WHERE, models(), "en")
    assert [step.reason for step in found.trace] == ["unrelated", "unrelated"]


def test_fewer_calls_can_be_left() -> None:
    judge = models(said([1], action="search_again", query="q"))
    found = run(Shelf([hit(1)]), judge, calls=1)
    assert (found.calls, found.sufficiency) == (1, "insufficient")


def test_what_is_far_from_the_question_asks_no_model() -> None:
    shelf = Shelf([Hit(passage(1), 1.0, 0.78, 0.1, 0.05, 1, 1, 1)])
    shelf.unrelated_cosine = 0.81
    found = run(shelf, models())
    assert (found.sufficiency, found.trace[0].reason, len(found.trace[0].hits)) == ("empty", "unrelated", 1)
    assert found.fallback is not None
    assert (found.fallback.kind, bool(found.fallback.links)) == ("not_found", True)


@table("reply", ["I think passage 2", "{", '{"ranked_indices": [1]}', said([9]), said([1], confidence=7), "[" * 9999])
def test_a_reply_that_cannot_be_read_is_not_judged_and_the_fused_order_holds(reply: str) -> None:
    found = run(Shelf([hit(1), hit(2), hit(3)]), models(reply))
    assert (found.sufficiency, found.confidence, found.fallback) == ("not_judged", None, None)
    assert (found.trace[0].judgement, found.trace[0].reason) == (None, "unreadable")
    assert [each.passage.id for each in found.passages] == [1, 2, 3]


def test_a_judge_that_fails_is_not_judged_with_its_reason() -> None:
    found = run(Shelf([hit(1)]), models(ModelTimeout(url="u", seconds=1)))
    assert (found.sufficiency, found.trace[0].reason) == ("not_judged", "model_timeout")


def test_a_server_without_json_schema_is_asked_plainly() -> None:
    judge = models(RequestRejected(url="u", status=400, reason="response_format"), said([1], sufficient=True))
    assert run(Shelf([hit(1)]), judge).sufficiency == "sufficient"
    assert isinstance(judge.utility, ScriptedModel)
    assert ["response_format" in each for each in judge.utility.bound_arguments] == [True, False]


def test_a_stop_ends_the_look_up() -> None:
    stop = threading.Event()

    def stopping(_: list[BaseMessage]) -> str:
        stop.set()
        return said([1])

    with pytest.raises(Stopped):
        run(Shelf([hit(1)]), models(stopping), stop=stop)


def test_passages_keep_within_the_budget() -> None:
    shelf = Shelf([hit(number, text=f"{number} " + "x" * 390) for number in range(1, 7)])
    found = run(shelf, models(said([1, 2, 3, 4, 5], sufficient=True)), budget=250)
    assert [each.passage.id for each in found.passages] == [1, 2]


def test_the_outcome_is_plain_data_for_the_trace() -> None:
    plain = run(Shelf([hit(1), hit(2)]), models(said([2], sufficient=True))).plain()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["passages"] == [
        {
            "number": 1,
            "passage": 2,
            "section": "1:2",
            "document": 1,
            "label": "a.md › Part 2",
            "title": "Title",
            "path": ["Part 2"],
            "text": "Text 2.",
            "expanded": False,
        }
    ]
    assert {"dense", "lexical", "fused", "reranked"} <= plain["trace"][0]["hits"][0].keys()
    assert "Text" not in json.dumps(plain["trace"]), "of hits no text"


@pytest.mark.parametrize(
    "text", [f"```json\n{said([2, 2, 1, 0], sufficient=True)}\n```", "Sure! " + said([2, 1, 5], sufficient=True)]
)
def test_numbers_are_made_valid_and_wrapping_is_taken_off(text: str) -> None:
    judgement = parse_judgement(text, 3)
    assert judgement is not None
    assert judgement.ranked_indices == (2, 1)


@pytest.mark.parametrize(
    ("missing", "read"), [("null", ()), ('""', ()), ('"steps"', ("steps",)), ('["steps"]', ("steps",))]
)
def test_what_is_missing_is_read_in_every_form(missing: str, read: tuple[str, ...]) -> None:
    judgement = parse_judgement(
        f'{{"ranked_indices": [1], "is_sufficient": true, "missing": {missing}, "confidence": 0.9}}', 3
    )
    assert judgement is not None
    assert judgement.missing == read


@pytest.mark.parametrize("thought", ["Maybe {1}?", "{", '{"ranked_indices": [3]}', said([3], sufficient=False)])
def test_what_a_model_thought_before_is_no_judgement(thought: str) -> None:
    judgement = parse_judgement(f"<think>{thought}</think>{said([1], sufficient=True)}", 3)
    assert judgement is not None
    assert judgement.ranked_indices == (1,)
    braces = parse_judgement(said([1], query="how {x}"), 3)
    assert braces is not None
    assert braces.refined_query == "how {x}"


def test_an_excerpt_is_the_stretch_that_answers() -> None:
    text = "Nothing here. " * 30 + "The rate is set by the slider. " + "More follows. " * 30
    assert "The rate is set by the slider." in cut_question_excerpt(text, "how is the rate set", 120)


def test_an_excerpt_has_the_best_sentence_behind_a_long_one() -> None:
    text = "Long " * 60 + "ago. The rate is set by the slider. The end."
    assert "The rate is set by the slider." in cut_question_excerpt(text, "how is the rate set", 120)
