"""The zip files in which offices keep their documents: opened with limits, and their XML parsed without entities."""

from __future__ import annotations

import io
import posixpath
import zipfile
from html import escape
from typing import Any

from lxml import etree

from errors import DocumentEncrypted, DocumentTooLarge

UNPACKED = 20
"""How many times the size limit an archive may unpack to."""
_MANIFEST = "META-INF/manifest.xml"


def open_archive(name: str, data: bytes, limit: int) -> zipfile.ZipFile:
    """Returns the archive. Raises ``DocumentTooLarge`` for one that unpacks to more than ``UNPACKED`` times the limit,
    and ``DocumentEncrypted``."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    size = sum(part.file_size for part in archive.infolist())
    if size > limit * UNPACKED:
        raise DocumentTooLarge(name=name, size=size, limit=limit * UNPACKED)
    locked = any(part.flag_bits & 1 for part in archive.infolist())
    if locked or (_MANIFEST in archive.namelist() and b"encryption-data" in archive.read(_MANIFEST)):
        raise DocumentEncrypted(name=name)
    return archive


def parse_xml(data: bytes) -> Any:
    """Returns the root element. Entities stay as they are written and nothing is fetched; libxml2 refuses elements more
    than 256 deep."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    return etree.fromstring(data, parser)


def read_relations(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Returns kind and path of each part that an Office part refers to, by id."""
    folder, file = posixpath.split(part)
    path = f"{folder}/_rels/{file}.rels"
    if path not in archive.namelist():
        return {}
    return {
        str(relation.get("Id")): (
            str(relation.get("Type", "")).rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, str(relation.get("Target", "")))).lstrip("/"),
        )
        for relation in parse_xml(archive.read(path))
        if relation.get("TargetMode") != "External"
    }


def local_name(element: Any) -> str:
    """Returns the name of an element without its namespace; '' for what is no element, such as an entity."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def local_value(element: Any, name: str) -> str:
    """Returns an attribute whatever its namespace; '' when the element has none."""
    return next((value for key, value in element.attrib.items() if etree.QName(key).localname == name), "")


def write_element(tag: str, text: str) -> str:
    """Returns plain text as an HTML element, with its line breaks; '' for blank text."""
    lines = [escape(line.strip()) for line in text.split("\n")]
    inner = "<br>".join(lines).strip()
    return f"<{tag}>{inner}</{tag}>" if inner.replace("<br>", "") else ""


def write_slide_heading(number: int, title: str) -> str:
    """Returns the number of a slide, with its title where it has one, as a heading in HTML."""
    return write_element("h2", f"{number}. {title}" if title else f"{number}.")


def write_cell(inner: str, columns: int, rows: int) -> str:
    """Returns a table cell in HTML that spans so many columns and rows."""
    spans = f' colspan="{columns}"' if columns > 1 else ""
    spans += f' rowspan="{rows}"' if rows > 1 else ""
    return f"<td{spans}>{inner}</td>"


def parse_attribute_count(text: str) -> int:
    """Returns a number of columns, rows or levels as it is written in an attribute; 1 for anything else."""
    return int(text) if text.isdecimal() and 0 < len(text) < 8 else 1
