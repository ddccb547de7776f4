"""Makes a redis-py client from ``REDIS_URL``: one server, TLS, a Unix socket, Sentinel, or Cluster.

Forms: ``redis://``, ``rediss://`` and ``unix://`` as redis-py reads them;
``redis+sentinel://host:port,host:port/name/0``; ``redis+cluster://host:port,host:port``. The last two also accept
``rediss+``, which uses TLS for every connection, and the options that redis-py reads after a ``?``, such as
``ssl_ca_certs``. Sentinels have their own login: ``sentinel_username`` and ``sentinel_password`` after the ``?``. When
a plain address turns out to be a cluster node, a cluster client is used.
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

from errors import BadSetting, MemoryAway, hide_address_secrets

SOCKET_SECONDS = 2.0
"""Longest wait for an answer of the server, in seconds."""
CONNECT_SECONDS = 1.0
"""Longest wait for a connection, in seconds."""
_LOGIN = ("username", "password")
_PLAIN = ("redis", "rediss", "unix")
_ADDRESS = re.compile(
    r"(?P<scheme>rediss?)\+(?P<kind>sentinel|cluster)://(?P<login>[^@/]*@)?(?P<hosts>[^/?]+)"
    r"(?P<path>/[^?]*)?(?P<query>\?.*)?"
)

Client = Any
"""``redis.Redis`` or ``RedisCluster``: both take the commands that the store uses."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a Redis. ``kind``: plain, sentinel or cluster; ``options``: user, password, TLS."""

    kind: str
    url: str
    hosts: tuple[tuple[str, int], ...] = ()
    service: str = ""
    database: int = 0
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def url_without_login(self) -> str:
        """Returns the address without user and password."""
        return hide_address_secrets(self.url)


def parse_redis_url(url: str) -> Address:
    """Parses ``REDIS_URL``. Raises ``BadSetting``."""
    url = url.strip()
    try:
        address = Address("plain", url) if url.split("://")[0] in _PLAIN else _parse_multi_host_url(url)
        _check_address_options(address)
    except (ValueError, TypeError, RedisError):  # the text of these errors may hold a part of the password
        reason = (
            "a port or the database is not a number, an option is wrong or unknown, or a password has a letter such "
            "as / or @ that is not written as %2F or %40"
        )
        raise _make_url_error(url, reason, "option") from None
    return address


def _parse_multi_host_url(url: str) -> Address:
    """Parses the address of Sentinels or of cluster nodes."""
    match = _ADDRESS.fullmatch(url)
    if match is None:
        forms = "redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://"
        raise _make_url_error(url, f"it must start with {forms}", "scheme")
    path = [part for part in (match["path"] or "").split("/") if part]
    if match["kind"] == "sentinel" and not path:
        raise _make_url_error(url, "the name of the monitored master is missing after the hosts", "master")
    hosts = tuple(
        _parse_redis_host(part, 26379 if match["kind"] == "sentinel" else 6379) for part in match["hosts"].split(",")
    )
    database = int(path[1]) if len(path) > 1 else 0
    return Address(match["kind"], url, hosts, path[0] if path else "", database, _read_url_options(match))


def _check_address_options(address: Address) -> None:
    """Makes a connection without opening it: redis-py checks an address only then. Raises redis-py's errors,
    ``ValueError``."""
    if address.kind == "sentinel":
        _open_sentinel_client(address, {})
    elif address.kind == "plain":
        ConnectionPool.from_url(address.url).make_connection()
        if not address.url.startswith("unix:"):
            int(urlsplit(address.url).path.strip("/") or 0)
    else:
        known = signature(RedisCluster).parameters
        options = {name: value for name, value in address.options if name not in known}
        kind = SSLConnection if options.pop("ssl", False) else Connection
        ConnectionPool(kind, **options).make_connection()


