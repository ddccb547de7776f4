"""Several users of one page: who they are, what each may do, and that nobody meets another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import settings
from component.work import resource, user
from component.work.user import ALONE, User
from memory import USER
from tests.component.listing import act, go, listed, look, titles
from tests.conftest import Serve
from tests.table import table
from tests.test_app import page, say, session_of, texts
from text.user_name import CHARS, from_header, user_name

ALICE, BOB = User("alice", "alice", False), User("bob", "bob", False)
SECRET = "복숭아표식4711"


# --- who somebody is ----------------------------------------------------------------------------


@table(
    ("value", "name"),
    [
        ("alice", "alice"),
        ("  alice ", "alice"),
        ("김민수", "김민수"),
        ("ᄀ" + "ᅵ" + "ᆷ", "김"),
        ("cn=Kim, dc=example", "cn=Kim, dc=example"),
        ("a" * CHARS, "a" * CHARS),
        ("a" * (CHARS + 1), ""),
        ("", ""),
        (" \t", ""),
        ("ali\nce", ""),
        ("ali\u200bce", ""),
        ("ali\u202ece", ""),
    ],
)
def test_a_name_has_one_form_and_an_unusable_one_names_nobody(value: str, name: str) -> None:
    assert user_name(value) == name


@table(
    ("value", "name"),
    [("김민수".encode().decode("latin-1"), "김민수"), ("Zoé".encode("latin-1").decode("latin-1"), "Zoé")],
)
def test_a_header_beyond_ascii_is_read_as_the_proxy_meant_it(value: str, name: str) -> None:
    assert from_header(value) == name


def of(monkeypatch: pytest.MonkeyPatch, claims: dict[str, Any], **own: Any) -> User | None:
    """The user of a page with these claims under these settings."""
    monkeypatch.setattr(settings, "load_current_settings", lambda: settings.load_settings(**own))
    monkeypatch.setattr(user, "has_own_login", lambda: "user_header" not in own)
    monkeypatch.setattr(user, "_read_user_claims", lambda: claims)
    return user.find_page_user()


LOGIN = {"is_logged_in": True, "iss": "https://id.example", "sub": "42", "name": "Alice Kim", "email": "A@example.com"}
ID = User("https://id.example|42", "Alice Kim", False)


@table(
    ("claims", "own", "expected"),
    [
        (LOGIN, {}, ID),
        (LOGIN, {"admins": "https://id.example|42"}, replace(ID, is_admin=True)),
        (LOGIN, {"admins": "a@example.com"}, ID),
        (
            LOGIN | {"email_verified": True},
            {"admins": "bob, a@example.com"},
            replace(ID, is_admin=True),
        ),
        (
            LOGIN | {"email_verified": "true"},
            {"owner": "a@example.com"},
            ID,
        ),
        (LOGIN | {"email_verified": True}, {"owner": "A@example.com"}, User(USER, "Alice Kim", True)),
        (LOGIN | {"is_logged_in": False}, {}, None),
        (LOGIN | {"is_logged_in": "yes"}, {}, None),
        (LOGIN | {"sub": ""}, {}, None),
        (LOGIN | {"iss": None}, {}, None),
        ({"email": "a@example.com"}, {}, None),
        ({}, {}, None),
        ({user.PROXY: "alice"}, {"user_header": "X-User"}, User("alice", "alice", False)),
        ({user.PROXY: "alice"}, {"user_header": "X-User", "admins": "alice"}, User("alice", "alice", True)),
        ({user.PROXY: "alice"}, {"user_header": "X-User", "owner": "alice"}, User(USER, "alice", True)),
        ({user.PROXY: "me"}, {"user_header": "X-User"}, None),
        ({user.PROXY: "me"}, {"user_header": "X-User", "owner": "me"}, User(USER, "me", True)),
        ({user.PROXY: ""}, {"user_header": "X-User"}, None),
        ({user.PROXY: None}, {"user_header": "X-User", "owner": ""}, None),
        (LOGIN, {"user_header": "X-User"}, None),
    ],
)
def test_a_user_is_who_the_login_or_the_proxy_says(
    claims: dict[str, Any], own: dict[str, Any], expected: User | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        assert of(patch, claims, **own) == expected


def test_a_long_identity_is_shortened_to_one_that_is_still_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    users = []
    for subject in ("a" * 190, "a" * 189 + "b"):
        with monkeypatch.context() as patch:
            users.append(of(patch, LOGIN | {"sub": subject}))
    assert all(each is not None and len(each.id) <= CHARS for each in users)
    assert len({each.id for each in users if each is not None}) == 2


def test_without_a_login_the_page_and_the_terminal_are_the_same_user() -> None:
    assert user.find_page_user() == ALONE
    assert ALONE.id == USER
    assert user.is_admin()


# --- what somebody meets ------------------------------------------------------------------------


class Chair:
    """The place before the page, on which users take turns; nobody sits on it with None."""

    def __init__(self) -> None:
        self.user: User | None = ALICE


@pytest.fixture
def chair(monkeypatch: pytest.MonkeyPatch, fresh: None) -> Chair:
    place = Chair()
    monkeypatch.setattr(user, "find_page_user", lambda: place.user)
    monkeypatch.setattr(user, "has_login", lambda: True)
    return place


def alices(serve: Serve, chair: Chair) -> str:
    """Alice's conversation, which Bob is to know nothing of but its id."""
    serve()
    at = say(page(), f"{SECRET} 하나를 말할게")
    return session_of(at)


