"""Faults of what a service stands on, each a block during which the fault lasts; at its end everything is back."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
from sqlalchemy import create_engine, text

from bench.port import free_port
from bench.server import Server, postgres_server, service, upstream, valkey
from store.database.engine import parse_database_url

Fault = Callable[[], AbstractContextManager[None]]


_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:[ ].*\n)*(\S.*)", re.MULTILINE)


@dataclass
class Installation:
    """Two workers on one database, one Valkey and one model server, all of which can fail and come back.

    ``workers[0]`` is never killed. ``postgres``: the server of the database; None for SQLite.
    """

    folder: Path
    database: str
    postgres: Any
    settings: dict[str, str]
    stack: ExitStack
    model_port: int = field(default_factory=free_port)
    redis_port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.model = self.stack.enter_context(upstream(self.folder / "upstream", self.model_port))
        self.stack.enter_context(valkey(self.redis_port))
        self.redis = f"redis://127.0.0.1:{self.redis_port}/0"
        self.settings |= {"DATABASE_URL": self.database, "REDIS_URL": self.redis}
        self.workers = [self._start_worker(number) for number in range(2)]

    def _start_worker(self, number: int, port: int | None = None) -> Server:
        # workers of one machine share their folder where SQLite is the database
        folder = self.folder / (f"worker{number}" if self.postgres else "shared")
        return self.stack.enter_context(service(folder, self.model.url, 1, port, **self.settings))

    def list_errors(self) -> list[str]:
        """Returns the last line of every traceback in the workers' logs, those of killed ones included."""
        logs = {worker.log for worker in self.workers}  # one, where they share their folder
        return [error for log in logs for error in _TRACEBACK.findall(log.read_text("utf-8", "replace"))]

    def list_faults(self) -> dict[str, Fault]:
        """Returns every fault by its name."""
        faults: dict[str, Fault] = {
            "redis killed": self.kill_redis,
            "database locked": self.lock_database,
            "worker killed": self.kill_worker,
            "model silent": lambda: self.disturb_model("silent"),
            "model broken": lambda: self.disturb_model("broken"),
            "model refused": lambda: self.disturb_model("refused"),
            "model killed": self.kill_model,
        }
        return faults | ({"database away": self.stop_database} if self.postgres else {})

    @contextlib.contextmanager
    def kill_redis(self) -> Iterator[None]:
        """Kills Valkey, which loses all it holds, and starts it again on its port."""
        client = redis.Redis.from_url(self.redis)
        os.kill(int(client.info()["process_id"]), signal.SIGKILL)
        client.close()
        yield
        self.stack.enter_context(valkey(self.redis_port))

    @contextlib.contextmanager
    def lock_database(self) -> Iterator[None]:
        """Keeps every other writer waiting."""
        engine = create_engine(parse_database_url(self.database))
        with contextlib.closing(engine.connect().execution_options(isolation_level="AUTOCOMMIT")) as connection:
            connection.execute(text("BEGIN" if self.postgres else "BEGIN EXCLUSIVE"))
            if self.postgres:
                connection.execute(text("LOCK TABLE turn IN ACCESS EXCLUSIVE MODE"))
            yield
            connection.execute(text("ROLLBACK"))
        engine.dispose()

    @contextlib.contextmanager
    def stop_database(self) -> Iterator[None]:
        """Stops PostgreSQL, which breaks all connections, and starts it again."""
        self.postgres.stop()
        yield
        self.postgres.start()

    @contextlib.contextmanager
    def kill_worker(self) -> Iterator[None]:
        """Kills the second worker (SIGKILL) and starts it again on its port."""
        killed = self.workers[1]
        killed.kill()
        yield
        self.workers[1] = self._start_worker(1, int(killed.url.rsplit(":", 1)[1].split("/")[0]))

    @contextlib.contextmanager
    def disturb_model(self, fault: str) -> Iterator[None]:
        """Lets the model server fail as ``bench.upstream`` explains."""
        self._tell_model(fault)
        yield
        self._tell_model("none")

    @contextlib.contextmanager
    def kill_model(self) -> Iterator[None]:
        """Kills the model server and starts it again on its port."""
        self.model.kill()
        yield
        self.model = self.stack.enter_context(upstream(self.folder / "upstream", self.model_port))

    def _tell_model(self, fault: str) -> None:
        request = urllib.request.Request(f"http://127.0.0.1:{self.model_port}/fault/{fault}", method="POST")
        urllib.request.urlopen(request, timeout=5).close()


@contextlib.contextmanager
def open_installation(folder: Path, database: str, settings: dict[str, str]) -> Iterator[Installation]:
    """Starts everything; ``database``: ``postgresql`` or ``sqlite``."""
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server()) if database == "postgresql" else None
        url = str(server.get_uri()) if server else f"sqlite:///{folder / 'shared' / 'data' / 'gieok.db'}"
        yield Installation(folder, url, server, dict(settings), stack)