def open_redis_client(address: Address, seconds: float = SOCKET_SECONDS) -> Client:
    """Returns a client that never repeats a call by itself. It connects with the first command; a cluster client
    connects at once.

    ``seconds``: longest wait for an answer. Raises redis-py's errors.
    """
    common: dict[str, Any] = {
        "socket_timeout": seconds,
        "socket_connect_timeout": min(seconds, CONNECT_SECONDS),
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
    }
    if address.kind == "sentinel":
        return _open_sentinel_client(address, common)
    if address.kind == "cluster":
        return _open_nodes_client(address, common)
    return redis.Redis.from_url(address.url, **common)


def list_connection_pools(client: Client) -> list[ConnectionPool]:
    """Returns the connection pools of a client: one, or one for each node of a cluster."""
    if not isinstance(client, RedisCluster):
        return [client.connection_pool]
    nodes = client.get_nodes()  # type: ignore[no-untyped-call]
    return [node.redis_connection.connection_pool for node in nodes if node.redis_connection]


def ping_redis_server(address: Address) -> None:
    """Checks that the server answers. Raises ``MemoryAway``, ``BadSetting``."""
    try:
        server = open_redis_client(address)
        server.ping()
        server.close()
    except (RedisError, RedisClusterException, OSError) as error:
        raise MemoryAway(where=address.url_without_login, reason=f"{type(error).__name__}: {error}") from error


def open_cluster_client(address: Address, plain: Client) -> Client | None:
    """Returns a cluster client when a plain address belongs to a cluster node, else None."""
    if address.kind != "plain" or not plain.info("cluster").get("cluster_enabled"):
        return None
    connection = plain.connection_pool.connection_kwargs
    options = [(name, value) for name, value in connection.items() if name in _LOGIN or name.startswith("ssl_")]
    options += [("ssl", True)] if address.url.startswith("rediss:") else []
    hosts = ((str(connection.get("host", "localhost")), int(connection.get("port", 6379))),)
    plain.close()
    return open_redis_client(Address("cluster", address.url, hosts, options=tuple(options)))


def _open_sentinel_client(address: Address, common: dict[str, Any]) -> Client:
    options = dict(address.options)
    login = {name: options.pop(f"sentinel_{name}") for name in _LOGIN if f"sentinel_{name}" in options}
    sentinel_options = {name: value for name, value in options.items() if name not in _LOGIN} | login
    sentinels = Sentinel(list(address.hosts), sentinel_kwargs={**common, **sentinel_options}, **common)  # type: ignore[no-untyped-call]
    return sentinels.master_for(address.service, db=address.database, **options)  # type: ignore[no-untyped-call]


def _open_nodes_client(address: Address, common: dict[str, Any]) -> Client:
    nodes = [ClusterNode(host, port) for host, port in address.hosts]  # type: ignore[no-untyped-call]
    common["retry"] = Retry(NoBackoff(), 2)  # a cluster moves slots: a redirected call is repeated
    return RedisCluster(startup_nodes=nodes, **{**common, **dict(address.options)})


def _read_url_options(found: re.Match[str]) -> tuple[tuple[str, Any], ...]:
    """Returns login, TLS and the other options, read as redis-py reads them from a plain address."""
    values = parse_url(f"redis://{found['login'] or ''}host{found['query'] or ''}")  # type: ignore[no-untyped-call]
    options = {name: value for name, value in values.items() if name != "host"}
    return (*([("ssl", True)] if found["scheme"] == "rediss" else []), *options.items())


def _parse_redis_host(part: str, port: int) -> tuple[str, int]:
    match = re.fullmatch(r"(\[[^\]]+\]|[^:]+)(?::(\d+))?", part)
    if match is None:
        raise ValueError(part)
    return match[1].strip("[]"), int(match[2] or port)


def _make_url_error(url: str, reason: str, code: str) -> BadSetting:
    return BadSetting(name="REDIS_URL", value=hide_address_secrets(url), reason=reason, reason_code=code)
