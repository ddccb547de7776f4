"""TLS on the way to Redis: a real handshake with a certificate of our own, in front of a real server.

The bundled Valkey is built without TLS, so another process's part is done here: it takes TLS and passes on plain text.
"""

from __future__ import annotations

import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from memory.key import Scope
from memory.redis import address
from memory.redis.address import Client
from memory.redis.link import Link
from memory.redis.server import find_server_binary
from memory.redis.working_memory import WorkingMemory
from memory.state import MemoryState, MemoryTurn
from tests.memory.conftest import answers, free_port

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
WORKING = WorkingMemory(60_000)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that is its own authority, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "own.pem", folder / "own.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    return made, key


@contextmanager
def tls(port: int, certificate: tuple[Path, Path]) -> Iterator[int]:
    """A port that takes TLS for the server on ``port``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    class Passing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with (
                suppress(OSError),
                context.wrap_socket(self.request, server_side=True) as outside,
                socket.create_connection(("127.0.0.1", port)) as inside,
            ):
                back = threading.Thread(target=pump, args=(inside, outside), daemon=True)
                back.start()
                pump(outside, inside)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Passing) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


def pump(source: socket.socket, target: socket.socket) -> None:
    """Pass on what comes until one of them has ended."""
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def use(url: str) -> None:
    """A memory is written and read over this address, both ways that a link has."""
    scope, link = Scope("acme", "tls"), Link(url, Path("unused"))
    try:
        assert link.wait(60), link.away
        state = MemoryState(short=(MemoryTurn(1, "비밀", "a"),))
        link.quick(lambda client: WORKING.write(client, scope, state, "1"))
        assert link.run(lambda client: WORKING.read(client, scope, "1")) == state
        link.run(lambda client: WORKING.remove(client, scope.tag))
    finally:
        link.close()


def plain_port(tcp: str) -> int:
    return int(tcp.split(":")[2].split("/")[0])


def test_a_server_is_reached_over_tls_with_a_certificate_of_ones_own(tcp: str, certificate: tuple[Path, Path]) -> None:
    with tls(plain_port(tcp), certificate) as port:
        use(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={certificate[0]}")


def test_a_server_whose_certificate_nobody_knows_is_not_trusted(tcp: str, certificate: tuple[Path, Path]) -> None:
    with tls(plain_port(tcp), certificate) as port:
        link = Link(f"rediss://127.0.0.1:{port}/0", Path("unused"))
        until = time.monotonic() + 60
        while link.starting and time.monotonic() < until:
            time.sleep(0.02)
        assert "certificate" in str(link.away).lower()
        link.close()


@contextmanager
def watching(folder: Path, master: int) -> Iterator[int]:
    """A sentinel that wants a password and says that the master is on this port."""
    port = free_port()
    file = folder / "sentinel.conf"
    lines = [f"port {port}", 'requirepass "sesame"', f"sentinel monitor ours 127.0.0.1 {master} 1"]
    file.write_text("\n".join([*lines, "sentinel down-after-milliseconds ours 600000", ""]), "utf-8")
    quiet = subprocess.DEVNULL
    command = [str(find_server_binary()), str(file), "--sentinel"]
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=folder) as process:
        answers(port, password="sesame")
        yield port
        process.kill()


def test_sentinels_are_asked_over_tls_and_with_their_own_password(
    tcp: str, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    with ExitStack() as stack:
        master = stack.enter_context(tls(plain_port(tcp), certificate))
        watcher = stack.enter_context(tls(stack.enter_context(watching(tmp_path, master)), certificate))
        where, trust = f"rediss+sentinel://127.0.0.1:{watcher}/ours/0", f"ssl_ca_certs={certificate[0]}"
        use(f"{where}?{trust}&sentinel_password=sesame")
        link = Link(f"{where}?{trust}", Path("unused"))
        assert not link.wait(0.5)
        link.close()


def test_a_node_of_a_cluster_keeps_the_options_of_its_address() -> None:
    """Asked as a fake: it says that it belongs to a cluster, and nothing else is asked of it."""
    seen: list[address.Address] = []

    class Node:
        connection_pool = address.open_redis_client(
            address.parse_redis_url("rediss://kim:pass@127.0.0.1:7000/0?ssl_ca_certs=/own.pem")
        ).connection_pool

        def info(self, section: str) -> dict[str, int]:
            return {"cluster_enabled": 1}

        def close(self) -> None:
            return

    def client(where: address.Address) -> Client:
        seen.append(where)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(address, "open_redis_client", client)
        address.open_cluster_client(address.Address("plain", "rediss://127.0.0.1:7000"), Node())
    options = dict(seen[0].options)
    assert (options["ssl"], options["ssl_ca_certs"], options["username"]) == (True, "/own.pem", "kim")


def test_the_options_of_an_address_are_not_shown() -> None:
    assert (
        "sesame" not in address.parse_redis_url("redis+sentinel://h:1/ours?sentinel_password=sesame").url_without_login
    )
