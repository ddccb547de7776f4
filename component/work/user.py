"""The user of a page: ``me`` without a login, else whoever logged in, by Streamlit's login or at a reverse proxy.

Streamlit ties the user to the page's session: a connection with other claims or another header gets a new session. A
thread without a page has no user, so what it needs of a user is taken before it starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any

import streamlit as st
from streamlit import config
from streamlit.auth_util import get_secrets_auth_section, is_authlib_installed

import settings
from errors import BadLogin, LoggedOut, MissingExtra
from memory import USER
from settings import Settings
from text.user_name import CHARS, from_header, user_name

PROXY = "proxy_user"
"""Key in ``st.user`` of the name that a reverse proxy passes."""
CALLBACK = "/oauth2callback"
_SHARED, _OF_PROVIDER = ("redirect_uri", "cookie_secret"), ("client_id", "client_secret", "server_metadata_url")


@dataclass(frozen=True, slots=True)
class User:
    """A user. ``id``: whose sessions these are; ``name``: for people; ``is_admin``: may change what all users share."""

    id: str
    name: str
    is_admin: bool


ALONE = User(USER, "", True)
"""The user of an installation without a login."""


def has_login() -> bool:
    """Returns whether users log in, by Streamlit's login or at a proxy."""
    return bool(settings.load_current_settings().user_header) or has_own_login()


@cache
def has_own_login() -> bool:
    """Returns whether Streamlit's login is set up, as the secrets were when this was asked first."""
    return bool(get_secrets_auth_section())


def list_login_providers() -> list[str]:
    """Returns the names of the identity providers; ``default`` for one that has no name."""
    section = get_secrets_auth_section().to_dict()
    named = [name for name, value in section.items() if isinstance(value, Mapping) and name != "client_kwargs"]
    return ["default", *named] if "client_id" in section or not named else named


def check_login() -> None:
    """Checks how Streamlit's login is set up, where it is. Raises ``BadLogin``, ``MissingExtra``."""
    if not has_own_login():
        return
    section = get_secrets_auth_section().to_dict()
    missing = [name for name in _SHARED if not section.get(name)]
    for provider in list_login_providers():
        own, prefix = (section, "") if provider == "default" else (section[provider], f"{provider}.")
        missing += [prefix + name for name in _OF_PROVIDER if not own.get(name)]
    if missing:
        names = ", ".join(missing)
        raise BadLogin(reason=f"it lacks {names}", reason_code="missing", names=names)
    if not str(section["redirect_uri"]).endswith(CALLBACK):
        raise BadLogin(reason=f"redirect_uri does not end with {CALLBACK}", reason_code="redirect")
    if scored := [name for name in list_login_providers() if "_" in name]:
        names = ", ".join(scored)
        raise BadLogin(reason=f"the name {names} has an underscore", reason_code="provider", names=names)
    if not is_authlib_installed():
        raise MissingExtra(feature="The login", package="Authlib")


def trust_proxy() -> None:
    """Has Streamlit take the user's name from the proxy's header and tie sessions to it; ``server.network.reach`` has
    removed the header from the requests of others."""
    header = settings.load_current_settings().user_header
    if header:
        config.set_option("server.trustedUserHeaders", {header: PROXY})


def find_page_user() -> User | None:
    """Returns the user of this page; None when nobody is logged in."""
    if not has_login():
        return ALONE
    base, claims = settings.load_current_settings(), _read_user_claims()
    if base.user_header:
        return _of_proxy(base, claims)
    return _of_login(base, claims) if is_logged_in() else None


def is_logged_in() -> bool:
    """Returns whether somebody has logged in by Streamlit's login, also when the login names nobody."""
    return _read_user_claims().get("is_logged_in") is True


def require_page_user() -> User:
    """Returns the user of this page. Raises ``LoggedOut``."""
    user = find_page_user()
    if user is None:
        raise LoggedOut
    return user


def is_admin() -> bool:
    """Returns whether this page's user may change what all users share: documents, the model and its key."""
    user = find_page_user()
    return user is not None and user.is_admin


def may_choose_model() -> bool:
    """Returns whether this page's user may choose the model of this installation."""
    return settings.load_current_settings().model_choice and is_admin()


def _read_user_claims() -> dict[str, Any]:
    """Returns what Streamlit knows about the user; empty in a thread without a page."""
    return dict(st.user.to_dict())


def _of_proxy(base: Settings, claims: Mapping[str, Any]) -> User | None:
    name = from_header(str(claims.get(PROXY) or ""))
    return _build_granted_user(base, name, name, {name}) if name else None


def _of_login(base: Settings, claims: Mapping[str, Any]) -> User | None:
    """Returns the user of an OpenID Connect login: issuer and subject, which together never name another person
    (OpenID Connect Core, section 2). An email address counts as a name for the settings only where the issuer says that
    it has verified it."""
    issuer, subject = (str(claims.get(name) or "") for name in ("iss", "sub"))
    identity = f"{issuer}|{subject}"
    if not user_name(issuer) or not user_name(subject):
        return None
    if len(identity) > CHARS:
        identity = f"{issuer[: CHARS - 65]}|{sha256(identity.encode()).hexdigest()}"
    email = user_name(str(claims.get("email") or ""))
    names = {identity, email, email.casefold()} if claims.get("email_verified") is True else {identity}
    shown = next(filter(None, (user_name(str(claims.get(name) or "")) for name in ("name", "email"))), subject)
    return _build_granted_user(base, identity, shown, names)


def _build_granted_user(base: Settings, identity: str, shown: str, names: set[str]) -> User | None:
    """Returns the user with what the settings grant it; None for a login that only looks like the user ``me``."""
    if base.owner and user_name(base.owner) in names:
        return User(USER, shown, True)
    if identity == USER:
        return None
    return User(identity, shown, bool(names & {user_name(admin) for admin in base.admins}))
