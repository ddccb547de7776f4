"""Which models take images: what a server refused once is kept for its address and model.

The file in the data folder outlives the process. Choosing a model in the page forgets it, so that a server that has
learned to read images is asked again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import private

FILE = "image-refusals.json"
log = logging.getLogger(__name__)


@dataclass
class Sight:
    """Whether the server of a model has refused an image since the model was found; ``keep`` keeps that for the next
    start."""

    keep: Callable[[], None] | None = None
    is_refused: bool = False

    def refuse(self) -> None:
        """Notes that the model takes no images. A folder that cannot be written costs only a refusal at the next
        start."""
        self.is_refused = True
        if self.keep is not None:
            try:
                self.keep()
            except OSError as error:
                log.warning("that a model takes no images could not be kept: %s", type(error).__name__)


def has_refused_images(folder: Path, url: str, model: str) -> bool:
    """Returns whether a model is kept as one that takes no images."""
    return [url, model] in _load_refusals(folder)


def keep_image_refusal(folder: Path, url: str, model: str) -> None:
    """Keeps that a model takes no images. Raises ``OSError``."""
    refusals = _load_refusals(folder)
    if [url, model] not in refusals:
        private.write_private_file(folder / FILE, json.dumps([*refusals, [url, model]], ensure_ascii=False))


def forget_image_refusals(folder: Path) -> None:
    """Forgets all refusals. Raises ``OSError``."""
    (folder / FILE).unlink(missing_ok=True)


def _load_refusals(folder: Path) -> list[list[str]]:
    try:
        value = json.loads((folder / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return value if isinstance(value, list) else []
