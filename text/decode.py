"""Text from bytes whose encoding nobody names, or names wrongly.

UTF-8 and byte order marks are certain. Beyond them the same bytes are text in several encodings, so each is judged by
what it would say: ``It’s`` of Windows reads «It뭩» in Korean's, and a syllable that Korean hardly uses, between two
Latin letters, is no Korean. ``charset-normalizer`` alone reads a quarter of such short texts wrongly (decision 12).
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

SAMPLE = 40_000
"""Bytes of a long text that are judged."""
ENOUGH = 0.2
"""Points per character from which an encoding may be the one."""
BROKEN = 50
"""At most one in this many characters of a text may be NUL, or broken in its declared encoding."""
WHOLE = 10
"""In a damaged text so many characters beyond ASCII are whole for one that is broken: else another encoding is
likelier."""
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_MEANT = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-9": "cp1254",
}
"""Names that stand for a larger encoding, as in browsers (WHATWG Encoding Standard)."""
_KOREAN = frozenset(
    "이다는에의을가하고지로한를은서어기사도나인아리시대그자있정들해수일전부보게여주스상만과라장제조동원관비경위공성구"
    "습니까요었았것했말세안녕용내무연선생각오중국된되면치러음없우마모으"
)
_CHINESE = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成"
    "方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日者意无力它与长把机十民第公此已工使"
    "情明性知全三又关点正业外将两高间由问很最重并物手应向头文体政美相见被利什二等产或新己制身果加西月话合回特代内信表化老给"
    "世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活更别打女变四神总何电数安少报才结反受目太"
    "量再感建务做接必场件计管期市直资命山金指许统区保至形社便空决治展科司五基眼书非则听白却界达光放强即像难且思完设式色路记"
    "南品住告类求据程北边该交规万取望觉领共确传师清今切院让识候带导运请谢您吗呢吧"
    "這個們來為國說時會對過發後種經學現當動麼還進樣開實無與長機關點業將兩間問並應頭體見產話給門東聲員論處義幾認條氣題別變總"
    "電數報結務場計許統區決書則聽達強難設記類據邊該規萬領確師讓識帶導運請謝嗎"
)
_WESTERN = frozenset("àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿßœšžÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝŒŠŽ")
_SIGNS = frozenset("‘’“”‚„–—…•€«»‹›°©®™£¥\xa7·½¼¾²³±×÷¡¿µªº\xa0")
_CENTRAL = frozenset("ąćęłńóśźżĄĆĘŁŃÓŚŹŻáčďéěíňřšťúůýžÁČĎÉĚÍŇŘŠŤÚŮÝŽőűŐŰöüÖÜăâîșțşţĂÂÎŞŢôľĺŕ")
_TURKISH = frozenset("ğışçöüĞİŞÇÖÜâî")
_FREQUENT_CYRILLIC = frozenset("оеаинтсрвлкмдпу")


class NoText(ValueError):
    """The bytes are no text in any encoding that is known here."""


@dataclass(frozen=True, slots=True)
class ScriptEncodings:
    """The encodings of one way of writing. ``weigh``: points of a character that is not ASCII, from -3 to 1, by the
    character and those before and behind it."""

    encodings: tuple[str, ...]
    weigh: Callable[[str, str, str], float]


def decode_text(data: bytes, declared: str = "") -> str:
    """Returns the text of bytes. ``declared``: the encoding that the file or its server names, which may be wrong.
    Raises ``NoText``."""
    if (marked := next((name for mark, name in _MARKS.items() if data.startswith(mark)), "")) and (
        text := _try_decode(data, marked)
    ) is not None:
        return text
    if data.count(b"\x00") * BROKEN <= len(data) and (text := _try_decode(data, "utf-8", nul=True)) is not None:
        return text
    named, scores = _find_encoding(declared), dict(_score_all(data))
    for name in dict.fromkeys((named, "utf-8")):
        if name and name not in scores and (text := _read_damaged(data, name)) is not None:
            return text
    likely = sorted((name for name in scores if scores[name] >= ENOUGH), key=lambda name: -scores[name])
    if named and (named not in scores or not likely or scores[named] >= scores[likely[0]] / 2):
        likely.insert(0, named)  # a file may say what it is, but not against all that it says
    for name in likely:
        if (text := _try_decode(data, name)) is not None:
            return text
    raise NoText


def _read_damaged(data: bytes, encoding: str) -> str | None:
    """Returns a text in which few characters are broken and many more beyond ASCII are whole; None for any other."""
    text = data.decode(encoding, "replace")
    broken, whole = text.count("\ufffd"), sum(letter > "\x7f" for letter in text)
    return text if broken * BROKEN <= len(text) and broken * WHOLE < whole and "\x00" not in text else None


_OF_NAMES = ("idna", "punycode")
"""Encodings of host names, not of texts."""


def _find_encoding(declared: str) -> str:
    """Returns the encoding that is meant by a name; empty for an unknown one, and for one that is not for text."""
    try:
        name = codecs.lookup(declared).name if declared else ""
        "".encode(name or "utf-8")
    except (LookupError, ValueError):  # ValueError: a name with NUL
        return ""
    return "" if name in _OF_NAMES else _MEANT.get(name, name)


def _try_decode(data: bytes, encoding: str, *, nul: bool = False) -> str | None:
    """Returns the text of bytes in an encoding; None where they are none, or hold NUL and ``nul`` is not set."""
    try:
        text = data.decode(encoding)
    except (UnicodeError, LookupError):
        return None
    return None if "\x00" in text and not nul else text


def _score_all(data: bytes) -> Iterator[tuple[str, float]]:
    """Yields the encodings in which the beginning of the bytes is text, with their points."""
    sample, is_whole = data[:SAMPLE], len(data) <= SAMPLE
    for script in SCRIPTS:
        for encoding in script.encodings:
            if b"\x00" in sample and not encoding.startswith("utf-16"):
                continue
            try:
                text = codecs.getincrementaldecoder(encoding)().decode(sample, is_whole)
            except UnicodeError:
                continue
            if "\x00" not in text:
                yield encoding, _score_text(text, script.weigh)


def _score_text(text: str, weigh: Callable[[str, str, str], float]) -> float:
    """Returns the points per character beyond ASCII; control characters that no text holds cost them all."""
    padded = f" {text} "
    points = [weigh(padded[at - 1], letter, padded[at + 1]) for at, letter in enumerate(padded) if letter > "\x7f"]
    controls = sum(
        unicodedata.category(letter) in ("Cc", "Cn", "Co") and letter not in "\t\n\r\f\x1a" for letter in text
    )
    return (sum(points) - 3 * controls) / max(1, len(points)) if points or controls else 1.0


@cache
def _is_frequent_in(letter: str, encoding: str, first: int, last: int) -> bool:
    """Returns whether the first byte of a character in an encoding lies in a range: its frequent characters."""
    try:
        return first <= letter.encode(encoding)[0] <= last
    except UnicodeError:
        return False


def _is_latin(letter: str) -> bool:
    return letter.isascii() and letter.isalpha()


def _weigh_korean(before: str, letter: str, behind: str) -> float:
    if "ㄱ" <= letter <= "ㅣ":
        return 0.4
    if "가" <= letter <= "힣":
        if _is_latin(before) and _is_latin(behind):
            return -3.0
        return 1.0 if letter in _KOREAN else 0.5 if _is_frequent_in(letter, "euc_kr", 0xB0, 0xC8) else -1.5
    if "一" <= letter <= "鿿":
        return -0.2
    return _weigh_sign(letter)


def _weigh_sign(letter: str) -> float:
    """Returns the points of what stands between the characters of East Asia: their punctuation and full-width forms."""
    if "\u3000" <= letter <= "\u303f" or "\uff01" <= letter <= "\uff60" or letter in "·…―‘’“”※○●◎◇◆□■△▲▽▼→←↑↓①②③④⑤℃㈜":
        return 0.4
    return -0.7


def _weigh_japanese(before: str, letter: str, behind: str) -> float:
    if _is_latin(before) and _is_latin(behind):
        return -3.0
    if "ぁ" <= letter <= "ん":
        return 1.0
    if "ァ" <= letter <= "ー":
        return 0.7
    if "一" <= letter <= "鿿":
        return 0.3 if _is_frequent_in(letter, "cp932", 0x88, 0x97) else -0.3
    if "｡" <= letter <= "ﾟ":
        return -2.0 if _is_latin(before) or _is_latin(behind) else 0.0
    return _weigh_sign(letter)


def _weigh_chinese(before: str, letter: str, behind: str) -> float:
    if _is_latin(before) and _is_latin(behind):
        return -3.0
    if letter in _CHINESE:
        return 1.0
    if "一" <= letter <= "鿿":
        return (
            0.1
            if _is_frequent_in(letter, "gb2312", 0xB0, 0xD7) or _is_frequent_in(letter, "big5", 0xA4, 0xC6)
            else -0.7
        )
    return _weigh_sign(letter)


def _weigh_western(before: str, letter: str, behind: str) -> float:
    if before == letter:
        return -0.3
    if letter in _SIGNS:
        return 0.7 if before.isascii() or behind.isascii() else -0.3
    if letter in _WESTERN:
        return _weigh_letter(before, letter, behind)
    return -1.0


def _weigh_letter(before: str, letter: str, behind: str) -> float:
    """Returns the points of a Latin letter with a mark: it stands in a word of plain ones, and a capital begins it."""
    if not (before.isascii() or behind.isascii()) or (letter.isupper() and before.islower()):
        return -0.7
    return 0.8 if before.isalpha() or behind.isalpha() else 0.3


def _weigh_central(before: str, letter: str, behind: str) -> float:
    if letter in _CENTRAL:
        return 0.78 if _weigh_letter(before, letter, behind) > 0 else -0.7
    return 0.5 if letter in _SIGNS else -1.0


def _weigh_turkish(before: str, letter: str, behind: str) -> float:
    if letter in _TURKISH:
        return 0.79 if _weigh_letter(before, letter, behind) > 0 else -0.7
    return 0.5 if letter in _SIGNS else -1.0


def _weigh_cyrillic(before: str, letter: str, behind: str) -> float:
    if before == letter:
        return -0.3
    if "А" <= letter <= "я" or letter in "ёЁіїєґІЇЄҐ":
        if _is_latin(before) or _is_latin(behind):
            return -1.0
        if letter.isupper():
            return -0.8 if before.isalpha() and before.islower() else 0.3
        return 1.0 if letter in _FREQUENT_CYRILLIC else 0.5
    return 0.5 if letter in _SIGNS or letter == "№" else -1.0


def _weigh_greek(before: str, letter: str, behind: str) -> float:
    if before == letter:
        return -0.3
    if "Ά" <= letter <= "ώ":
        if _is_latin(before) or _is_latin(behind):
            return -1.0
        return 0.3 if letter.isupper() else 0.9
    return 0.5 if letter in _SIGNS else -1.0


def _weigh_any(before: str, letter: str, behind: str) -> float:
    """Returns the points of a character of UTF-16 without a mark, which may be of any script."""
    return max(script.weigh(before, letter, behind) for script in SCRIPTS[:-1])


SCRIPTS = (
    ScriptEncodings(("cp949",), _weigh_korean),
    ScriptEncodings(("cp1252",), _weigh_western),
    ScriptEncodings(("cp932", "euc_jp"), _weigh_japanese),
    ScriptEncodings(("gb18030", "big5"), _weigh_chinese),
    ScriptEncodings(("koi8_r", "koi8_u", "cp1251", "cp866", "iso8859_5"), _weigh_cyrillic),
    ScriptEncodings(("cp1250", "iso8859_2"), _weigh_central),
    ScriptEncodings(("cp1254",), _weigh_turkish),
    ScriptEncodings(("cp1253",), _weigh_greek),
    ScriptEncodings(("utf-16-le", "utf-16-be"), _weigh_any),
)
"""The ways of writing; of equal points the first."""

__all__ = ["NoText", "decode_text"]
