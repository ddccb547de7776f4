"""Names of places, in Korean and English, and the IANA time zones they mean.

IANA identifiers and the city in their last part («London», «New York») are known without this table; it adds Korean
names, countries with one usual zone, and cities that share a neighbour's zone.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from functools import cache
from zoneinfo import available_timezones

_TABLE = """
Asia/Seoul: 서울 한국 대한민국 부산 인천 대구 대전 광주 제주 korea south_korea republic_of_korea busan incheon jeju kst
Asia/Pyongyang: 평양 북한 north_korea
Asia/Tokyo: 도쿄 동경 일본 오사카 교토 후쿠오카 삿포로 japan osaka kyoto fukuoka sapporo jst
Asia/Shanghai: 상하이 상해 중국 베이징 북경 광저우 선전 china beijing guangzhou shenzhen
Asia/Hong_Kong: 홍콩
Asia/Macau: 마카오
Asia/Taipei: 타이베이 타이페이 대만 타이완 taiwan
Asia/Manila: 마닐라 필리핀 세부 philippines cebu
Asia/Ho_Chi_Minh: 호찌민 호치민 베트남 하노이 다낭 vietnam hanoi da_nang
Asia/Bangkok: 방콕 태국 치앙마이 thailand phuket chiang_mai
Asia/Singapore: 싱가포르
Asia/Kuala_Lumpur: 쿠알라룸푸르 말레이시아 malaysia
Asia/Jakarta: 자카르타 indonesia
Asia/Makassar: 발리 bali
Asia/Kolkata: 인도 뉴델리 델리 뭄바이 벵갈루루 콜카타 india new_delhi delhi mumbai bangalore bengaluru ist
Asia/Kathmandu: 카트만두 네팔 nepal
Asia/Karachi: 카라치 파키스탄 pakistan
Asia/Dhaka: 다카 방글라데시 bangladesh
Asia/Dubai: 두바이 아부다비 아랍에미리트 uae abu_dhabi united_arab_emirates
Asia/Riyadh: 리야드 사우디아라비아 사우디 saudi_arabia
Asia/Qatar: 카타르 도하 doha
Asia/Tehran: 테헤란 이란 iran
Asia/Jerusalem: 예루살렘 이스라엘 텔아비브 israel tel_aviv
Asia/Tashkent: 타슈켄트 우즈베키스탄 uzbekistan
Asia/Almaty: 알마티 카자흐스탄 kazakhstan
Asia/Ulaanbaatar: 울란바토르 몽골 mongolia
Asia/Vladivostok: 블라디보스토크
Europe/Istanbul: 이스탄불 튀르키예 터키 turkey turkiye ankara
Europe/Moscow: 모스크바 러시아 russia st_petersburg
Europe/Kyiv: 키이우 우크라이나 ukraine kiev
Europe/London: 런던 영국 맨체스터 에든버러 uk united_kingdom england britain great_britain scotland manchester edinburgh
Europe/Dublin: 더블린 아일랜드 ireland
Europe/Paris: 파리 프랑스 니스 france lyon nice
Europe/Berlin: 베를린 독일 뮌헨 프랑크푸르트 함부르크 germany munich frankfurt hamburg
Europe/Madrid: 마드리드 스페인 바르셀로나 spain barcelona
Europe/Lisbon: 리스본 포르투갈 portugal porto
Europe/Rome: 로마 이탈리아 밀라노 베네치아 피렌체 italy milan venice florence
Europe/Vienna: 빈 비엔나 오스트리아 austria
Europe/Zurich: 취리히 스위스 제네바 switzerland geneva
Europe/Amsterdam: 암스테르담 네덜란드 netherlands
Europe/Brussels: 브뤼셀 벨기에 belgium
Europe/Prague: 프라하 체코 czechia czech_republic
Europe/Warsaw: 바르샤바 폴란드 poland
Europe/Budapest: 부다페스트 헝가리 hungary
Europe/Athens: 아테네 그리스 greece
Europe/Stockholm: 스톡홀름 스웨덴 sweden
Europe/Oslo: 오슬로 노르웨이 norway
Europe/Copenhagen: 코펜하겐 덴마크 denmark
Europe/Helsinki: 헬싱키 핀란드 finland
Atlantic/Reykjavik: 레이캬비크 아이슬란드 iceland
Africa/Cairo: 카이로 이집트 egypt
Africa/Lagos: 라고스 나이지리아 nigeria
Africa/Nairobi: 나이로비 케냐 kenya
Africa/Johannesburg: 요하네스버그 남아프리카공화국 남아공 케이프타운 south_africa cape_town
Africa/Casablanca: 카사블랑카 모로코 morocco
America/New_York: 뉴욕 워싱턴 보스턴 마이애미 애틀랜타
America/New_York: nyc washington washington_dc boston miami atlanta philadelphia est edt
America/Chicago: 시카고 댈러스 휴스턴 dallas houston austin cst cdt
America/Denver: 덴버 mst mdt
America/Phoenix: 피닉스
America/Los_Angeles: 로스앤젤레스 엘에이 샌프란시스코 시애틀 라스베이거스 실리콘밸리
America/Los_Angeles: la san_francisco seattle las_vegas san_diego pst pdt
Pacific/Honolulu: 호놀룰루 하와이 hawaii
America/Anchorage: 앵커리지 알래스카 alaska
America/Toronto: 토론토 오타와 몬트리올 ottawa montreal
America/Vancouver: 밴쿠버
America/Mexico_City: 멕시코시티 멕시코 mexico
America/Sao_Paulo: 상파울루 브라질 리우데자네이루 brazil rio_de_janeiro
America/Argentina/Buenos_Aires: 부에노스아이레스 아르헨티나 argentina
America/Santiago: 산티아고 칠레 chile
America/Lima: 리마 페루 peru
America/Bogota: 보고타 콜롬비아 colombia
Australia/Sydney: 시드니 캔버라 canberra
Australia/Melbourne: 멜버른
Australia/Brisbane: 브리즈번
Australia/Perth: 퍼스
Pacific/Auckland: 오클랜드 뉴질랜드 new_zealand wellington
Pacific/Guam: 괌
UTC: 협정세계시 utc gmt greenwich z
"""
_EVERYDAY = """
nice la turkey florence santiago austin dallas houston phoenix lima
est edt cst cdt mst mdt pst pdt kst jst ist utc gmt 파리 니스 인도 터키 세부 상해 선전 동경 대구 부산 이란
"""
"""Names of the table that are often something else where nothing marks them as a place."""
_BEFORE = {"in", "at", "for", "about"}
_PARTICLE = re.compile(r"(?:에서?)?(?:은|는|도|의)?$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_NOT_PLACES = {"localtime", "posixrules", "Factory", "build/etc/localtime"}


def find(place: str) -> str | None:
    """The IANA zone that ``place`` (zone, city or country; ko or en) means, or None."""
    key = _key(place)
    known = _zones()
    return known.get(key) or known.get(key.rpartition("/")[2]) or known.get(key.partition(",")[0].strip("_"))


def near(place: str, count: int = 3) -> list[str]:
    """Zones whose names resemble ``place``, best first."""
    known = _zones()
    matches = difflib.get_close_matches(_key(place)[:60].rpartition("/")[2], known, n=count * 2, cutoff=0.7)
    return list(dict.fromkeys(known[match] for match in matches))[:count]


def mentions(text: str, zone: str) -> bool:
    """Whether a place of this IANA zone stands anywhere in a text."""
    names = (re.escape(name) for name, known in _zones().items() if known == zone)
    return bool(re.search(rf"(?<![^\W_])(?:{'|'.join(names)})(?![a-z])", _key(text)))


def asked(text: str) -> str | None:
    """The place that a text asks about: of those in the table the last after «in» or before a particle, else the only
    one."""
    words = [each for each in _WORD.findall(unicodedata.normalize("NFC", text)) if each.casefold() != "the"]
    marked, alone = [], []
    for at, word in enumerate(words):
        names = (" ".join(words[at : at + count]) for count in (3, 2, 1))
        stem = _PARTICLE.sub("", word)
        name = next((each for each in (*names, stem) if each.casefold().replace(" ", "_") in _listed()), None)
        if name is None:
            continue
        everyday = name.casefold() in _EVERYDAY.split()
        after = words[at - 1].casefold() in _BEFORE if at else False
        if name == stem != word or (after and not (everyday and name.islower())):
            marked.append(name)
        elif not everyday:
            alone.append(name)
    if marked:
        return marked[-1]
    return alone[0] if len(set(map(find, alone))) == 1 else None


def _key(place: str) -> str:
    return "_".join(unicodedata.normalize("NFC", place).casefold().split())


@cache
def _listed() -> dict[str, str]:
    """The names of the table, and the cities of its zones."""
    known: dict[str, str] = {}
    for line in _TABLE.strip().splitlines():
        zone, _, places = line.partition(": ")
        known |= dict.fromkeys(places.split(), zone)
        known[zone.rpartition("/")[2].casefold()] = zone
    return known


@cache
def _zones() -> dict[str, str]:
    zones = sorted(available_timezones() - _NOT_PLACES, key=lambda zone: (-zone.count("/"), zone))
    known = {zone.rpartition("/")[2].casefold(): zone for zone in zones if "/" in zone and not zone.startswith("Etc/")}
    return known | _listed() | {zone.casefold(): zone for zone in zones}
