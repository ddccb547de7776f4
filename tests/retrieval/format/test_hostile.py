"""No file of any kind hangs, fills the memory, reads another file or brings the process of the reader down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from errors import DocumentError
from retrieval.read.load import KINDS, Kind, load_file
from retrieval.read.reader import Reader, ReadLimits
from tests.retrieval.file import LIMIT, zipped

FILES = Path(__file__).parents[3] / "bench" / "data" / "files"
DEEP = 100_000
SECRET = "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/hostname'>]>"
LAUGHS = "<!DOCTYPE x [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {after} '{f'&{before};' * 20}'>" for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
ODF = "application/vnd.oasis.opendocument.text"


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader(ReadLimits(10**6, 10, 10**9, 10**5)) as opened:
        yield opened


def odt(content: str) -> bytes:
    return zipped({"mimetype": ODF, "content.xml": content}, stored=("mimetype",))


def xlsx(sheet: str) -> bytes:
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    book = f'<workbook {main} xmlns:r="{office}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
    one = f'<Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/>'
    return zipped(
        {
            "xl/workbook.xml": book,
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}">{one}</Relationships>',
            "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{sheet}</sheetData></worksheet>",
        }
    )


HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "brackets in JSON": ("a.json", lambda: b"[" * DEEP + b"]" * DEEP),
    "brackets in YAML": ("a.yaml", lambda: b"[" * DEEP + b"]" * DEEP),
    "brackets in a notebook": ("a.ipynb", lambda: b'{"cells":' + b"[" * DEEP),
    "elements in XML": ("a.xml", lambda: b"<a>" * DEEP + b"</a>" * DEEP),
    "elements in HTML": ("a.html", lambda: b"<html>" + b"<div>" * DEEP + b"x"),
    "elements in ODF": ("a.odt", lambda: odt("<a>" * DEEP + "</a>" * DEEP)),
    "groups in RTF": ("a.rtf", lambda: b"{\\rtf1" + b"{" * DEEP + b"}" * DEEP + b"}"),
    "aliases in YAML": (
        "a.yaml",
        lambda: "\n".join(
            ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
        ).encode(),
    ),
    "an alias of itself": ("a.yaml", lambda: b"a: &a\n  b: *a\n"),
    "entities in XML": ("a.xml", lambda: f"{LAUGHS}]><x>&i;</x>".encode()),
    "a zip bomb": ("a.odt", lambda: odt(f"<a>{'x' * 30_000_000}</a>")),
    "a sheet of the largest size": (
        "a.xlsx",
        lambda: xlsx('<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'),
    ),
    "repeated columns in ODF": ("a.ods", lambda: (FILES / "costs.ods").read_bytes()[:-40]),
    "damaged slides": ("a.pptx", lambda: (FILES / "plan.pptx").read_bytes()[:20_000]),
    "a damaged book": ("a.epub", lambda: (FILES / "boat.epub").read_bytes()[:1500]),
    "a damaged workbook": ("a.xls", lambda: (FILES / "stock.xls").read_bytes()[:2000]),
    "a damaged PDF": ("a.pdf", lambda: (FILES / "two.pdf").read_bytes()[:500]),
    "an archive that is something else": ("a.hwpx", lambda: zipped({"x": "y"})),
    "a workbook with a password": ("a.xlsx", lambda: b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le")),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused_with_its_name(reader: Reader, case: str) -> None:
    name, make = HOSTILE[case]
    with pytest.raises(DocumentError) as caught:
        reader.read(name, make())
    assert name in str(caught.value)
    assert caught.value.code != "document_too_slow"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.xml", f"{SECRET}<x><a>safe</a><b>&e;</b></x>".encode()),
        ("a.html", f"{SECRET}<html><body><p>safe</p>&e;</body></html>".encode()),
        ("a.odt", odt(f"{SECRET}<o:body xmlns:o='x'><o:p>safe &e;</o:p></o:body>")),
    ],
)
def test_no_other_file_is_read(reader: Reader, name: str, data: bytes) -> None:
    read = reader.read(name, data)
    text = "".join(piece.text for piece in read.pieces)
    assert "safe" in text
    assert Path("/etc/hostname").read_text().strip() not in text


def test_a_table_with_huge_spans_is_no_huge_table(reader: Reader) -> None:
    cell = '<td rowspan="9999" colspan="9999">x</td>'
    rows = "".join(f"<tr>{cell}<td>{number}</td></tr>" for number in range(300))
    assert reader.read("a.html", f"<html><body><table border=1>{rows}</table></body></html>".encode()).pieces


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_a_file_cut_anywhere_is_read_or_refused(kind: Kind) -> None:
    for file in sorted(FILES.iterdir()):
        if file.suffix in kind.suffixes:
            data = file.read_bytes()
            for share in (0.2, 0.6, 0.95):
                cut = data[: int(len(data) * share)]
                with suppress(DocumentError):
                    load_file(file.name, cut, LIMIT)
