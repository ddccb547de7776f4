"""``/v1/embeddings``: texts as vectors of the built-in model, which embeds them as passages of documents."""

from __future__ import annotations

import base64
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from door.openai.body import MODEL
from model.call.stream import Stopped
from model.call.token import estimate_tokens
from model.embedding import built_in
from server.refusal import build_field_refusal

BATCH = 8
"""Texts that are embedded between two looks whether the client is still there."""
MOST_TEXTS = 2048
"""The most texts of one request, as OpenAI has it."""


@dataclass(frozen=True, slots=True)
class EmbeddingBody:
    """A request for embeddings. ``packed``: the vectors are wanted as base64 of 32-bit floats, not as numbers.
    ``dimensions``: the size that the client wants, or None."""

    model: str
    texts: list[str]
    packed: bool
    dimensions: int | None


def embedding_body(given: Any, most_tokens: int) -> EmbeddingBody:
    """Returns the request. ``most_tokens``: of one text. Raises ``Refusal``."""
    fields = given if isinstance(given, Mapping) else {}
    asked = fields.get("input")
    texts = [asked] if isinstance(asked, str) else asked
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise build_field_refusal("input", "input must be a text or a list of texts that are not empty.")
    if len(texts) > MOST_TEXTS:
        raise build_field_refusal("input", f"input has {len(texts)} texts; the limit is {MOST_TEXTS}.")
    for at, text in enumerate(texts):
        if (tokens := estimate_tokens(text)) > most_tokens:
            raise build_field_refusal(
                "input", f"Text {at + 1} of input has about {tokens:,} tokens; the limit is {most_tokens:,}."
            )
    form = fields.get("encoding_format") or "float"
    if form not in ("float", "base64"):
        raise build_field_refusal("encoding_format", "encoding_format must be float or base64.")
    return EmbeddingBody(str(fields.get("model") or MODEL), texts, form == "base64", fields.get("dimensions"))


def build_embedding_answer(body: EmbeddingBody, stop: threading.Event) -> dict[str, Any]:
    """Returns the answer. For a thread: it computes. ``stop``: set when the client has left. Raises ``Refusal`` for a
    size that the model does not have, ``Stopped``, and the errors of the built-in model."""
    model, batches = built_in(), list[NDArray[np.float32]]()
    for first in range(0, len(body.texts), BATCH):
        if stop.is_set():
            raise Stopped
        batches.append(model.passages(body.texts[first : first + BATCH]))
        if body.dimensions not in (None, size := int(batches[0].shape[1])):
            raise build_field_refusal("dimensions", f"dimensions must be {size}, or be left out.")
    vectors = np.concatenate(batches)
    tokens = sum(map(estimate_tokens, body.texts))
    return {
        "object": "list",
        "data": list(_build_embedding_entries(vectors, body.packed)),
        "model": body.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _build_embedding_entries(vectors: NDArray[np.float32], packed: bool) -> Sequence[dict[str, Any]]:
    plain: list[Any] = vectors.astype(float).tolist()
    if packed:
        plain = [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]
    return [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(plain)]
