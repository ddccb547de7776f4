"""The product's own FAQ and guides, which a first run indexes: with the vectors that come with them, so at once.

``python -m retrieval.own`` writes those vectors anew after a change to the documents. A passage without one is embedded
like any other.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from retrieval.change import Added, Progress, sources, stage
from retrieval.document import Document
from retrieval.embed import BuiltIn, Vectors
from retrieval.library import Library
from retrieval.row import digest

DOCS = Path(__file__).parent.parent / "docs"
OWN = tuple(DOCS / kind for kind in ("faq", "guide"))
VECTORS = DOCS / "vectors.npz"
"""Of the built-in model, half precision: ``hash`` of each passage's embedded text, and ``value``, a row for each."""
LIMIT = 10**7
OFFERED = "own.json"


def first_run(
    library: Library, *, progress: Callable[[Progress], None] = lambda _: None, stop: threading.Event | None = None
) -> Added | None:
    """Indexes the product's own documents into a library that nothing was ever added to, the FAQ first; a run that was
    cut off goes on at the next start. Later starts follow the product: what an update adds, changes or drops, also when
    its folder was moved, as long as any of its documents is there. What somebody removed stays away. None when nothing
    was to do.
    """
    mark = library.folder / "first-run"
    if not (library.is_new or mark.exists()):
        return _own_again(library, progress, stop)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    _seed(library)
    done = _sum([library.add([folder], progress=progress, stop=stop) for folder in _folders()])
    if not done.cancelled:
        _offer(library)
        mark.unlink(missing_ok=True)
    return done


def _own_again(library: Library, progress: Callable[[Progress], None], stop: threading.Event | None) -> Added | None:
    root, offered = _offered(library)
    if root != _root():
        moved = {each.id: str(_root() / path) for path, each in _own(library, root).items() if path in offered}
        library.relocate(moved)
    there = _own(library, _root())
    if not there:
        return None
    _seed(library)
    removed = {str(_root() / path) for path in offered - set(there)}
    done = library.add(_folders(), without=removed, progress=progress, stop=stop)
    if not done.cancelled:
        _offer(library)
    return done if done.added or done.changed or done.removed or done.failed or done.cancelled else None


def _root() -> Path:
    return OWN[0].parent


def _folders() -> list[Path]:
    return [folder for folder in OWN if folder.is_dir()]


def _files() -> set[str]:
    """The product's own documents by their path below ``_root``."""
    return {Path(each.source).relative_to(_root()).as_posix() for each in sources(_folders(), LIMIT)}


def _own(library: Library, root: Path) -> dict[str, Document]:
    """The documents of the library whose files are the product's below ``root``, by their path there."""
    folders = [root / folder.name for folder in OWN]
    return {
        Path(each.source).relative_to(root).as_posix(): each
        for each in library.documents()
        if any(Path(each.source).is_relative_to(folder) for folder in folders)
    }


def _offer(library: Library) -> None:
    """Notes where the product's documents are and which ones the library was given: what lacks later was removed."""
    library.folder.mkdir(parents=True, exist_ok=True)
    noted = {"root": str(_root()), "files": sorted(_files())}
    (library.folder / OFFERED).write_text(json.dumps(noted, ensure_ascii=False), "utf-8")


def _offered(library: Library) -> tuple[Path, set[str]]:
    """What ``_offer`` noted; where nothing is known, all that there is now."""
    try:
        noted = json.loads((library.folder / OFFERED).read_text("utf-8"))
        return Path(noted["root"]), set(noted["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return _root(), _files()


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
