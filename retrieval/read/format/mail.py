"""Mails (EML): sender, date and text; attachments are named."""

from __future__ import annotations

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

from retrieval.read.escaped import escape_blocks
from retrieval.read.format.html import from_html
from retrieval.read.format.loaded import Loaded, decode_file
from text.clean import clean_text

_HEAD = ("From", "To", "Cc", "Date")


def read_mail(name: str, data: bytes, _limit: int) -> Loaded:
    message = message_from_bytes(data, policy=default)
    assert isinstance(message, EmailMessage)
    head = [f"{field}: {clean_text(str(message[field]))}" for field in _HEAD if message[field]]
    files = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
    head += [f"Attachment: {clean_text(file)}" for file in files]
    body = message.get_body(("html", "plain"))
    text = _read_body(name, body) if isinstance(body, EmailMessage) else ""
    return Loaded(
        name,
        clean_text(str(message["Subject"] or "")),
        "\n\n".join(["  \n".join(map(escape_blocks, head)), text]),
        True,
        {},
    )


def _read_body(name: str, body: EmailMessage) -> str:
    data = body.get_payload(decode=True)
    text = decode_file(name, data if isinstance(data, bytes) else b"", body.get_content_charset() or "")
    return from_html(name, text).text if body.get_content_subtype() == "html" else escape_blocks(text)
