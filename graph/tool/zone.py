"""Names of places, in Korean and English, and the IANA time zones they mean.

Countries and the cities that zones are named after come from the Unicode CLDR by way of Babel; ``_TABLE`` adds what it
lacks: other cities, short names, abbreviations of zones.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from zoneinfo import available_timezones

from babel import Locale
from babel.core import get_global

_TABLE = """
Asia/Seoul: 부산 인천 대구 대전 광주 울산 제주 busan incheon daegu daejeon gwangju ulsan jeju
Asia/Tokyo: 동경 오사카 교토 나고야 후쿠오카 삿포로 오키나와 osaka kyoto nagoya fukuoka sapporo okinawa
Asia/Shanghai: 상해 베이징 북경 광저우 선전 심천 청두 beijing guangzhou shenzhen chengdu
Asia/Taipei: 타이페이
Asia/Manila: 세부 보라카이 cebu boracay
Asia/Ho_Chi_Minh: 호찌민 호치민 하노이 다낭 나트랑 hanoi da_nang nha_trang
Asia/Bangkok: 치앙마이 푸켓 파타야 phuket chiang_mai pattaya
Asia/Makassar: 발리 bali
Asia/Kolkata: 뉴델리 델리 뭄바이 벵갈루루 첸나이 new_delhi delhi mumbai bangalore bengaluru chennai hyderabad
Asia/Karachi: 이슬라마바드 라호르 islamabad lahore
Asia/Dubai: 아부다비 abu_dhabi
Asia/Qatar: 도하 doha
Asia/Jerusalem: 텔아비브 tel_aviv
Europe/Istanbul: 앙카라 ankara
Europe/Moscow: 상트페테르부르크 st_petersburg saint_petersburg
Europe/Kyiv: 키이우
Europe/London: 맨체스터 에든버러 옥스퍼드 manchester edinburgh liverpool leeds birmingham oxford glasgow cardiff belfast
Europe/Paris: 니스 리옹 마르세유 lyon nice marseille
Europe/Berlin: 뮌헨 프랑크푸르트 함부르크 쾰른 munich frankfurt hamburg cologne
Europe/Madrid: 바르셀로나 barcelona seville valencia
Europe/Lisbon: 포르투 porto
Europe/Rome: 밀라노 베네치아 피렌체 나폴리 milan venice florence naples
Europe/Vienna: 빈
Europe/Zurich: 제네바 베른 geneva bern basel
Europe/Warsaw: 크라쿠프 krakow
Africa/Cairo: 알렉산드리아 alexandria
Africa/Casablanca: 마라케시 marrakesh marrakech
Africa/Johannesburg: 케이프타운 cape_town durban
America/New_York: 워싱턴 보스턴 마이애미 애틀랜타 필라델피아 올랜도 nyc washington washington_dc boston miami atlanta
America/New_York: philadelphia orlando pittsburgh
America/Chicago: 댈러스 휴스턴 오스틴 dallas houston austin minneapolis new_orleans nashville
America/Los_Angeles: 엘에이 로스엔젤레스 샌프란시스코 시애틀 라스베이거스 라스베가스 샌디에이고 포틀랜드 실리콘밸리
America/Los_Angeles: la san_francisco seattle las_vegas vegas san_diego san_jose portland silicon_valley
America/Toronto: 오타와 몬트리올 퀘벡 ottawa montreal quebec
America/Vancouver: 밴쿠버
America/Edmonton: 캘거리 calgary
America/Sao_Paulo: 리우데자네이루 리우 브라질리아 rio_de_janeiro rio brasilia
Australia/Sydney: 캔버라 canberra
Australia/Brisbane: 브리즈번 골드코스트 gold_coast
Pacific/Auckland: 웰링턴 wellington
"""
"""Cities that share a zone which is named after another one, and other spellings."""
_WIDE = """
Asia/Seoul: 한국 korea republic_of_korea
Asia/Taipei: 타이완
Asia/Dubai: 두바이 uae
Asia/Riyadh: 사우디
Europe/Istanbul: 터키 turkey
Europe/London: 잉글랜드 스코틀랜드 uk england britain great_britain scotland wales
Europe/Prague: czech_republic
Africa/Johannesburg: 남아프리카공화국 남아공
America/New_York: 미국_동부 us_east_coast east_coast new_jersey florida usa us
America/Chicago: 텍사스 texas
America/Denver: 콜로라도 colorado new_mexico
America/Los_Angeles: 미국_서부 캘리포니아 us_west_coast west_coast california
Pacific/Honolulu: 하와이 hawaii
America/Anchorage: 알래스카 alaska
Asia/Seoul: kst
Asia/Tokyo: jst
Asia/Kolkata: ist
America/New_York: 동부_표준시 est edt eastern_time
America/Chicago: 중부_표준시 cst cdt central_time
America/Denver: 산악_표준시 mst mdt mountain_time
America/Los_Angeles: 태평양_표준시 pst pdt pacific_time
UTC: 협정세계시 utc gmt greenwich z
"""
"""Countries, regions and zones by other names than the CLDR has."""
_MAIN = """
AR:America/Argentina/Buenos_Aires AU:Australia/Sydney BR:America/Sao_Paulo CA:America/Toronto CD:Africa/Kinshasa
CL:America/Santiago CN:Asia/Shanghai CY:Asia/Nicosia DE:Europe/Berlin EC:America/Guayaquil ES:Europe/Madrid
FM:Pacific/Pohnpei GL:America/Nuuk ID:Asia/Jakarta KI:Pacific/Tarawa KZ:Asia/Almaty MH:Pacific/Majuro
MN:Asia/Ulaanbaatar MX:America/Mexico_City MY:Asia/Kuala_Lumpur NZ:Pacific/Auckland PF:Pacific/Tahiti
PG:Pacific/Port_Moresby PS:Asia/Hebron PT:Europe/Lisbon RU:Europe/Moscow UA:Europe/Kyiv US:America/New_York
UZ:Asia/Tashkent
"""
"""The zone of the capital, or of most people, where a country has several."""
_NOT_SAID = {"Indian/Christmas", "Pacific/Easter", "Pacific/Wake", "Pacific/Midway", "America/Nome", "Europe/Jersey"}
"""Zones whose names are other words far more often than places."""
_WORD = re.compile(r"[^\W\d_]+")
_KOREAN = re.compile(r"[가-힣]")
_EVERYDAY = {"가자", "건지", "나소", "리가", "수단", "오만", "저지", "주노", "치타", "세계"}
"""Korean names of places that begin everyday words; they are known to ``find`` alone."""
_PARTICLE = re.compile(r"(?:에서|에|은|는|이|도|의|요|현지|시간|시각|지금)*")
_JOINED = re.compile(r"(?:,|and|&|(?<=[가-힣])(?:이?랑|하고|와|과)|및|\s)*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """A place that a text names: from ``start`` to ``end``, its IANA zone, and whether it is more than one city."""

    start: int
    end: int
    zone: str
    wide: bool


def find(place: str) -> str | None:
    """The IANA zone that ``place`` (zone, city or country; ko or en) means, or None."""
    known = _known()
    names = (place, place.rpartition("/")[2], place.partition(",")[0])
    return next((known[_key(name)] for name in names if _key(name) in known), None)


def near(place: str, count: int = 3) -> list[str]:
    """Zones whose names resemble ``place``, best first."""
    known = _known()
    matches = difflib.get_close_matches(_key(place[:60].rpartition("/")[2]), known, n=count * 2, cutoff=0.7)
    return list(dict.fromkeys(known[match] for match in matches))[:count]


def asked(text: str) -> list[str]:
    """The zones of the places that a text of the time names: the last one, with those that are joined to it («London
    and Paris»); a city counts before the country that it may stand beside."""
    places = list(_places(text))
    cities = [place for place in places if not place.wide] or places
    last = cities[-1:]
    for place in reversed(cities[:-1]):
        if not _JOINED.fullmatch(text[place.end : last[0].start]):
            break
        last.insert(0, place)
    return list(dict.fromkeys(place.zone for place in last))


def _places(text: str) -> Iterator[Place]:
    """The places that a text names, the longest name first."""
    words = list(_WORD.finditer(text))
    at = 0
    while at < len(words):
        found = next((found for count in (4, 3, 2, 1) if (found := _place(words[at : at + count], count))), None)
        if found:
            yield found
            at += sum(word.start() < found.end for word in words[at:])
        else:
            at += 1


def _place(words: list[re.Match[str]], count: int) -> Place | None:
    """The place that these words name, all of them; particles may follow a Korean name."""
    if len(words) < count:
        return None
    said, start = "".join(word[0] for word in words), words[0].start()
    if not _KOREAN.match(said):
        key = _key(" ".join(word[0] for word in words))
        return Place(start, words[-1].end(), _said()[key][0], _said()[key][1]) if key in _said() else None
    least = len(said) - len(words[-1][0])  # the name reaches into the last word
    for length in range(len(said), max(least, 0), -1):
        zone = _said().get(_key(said[:length]))
        if zone and (length > 1 or _PARTICLE.fullmatch(said[length:])):
            return Place(start, words[-1].start() + length - least, *zone)
    return None


def _key(name: str) -> str:
    """A name as the tables have it: without case, accents, dots; a Korean one without spaces."""
    letters = unicodedata.normalize("NFKD", re.sub(r"[.'’_\s-]+", lambda mark: " " if mark[0][0] in " _-" else "", name))
    plain = unicodedata.normalize("NFC", "".join(each for each in letters if not unicodedata.combining(each)))
    words = plain.casefold().split()
    return "".join(words) if _KOREAN.search(plain) else " ".join(words)


@cache
def _known() -> dict[str, str]:
    """Every name, and the identifiers themselves."""
    zones = available_timezones() - {"localtime", "posixrules", "Factory", "build/etc/localtime"}
    own = {_key(zone): zone for zone in zones}
    parts = {_key(zone.rpartition("/")[2]): zone for zone in sorted(zones) if not zone.startswith("Etc/")}
    return parts | own | {name: zone for name, (zone, _) in (_countries() | _cities()).items()}


@cache
def _said() -> dict[str, tuple[str, bool]]:
    """The names that count in a text, with their zone and whether they are wide."""
    return {
        name: zone
        for name, zone in (_countries() | _cities()).items()
        if zone[0] not in _NOT_SAID and not zone[0].startswith("Antarctica/") and name not in _EVERYDAY
    }


def _cities() -> dict[str, tuple[str, bool]]:
    current: dict[str, str] = get_global("zone_aliases")
    territories: dict[str, str] = get_global("zone_territories")
    known = {_key(zone.rpartition("/")[2]): zone for zone, land in territories.items() if land not in ("001", "ZZ")}
    for locale in (Locale("en"), Locale("ko")):
        for zone, names in locale.time_zones.items():
            if "city" in names and current.get(zone, zone) in territories:
                known[_key(names["city"])] = current.get(zone, zone)
    return {name: (zone, False) for name, zone in (known | _listed(_TABLE)).items()}


def _countries() -> dict[str, tuple[str, bool]]:
    zones: dict[str, list[str]] = get_global("territory_zones")
    main = {land: own[0] for land, own in zones.items() if len(own) == 1}
    main |= dict(pair.split(":") for pair in _MAIN.split())
    locales = (Locale("en"), Locale("ko"))
    known = {_key(name): main[land] for each in locales for land, name in each.territories.items() if land in main}
    return {name: (zone, True) for name, zone in (known | _listed(_WIDE)).items()}


def _listed(table: str) -> dict[str, str]:
    lines = (line.split(": ") for line in table.strip().splitlines())
    return {_key(name): zone for zone, names in lines for name in names.split()}
