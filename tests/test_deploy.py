"""The files of deploy/ name services, settings, commands and versions that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from starlette.routing import Route
from typer.main import get_command

import settings
from cli import application
from door.endpoint import create_app
from graph.turn.agent import open_agent
from model import scripted
from server.request.running import LEAVE_SECONDS

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
OWN = ("worker1", "worker2", "page")


def services() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"])


def test_every_variable_of_our_containers_is_a_setting() -> None:
    known = {settings.find_variable_name(field) for field in settings.Settings.model_fields}
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


def test_the_balancer_asks_the_workers_for_their_health_where_they_tell_it(tmp_path: Path) -> None:
    caddy = (DEPLOY / "Caddyfile").read_text("utf-8")
    asked = set(re.findall(r"health_uri (\S+)", caddy))
    assert asked
    agent = open_agent(
        settings.load_settings(data_dir=tmp_path, memory=False, retrieval=False),
        lambda: scripted.build_scripted_models(),
    )
    known = {route.path for route in create_app(agent, agent.settings).routes if isinstance(route, Route)}
    agent.close()
    assert asked <= known


def test_the_balancer_finds_every_service_on_the_port_it_listens_on() -> None:
    caddy = (DEPLOY / "Caddyfile").read_text("utf-8")
    ports = {name: re.search(r"--port (\d+)", services()[name]["command"]) for name in OWN}
    behind = [address for line in re.findall(r"reverse_proxy (.+) {", caddy) for address in line.split()]
    assert sorted(behind) == sorted(f"{name}:{port[1]}" for name, port in ports.items() if port)


def test_the_page_trusts_the_header_that_the_balancer_sets_and_the_network_it_stands_in() -> None:
    caddy = (DEPLOY / "Caddyfile").read_text("utf-8")
    page, compose = services()["page"]["environment"], yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    assert re.findall(r"header_up (\S+) ", caddy) == [page["GIEOK_USER_HEADER"]]
    [network] = compose["networks"]["inside"]["ipam"]["config"]
    assert network["subnet"] == page["GIEOK_TRUSTED_PROXIES"]


def test_every_value_that_is_taken_from_outside_is_a_setting_or_said_at_the_top() -> None:
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    top = text.partition("name: gieok")[0]
    taken = set(re.findall(r"\$\{(\w+)", text + (DEPLOY / "Caddyfile").read_text("utf-8")))
    known = {settings.find_variable_name(field) for field in settings.Settings.model_fields}
    assert {name for name in taken if name not in known and f"{name}=" not in top} == set()
    needed = set(re.findall(r"\$\{(\w+):\?", text))
    assert {name for name in needed if f"{name}=" not in top} == set()
    in_caddy = set(re.findall(r"{\$(\w+)}", (DEPLOY / "Caddyfile").read_text("utf-8")))
    assert in_caddy == set(services()["balancer"]["environment"])


def test_the_commands_that_are_shown_at_the_top_exist() -> None:
    top = (DEPLOY / "compose.yaml").read_text("utf-8").partition("name: gieok")[0]
    [shown] = re.findall(r"python cli\.py (.+)", top)
    command: Any = get_command(application)
    words = shown.split()
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    assert not hasattr(command, "commands")
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_every_file_that_is_named_exists_and_the_data_folder_is_a_volume() -> None:
    build = services()["worker1"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    for mount in services()["balancer"]["volumes"]:
        assert (DEPLOY / mount.split(":")[0]).is_file()
    image = (DEPLOY / "Dockerfile").read_text("utf-8")
    [folder] = re.findall(r"GIEOK_DATA_DIR=(\S+)", image)
    assert {mount.split(":")[1] for name in OWN for mount in services()[name]["volumes"]} == {folder}
    assert settings.find_variable_name("data_dir") == "GIEOK_DATA_DIR"
    copied = re.findall(r"^COPY (\S+) \.$", image, re.MULTILINE)
    assert all((ROOT / source).exists() for source in copied)


def test_a_stopped_worker_has_time_to_finish_its_answers() -> None:
    grace = int(services()["worker1"]["stop_grace_period"].removesuffix("s"))
    assert grace > LEAVE_SECONDS


def test_the_image_has_the_driver_in_the_versions_that_are_tested() -> None:
    image, tested = (DEPLOY / "Dockerfile").read_text("utf-8"), (ROOT / "requirements-dev.txt").read_text("utf-8")
    pins = re.findall(r"\S+==\S+", image)
    assert len(pins) == 4
    assert set(pins) <= set(tested.split())
