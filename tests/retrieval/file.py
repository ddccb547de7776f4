"""Small files of every kind, made by hand, and what the library makes of them."""

from __future__ import annotations

import io
import zipfile

import pypdf

from retrieval.read.load import load_file
from retrieval.read.split import split_passages

LIMIT = 1_000_000
CIPHERS = ("RC4-128", "AES-128", "AES-256-R5", "AES-256")
_CONTENT = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pieces(name: str, data: bytes) -> list[tuple[tuple[str, ...], str]]:
    """The passages of a file, each below its path."""
    loaded = load_file(name, data, LIMIT)
    found = split_passages(loaded.text, markdown=loaded.markdown, title=loaded.title)
    return [(piece.path, piece.text) for piece in found]


def pdf(*pages: str, password: str | None = None, cipher: str = "RC4-128") -> bytes:
    """A PDF with one line of text per page. ``password``: to open it; an empty one still protects it from changes."""
    parts = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        kids.append(f"{len(parts) + 1} 0 R")
        font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
        about = f"/Parent 2 0 R /MediaBox [0 0 600 800] /Resources {font} /Contents {len(parts) + 2} 0 R"
        parts += [f"<< /Type /Page {about} >>", f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream"]
    parts[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(pages)} >>"
    whole = objects(*parts)
    return whole if password is None else _locked(whole, password, cipher)


def objects(*parts: str) -> bytes:
    """A PDF of these objects, the first one its root."""
    made, offsets = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(parts, 1):
        offsets.append(len(made))
        made += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(parts) + 1
    trailer = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF"
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}"
    return made + end.encode()


def _locked(data: bytes, password: str, cipher: str) -> bytes:
    writer, out = pypdf.PdfWriter(clone_from=io.BytesIO(data)), io.BytesIO()
    writer.encrypt(password, owner_password="owner", algorithm=cipher)
    writer.write(out)
    return out.getvalue()


def word(*paragraphs: tuple[str, str]) -> bytes:
    """A Word file from (style, text); style «Title», «Heading 1» or «»."""
    body = "".join(f"<w:p>{_style(style)}<w:r><w:t>{text}</w:t></w:r></w:p>" for style, text in paragraphs)
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{"".join(name.split())}"><w:name w:val="{name}"/></w:style>'
        for name in ("Title", "Heading 1", "Heading 2")
    )
    relation = f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
    inner = f'<Relationship Id="r1" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    parts = {
        "[Content_Types].xml": _CONTENT,
        "_rels/.rels": f'<Relationships xmlns="{_RELS}">{relation}</Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELS}">{inner}</Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
        "word/styles.xml": f'<w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
    }
    return zipped(parts)


def _style(name: str) -> str:
    return f'<w:pPr><w:pStyle w:val="{"".join(name.split())}"/></w:pPr>' if name else ""


def zipped(parts: dict[str, str], stored: tuple[str, ...] = ()) -> bytes:
    """An archive; ``stored``: parts that are not packed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text, zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED)
    return out.getvalue()
