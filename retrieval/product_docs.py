"""The product's own FAQ and guides. The first run indexes them at once, because their vectors come with the product.

``python -m retrieval.product_docs`` updates those vectors after a change to the documents. A passage without a vector
is embedded like any other.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

import private
from model.embedding import BuiltIn, Vectors
from retrieval.change import Added, AddingProgress, list_source_files, stage_file
from retrieval.document import Document
from retrieval.library import Library
from text.clean import parse_json
from text.digest import hash_text

DOCS = Path(__file__).parent.parent / "docs"
OWN = tuple(DOCS / kind for kind in ("faq", "guide"))
VECTORS = DOCS / "vectors.npz"
"""Vectors of the built-in model in half precision: ``hash`` of each embedded text, and ``value`` with a row for
each."""
LIMIT = 10**7
OFFERED = "own.json"


def first_run(
    library: Library,
    *,
    progress: Callable[[AddingProgress], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> Added | None:
    """Indexes the product's own documents, the FAQ first, into a library that nothing was ever added to; a run that was
    cut off resumes at the next start. Later starts apply what an update of the product adds, changes or drops, also
    when the product's folder was moved, as long as the library has any of these documents. A document that somebody
    removed stays removed. Returns None when there was nothing to do."""
    mark = library.folder / "first-run"
    if not (library.is_new or mark.exists()):
        return _own_again(library, progress, stop)
    private.make_folder(mark.parent)
    private.make_file(mark)
    _seed_docs_vectors(library)
    outcome = _sum_additions(
        [library.add([folder], collection="product", progress=progress, stop=stop) for folder in _list_docs_folders()]
    )
    if not outcome.cancelled:
        _record_offered_docs(library)
        mark.unlink(missing_ok=True)
    return outcome


def _own_again(
    library: Library, progress: Callable[[AddingProgress], None], stop: threading.Event | None
) -> Added | None:
    root, offered = _load_offered_docs(library)
    if root != _find_docs_root():
        moved = {
            document.id: str(_find_docs_root() / path)
            for path, document in _find_product_documents(library, root).items()
            if path in offered
        }
        library.relocate(moved)
    present = _find_product_documents(library, _find_docs_root())
    if not present:
        return None
    _seed_docs_vectors(library)
    removed = {str(_find_docs_root() / path) for path in offered - set(present)}
    library.move("product", *(document.id for document in present.values() if document.collection != "product"))
    outcome = library.add(_list_docs_folders(), collection="product", without=removed, progress=progress, stop=stop)
    if not outcome.cancelled:
        _record_offered_docs(library)
    return (
        outcome if outcome.added or outcome.changed or outcome.removed or outcome.failed or outcome.cancelled else None
    )


def _find_docs_root() -> Path:
    return OWN[0].parent


def _list_docs_folders() -> list[Path]:
    return [folder for folder in OWN if folder.is_dir()]


def _list_docs_files() -> set[str]:
    """Returns the paths of the product's own documents, relative to ``_find_docs_root``."""
    return {
        Path(source.source).relative_to(_find_docs_root()).as_posix()
        for source in list_source_files(_list_docs_folders(), LIMIT)
    }


def _find_product_documents(library: Library, root: Path) -> dict[str, Document]:
    """Returns the library's documents whose files are the product's below ``root``, by their path relative to it."""
    folders = [root / folder.name for folder in OWN]
    return {
        Path(document.source).relative_to(root).as_posix(): document
        for document in library.documents()
        if any(Path(document.source).is_relative_to(folder) for folder in folders)
    }


def _record_offered_docs(library: Library) -> None:
    """Records where the product's documents are and which ones the library was given: one that is missing later was
    removed by somebody."""
    private.make_folder(library.folder)
    private.make_file(library.folder / OFFERED)
    record = {"root": str(_find_docs_root()), "files": sorted(_list_docs_files())}
    (library.folder / OFFERED).write_text(json.dumps(record, ensure_ascii=False), "utf-8")


def _load_offered_docs(library: Library) -> tuple[Path, set[str]]:
    """Returns the folder and the files that ``_record_offered_docs`` recorded; without a record, the current ones."""
    try:
        record = parse_json((library.folder / OFFERED).read_text("utf-8"))
        return Path(record["root"]), set(record["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return _find_docs_root(), _list_docs_files()


def _sum_additions(done: Sequence[Added]) -> Added:
    """Returns several additions as one."""
    return Added(
        added=tuple(name for addition in done for name in addition.added),
        changed=tuple(name for addition in done for name in addition.changed),
        unchanged=tuple(name for addition in done for name in addition.unchanged),
        removed=tuple(name for addition in done for name in addition.removed),
        failed=tuple(failure for addition in done for failure in addition.failed),
        passages=sum(addition.passages for addition in done),
        embedded=sum(addition.embedded for addition in done),
        seconds=sum(addition.seconds for addition in done),
        cancelled=any(addition.cancelled for addition in done),
    )


def read_docs_texts() -> dict[str, str]:
    """Returns the embedded texts of the product's documents by hash: every passage, and the headings above it."""
    staged = [stage_file(source, source.read(), None, LIMIT) for source in list_source_files(OWN, LIMIT)]
    return {hash_text(text): text for document in staged for text in (*document.texts(), *document.headings())}


def load_docs_vectors() -> dict[str, Vectors]:
    """Returns the vectors that come with the documents, by hash; none when the file is missing or damaged."""
    try:
        with VECTORS.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return dict(zip(file["hash"].tolist(), file["value"], strict=True))
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, BadZipFile):
        return {}


def write_docs_vectors() -> int:
    """Writes the file of vectors again, embeds only texts that have no vector yet, and returns their number."""
    known, needed = load_docs_vectors(), read_docs_texts()
    fresh = {hash_: BuiltIn().passages([needed[hash_]])[0] for hash_ in sorted(set(needed) - set(known))}
    rows = {hash_: vector for hash_, vector in sorted({**known, **fresh}.items()) if hash_ in needed}
    np.savez(VECTORS, hash=np.array(list(rows)), value=np.array(list(rows.values()), np.float16))
    return len(fresh)


def _seed_docs_vectors(library: Library) -> None:
    shipped = load_docs_vectors()
    if shipped:
        library.seed(BuiltIn.name, shipped)


if __name__ == "__main__":
    write_docs_vectors()
