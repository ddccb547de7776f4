"""Who reaches the page: only this machine without a login, everybody through a login or a reverse proxy with one.

The page knows its user in one of three ways: there is no login and it is the user ``me``; Streamlit's own login
(``[auth]`` in ``.streamlit/secrets.toml``); or a header of a reverse proxy (setting ``user_header``), which goes before
Streamlit's login.
"""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Iterator, Sequence
from ipaddress import ip_network

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from errors import BadAddress, BadSetting, NeedsLogin, PortTaken
from server.phrase import render_phrase, resolve_language
from settings import Settings, believes_only_loopback, find_variable_name, load_current_settings
from text.ip_address import is_loopback_address, parse_ip_address
from text.user_name import from_header

HEALTH = "/_stcore/health"
"""The path that a balancer asks without a user; it tells only that the page runs."""
_FOR = re.compile(r'for="?([^;,"]*)', re.IGNORECASE)
"""A client in the header ``Forwarded`` (RFC 7239, section 5.2)."""
PEERS = {"FORWARDED_ALLOW_IPS": ""}
"""Variable of uvicorn with which a client is always the peer of its connection, whatever ``X-Forwarded-For`` says."""
MOST_PORT = 65_535
_BY_UVICORN = 0
"""The port of a client whose address uvicorn took from ``X-Forwarded-For``. uvicorn does so for peers on this machine
(``ProxyHeadersMiddleware``); a peer of a real connection never has this port."""


def check_page_reach(address: str | None, chosen_settings: Settings, *, login: bool) -> None:
    """Raises ``NeedsLogin`` when a server at this address would be open to other machines without a login.

    ``address``: empty for every address of the machine. ``login``: whether Streamlit's login is set up.
    """
    if not (login or chosen_settings.user_header or is_loopback_address(address or "")):
        raise NeedsLogin(address=address or "0.0.0.0")


def page_name(host: str, settings: Settings) -> str:
    """Returns the name for people, as it stands in a URL, of a server on ``host``."""
    parsed = parse_ip_address(host)
    if parsed is not None and parsed.is_unspecified:
        host = next(iter(settings.hosts), "127.0.0.1")
    return f"[{host}]" if ":" in host else host


def free_port(wanted: int, host: str = "127.0.0.1") -> int:
    """Returns the first port from ``wanted`` on that nothing listens to at this address. Raises ``BadAddress``, and
    ``PortTaken`` where there is none."""
    for port in range(wanted, MOST_PORT + 1):
        if is_free(port, host):
            return port
    raise PortTaken(address=host, port=wanted)


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Returns whether nothing listens to this port of the address. Raises ``BadAddress``."""
    try:
        claim_port(host, port).close()
    except PortTaken:
        return False
    return True


def claim_port(host: str, port: int) -> socket.socket:
    """Returns a socket that has the address and does not listen yet: until its server is ready, clients are refused at
    once instead of waiting for it. Raises ``BadAddress``, and ``PortTaken`` where another program listens."""
    claimed = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        claimed.bind((host, port))
    except OSError as error:
        claimed.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(address=host, port=port) from error
        raise BadAddress(address=f"{host}:{port}", reason=error.strerror or type(error).__name__) from error
    return claimed


class ReachGuard:
    """ASGI middleware that refuses requests and websockets of nobody.

    Without a login: of another machine, also through a proxy on this machine. With ``user_header``: without a user's
    name from a trusted proxy; a header from anyone else never gets to the page. With Streamlit's login everybody
    reaches the login page, and the page itself refuses the rest.
    """

    def __init__(self, app: ASGIApp, login: bool = False) -> None:
        self._app, self._login = app, login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None if scope["type"] == "lifespan" else self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse(refusal, 403)(scope, receive, send)

    def _refusal(self, scope: Scope) -> str | None:
        """Returns why the request is refused, else None. Takes an untrusted user's header out of the request."""
        settings = load_readable_settings()
        if settings is not None and settings.user_header:
            if _named_user(scope, settings) or scope["path"] == HEALTH:
                return None
            names = {"header": settings.user_header, "proxies": find_variable_name("trusted_proxies")}
            return render_settings_phrase(settings, "reach.no_user", **names)
        if self._login or from_here(scope):
            return None
        return render_settings_phrase(settings, "reach.no_login", header=find_variable_name("user_header"))


def _named_user(scope: Scope, settings: Settings) -> str:
    """Returns the user's name that a trusted proxy passes; '' without one. Leaves at most this header in the request:
    two of them, of which the proxy may have written only one, name nobody."""
    header = settings.user_header.lower().encode()
    values = [value for name, value in scope["headers"] if name == header]
    name = from_header(values[0].decode("latin-1")) if len(values) == 1 and _is_trusted(scope, settings) else ""
    if not name:
        scope["headers"] = [(other, value) for other, value in scope["headers"] if other != header]
    return name


def _is_trusted(scope: Scope, settings: Settings) -> bool:
    """Returns whether the peer of the connection is a trusted proxy."""
    host, port = scope["client"] or ("", _BY_UVICORN)
    if port == _BY_UVICORN:
        host = "127.0.0.1" if host and believes_only_loopback() else ""
    return _is_in(host, settings.trusted_proxies)


def from_here(scope: Scope) -> bool:
    """Returns whether the request began on this machine: neither its peer nor a forwarding proxy names another."""
    headers = Headers(scope=scope)
    peer = scope["client"][0] if scope["client"] else ""
    forwarded = [part.strip() for value in headers.getlist("x-forwarded-for") for part in value.split(",")]
    forwarded += [match[1] for value in headers.getlist("forwarded") for match in _FOR.finditer(value)]
    return all(map(is_loopback_address, [peer, *forwarded]))


def _is_in(host: str, networks: Sequence[str]) -> bool:
    parsed = parse_ip_address(host)
    return parsed is not None and any(parsed in ip_network(network, strict=False) for network in networks)


def own_address(scope: Scope) -> Iterator[str]:
    """Yields the address of this machine at which the request arrived, if it is one and not a name."""
    server = scope.get("server")
    if server and (parsed := parse_ip_address(str(server[0]))) is not None:
        yield str(parsed)


def load_readable_settings() -> Settings | None:
    """Returns the settings; None when they cannot be read, an error that the page shows."""
    try:
        return load_current_settings()
    except BadSetting:
        return None


def render_settings_phrase(settings: Settings | None, key: str, **values: str) -> str:
    """Returns a sentence in the language of the settings, or of the system."""
    return render_phrase(resolve_language("auto", settings.language if settings else "auto"), key, **values)
