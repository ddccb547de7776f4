"""Books in EPUB: the chapters in reading order."""

from __future__ import annotations

import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from retrieval.read.format.archive import local_name, local_value, open_archive, parse_xml
from retrieval.read.format.html import read_page
from retrieval.read.format.loaded import Loaded
from text.clean import clean_text

_CONTAINER = "META-INF/container.xml"


def read_epub(name: str, data: bytes, limit: int) -> Loaded:
    with open_archive(name, data, limit) as archive:
        container = parse_xml(archive.read(_CONTAINER))
        package = next(local_value(each, "full-path") for each in container.iter() if local_name(each) == "rootfile")
        root = parse_xml(archive.read(package))
        title = next((each.text or "" for each in root.iter() if local_name(each) == "title"), "")
        chapters = [read_page(name, archive.read(path)).text for path in _list_chapters(archive, package, root)]
        return Loaded(name, clean_text(title), "\n\n".join(filter(None, chapters)), True, {})


def _list_chapters(archive: zipfile.ZipFile, package: str, root: Any) -> list[str]:
    """Returns the paths of the chapters in reading order, without the table of contents and what stands beside."""
    items = {each.get("id"): each for each in root.iter() if local_name(each) == "item"}
    order = [
        items[each.get("idref")]
        for each in root.iter()
        if local_name(each) == "itemref" and each.get("linear") != "no" and each.get("idref") in items
    ]
    paths = [
        posixpath.normpath(posixpath.join(posixpath.dirname(package), unquote(item.get("href", ""))))
        for item in order
        if "html" in item.get("media-type", "") and "nav" not in item.get("properties", "").split()
    ]
    return [path for path in paths if path in archive.namelist()]
