"""Which of the catalogue's weights are used where ``GIEOK_EMBEDDED_MODEL`` leaves it open (design §9).

What lies in the weights folder remembers the choice: weights that are there are used, and a download that has begun
is gone on with. Only where nothing is there yet, the machine and the network decide. Whoever wants to know asks here.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from pathlib import Path

from model import catalogue, source
from model.catalogue import OFFERED, QWEN3_4B, QWEN25, QWEN25_CODER, Weights
from model.machine import Room, room
from settings import Settings

AUTO = "auto"
CORES, FREE = 8, 12_000_000_000
"""Physical cores and bytes of free memory from which on the large model is the default."""
_chosen: dict[Path, Weights] = {}
_guard = threading.Lock()


def pick(machine: Room, here: Collection[Weights], begun: Collection[Weights], hub: bool) -> Weights:
    """The weights to use. ``here``: in the folder as a whole; ``begun``: in part; ``hub``: Hugging Face answers.

    Without the hub it is the model that the package registry has.
    """
    if here:
        return _best(here)
    if not hub:
        return QWEN25_CODER
    if begun:
        return _best(begun)
    return QWEN3_4B if machine.cores >= CORES and machine.free >= FREE else QWEN25


def choose(settings: Settings) -> Weights:
    """The weights that the settings come down to; the explicit setting always wins.

    Only where something has to be fetched and it matters, the hub is asked whether it answers, once until ``forget``.
    Raises ``BadSetting`` for a name that the catalogue has not.
    """
    known = expected(settings)
    if known is not None:
        return known
    with _guard:
        folder, machine, begun = place(settings), room(), _begun(settings)
        if folder not in _chosen:
            hub = source.answers(pick(machine, (), begun, hub=True))
            _chosen[folder] = pick(machine, (), begun, hub)
        return _chosen[folder]


def expected(settings: Settings) -> Weights | None:
    """As ``choose``, without asking anybody; None while that would have to be done."""
    if settings.embedded_model != AUTO:
        return catalogue.find(settings.embedded_model)
    here = [weights for weights in OFFERED if is_here(settings, weights)]
    if not here and place(settings) in _chosen:
        return _chosen[place(settings)]
    hub = "huggingface" in settings.weights_sources
    with_hub, without = (pick(room(), here, _begun(settings), answers) for answers in (hub, False))
    return with_hub if with_hub == without else None


def instead(settings: Settings, failed: Weights) -> Weights | None:
    """What is fetched when nothing of ``failed`` came, although the hub answered: a network may let its pages through
    and not its files. None: nothing else."""
    if settings.embedded_model != AUTO or failed == QWEN25_CODER or failed in _begun(settings):
        return None
    _chosen[place(settings)] = QWEN25_CODER
    return QWEN25_CODER


def forget(settings: Settings) -> None:
    """What was chosen counts no longer: the next attempt asks again."""
    _chosen.pop(place(settings), None)


def place(settings: Settings) -> Path:
    """The folder of the weights."""
    return settings.data_dir / "weights"


def is_here(settings: Settings, weights: Weights) -> bool:
    """Whether the whole file is there, verified or not."""
    return _size(place(settings) / weights.file) == weights.size


def asked(settings: Settings, name: str) -> Settings:
    """The settings of somebody who wants the embedded model: the one of that name, or (empty) the settings' own."""
    fields: dict[str, object] = {"provider": "embedded"}
    if name:
        fields |= {"embedded_model": name, "embedded_path": None}
    return settings.model_copy(update=fields)


def named(settings: Settings, weights: Weights | None) -> Settings:
    """The settings with these weights in them, and with no more context than they are meant to be loaded with. As they
    are with the user's own file."""
    if weights is None or settings.embedded_path is not None:
        return settings
    fields: dict[str, object] = {"embedded_model": weights.name}
    if "embedded_context" not in settings.model_fields_set:
        fields["embedded_context"] = min(settings.embedded_context, weights.context)
    return settings.model_copy(update=fields)


def _begun(settings: Settings) -> list[Weights]:
    return [weights for weights in OFFERED if _size(place(settings) / f"{weights.file}.part")]


def _best(of: Collection[Weights]) -> Weights:
    return min(of, key=OFFERED.index)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
