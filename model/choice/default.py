"""The embedded weights that Gieok uses where ``GIEOK_EMBEDDED_MODEL`` leaves the choice open (design 9.6).

The weights folder remembers the choice: complete weights in it are used, and a download that has begun is continued.
The machine and the network decide only while the folder holds nothing. Every other module asks this one which weights
to use.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from pathlib import Path

from model.embedded import catalogue, download
from model.embedded.catalogue import OFFERED, QWEN3_4B, QWEN25, QWEN25_CODER, WeightsFile
from model.embedded.machine import MachineResources, measure_machine_resources
from settings import Settings

AUTO = "auto"
CORES, FREE = 8, 12_000_000_000
"""Physical cores and bytes of free memory from which on the large model is the default."""
_chosen: dict[Path, WeightsFile] = {}
_guard = threading.Lock()


def pick_weights(
    machine: MachineResources, here: Collection[WeightsFile], begun: Collection[WeightsFile], hub: bool
) -> WeightsFile:
    """Returns the weights to use. ``here``: the weights that the folder holds in full; ``begun``: in part.

    ``hub``: whether Hugging Face answers. Without Hugging Face the result is the model that the package registry has.
    """
    if here:
        return _choose_best_weights(here)
    if not hub:
        return QWEN25_CODER
    if begun:
        return _choose_best_weights(begun)
    return QWEN3_4B if machine.cores >= CORES and machine.free >= FREE else QWEN25


def choose_weights(settings: Settings) -> WeightsFile:
    """Returns the weights that the settings lead to; an explicit setting always wins.

    Asks Hugging Face whether it answers only when weights are missing and the answer matters, and only once until
    ``forget_chosen_weights``. Raises ``BadSetting`` for a name that is not in the catalogue.
    """
    known = predict_weights(settings)
    if known is not None:
        return known
    with _guard:
        folder, machine, begun = (
            locate_weights_folder(settings),
            measure_machine_resources(),
            _list_begun_weights(settings),
        )
        if folder not in _chosen:
            hub = download.can_reach_huggingface(pick_weights(machine, (), begun, hub=True))
            _chosen[folder] = pick_weights(machine, (), begun, hub)
        return _chosen[folder]


def predict_weights(settings: Settings) -> WeightsFile | None:
    """Returns the result of ``choose_weights`` without asking any server; None where ``choose_weights`` would have to
    ask."""
    if settings.embedded_model != AUTO:
        return catalogue.find_catalogue_weights(settings.embedded_model)
    here = [weights for weights in OFFERED if is_here(settings, weights)]
    if not here and locate_weights_folder(settings) in _chosen:
        return _chosen[locate_weights_folder(settings)]
    hub = "huggingface" in settings.weights_sources
    with_hub, without = (
        pick_weights(measure_machine_resources(), here, _list_begun_weights(settings), reachable)
        for reachable in (hub, False)
    )
    return with_hub if with_hub == without else None


def choose_alternative_weights(settings: Settings, failed: WeightsFile) -> WeightsFile | None:
    """Returns the weights to fetch when nothing of ``failed`` came although Hugging Face answered, because a network
    may let its pages through but not its files. Returns None when there is no alternative."""
    if settings.embedded_model != AUTO or failed == QWEN25_CODER or failed in _list_begun_weights(settings):
        return None
    _chosen[locate_weights_folder(settings)] = QWEN25_CODER
    return QWEN25_CODER


def forget_chosen_weights(settings: Settings) -> None:
    """Forgets the chosen weights, so that the next attempt asks Hugging Face again."""
    _chosen.pop(locate_weights_folder(settings), None)


def locate_weights_folder(settings: Settings) -> Path:
    """Returns the folder of the weights."""
    return settings.data_dir / "weights"


def is_here(settings: Settings, weights: WeightsFile) -> bool:
    """Returns whether the complete file is in the folder, verified or not."""
    return _read_file_size(locate_weights_folder(settings) / weights.file) == weights.size


def build_embedded_settings(settings: Settings, name: str) -> Settings:
    """Returns the settings for a user who wants the embedded model ``name``; an empty name means the settings' own
    model."""
    fields: dict[str, object] = {"provider": "embedded"}
    if name:
        fields |= {"embedded_model": name, "embedded_path": None}
    return settings.model_copy(update=fields)


def fill_weights_settings(settings: Settings, weights: WeightsFile | None) -> Settings:
    """Returns the settings with these weights and, unless the settings name a context, with no more context than the
    weights' entry allows. Returns the settings unchanged without weights or with the user's own file."""
    if weights is None or settings.embedded_path is not None:
        return settings
    fields: dict[str, object] = {"embedded_model": weights.name}
    if "embedded_context" not in settings.model_fields_set:
        fields["embedded_context"] = min(settings.embedded_context, weights.context)
    return settings.model_copy(update=fields)


def _list_begun_weights(settings: Settings) -> list[WeightsFile]:
    return [weights for weights in OFFERED if _read_file_size(locate_weights_folder(settings) / f"{weights.file}.part")]


def _choose_best_weights(of: Collection[WeightsFile]) -> WeightsFile:
    return min(of, key=OFFERED.index)


def _read_file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
