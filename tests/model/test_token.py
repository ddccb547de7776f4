from __future__ import annotations

from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.call import token
from model.endpoint import Found
from model.modelset import Kind
from model.profile import SMALL, ProfileChoice
from tests.stub.upstream import Upstream


def _found(upstream: Upstream, kind: Kind = "embedded", key: str = "k") -> Found:
    return Found(
        kind=kind,
        url=upstream.url,
        key=key,
        chat_model="m",
        utility_model="m",
        chat=ProfileChoice(SMALL, "catalogue"),
        utility=ProfileChoice(SMALL, "one_slot"),
        context_size=4096,
        label="m",
    )


@pytest.fixture
def tokenizing() -> Upstream:
    return Upstream(tokenizes=True, key="k")


@pytest.mark.parametrize("kind", ["embedded", "local"])
def test_the_servers_own_tokenizer_counts_exactly(tokenizing: Upstream, kind: Kind) -> None:
    with tokenizing:
        count, exact = token.choose_token_counter(_found(tokenizing, kind))
        assert exact
        assert (count("안녕 you"), count("")) == (6, 0)


def test_a_text_is_asked_once(tokenizing: Upstream) -> None:
    with tokenizing:
        count, _ = token.choose_token_counter(_found(tokenizing))
        before = len(tokenizing.others)
        assert [count("hello") for _ in range(3)] == [5, 5, 5]
        assert len(tokenizing.others) == before + 1


def test_memory_is_bounded(tokenizing: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token, "REMEMBERED", 2)
    with tokenizing:
        count, _ = token.choose_token_counter(_found(tokenizing))
        for text in ("a", "bb", "ccc"):
            count(text)
        before = len(tokenizing.others)
        assert (count("ccc"), count("bb"), count("a")) == (3, 2, 1)
        assert len(tokenizing.others) == before + 1


def test_a_hosted_server_is_not_asked(tokenizing: Upstream) -> None:
    with tokenizing:
        count, exact = token.choose_token_counter(_found(tokenizing, "hosted"))
        assert (count, exact) == (token.estimate_tokens, False)
        assert tokenizing.others == []


def test_a_local_server_without_a_tokenizer_gives_an_estimate(upstream: Upstream) -> None:
    assert token.choose_token_counter(_found(upstream, "local")) == (token.estimate_tokens, False)


def test_a_wrong_key_gives_an_estimate(tokenizing: Upstream) -> None:
    with tokenizing:
        assert token.choose_token_counter(_found(tokenizing, key="wrong")) == (token.estimate_tokens, False)


def test_a_server_that_goes_away_fails_no_turn_and_is_asked_once(
    tokenizing: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, post = list[str](), httpx2.Client.post

    def counted(client: httpx2.Client, path: str, **named: Any) -> httpx2.Response:
        asked.append(path)
        return post(client, path, **named)

    monkeypatch.setattr(httpx2.Client, "post", counted)
    with tokenizing:
        count, _ = token.choose_token_counter(_found(tokenizing))
        assert count("remembered") == 10
    asked.clear()
    assert [count(f"new text {number}") for number in range(20)] == [
        token.estimate_tokens(f"new text {number}") for number in range(20)
    ]
    assert count("remembered") == 10
    assert len(asked) == 1


def test_a_server_that_does_not_run_is_not_asked_and_one_that_came_back_elsewhere_is(tokenizing: Upstream) -> None:
    with tokenizing, Upstream(tokenizes=True, key="new") as moved:
        address: list[tuple[str, str] | None] = [(tokenizing.url, "k")]
        count, exact = token.choose_token_counter(_found(tokenizing), lambda: address[0])
        assert exact
        assert isinstance(count, token.Tokenizer)
        before, address[0] = len(tokenizing.others), None
        assert count("hello there") == token.estimate_tokens("hello there") != 11
        address[0] = moved.url, "new"
        count.resume_look_ups()
        assert count("hello there") == 11
        assert len(tokenizing.others) == before, "another program may listen there by now"


def test_a_server_that_does_not_run_is_looked_for_once_until_it_runs_again(
    tokenizing: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token, "LOOK_SECONDS", 1000.0)
    looks, address = list[None](), list[tuple[str, str] | None]([None])

    def look_up() -> tuple[str, str] | None:
        looks.append(None)
        return address[0]

    count = token.Tokenizer(look_up)
    with tokenizing:
        texts = [f"text {number}" for number in range(20)]
        assert [count(text) for text in texts] == [token.estimate_tokens(text) for text in texts]
        assert len(looks) == 1
        address[0] = tokenizing.url, "k"
        assert count("text 1") == token.estimate_tokens("text 1") != 6
        assert len(looks) == 1
        count.resume_look_ups()
        assert count("text 1") == 6


def test_text_that_utf8_cannot_hold_is_counted(tokenizing: Upstream) -> None:
    with tokenizing:
        assert token.choose_token_counter(_found(tokenizing))[0]("a\ud800\x00b") == 3


MEASURED = {  # by Qwen2.5-Coder's own tokenizer
    "오늘 저녁에 뭐 먹을지 추천해 줘. 매운 건 싫고, 집에 두부랑 계란이랑 대파가 있어.": 38,
    "Can you suggest something for dinner tonight? Nothing spicy, I've got tofu, eggs and spring onions.": 21,
}


@pytest.mark.parametrize(("text", "tokens"), MEASURED.items())
def test_the_estimate_is_near_in_both_languages(text: str, tokens: int) -> None:
    assert token.estimate_tokens(text) == pytest.approx(tokens, rel=0.25)


@given(st.text(min_size=1), st.text(min_size=1))
def test_an_estimate_grows_with_its_text_and_is_never_zero(first: str, second: str) -> None:
    assert 1 <= token.estimate_tokens(first) <= token.estimate_tokens(first + second)
