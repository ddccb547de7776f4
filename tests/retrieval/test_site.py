"""Web pages in the library: one, or those below an address; read again, changed, gone, moved."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from errors import PageError
from retrieval import Added, Library
from retrieval.read import site as visiting
from retrieval.read import web as fetching
from retrieval.read.site import Page, find_page_links
from retrieval.read.web import Fetched, Mark
from tests.retrieval.conftest import Opened, Words
from tests.retrieval.pages import Reply, Site, page, serving


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "PAUSE", 0.0)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture
def library(opened: Opened) -> Library:
    return opened(private_pages=True)


def fruit(site: Site) -> None:
    site.pages = {
        "/guide/": page(
            "Guide", "All about fruit.", "pears", "/guide/apples", "/other", "https://example.com/", "?p=1"
        ),
        "/guide/pears": page("Pears", "Pears are green.", "apples#top", "mailto:a@b.c", "missing", "picture"),
        "/guide/apples": page("Apples", "Apples are red.", "/guide/"),
        "/guide/picture": Reply(kind="image/png"),
        "/other": page("Other", "Not below."),
    }


def names(done: Added) -> dict[str, list[str]]:
    kinds = ("added", "changed", "unchanged", "removed")
    told = {kind: sorted(name.split("/", 3)[3] for name in getattr(done, kind)) for kind in kinds}
    return {kind: some for kind, some in told.items() if some} | (
        {"failed": [error.code for _, error in done.failed]} if done.failed else {}
    )


# --- one page -------------------------------------------------------------------------------------


def test_a_page_is_found_cited_and_told_by_its_address(library: Library, site: Site) -> None:
    fruit(site)
    address = site.at("/guide/pears")
    assert library.add([Page(address)]).added == (address,)
    (document,) = library.documents()
    assert (document.name, document.source, document.title, document.doc_type) == (address, address, "Pears", "guide")
    hit = library.search("pears")[0]
    assert (hit.passage.label, hit.passage.text.split("\n")[0]) == (address, "Pears are green.")
    assert site.paths == ["/guide/pears"], "nothing else is asked for"


@pytest.mark.parametrize("etag", ["", '"1"'])
def test_a_page_that_did_not_change_is_not_embedded_again(
    library: Library, site: Site, words: Words, etag: str
) -> None:
    site.pages = {"/faq/pears": Reply(page("Pears", "Pears are green."), etag=etag)}
    library.add([Page(site.at("/faq/pears"))])
    (document,) = library.documents()
    assert document.doc_type == "faq"
    made = len(words.made)
    assert names(library.reindex(document.id)) == {"unchanged": ["faq/pears"]}
    assert (len(words.made), library.document(document.id)) == (made, document)
    site.pages = {"/faq/pears": Reply(page("Pears", "Pears are yellow."), etag='"2"')}
    assert names(library.reindex(document.id)) == {"changed": ["faq/pears"]}
    assert "yellow" in library.search("pears")[0].passage.text
    library.set_type(document.id, "guide")
    assert names(library.add([Page(site.at("/faq/pears"))], "faq")) == {"changed": ["faq/pears"]}


def test_a_mark_counts_only_for_the_content_that_the_library_has(library: Library, site: Site) -> None:
    """A crash between fetching and publishing must not make the new version look known."""
    address = site.at("/a")
    site.pages = {"/a": Reply(page("A", "First."), etag='"1"')}
    library.add([Page(address)])
    site.pages = {"/a": Reply(page("A", "Second."), etag='"2"')}
    library._marks.keep(address, Mark('"2"'), "f" * 64)
    assert names(library.add([Page(address)])) == {"changed": ["a"]}


def test_a_page_that_cannot_be_read_is_told_and_not_listed(opened: Opened, site: Site) -> None:
    fruit(site)
    careful = opened()
    done = careful.add([Page(site.at("/guide/")), ("notes.md", b"# Notes\n\nText.\n")])
    assert [error.code for _, error in done.failed] == ["page_private"]
    assert [each.name for each in careful.documents()] == ["notes.md"]
    assert not site.asked


@pytest.mark.parametrize("status", [404, 500])
def test_a_page_that_is_gone_stays_as_it_was_when_it_is_read_again(library: Library, site: Site, status: int) -> None:
    fruit(site)
    library.add([Page(site.at("/guide/pears"))])
    (document,) = library.documents()
    site.pages = {"/guide/pears": Reply(status=status)}
    done = library.reindex(document.id)
    assert names(done) == {"failed": ["page_gone" if status == 404 else "page_unread"]}
    assert library.documents() == [document]
    assert library.search("pears")


def test_a_page_keeps_its_address_when_it_moves(library: Library, site: Site) -> None:
    fruit(site)
    library.add([Page(site.at("/guide/pears"))])
    (document,) = library.documents()
    site.pages |= {
        "/guide/pears": Reply(status=301, headers={"Location": "/pears"}),
        "/pears": page("Pears", "Pears moved."),
    }
    assert names(library.reindex(document.id)) == {"changed": ["guide/pears"]}


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/markdown", "# Pears\n\nPears are green.\n", "Pears are green."),
        ("text/plain", "Pears are green.", "Pears are green."),
        ("text/html", "<p>Pears are green.", "Pears are green."),
        ("text/html", "", "document_empty"),
        ("application/pdf", "Pears", "document_mislabelled"),
    ],
)
def test_kinds_are_read_by_their_readers(library: Library, site: Site, kind: str, body: str, text: str) -> None:
    site.pages = {"/": Reply(body, kind=kind)}
    done = library.add([Page(site.at())])
    if done.failed:
        ((name, error),) = done.failed
        assert (name, error.code, error.values["name"]) == (site.at(), text, site.at())
    else:
        assert library.search("pears")[0].passage.text == text


# --- a site ---------------------------------------------------------------------------------------


def test_a_site_is_read_below_its_address_and_nowhere_else(library: Library, site: Site) -> None:
    fruit(site)
    done = library.add([Page(site.at("/guide/"), below=True)])
    assert names(done) == {"added": ["guide/", "guide/apples", "guide/pears"]}
    assert sorted(site.paths) == sorted(
        ["/guide/", "/guide/pears", "/guide/apples", "/guide/missing", "/guide/picture"]
    )
    assert len(set(site.paths)) == len(site.paths), "each is asked for once"


def test_a_site_that_is_read_again_brings_what_is_new_and_drops_what_is_gone(library: Library, site: Site) -> None:
    fruit(site)
    whole = Page(site.at("/guide/"), below=True)
    library.add([whole, Page(site.at("/other"))])
    site.pages["/guide/"] = page("Guide", "All about fruit.", "plums", "new")
    site.pages["/guide/plums"] = page("Plums", "Plums are blue.")
    site.pages["/guide/new"] = Reply(status=302, headers={"Location": "plums"})
    site.pages["/guide/pears"] = Reply(status=301, headers={"Location": "plums"})
    del site.pages["/guide/apples"], site.pages["/other"]
    assert names(library.add([whole])) == {
        "added": ["guide/plums"],
        "changed": ["guide/"],
        "removed": ["guide/apples", "guide/pears"],
    }
    assert [each.title for each in library.documents()] == ["Guide", "Plums", "Other"]


def test_a_page_that_fails_for_now_stays_and_the_others_go_on(library: Library, site: Site) -> None:
    fruit(site)
    whole = Page(site.at("/guide/"), below=True)
    library.add([whole])
    site.pages["/guide/pears"] = Reply(status=503)
    assert names(library.add([whole])) == {"unchanged": ["guide/", "guide/apples"], "failed": ["page_unread"]}
    assert len(library.documents()) == 3


def test_unchanged_pages_of_a_site_are_not_sent_again(library: Library, site: Site) -> None:
    fruit(site)
    site.pages |= {path: Reply(each, etag='"1"') for path, each in site.pages.items() if isinstance(each, str)}
    whole = Page(site.at("/guide/"), below=True)
    library.add([whole])
    assert names(library.add([whole])) == {"unchanged": ["guide/", "guide/apples", "guide/pears"]}


def test_a_site_without_end_is_bounded_and_that_is_told(
    library: Library, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visiting, "PAGES", 3)
    site.pages = {f"/{number}": page(f"Page {number}", "Text.", f"/{number + 1}") for number in range(9)}
    done = library.add([Page(site.at("/0"), below=True), Page(site.at("/8"))])
    assert len(done.added) == 2, "below /0/ there is nothing"
    site.pages["/"] = page("All", "Text.", *site.pages)
    done = library.add([Page(site.at("/"), below=True)])
    assert (len(done.added) + len(done.unchanged), [error.code for _, error in done.failed]) == (3, ["page_limit"])
    assert not done.removed


def test_a_site_whose_first_page_fails_is_told(library: Library, site: Site) -> None:
    ((name, error),) = library.add([Page(site.at("/none/"), below=True)]).failed
    assert (name, error.code) == (site.at("/none/"), "page_gone")
    assert not library.documents()


def test_a_stop_keeps_the_pages_that_are_in(library: Library, site: Site) -> None:
    fruit(site)
    stop = threading.Event()
    told: list[str] = []

    def progress(at: object) -> None:
        told.append(str(at))
        if len(site.paths) == 2:
            stop.set()

    done = library.add([Page(site.at("/guide/"), below=True)], progress=progress, stop=stop)
    assert done.cancelled
    assert 1 <= len(library.documents()) <= 2
    assert names(library.add([Page(site.at("/guide/"), below=True)]))["added"]


def test_links_of_a_hostile_page_are_found_in_time_that_grows_with_it() -> None:
    hostile = b"<a " * 300_000 + b'<a href="x">' + b"<a href='" * 10_000
    begun = Fetched("https://a.example/", ".html", hostile, Mark())
    assert find_page_links(begun) == ["https://a.example/x"]


def test_an_address_that_is_none_is_told_before_anything_is_read() -> None:
    with pytest.raises(PageError):
        Page("file:///etc/passwd")
