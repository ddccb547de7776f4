"""Fetching pages: only from machines that are allowed, within limits, where robots.txt allows it."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator, Sequence
from ipaddress import ip_address

import pytest

from errors import (
    DocumentTooLarge,
    PageAddress,
    PageError,
    PageGone,
    PageKind,
    PagePrivate,
    PageRobots,
    PageUnread,
)
from model.call.interrupt import stopped_by
from model.call.stream import Stopped
from retrieval.read import web as fetching
from retrieval.read.address import (
    Guard,
    Machine,
    find_folder_prefix,
    is_near_machine,
    is_public_machine,
    join_page_address,
    normalize_address,
    render_readable_address,
)
from retrieval.read.web import Mark, Web
from tests.retrieval.pages import Reply, Site, serving


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "PAUSE", 0.0)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


def web(limit: int = 10_000, **values: object) -> Web:
    return Web(limit, Guard(is_near_machine), **values)  # type: ignore[arg-type]


# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("HTTPS://Docs.Example.com:443/Guide/?q=1#part", "https://docs.example.com/Guide/?q=1"),
        ("docs.example.com/guide", "https://docs.example.com/guide"),
        (" http://example.com ", "http://example.com/"),
        ("http://example.com:8080/가이드", "http://example.com:8080/%EA%B0%80%EC%9D%B4%EB%93%9C"),
        ("https://문서.한국/", "https://xn--z92bu1i.xn--3e0b707e/"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
    ],
)
def test_an_address_is_kept_in_one_form(given: str, kept: str) -> None:
    assert normalize_address(given) == kept
    assert normalize_address(kept) == kept


@pytest.mark.parametrize(
    "given",
    [
        *(
            "",
            "ftp://example.com/a",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "http://",
            "https://u:p@example.com/",
        ),
        *("http://[::1", "http://example.com:99999/", "https://" + "a" * 3000, "notes", "http://\x00/"),
    ],
)
def test_what_is_no_web_address_is_told(given: str) -> None:
    with pytest.raises(PageAddress):
        normalize_address(given)


def test_links_are_of_the_web_too() -> None:
    assert join_page_address("https://a.example/guide/x", "../faq#top") == "https://a.example/faq"
    for link in ("mailto:a@b.c", "javascript:void(0)", "//[", "data:text/html,x"):
        with pytest.raises(PageAddress):
            join_page_address("https://a.example/", link)


def test_letters_of_an_address_are_shown_but_nothing_that_hides() -> None:
    assert render_readable_address("https://a.example/%EA%B0%80%2F%20") == "https://a.example/가%2F%20"
    for kept in ("https://a.example/%E2%80%AE", "https://a.example/%FF"):
        assert render_readable_address(kept) == kept


@pytest.mark.parametrize(
    ("address", "below"),
    [("/guide/", "/guide/"), ("/guide", "/guide/"), ("/guide/index.html", "/guide/"), ("/", "/"), ("/a.html", "/")],
)
def test_pages_below_an_address_are_those_of_its_folder(address: str, below: str) -> None:
    assert find_folder_prefix(f"https://a.example{address}") == f"https://a.example{below}"


# --- machines -------------------------------------------------------------------------------------

PRIVATE = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
    *("255.255.255.255", "198.18.0.1", "::", "::1", "fe80::1", "fe80::1%2", "fc00::1", "fd00:ec2::254", "ff02::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::7f00:1", "2002:7f00:1::", "fec0::1"),
]


@pytest.mark.parametrize("machine", PRIVATE)
def test_a_machine_that_only_this_network_reaches_is_refused(machine: str) -> None:
    with pytest.raises(PagePrivate):
        Guard(is_public_machine, lambda *_: [machine]).machine("https://name.example/")
    with pytest.raises(PagePrivate):
        Guard(is_public_machine, lambda *_: ["93.184.215.14", machine]).machine("https://name.example/")


@pytest.mark.parametrize(
    "machine", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:93.184.215.14", "64:ff9b::5db8:d70e"]
)
def test_a_public_machine_is_not(machine: str) -> None:
    assert Guard(is_public_machine, lambda *_: [machine]).machine("https://name.example/") == machine


@pytest.mark.parametrize("machine", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "224.0.0.1", "0.0.0.0"])
def test_a_cloud_s_metadata_is_refused_where_private_pages_are_read(machine: str) -> None:
    with pytest.raises(PagePrivate):
        Guard(is_near_machine, lambda *_: [machine]).machine("http://name.example/")
    for allowed in ("127.0.0.1", "::1", "10.0.0.1", "93.184.215.14"):
        assert is_near_machine(ip_address(allowed))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_not_read(site: Site, host: str) -> None:
    with pytest.raises(PagePrivate):
        Web(10_000).fetch(normalize_address(site.at(host=host)))
    assert not site.asked


def test_a_name_is_resolved_once_and_that_machine_is_connected_to(site: Site) -> None:
    """A name that means a public machine when it is checked, and this one a moment later."""
    answers = iter([["127.0.0.1"], ["127.0.0.1"], ["169.254.169.254"]])
    asked: list[str] = []

    def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return next(answers)

    def only_here(machine: Machine) -> bool:
        return str(machine) == "127.0.0.1"

    site.pages = {"/": "Hello."}
    rebinding = Web(10_000, Guard(only_here, resolve))
    assert rebinding.fetch(site.at(host="rebinding.example")).data == b"Hello."
    assert asked == ["rebinding.example"] * 2, "one for robots.txt, one for the page"
    assert site.hosts == [f"rebinding.example:{site.port}"] * 2
    with pytest.raises(PagePrivate, match=r"169\.254\.169\.254"):
        rebinding.fetch(site.at(host="rebinding.example"))
    assert len(site.asked) == 2


def test_a_host_that_is_not_known_is_told() -> None:
    def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    with pytest.raises(PageUnread, match="not known"):
        Web(10, Guard(is_near_machine, unknown)).fetch("https://nowhere.example/")


# --- redirects ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(site: Site, status: int) -> None:
    site.pages = {"/old": Reply(status=status, headers={"Location": "/new"}), "/new": "Here."}
    found = web().fetch(site.at("/old"))
    assert (found.address, found.data) == (site.at("/new"), b"Here.")


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/meta-data/", "http://[fe80::1]/"])
def test_a_redirect_to_a_machine_that_is_not_allowed_is_refused(site: Site, target: str) -> None:
    site.pages = {"/": Reply(status=302, headers={"Location": target})}
    with pytest.raises(PagePrivate):
        Web(10_000, Guard(is_near_machine, lambda host, _: [host.strip("[]")])).fetch(site.at())


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1/"])
def test_a_redirect_out_of_the_web_is_refused(site: Site, target: str) -> None:
    site.pages = {"/": Reply(status=302, headers={"Location": target})}
    with pytest.raises(PageAddress):
        web().fetch(site.at())


def test_redirects_end(site: Site) -> None:
    site.pages = {"/": Reply(status=302, headers={"Location": "/"})}
    with pytest.raises(PageUnread, match="redirects more than 5 times"):
        web().fetch(site.at())
    assert len(site.paths) == 6


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [True, False])
def test_a_page_above_the_limit_is_refused(site: Site, told: bool) -> None:
    endless = None if told else lambda: iter(lambda: b"x" * 1000, b"")
    site.pages = {"/": Reply("x" * 10_001, drip=endless)}
    with pytest.raises(DocumentTooLarge):
        web().fetch(site.at())


def test_what_comes_packed_is_unpacked_as_far_as_the_limit(site: Site) -> None:
    def packed(text: str) -> Reply:
        return Reply(gzip.compress(text.encode()), headers={"Content-Encoding": "gzip"})

    site.pages = {
        "/": packed("Hello."),
        "/bomb": packed("x" * 50_000_000),
        "/br": Reply(headers={"Content-Encoding": "br"}),
    }
    assert web().fetch(site.at()).data == b"Hello."
    with pytest.raises(DocumentTooLarge) as large:
        web(100_000).fetch(site.at("/bomb"))
    assert large.value.values["size"] == 100_001
    with pytest.raises(PageUnread, match="encoding"):
        web().fetch(site.at("/br"))


@pytest.mark.parametrize("part", ["body", "robots"])
def test_a_page_that_drips_is_given_up(site: Site, part: str) -> None:
    begun, gone = threading.Event(), threading.Event()

    def drip() -> Iterator[bytes]:
        begun.set()
        try:
            while not gone.wait(0.02):
                yield b"x"
        finally:
            gone.set()

    site.pages = {"/" if part == "body" else "/robots.txt": Reply(drip=drip)}
    with pytest.raises(PageUnread, match="did not come within"):
        web(seconds=1.0).fetch(site.at())
    if begun.is_set():  # else this machine was too busy to answer at all
        assert gone.wait(60), "the connection is closed"


def test_a_stop_ends_a_page_at_once(site: Site) -> None:
    stop = threading.Event()

    def drip() -> Iterator[bytes]:
        while True:
            time.sleep(0.02)
            yield b"x"

    site.pages = {"/": Reply(drip=drip)}
    threading.Timer(0.2, stop.set).start()
    with stopped_by(stop), pytest.raises(Stopped):
        web().fetch(site.at())


# --- robots.txt, kinds, versions ------------------------------------------------------------------


def test_a_page_that_robots_may_not_read_is_not_asked_for(site: Site) -> None:
    site.pages = {"/robots.txt": Reply("User-agent: *\nDisallow: /private", kind="text/plain"), "/open": "Hello."}
    site.pages["/way"] = Reply(status=302, headers={"Location": "/private/a"})
    here = web()
    assert here.fetch(site.at("/open")).data == b"Hello."
    for path in ("/private/a", "/way"):
        with pytest.raises(PageRobots):
            here.fetch(site.at(path))
    assert site.asked == ["/robots.txt", "/open", "/way"], "asked once for its rules"


@pytest.mark.parametrize(("status", "read"), [(404, True), (403, True), (500, False)])
def test_rules_that_are_not_there_forbid_nothing_and_rules_that_fail_all(site: Site, status: int, read: bool) -> None:
    site.pages = {"/robots.txt": Reply(status=status), "/": "Hello."}
    if read:
        assert web().fetch(site.at()).data
    else:
        with pytest.raises(PageRobots):
            web().fetch(site.at())


@pytest.mark.parametrize(
    ("path", "kind", "suffix"),
    [
        ("/", "text/html", ".html"),
        ("/a", "application/xhtml+xml", ".html"),
        ("/a.md", "text/plain", ".md"),
        ("/a", "Text/Markdown; charset=utf-8", ".md"),
        ("/a.md", "text/html", ".html"),
        ("/a", "text/plain", ".txt"),
        ("/a", "application/pdf", ".pdf"),
    ],
)
def test_a_page_is_read_as_what_its_server_says(site: Site, path: str, kind: str, suffix: str) -> None:
    site.pages = {path: Reply("x", kind=kind)}
    assert web().fetch(site.at(path)).suffix == suffix


@pytest.mark.parametrize("kind", ["image/png", "application/octet-stream", "application/json", ""])
def test_another_kind_is_refused_before_it_is_read(site: Site, kind: str) -> None:
    site.pages = {"/": Reply(kind=kind, drip=lambda: iter(lambda: b"x", b""))}
    with pytest.raises(PageKind):
        web().fetch(site.at())


def test_the_character_set_of_the_server_counts(site: Site) -> None:
    site.pages = {
        "/": Reply("기억".encode("euc-kr"), kind="text/html; charset=EUC-KR"),
        "/bad": Reply("기억", kind="text/html; charset=x"),
    }
    assert web().fetch(site.at()).data == web().fetch(site.at("/bad")).data == "기억".encode()


@pytest.mark.parametrize(("status", "error"), [(404, PageGone), (410, PageGone), (500, PageUnread), (204, PageUnread)])
def test_a_page_that_is_not_given_is_told(site: Site, status: int, error: type[PageError]) -> None:
    site.pages = {"/": Reply(status=status)}
    with pytest.raises(error, match=str(status)):
        web().fetch(site.at())


def test_a_version_that_is_known_is_not_sent_again(site: Site) -> None:
    site.pages = {"/": Reply("One.", etag='"1"')}
    first = web().fetch(site.at())
    assert (first.data, first.mark) == (b"One.", Mark('"1"'))
    assert web().fetch(site.at(), first.mark).data is None
    site.pages = {"/": Reply("Two.", etag='"2"')}
    assert web().fetch(site.at(), first.mark).data == b"Two."


def test_a_server_that_is_away_is_told(site: Site) -> None:
    with pytest.raises(PageUnread, match="connection failed"):
        web().fetch("http://127.0.0.1:1/")
