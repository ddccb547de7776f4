"""The product's own FAQ and guides, which a first run indexes: with the vectors that come with them, so at once.

``python -m retrieval.own`` writes those vectors anew after a change to the documents. A passage without one is embedded
like any other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from retrieval.change import Added, Progress, sources, stage
from retrieval.embed import BuiltIn, Vectors
from retrieval.library import Library
from retrieval.row import digest

DOCS = Path(__file__).parent.parent / "docs"
OWN = tuple(DOCS / kind for kind in ("faq", "guide"))
VECTORS = DOCS / "vectors.npz"
"""Of the built-in model, half precision: ``hash`` of each passage's embedded text, and ``value``, a row for each."""
LIMIT = 10**7


def first_run(
    library: Library, *, progress: Callable[[Progress], None] = lambda _: None, stop: threading.Event | None = None
) -> Added | None:
    """Indexes the product's own documents into a library that nothing was ever added to, the FAQ first; a run that was
    cut off goes on at the next start. Later only those that are still there and have changed, as an update of the
    product brings them: what was removed stays away. None when nothing was to do.
    """
    _seed(library)
    mark = library.folder / "first-run"
    if not (library.is_new or mark.exists()):
        return _own_again(library, progress, stop)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    done = [library.add([folder], progress=progress, stop=stop) for folder in OWN if folder.is_dir()]
    if not any(each.cancelled for each in done):
        mark.unlink(missing_ok=True)
    return _sum(done)


def _own_again(library: Library, progress: Callable[[Progress], None], stop: threading.Event | None) -> Added | None:
    roots = tuple(str(folder) for folder in OWN)
    own = [document for document in library.documents() if document.source.startswith(roots)]
    done = library.reindex(*(each.id for each in own if Path(each.source).exists()), progress=progress, stop=stop)
    return done if done.changed or done.failed or done.cancelled else None


def _sum(done: Sequence[Added]) -> Added:
    """Several additions as one."""
    return Added(
        added=tuple(name for each in done for name in each.added),
        changed=tuple(name for each in done for name in each.changed),
        unchanged=tuple(name for each in done for name in each.unchanged),
        removed=tuple(name for each in done for name in each.removed),
        failed=tuple(failure for each in done for failure in each.failed),
        passages=sum(each.passages for each in done),
        embedded=sum(each.embedded for each in done),
        seconds=sum(each.seconds for each in done),
        cancelled=any(each.cancelled for each in done),
    )


def texts() -> dict[str, str]:
    """The embedded text of every passage of these documents, by its hash."""
    staged = [stage(source, source.read(), None, LIMIT) for source in sources(OWN, LIMIT)]
    return {digest(text): text for each in staged for text in each.texts()}


def vectors() -> dict[str, Vectors]:
    """The vectors that come with the documents, by hash; none when the file is missing or damaged."""
    try:
        with VECTORS.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return dict(zip(file["hash"].tolist(), file["value"], strict=True))
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, BadZipFile):
        return {}


def write() -> int:
    """Writes the file anew, making only the vectors that are missing; returns how many."""
    known, wanted = vectors(), texts()
    made = {each: BuiltIn().passages([wanted[each]])[0] for each in sorted(set(wanted) - set(known))}
    rows = {each: vector for each, vector in sorted({**known, **made}.items()) if each in wanted}
    np.savez(VECTORS, hash=np.array(list(rows)), value=np.array(list(rows.values()), np.float16))
    return len(made)


def _seed(library: Library) -> None:
    found = vectors()
    if found:
        library.seed(BuiltIn.name, found)


if __name__ == "__main__":
    write()
