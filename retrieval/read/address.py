"""Web addresses: which ones are read, how they are written, and which machines they may lead to."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit, urlunsplit

from errors import PageAddress, PagePrivate, PageUnread

CHARS = 2000
"""The longest address, in characters."""
_PORTS = {"http": 80, "https": 443}
_NAT64 = IPv6Network("64:ff9b::/96")
_FOREIGN = re.compile(r"(?:%[89A-F][0-9A-F])+", re.IGNORECASE)
_BARE = re.compile(r"[\w-]+(\.[\w-]+)+(:\d+)?(/|$)")
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_SAFE = "/%!$&'()*+,;=:@-._~"
Machine = IPv4Address | IPv6Address
Allowed = Callable[[Machine], bool]
Resolve = Callable[[str, int], Sequence[str]]
"""A function that returns the addresses of a host name, for a port. Raises ``OSError``."""


def is_web(text: str) -> bool:
    """Returns whether the text names a web page, not a file."""
    return text.lower().startswith(("http://", "https://"))


def normalize_address(text: str) -> str:
    """Returns the address in the form that the library keeps: http or https, the host in lower case, no fragment, and
    no port that the scheme implies. A host without a scheme gets https. Raises ``PageAddress``."""
    address = "".join(text.split())[: CHARS + 1]
    address = f"https://{address}" if _BARE.match(address) else address
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").encode("idna").decode("ascii"), parts.port
    except (ValueError, UnicodeError):
        host, port, parts = "", None, urlsplit("")
    if parts.scheme not in _PORTS:
        raise PageAddress(name=text[:CHARS], reason="it does not begin with http:// or https://", reason_code="scheme")
    if not _HOST.fullmatch(host) or len(address) > CHARS:
        raise PageAddress(name=text[:CHARS], reason="its host cannot be read", reason_code="host")
    if parts.username is not None:
        raise PageAddress(name=text[:CHARS], reason="it holds a user name", reason_code="user")
    netloc = f"[{host}]" if ":" in host else host
    netloc = netloc if port in (None, _PORTS[parts.scheme]) else f"{netloc}:{port}"
    return urlunsplit((parts.scheme, netloc, quote(parts.path, _SAFE) or "/", quote(parts.query, f"{_SAFE}?"), ""))


def join_page_address(page: str, link: str) -> str:
    """Returns the address that a link of a page leads to. Raises ``PageAddress``."""
    try:
        return normalize_address(urljoin(page, link.strip()))
    except ValueError as error:
        raise PageAddress(name=link[:CHARS], reason="its host cannot be read", reason_code="host") from error


def render_readable_address(address: str) -> str:
    """Returns the address as people read it, with letters of other scripts instead of their escaped bytes; both lead to
    the same page."""
    return _FOREIGN.sub(lambda match: _decode_escaped_letters(match[0]), address)


def _decode_escaped_letters(escaped: str) -> str:
    try:
        text = unquote_to_bytes(escaped).decode()
    except UnicodeDecodeError:
        return escaped
    return text if text.isprintable() else escaped


def read_address_origin(address: str) -> str:
    """Returns scheme, host and port."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def port_of(address: str) -> int:
    """Returns the port of the address, or the usual one of its scheme."""
    parts = urlsplit(address)
    return parts.port or _PORTS[parts.scheme]


def find_folder_prefix(address: str) -> str:
    """Returns the prefix of the pages below an address: «/guide/» for «/guide/», «/guide/index.html» and «/guide»."""
    path = urlsplit(address).path
    last = path.rpartition("/")[2]
    return read_address_origin(address) + (path[: len(path) - len(last)] if "." in last or not last else f"{path}/")


def is_public_machine(machine: Machine) -> bool:
    """Returns whether anybody could reach the machine. Excludes addresses of a private network, of this machine or
    link, of a carrier's own network and of a cloud's metadata. ``_list_contained_machines`` finds the addresses inside
    other addresses, so that the guard checks those, too."""
    return machine.is_global and not (machine.is_multicast or machine.is_reserved or _site_local(machine))


def is_near_machine(machine: Machine) -> bool:
    """Returns whether the machine is ``is_public_machine``, or this machine, or in a private network; never on the
    link, where clouds keep their metadata."""
    routable = not (machine.is_link_local or machine.is_multicast or machine.is_unspecified or machine.is_reserved)
    return routable or machine.is_loopback


def _site_local(machine: Machine) -> bool:
    return isinstance(machine, IPv6Address) and machine.is_site_local


def _list_contained_machines(text: str) -> list[Machine]:
    """Returns the machine of an IP address, and the IPv4 machine that an IPv6 address contains."""
    machine = ip_address(text.partition("%")[0])
    if isinstance(machine, IPv4Address):
        return [machine]
    translated = machine.ipv4_mapped or (IPv4Address(int(machine) & 0xFFFFFFFF) if machine in _NAT64 else None)
    tunnelled = machine.sixtofour or (machine.teredo[1] if machine.teredo else None)
    return [translated] if translated else [machine, tunnelled] if tunnelled else [machine]


def resolve_host(host: str, port: int) -> list[str]:
    """Returns the addresses that the system knows for a host."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


@dataclass(frozen=True, slots=True)
class Guard:
    """A check that resolves an address once and allows only some machines. The caller connects to the machine returned,
    whatever the host name resolves to a moment later."""

    allowed: Allowed = is_public_machine
    resolve: Resolve = resolve_host

    def machine(self, address: str) -> str:
        """Returns the IP address of the machine. Raises ``PageUnread`` and, when any of the host's machines is not
        allowed, ``PagePrivate``."""
        try:
            addresses = list(self.resolve(urlsplit(address).hostname or "", port_of(address)))
            machines = [machine for ip in addresses for machine in _list_contained_machines(ip)]
        except (OSError, UnicodeError, ValueError) as error:
            raise PageUnread(
                name=render_readable_address(address), reason="its host is not known", reason_code="host"
            ) from error
        refused = next((machine for machine in machines if not self.allowed(machine)), None)
        if refused is not None:
            raise PagePrivate(name=render_readable_address(address), address=str(refused))
        if not addresses:
            raise PageUnread(name=render_readable_address(address), reason="its host is not known", reason_code="host")
        return addresses[0]