def test_another_users_conversations_are_not_in_the_list_nor_found(serve: Serve, chair: Chair) -> None:
    alices(serve, chair)
    assert any(SECRET in title for title in titles(page()))
    assert SECRET in str(listed(look(page(), SECRET)))
    chair.user = BOB
    at = page()
    assert titles(at) == []
    hits = listed(look(at, SECRET))
    assert hits["hits"] == [] or SECRET not in str(hits["hits"])
    assert SECRET not in texts(at)


def test_a_guessed_id_in_the_address_is_an_unknown_conversation(serve: Serve, chair: Chair) -> None:
    session = alices(serve, chair)
    chair.user = BOB
    at = page(s=session)
    assert "찾을 수 없습니다" in at.error[0].value
    assert "s" not in at.query_params
    assert SECRET not in texts(at)


@pytest.mark.parametrize("do", ["pin", "rename", "export", "delete", "move", "create"])
def test_an_action_of_the_list_on_a_guessed_id_changes_and_shows_nothing(serve: Serve, chair: Chair, do: str) -> None:
    session = alices(serve, chair)
    before = resource.find_user_agent().store.session(session)
    chair.user = BOB
    at = page()
    act(at, do, ids=[session], on=True, title="geraubt", folder="", name="Ordner")
    at.run()
    for button in at.button:
        if button.key and button.key.startswith(("delete", "erase", "export")):
            button.click().run()
    assert not at.exception
    assert SECRET not in texts(at)
    chair.user = ALICE
    assert resource.find_user_agent().store.session(session) == before


def test_opening_and_switching_a_guessed_conversation_leads_nowhere(serve: Serve, chair: Chair) -> None:
    session = alices(serve, chair)
    chair.user = BOB
    assert SECRET not in texts(go(page(), session))
    assert SECRET not in texts(go(page(), session, 1, 0))


def test_the_trash_and_the_folders_are_each_users_own(serve: Serve, chair: Chair) -> None:
    session = alices(serve, chair)
    act(page(), "create", ids=[session], name=SECRET)
    resource.find_user_agent().put_away(session)
    assert listed(page())["trash"] is True
    chair.user = BOB
    shown = listed(page())
    assert shown["trash"] is False
    assert shown["folders"] == []
    assert SECRET not in texts(act(page(), "trash", ids=[]))


def test_running_work_belongs_to_its_user(serve: Serve, chair: Chair) -> None:
    serve()
    first = resource.find_user_jobs(), resource.side_calls()
    chair.user = BOB
    second = resource.find_user_jobs(), resource.side_calls()
    assert all(one is not other for one, other in zip(first, second, strict=True))
    chair.user = ALICE
    assert (resource.find_user_jobs(), resource.side_calls()) == first
    assert resource.open_shared_agent().models is resource.find_user_agent().models


def test_a_private_chat_works_for_every_user_and_is_in_nobodys_list(serve: Serve, chair: Chair) -> None:
    serve()
    at = page()
    at.button(key="private-begin").click().run()
    say(at, f"{SECRET} 하나를 말할게")
    assert SECRET in texts(at)
    assert titles(at) == []
    chair.user = BOB
    assert titles(page()) == []


def test_of_somebody_who_is_not_logged_in_the_page_shows_the_login_alone(serve: Serve, chair: Chair) -> None:
    session = alices(serve, chair)
    chair.user = None
    at = page(s=session)
    assert at.button(key="login-default").label == "로그인"
    assert [each.key for each in at.button] == ["login-default"]
    assert SECRET not in texts(at)
    assert page("en-US").button(key="login-default").label == "Log in"


def test_only_an_administrator_changes_what_all_users_share(
    serve: Serve, chair: Chair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIEOK_RETRIEVAL", "true")
    settings.load_current_settings.cache_clear()
    serve()
    for somebody, may in ((ALICE, False), (replace(ALICE, is_admin=True), True)):
        chair.user = somebody
        at = page(view="documents")
        assert bool(at.get("file_uploader")) is may
        assert any("관리자만" in each.value for each in at.caption) is not may
        at = page(view="settings")
        assert any(each.key == "models-kind" for each in at.segmented_control) is may
