"""From ``REDIS_URL`` to a client of redis-py: one server, TLS, a Unix socket, Sentinel, or Cluster.

Forms: ``redis://``, ``rediss://`` and ``unix://`` as redis-py reads them; ``redis+sentinel://host:port,host:port/name/0``;
``redis+cluster://host:port,host:port``; the last two also with ``rediss+``, which is TLS all the way, and with what
redis-py reads after a ``?``, such as ``ssl_ca_certs``. Sentinels have a login of their own: ``sentinel_username`` and
``sentinel_password`` after the ``?``. A plain address that turns out to be a node of a cluster is used as one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from inspect import signature
from typing import Any
from urllib.parse import urlsplit

import redis
from redis import RedisError
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import Connection, ConnectionPool, SSLConnection, parse_url
from redis.exceptions import RedisClusterException
from redis.retry import Retry
from redis.sentinel import Sentinel

from errors import BadSetting, MemoryAway

SOCKET_SECONDS = 2.0
CONNECT_SECONDS = 1.0
_LOGIN = ("username", "password")
_SCHEME = re.compile(r"^[\w+-]+://")
_PLAIN = ("redis", "rediss", "unix")
_ADDRESS = re.compile(
    r"(?P<scheme>rediss?)\+(?P<kind>sentinel|cluster)://(?P<login>[^@/]*@)?(?P<hosts>[^/?]+)"
    r"(?P<path>/[^?]*)?(?P<query>\?.*)?"
)

Client = Any
"""``redis.Redis`` or ``RedisCluster``: both take the commands that the store uses."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where Redis is. ``kind``: plain, sentinel or cluster; ``options``: user, password, TLS."""

    kind: str
    url: str
    hosts: tuple[tuple[str, int], ...] = ()
    service: str = ""
    database: int = 0
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def shown(self) -> str:
        """The address without user and password."""
        return _shown(self.url)


def parse(url: str) -> Address:
    """Read ``REDIS_URL``. Raises ``BadSetting``."""
    url = url.strip()
    try:
        made = Address("plain", url) if url.split("://")[0] in _PLAIN else _several(url)
        _try(made)
    except (ValueError, TypeError, RedisError):  # their own words may hold a part of the password
        reason = (
            "a port or the database is not a number, an option is wrong or unknown, or a password has a letter such "
            "as / or @ that is not written as %2F or %40"
        )
        raise _bad(url, reason, "option") from None
    return made


def _several(url: str) -> Address:
    """Sentinels, or nodes of a cluster."""
    found = _ADDRESS.fullmatch(url)
    if found is None:
        forms = "redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://"
        raise _bad(url, f"it must start with {forms}", "scheme")
    path = [part for part in (found["path"] or "").split("/") if part]
    if found["kind"] == "sentinel" and not path:
        raise _bad(url, "the name of the monitored master is missing after the hosts", "master")
    hosts = tuple(_host(part, 26379 if found["kind"] == "sentinel" else 6379) for part in found["hosts"].split(","))
    database = int(path[1]) if len(path) > 1 else 0
    return Address(found["kind"], url, hosts, path[0] if path else "", database, _options(found))


def _try(address: Address) -> None:
    """Makes a connection without opening it: redis-py finds what is wrong with an address as late as then. Raises what
    redis-py raises, and ``ValueError``."""
    if address.kind == "sentinel":
        _sentinel(address, {})
    elif address.kind == "plain":
        ConnectionPool.from_url(address.url).make_connection()
        if not address.url.startswith("unix:"):
            int(urlsplit(address.url).path.strip("/") or 0)
    else:
        own = signature(RedisCluster).parameters
        given = {name: value for name, value in address.options if name not in own}
        kind = SSLConnection if given.pop("ssl", False) else Connection
        ConnectionPool(kind, **given).make_connection()


def client(address: Address, seconds: float = SOCKET_SECONDS) -> Client:
    """A client that never repeats a call by itself; it connects with the first command (a cluster's at once).

    ``seconds``: longest wait for an answer. Raises redis-py's errors.
    """
    common: dict[str, Any] = {
        "socket_timeout": seconds,
        "socket_connect_timeout": min(seconds, CONNECT_SECONDS),
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
    }
    if address.kind == "sentinel":
        return _sentinel(address, common)
    if address.kind == "cluster":
        return _cluster(address, common)
    return redis.Redis.from_url(address.url, **common)


def ping(address: Address) -> None:
    """Ask the server whether it is there. Raises ``MemoryAway``, ``BadSetting``."""
    try:
        asked = client(address)
        asked.ping()
        asked.close()
    except (RedisError, RedisClusterException, OSError) as error:
        raise MemoryAway(where=address.shown, reason=f"{type(error).__name__}: {error}") from error


def clustered(address: Address, plain: Client) -> Client | None:
    """A cluster client when a plain address belongs to a node of a cluster."""
    if address.kind != "plain" or not plain.info("cluster").get("cluster_enabled"):
        return None
    known = plain.connection_pool.connection_kwargs
    options = [(name, value) for name, value in known.items() if name in _LOGIN or name.startswith("ssl_")]
    options += [("ssl", True)] if address.url.startswith("rediss:") else []
    hosts = ((str(known.get("host", "localhost")), int(known.get("port", 6379))),)
    plain.close()
    return client(Address("cluster", address.url, hosts, options=tuple(options)))


def _sentinel(address: Address, common: dict[str, Any]) -> Client:
    given = dict(address.options)
    login = {name: given.pop(f"sentinel_{name}") for name in _LOGIN if f"sentinel_{name}" in given}
    asked = {name: value for name, value in given.items() if name not in _LOGIN} | login
    watchers = Sentinel(list(address.hosts), sentinel_kwargs={**common, **asked}, **common)  # type: ignore[no-untyped-call]
    return watchers.master_for(address.service, db=address.database, **given)  # type: ignore[no-untyped-call]


def _cluster(address: Address, common: dict[str, Any]) -> Client:
    nodes = [ClusterNode(host, port) for host, port in address.hosts]  # type: ignore[no-untyped-call]
    common["retry"] = Retry(NoBackoff(), 2)  # a cluster moves slots: a redirected call is asked again
    return RedisCluster(startup_nodes=nodes, **{**common, **dict(address.options)})


def _options(found: re.Match[str]) -> tuple[tuple[str, Any], ...]:
    """Login, TLS and the rest, as redis-py reads them of a plain address."""
    given = parse_url(f"redis://{found['login'] or ''}host{found['query'] or ''}")  # type: ignore[no-untyped-call]
    options = {name: value for name, value in given.items() if name != "host"}
    return (*([("ssl", True)] if found["scheme"] == "rediss" else []), *options.items())


def _host(part: str, port: int) -> tuple[str, int]:
    found = re.fullmatch(r"(\[[^\]]+\]|[^:]+)(?::(\d+))?", part)
    if found is None:
        raise ValueError(part)
    return found[1].strip("[]"), int(found[2] or port)


def _shown(url: str) -> str:
    """The address without login and options; where these cannot be told from the host, as with a «?» in a password,
    without all of them."""
    scheme = "".join(_SCHEME.findall(url))
    where, _, options = url.removeprefix(scheme).partition("?")
    return scheme + ("…" if "@" in options else where.rpartition("@")[2])


def _bad(url: str, reason: str, code: str) -> BadSetting:
    return BadSetting(name="REDIS_URL", value=_shown(url), reason=reason, reason_code=code)
