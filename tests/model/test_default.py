"""Which embedded model is the default: by machine and network once, and by what lies in the folder from then on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

import settings
from errors import BadSetting, WeightsMissing
from model.call.stream import complete_answer
from model.choice import default, resolve
from model.choice.default import CORES, FREE, pick_weights
from model.embedded import catalogue, download, terminal, weights
from model.embedded.catalogue import OFFERED, QWEN3_4B, QWEN25, QWEN25_CODER, SMOLLM2, WeightsFile
from model.embedded.machine import MachineResources
from tests.model_server import release_servers
from tests.stub.offered import BIG, SMALL, World, made, offered

# --- the rule -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "chosen"),
    [
        (BIG, QWEN3_4B),
        (MachineResources(64, 10 * FREE), QWEN3_4B),
        (MachineResources(CORES - 1, FREE), QWEN25),
        (MachineResources(CORES, FREE - 1), QWEN25),
        (SMALL, QWEN25),
    ],
)
def test_where_the_hub_answers_the_machine_decides(machine: MachineResources, chosen: WeightsFile) -> None:
    assert pick_weights(machine, (), (), hub=True) == chosen


def test_where_the_hub_is_away_it_is_what_the_package_registry_has() -> None:
    assert pick_weights(BIG, (), (), hub=False) == QWEN25_CODER
    assert pick_weights(BIG, (), (QWEN3_4B,), hub=False) == QWEN25_CODER
    assert QWEN25_CODER.package


@pytest.mark.parametrize("machine", [BIG, SMALL])
@pytest.mark.parametrize("hub", [True, False])
def test_what_is_there_is_used_and_the_best_of_it(machine: MachineResources, hub: bool) -> None:
    assert pick_weights(machine, (QWEN25_CODER,), (QWEN3_4B,), hub) == QWEN25_CODER
    assert pick_weights(machine, (QWEN25_CODER, QWEN25), (), hub) == QWEN25
    assert pick_weights(machine, (QWEN25, QWEN3_4B, QWEN25_CODER), (), hub) == QWEN3_4B


def test_a_download_that_began_is_gone_on_with() -> None:
    assert pick_weights(SMALL, (), (QWEN3_4B,), hub=True) == QWEN3_4B
    assert pick_weights(BIG, (), (QWEN25_CODER,), hub=True) == QWEN25_CODER


def test_each_offer_has_its_place_revision_and_licence() -> None:
    for entry in OFFERED:
        assert entry.huggingface
        assert entry.licence == "Apache-2.0"
        assert len(entry.sha256) == 64
    assert [len(entry.huggingface[1]) for entry in (QWEN25, QWEN3_4B) if entry.huggingface] == [40, 40]


# --- with a hub and a folder --------------------------------------------------------------------


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with offered(monkeypatch) as world:
        yield world


def test_a_large_machine_fetches_the_large_model_at_its_revision_and_keeps_it(world: World) -> None:
    world.machine, world.hub.content = BIG, made(world.large)
    assert weights.ensure_weights(world.settings()).read_bytes() == made(world.large)
    address = "/bartowski/Qwen_Qwen3-4B-Instruct-2507-GGUF/resolve/ae44f08e1392f39c0e474af10c3ff8355c8b6688/"
    path = address + "Qwen_Qwen3-4B-Instruct-2507-Q4_K_M.gguf"
    assert world.hub.addresses == [f"HEAD {path}", f"GET {path}"]
    world.machine = SMALL
    assert weights.has_ready_weights(world.settings())
    assert weights.ensure_weights(world.settings()).name == world.large.file
    assert len(world.hub.addresses) == 2


def test_weights_that_are_there_are_used_without_asking_anybody(world: World) -> None:
    world.put(world.coder)
    world.machine = BIG
    assert weights.ensure_weights(world.settings()).name == world.coder.file
    assert world.hub.addresses == []


def test_a_begun_download_is_taken_up_by_a_machine_that_has_less_room_now(world: World) -> None:
    world.put(world.large, ".part")
    world.hub.content = made(world.large)
    assert weights.ensure_weights(world.settings()).read_bytes() == made(world.large)
    assert world.hub.asked == ["bytes=9-"]


def test_without_the_hub_the_registry_gives_the_coder(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "HUB", "http://127.0.0.1:9")
    world.machine = BIG
    assert weights.ensure_weights(world.settings()).name == world.coder.file


@pytest.mark.parametrize("answer", [403, 503])
def test_a_hub_that_refuses_counts_as_away(world: World, answer: int) -> None:
    world.hub.files = answer
    assert default.choose_weights(world.settings()) == world.coder


def test_a_page_that_wants_a_log_in_is_no_hub(world: World) -> None:
    world.hub.headers = {"Content-Type": "text/html; charset=utf-8"}
    assert default.choose_weights(world.settings()) == world.coder


def test_a_hub_whose_files_do_not_come_is_told_from_one_that_broke_off(world: World) -> None:
    world.hub.status, world.hub.content = 403, b""
    assert weights.ensure_weights(world.settings()).name == world.coder.file
    (default.locate_weights_folder(world.settings()) / world.coder.file).unlink()
    world.hub.status, world.hub.content = 200, made(world.general)
    world.hub.drop_after = [50] * 9
    default.forget_chosen_weights(world.settings())
    with pytest.raises(WeightsMissing, match=world.general.name):
        weights.ensure_weights(world.settings())
    world.hub.drop_after = []
    assert weights.ensure_weights(world.settings()).name == world.general.file


def test_a_hub_that_has_another_file_is_passed_over(world: World) -> None:
    world.hub.content = made(world.general)[:-1] + b"!"
    assert weights.ensure_weights(world.settings()).name == world.coder.file


def test_when_nothing_comes_from_anywhere_the_next_attempt_asks_again(world: World) -> None:
    world.registry, world.hub.status, world.hub.content = False, 403, b""
    with pytest.raises(WeightsMissing, match="coder"):
        weights.ensure_weights(world.settings())
    world.hub.status, world.hub.content = 200, made(world.general)
    assert weights.ensure_weights(world.settings()).name == world.general.file


def test_when_nothing_can_be_had_the_next_attempt_asks_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.registry = False
    hub = download.HUB
    monkeypatch.setattr(download, "HUB", "http://127.0.0.1:9")
    with pytest.raises(WeightsMissing, match="coder"):
        weights.ensure_weights(world.settings())
    monkeypatch.setattr(download, "HUB", hub)
    world.hub.content = made(world.general)
    assert weights.ensure_weights(world.settings()).name == world.general.file


def test_a_source_that_is_not_allowed_is_not_asked(world: World) -> None:
    chosen = world.settings(weights_sources=("package",))
    assert default.choose_weights(chosen) == default.predict_weights(chosen) == world.coder
    assert world.hub.addresses == []


def test_the_explicit_setting_always_wins(world: World) -> None:
    world.put(world.large)
    assert default.choose_weights(world.settings(embedded_model=world.coder.name)) == world.coder
    assert default.choose_weights(world.settings(embedded_model=SMOLLM2.name)) == SMOLLM2
    with pytest.raises(BadSetting, match="qwen3-4b"):
        default.choose_weights(world.settings(embedded_model="nothing"))


def test_what_is_expected_is_known_without_asking_once_it_was_chosen(world: World) -> None:
    assert default.predict_weights(world.settings()) is None
    assert world.hub.addresses == []
    assert default.choose_weights(world.settings()) == world.general
    world.machine = BIG
    assert default.predict_weights(world.settings()) == default.choose_weights(world.settings()) == world.general
    assert len(world.hub.addresses) == 1


def test_the_terminal_names_what_it_fetches(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.hub.content = made(world.general)
    assert terminal.fetch_needed_weights() == 0
    assert world.general.name in capsys.readouterr().err
    assert not resolve.needs_weights(world.settings())
    assert len(world.hub.addresses) == 2


def test_settings_with_weights_in_them_ask_for_no_more_context_than_these_take(tmp_path: Path) -> None:
    chosen = default.fill_weights_settings(settings.load_settings(), QWEN3_4B)
    assert (chosen.embedded_model, chosen.embedded_context) == (QWEN3_4B.name, 16_384)
    assert (
        default.fill_weights_settings(settings.load_settings(), QWEN25).embedded_context
        == settings.load_settings().embedded_context
    )
    assert (
        default.fill_weights_settings(settings.load_settings(embedded_context=65_536), QWEN3_4B).embedded_context
        == 65_536
    )
    own = settings.load_settings(embedded_path=tmp_path / "own.gguf")
    assert default.fill_weights_settings(own, QWEN3_4B) == own
    assert default.build_embedded_settings(own, QWEN25.name).embedded_path is None


@pytest.mark.small_model
def test_a_model_chosen_beside_another_runs_in_a_server_of_its_own(
    small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, digest = small_model.stat().st_size, SMOLLM2.sha256
    base = settings.load_settings(embedded_threads=1, embedded_context=2048)
    for name, file in (("first", "first.gguf"), ("second", "second.gguf")):
        entry = replace(SMOLLM2, name=name, file=file, size=size, sha256=digest, package=())
        monkeypatch.setitem(catalogue.CATALOGUE, name, entry)
        default.locate_weights_folder(base).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(small_model, default.locate_weights_folder(base) / file)
    try:
        first, second = (
            resolve.resolve_models(default.build_embedded_settings(base, name)) for name in ("first", "second")
        )
        assert (first.name, second.name) == ("first", "second")
        assert first.url != second.url
        for models in (first, second, first):
            assert complete_answer(models.chat, [HumanMessage("Say yes.")], max_tokens=4).text
    finally:
        release_servers()
