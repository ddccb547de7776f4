"""Keys: the form of specification 6.3, and no way from one tenant to another."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as some

from memory.key import Scope
from tests.table import table

HOSTILE = [
    "a",
    "a:b",
    "b",
    "",
    "{a}",
    "a}",
    "}:{",
    "a\nb",
    "@me",
    "~",
    "%3A",
    "a%3Ab",
    "가:나",
    "*",
    "x" * 5000,
    "\ud800",
]


def test_a_key_has_the_specified_form() -> None:
    scope = Scope("opsnow", "s-1")
    assert scope.keys == ["chat:{opsnow:s-1}:short", "chat:{opsnow:s-1}:memory", "chat:{opsnow:s-1}:entities"]


def test_korean_names_stay_readable() -> None:
    assert Scope("한빛", "세션 1").keys[0] == "chat:{한빛:세션%201}:short"


@table("text", HOSTILE)
def test_a_tag_holds_exactly_one_colon_and_no_brace(text: str) -> None:
    tag = Scope(text, text).tag
    assert tag.count(":") == 1
    assert not set(tag) & set("{}*?[]\n ")


def test_no_two_pairs_of_names_share_a_tag() -> None:
    pairs = list(itertools.product(HOSTILE, HOSTILE))
    tags = {Scope(tenant, session).tag for tenant, session in pairs}
    assert len(tags) == len(pairs)


@given(some.text(), some.text(min_size=1), some.text(), some.text(min_size=1))
def test_different_names_have_different_tags(tenant: str, session: str, tenant2: str, session2: str) -> None:
    same = (tenant, session) == (tenant2, session2)
    assert (Scope(tenant, session).tag == Scope(tenant2, session2).tag) == same
