"""Whose documents are found: files of a conversation only there, the user's before the product's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from model import scripted
from model.embedding import built_in
from model.profile import SMALL, STRONG
from retrieval import Filters, Library, product_docs
from retrieval.change import build_upload_source
from retrieval.document import Collection, SearchScope
from retrieval.product_docs import first_run
from tests.retrieval.conftest import Opened, Words, libraries
from tests.retrieval.test_loop import said

PEARS = ("pears.md", b"# Pears\n\n## Harvest\n\nPears are picked in September.\n")
PLUMS = ("pears.md", b"# Pears\n\n## Harvest\n\nPears are picked in October.\n")
QUESTION = "When are pears picked?"


def attach(library: Library, session: str, *files: tuple[str, bytes]) -> None:
    """As the agent does it: noted first, then read."""
    keys = [(name, build_upload_source(name, data, "session").key) for name, data in files]
    store = library._rows._store
    if store.find_session(session) is None:
        store.create_session("en", 0.3, session_id=session)
    store.attachments.add(session, keys)
    library.add(files, collection="session")


def detach(library: Library, session: str) -> None:
    library._rows._store.delete_session(session)
    library.sweep()


def found(library: Library, session: str, *collections: Collection, question: str = QUESTION) -> list[str]:
    """The places of what every kind of search finds, which must agree."""
    filters = Filters(scope=SearchScope(collections or ("session", "mine", "product"), session))
    searches = (library.search, library.search_all, library.sections)
    results = [sorted({hit.passage.text for hit in search(question, filters)}) for search in searches]
    assert results[0] == results[1] == results[2]
    return results[0]


def first(library: Library, scope: SearchScope, question: str = QUESTION) -> list[str]:
    """What stands first, for a model that judges and for one that is not trusted with it."""
    filters = Filters(scope=scope)
    return [library.search_all(question, filters)[0].passage.name, library.sections(question, filters)[0].passage.name]


SEPTEMBER, OCTOBER = "Pears are picked in September.", "Pears are picked in October."


def test_files_of_a_conversation_are_found_there_and_nowhere_else(library: Library) -> None:
    attach(library, "a", PEARS)
    attach(library, "b", PLUMS)
    assert found(library, "a") == [SEPTEMBER]
    assert found(library, "b") == [OCTOBER]
    assert found(library, "c") == found(library, "") == []
    assert library.search(QUESTION) == []
    assert library.documents() == []
    assert (library.status.documents, library.status.passages) == (0, 0)
    assert [library.is_empty(SearchScope(session=each)) for each in ("a", "c", "")] == [False, True, True]


@pytest.mark.parametrize("profile", [SMALL, STRONG])
def test_no_look_up_gives_another_conversations_file(library: Library, profile: Any) -> None:
    attach(library, "a", PEARS)
    library.add([("other.md", b"# Other\n\nSomething else.\n")])
    models = scripted.build_scripted_models(
        utility=[said([1], sufficient=True)] * 3 if profile is STRONG else [], profile=profile
    )
    for session, names in (("a", {"pears.md", "other.md"}), ("b", {"other.md"})):
        look_up = library.look_up(QUESTION, models, "en", scope=SearchScope(session=session))
        assert {hit.passage.name for step in look_up.trace for hit in step.hits} <= names
    assert (
        library.look_up(QUESTION, models, "en", scope=SearchScope(session="a")).passages[0].passage.name == "pears.md"
    )


def test_only_the_chosen_collections_are_searched(library: Library) -> None:
    attach(library, "a", PEARS)
    library.add([("mine.md", b"# Mine\n\nPears in my garden.\n")])
    library.add([("product.md", b"# Product\n\nPears of the product.\n")], collection="product")
    assert found(library, "a", "session") == [SEPTEMBER]
    assert found(library, "a", "mine") == ["Pears in my garden."]
    assert found(library, "a", "product", "mine") == ["Pears in my garden.", "Pears of the product."]
    assert len(found(library, "a")) == 3


def test_one_file_in_two_conversations_is_one_document_until_both_are_erased(library: Library, words: Words) -> None:
    attach(library, "a", PEARS)
    made = len(words.made)
    attach(library, "b", PEARS)
    assert len(words.made) == made
    assert library.find_attached_documents("a") == library.find_attached_documents("b")
    detach(library, "a")
    assert (found(library, "a"), found(library, "b")) == ([], [SEPTEMBER])
    detach(library, "b")
    assert library.find_attached_documents("b") == {}
    with library._rows._store.transaction() as connection:
        for table in ("document", "passage", "vector"):
            assert connection.execute(text(f"SELECT count(*) FROM retrieval_{table}")).scalar() == 0, table


def test_the_newer_file_of_a_name_is_the_one_that_is_found(library: Library) -> None:
    attach(library, "a", PEARS)
    attach(library, "a", PEARS)
    assert found(library, "a") == [SEPTEMBER]
    attach(library, "a", PLUMS)
    assert found(library, "a") == [OCTOBER]
    library.sweep()
    assert [each.name for each in library.find_attached_documents("a").values()] == ["pears.md"]


def test_a_file_that_cannot_be_read_is_known_to_its_conversation_only(library: Library) -> None:
    attach(library, "a", ("empty.md", b""))
    (document,) = library.find_attached_documents("a").values()
    assert (document.state, (document.error or {})["code"]) == ("failed", "document_empty")
    assert library.documents() == []


def test_the_users_documents_come_before_the_products_that_say_the_same(library: Library) -> None:
    library.add([("product.md", PEARS[1])], collection="product")
    library.add([("mine.md", PLUMS[1])])
    assert first(library, SearchScope()) == ["mine.md", "mine.md"]
    attach(library, "a", ("file.md", PEARS[1]))
    assert first(library, SearchScope(session="a", asked_with_files=True)) == ["file.md", "file.md"]


def test_what_only_the_product_says_comes_first_all_the_same(library: Library) -> None:
    library.add([("product.md", b"# Compression\n\n## Rate\n\nThe compression rate is changed by the slider.\n")])
    library.move("product", library.documents()[0].id)
    library.add([("mine.md", PEARS[1])])
    assert first(library, SearchScope(), "How is the compression rate changed?") == ["product.md", "product.md"]


def test_the_products_documents_alone_are_limited_to_a_language(library: Library) -> None:
    for language, file in (("en", b"# Pears\n\nHarvest of pears."), ("ko", "# Pears\n\n배를 거두는 때".encode())):
        library.add([(f"product-{language}.md", file)], collection="product")
        library.add([(f"mine-{language}.md", file)])
    filters = Filters(product_language="en", scope=SearchScope(("mine", "product")))
    found = {hit.passage.name for hit in library.sections("pears", filters)}
    assert found == {"product-en.md", "mine-en.md", "mine-ko.md"}


LEASE = """# Lease of the flat

