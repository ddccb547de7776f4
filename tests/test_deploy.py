"""The files of deploy/ name services, settings, commands and versions that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from typer.main import get_command

import settings
from cli import application

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
OWN = ("worker1", "worker2", "page")


def services() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"])


def test_every_variable_of_our_containers_is_a_setting() -> None:
    known = {settings.variable(field) for field in settings.Settings.model_fields}
    assert {name for service in OWN for name in services()[service]["environment"]} <= known


def test_page_and_workers_have_the_same_settings() -> None:
    shared = services()["worker1"]["environment"]
    assert services()["worker2"]["environment"] == shared
    assert shared.items() <= services()["page"]["environment"].items()


def test_every_container_of_ours_has_a_data_folder_of_its_own() -> None:
    folders = [services()[service]["volumes"] for service in OWN]
    assert sorted(map(str, folders)) == sorted({str(folder) for folder in folders})


def test_every_command_exists_with_its_options() -> None:
    commands = get_command(application).commands  # type: ignore[attr-defined]
    for service in OWN:
        python, script, name, *words = services()[service]["command"].split()
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert (python, script) == ("python", "cli.py")
        assert {word for word in words if word.startswith("--")} <= known


def test_the_balancer_names_services_that_there_are_and_publishes_its_ports() -> None:
    caddy = (DEPLOY / "Caddyfile").read_text("utf-8")
    named = {name for line in re.findall(r"reverse_proxy (.+) {", caddy) for name in re.findall(r"(\w+):\d+", line)}
    assert named == set(OWN)
    assert [f"{port}:{port}" for port in re.findall(r"^:(\d+) {", caddy, re.MULTILINE)] == services()["balancer"][
        "ports"
    ]


def test_the_image_has_the_driver_in_the_versions_that_are_tested() -> None:
    image, tested = (DEPLOY / "Dockerfile").read_text("utf-8"), (ROOT / "requirements-dev.txt").read_text("utf-8")
    pins = re.findall(r"\S+==\S+", image)
    assert len(pins) == 4
    assert set(pins) <= set(tested.split())
