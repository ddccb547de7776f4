"""Recognising the text of scanned pages with Tesseract, where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from html import escape
from typing import Any

from text.clean import collapse_spaces

TOOL = "Tesseract"
DOTS = 300
"""The resolution in which a page is recognised, in dots per inch."""
LONGEST = 5000
"""The longest side of a page's picture, in dots."""
_LANGUAGES = ("kor", "eng")


@cache
def find_tool() -> str:
    """Returns the path of the program; '' when it is not installed."""
    return shutil.which("tesseract") or ""


@cache
def _choose_languages(tool: str) -> str:
    listed = subprocess.run([tool, "--list-langs"], capture_output=True, text=True, check=False).stdout.split()
    return "+".join(language for language in _LANGUAGES if language in listed) or "eng"


def recognise_page(page: Any) -> str:
    """Returns the paragraphs of a scanned page in HTML. The program runs within the limits of this process; a page that
    it cannot read has no text."""
    tool = find_tool()
    scale = min(DOTS / 72, LONGEST / max(*page.get_size(), 1.0))
    picture = page.render(scale=scale, grayscale=True)
    rows = bytes(picture.buffer)
    packed = b"".join(rows[at * picture.stride :][: picture.width] for at in range(picture.height))
    command = [tool, "stdin", "stdout", "-l", _choose_languages(tool), "--dpi", str(round(scale * 72))]
    image = b"P5 %d %d 255\n" % (picture.width, picture.height) + packed
    done = subprocess.run(command, input=image, capture_output=True, check=False)
    paragraphs = re.split(r"\n\s*\n", done.stdout.decode("utf-8", "replace"))
    return "".join(f"<p>{escape(collapse_spaces(text))}</p>" for text in paragraphs if text.strip())
