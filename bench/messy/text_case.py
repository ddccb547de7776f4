"""Texts as people save them, with the encodings that their programs chose."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Saved:
    """A text and the encodings in which it was saved. A name with ``+`` writes the byte order mark first. ``declared``:
    what the file itself, or its server, says of it."""

    name: str
    text: str
    encodings: tuple[str, ...]
    declared: str = ""
    unseen: bool = False


SAVED = (
    Saved("an apostrophe", "It’s Bob’s house", ("cp1252",)),
    Saved("german prices", "Name;Preis\nÄrzte GmbH;12,50 €\nMüller & Söhne;3,00 €\n", ("cp1252", "utf-8+", "utf-16+")),
    Saved("english quotes", "“Don’t worry,” she said – and left…", ("cp1252",)),
    Saved("french", "L'été dernier, nous avons mangé à la crêperie près de chez Zoë.", ("cp1252", "iso8859-1")),
    Saved("spanish", "¿Dónde está el niño? Mañana llegará más tarde.", ("cp1252",)),
    Saved("one word", "Ärzte", ("cp1252",)),
    Saved("a temperature", "Set the oven to 180 °C for 25 min.", ("cp1252",)),
    Saved(
        "korean letter",
        "안녕하세요. 지난주에 부탁드린 자료를 보내 드립니다.\r\n감사합니다.",
        ("cp949", "euc_kr", "utf-8", "utf-16+", "utf-16-le"),
    ),
    Saved("korean table", "이름,부서,내선\n김민수,총무팀,1234\n박서연,연구소,5678\n", ("cp949", "utf-8+")),
    Saved("korean words in english", "Our team lead is 김민수 and the office is in 판교.", ("cp949",)),
    Saved("korean beyond KS X 1001", "펲시콜라를 똠양꿍과 함께 먹었다. 햏햏 웃었다.", ("cp949",)),
    Saved(
        "japanese",
        "お世話になっております。資料をお送りします。よろしくお願いいたします。",
        ("cp932", "euc_jp", "utf-8+", "utf-16-be"),
    ),
    Saved(
        "chinese",
        "您好，请把上个月的报告发给我，谢谢。",
        ("gb18030", "gb2312", "big5~您好，請把上個月的報告發給我，謝謝。"),
    ),
    Saved("russian", "Здравствуйте! Отправляю вам отчёт за прошлый месяц.", ("koi8_r", "cp1251", "cp866")),
    Saved("menu", "Café crème 4,50 €\nCrème brûlée 6,00 €\n", ("cp1252", "utf-8"), unseen=True),
    Saved("a name list", "José Núñez\nBjörn Åkesson\nŁukasz\n".replace("Ł", "L"), ("cp1252", "iso8859-1"), unseen=True),
    Saved("a contraction", "I can’t, you won’t, and we’re done.", ("cp1252",), unseen=True),
    Saved("one dash", "Mon–Fri 9–17", ("cp1252",), unseen=True),
    Saved("swedish", "Smörgåsbord på lördag klockan åtta, välkomna alla!", ("cp1252",), unseen=True),
    Saved("portuguese", "Não há informação disponível sobre a reunião de amanhã.", ("cp1252", "utf-16+"), unseen=True),
    Saved("turkish", "Şehirdeki ışıklar çok güzel, değil mi?", ("cp1254",), unseen=True),
    Saved("greek", "Καλημέρα σας, πώς είστε σήμερα;", ("cp1253",), unseen=True),
    Saved("korean chat", "ㅋㅋㅋ 그래 내일 보자~ 밥 먹었어?", ("cp949", "utf-16-le"), unseen=True),
    Saved(
        "korean notice",
        "※ 공지: 12월 25일(목)은 휴관합니다. 문의 ☎ 02-123-4567",
        ("cp949", "euc_kr~※ 공지: 12월 25일(목)은 휴관합니다. 문의 02-123-4567", "utf-8+", "utf-16-be"),
        unseen=True,
    ),
    Saved("korean code comments", "int main() { // 시작 지점\n    return 0; // 끝\n}\n", ("cp949",), unseen=True),
    Saved(
        "korean csv with english",
        "date,item,memo\n2026-01-03,coffee,스타벅스 강남점\n2026-01-04,book,교보문고\n",
        ("cp949",),
        unseen=True,
    ),
    Saved(
        "japanese memo",
        "会議は午後３時から第２会議室で行います。プロジェクターを忘れずに。",
        ("cp932", "euc_jp", "utf-16+"),
        unseen=True,
    ),
    Saved("japanese half kana", "商品名,価格\nｱｲｽｸﾘｰﾑ,120円\nチョコレート,250円\n", ("cp932",), unseen=True),
    Saved(
        "chinese notice",
        "会议改到下午三点，请大家准时参加。地点：二楼会议室。",
        ("gb18030", "gbk", "big5~會議改到下午三點，請大家準時參加。地點：二樓會議室。"),
        unseen=True,
    ),
    Saved("russian list", "Молоко, хлеб, яйца\nПозвонить маме в 18:00", ("koi8_r", "cp1251"), unseen=True),
    Saved("czech", "Příliš žluťoučký kůň úpěl ďábelské ódy.", ("cp1250",), unseen=True),
    Saved(
        "a wrong declaration", "제품 설명서입니다. 전원을 켜 주세요.", ("cp949",), declared="iso-8859-1", unseen=True
    ),
    Saved("a server's default", "안녕하세요 — 새 소식입니다.", ("utf-8",), declared="ISO-8859-1", unseen=True),
    Saved("polish", "Zażółć gęślą jaźń. Proszę o przesłanie faktury.", ("cp1250", "iso8859_2")),
)
"""Every text; those with ``unseen`` were written after the decoding was."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A text, what somebody looks for in it, and the piece of the text that is it as it was written; empty where it is
    not in there."""

    name: str
    written: str
    asked: str
    piece: str
    unseen: bool = False


def decompose(text: str) -> str:
    """Returns a text as a Mac writes it."""
    return unicodedata.normalize("NFD", text)


LOOKED = (
    Looked("a decomposed message", decompose("어제 배송조회를 했다"), "배송", decompose("배송")),
    Looked("a decomposed question", "어제 배송조회를 했다", decompose("배송"), "배송"),
    Looked("full-width digits", "만나는 날은 １４일이다", "14일", "１４일"),
    Looked("half-width question", "14일에 보자", "１４일", "14일"),
    Looked("an accent of its own", "Zoe\u0308 kommt", "ZOË", "Zoe\u0308"),
    Looked("sharp s", "In der Straße 5", "strasse", "Straße"),
    Looked("a ligature", "the oﬃce is far", "office", "oﬃce"),
    Looked("after a letter that grows", "İstanbul and office", "and", "and"),
    Looked("half-width kana", "新しいｶﾒﾗを買う", "カメラ", "ｶﾒﾗ", unseen=True),
    Looked("a voiced sign of its own", "ﾊﾟﾝ屋", "パン", "ﾊﾟﾝ", unseen=True),
    Looked("a final sigma", "ο Σίσυφος εδώ", "ΣΊΣΥΦΟΣ", "Σίσυφος", unseen=True),
    Looked("the sign of Ångström", "10 \u212b breit", "å", "\u212b", unseen=True),
    Looked("a unit in one sign", "무게는 ３㎏이다", "3kg", "３㎏", unseen=True),
    Looked("letters that only look alike", "ㅎㅏㄴ글", "한글", "", unseen=True),
    Looked("a syllable that was not said", decompose("강"), "가", "", unseen=True),
)
"""Every search; those with ``unseen`` were written after the folding was."""


def list_files() -> list[tuple[str, bytes, str, str, bool]]:
    """Returns every file: its name, its bytes, what it declares, its text, and whether it is unseen."""
    files = []
    for saved in SAVED:
        for entry in saved.encodings:
            encoding, _, other = entry.partition("~")
            text = other or saved.text
            plain = encoding.removesuffix("+")
            named = {"utf-8+": "utf-8-sig", "utf-16+": "utf-16"}.get(encoding, plain)
            files.append((f"{saved.name}, {encoding}", text.encode(named), saved.declared, text, saved.unseen))
    return files