## Notice

The tenant may end the lease with three months of notice.

## Pets

Cats are allowed. A dog needs the consent of the landlord.
"""
MINUTES = """# 3월 운영위원회 회의록

## 예산

올해 행사 예산은 320만 원으로 정했다.

## 담당자

포스터는 김소라, 음식은 박준호, 청소는 이민정이 맡는다.
"""


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The manual with its real vectors, and conversations with a file each, one of which could not be read."""
    with libraries(tmp_path_factory.mktemp("manual")) as open_:
        library = open_(built_in())
        first_run(library)
        attach(library, "en", ("lease.md", LEASE.encode()))
        attach(library, "ko", ("minutes.md", MINUTES.encode()))
        attach(library, "unread", ("empty.md", b""))
        yield library


@pytest.mark.parametrize(
    ("session", "question", "label"),
    [
        ("en", "Summarise the file.", ""),
        ("en", "How do I delete it?", ""),
        ("en", "How long is it?", ""),
        ("en", "What is this document about?", ""),
        ("en", "이 파일 요약해 줘", ""),
        ("ko", "요약해 줘", ""),
        ("unread", "요약해 줘", ""),
        ("ko", "영어로 번역해 줘.", ""),
        ("ko", "What does it say?", ""),
        ("ko", "How big is the budget?", ""),
        ("en", "May I end the lease early?", "lease.md › Notice"),
        ("ko", "예산이 얼마야?", "minutes.md › 예산"),
        (
            "en",
            "How do I switch on dark mode?",
            "faq/en/chat.md › How do I switch to dark mode, or change the language",
        ),
        ("ko", "Gieok을 쓰려면 API 키가 필요해?", "faq/ko/models.md › API 키가 꼭 필요한가요?"),
    ],
)
def test_a_question_that_came_with_files_is_not_answered_from_the_manual_unless_it_means_it(
    manual: Library, session: str, question: str, label: str
) -> None:
    models = scripted.build_scripted_models(profile=SMALL)
    scope = SearchScope(session=session, asked_with_files=True)
    found = manual.look_up(question, models, scope=scope)
    assert [cited.passage.label.startswith(label) for cited in found.passages] == ([True] if label else [])
    assert found.trace[-1].reason == ("" if label else "unrelated")


def test_documents_of_an_earlier_version_are_put_where_they_belong(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs/faq").mkdir(parents=True)
    (tmp_path / "docs/faq/a.md").write_text("# Apples\n\nApples of the product.")
    monkeypatch.setattr(product_docs, "OWN", (tmp_path / "docs/faq",))
    library = opened()
    first_run(library)
    library.add([PEARS])
    with library._rows._store.transaction() as connection:
        connection.execute(text("ALTER TABLE retrieval_document DROP COLUMN collection"))
    library = opened()
    assert [each.collection for each in library.documents()] == ["mine", "mine"]
    assert first_run(library) is None
    assert {each.name: each.collection for each in library.documents()} == {"faq/a.md": "product", "pears.md": "mine"}
    scope = SearchScope(("product",))
    assert [hit.passage.name for hit in library.search("apples pears", Filters(scope=scope))] == ["faq/a.md"]
    assert [each.collection for each in opened().documents()] == ["product", "mine"]
