"""Names of places, in Korean and English, and the IANA time zones they mean.

Countries and the cities that zones are named after come from the Unicode CLDR through Babel; ``zone.txt`` adds other
cities, short names and abbreviations of zones.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from zoneinfo import available_timezones

from babel import Locale
from babel.core import get_global

from text.word_table import read_table_section

_TABLE = Path(__file__).with_suffix(".txt")
_LONGEST = 4
"""Words of the longest name that is looked up."""
_WORD = re.compile(r"[가-힣]+|[^\W\d_가-힣]+")
_KOREAN = re.compile(r"[가-힣]")
_PARTICLE = re.compile(r"(?:에서|에|은|는|이|도|의|요|현지|시간|시각|지금)*")
_JOINED = re.compile(r"(?:,|and|&|이?랑|하고|와|과|및|\s)*", re.IGNORECASE)
_LOCALES = (Locale("en"), Locale("ko"))


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A place name in a text, from ``start`` to ``end``, and its IANA zone; ``wide``: it means more than one city."""

    start: int
    end: int
    zone: str
    wide: bool


def find_place_zone(place: str) -> str | None:
    """Returns the IANA zone that ``place`` (zone, city or country; ko or en) means, or None."""
    zones = _load_name_zones()
    names = (place, place.rpartition("/")[2], place.partition(",")[0])
    return next((zones[_normalize_place_name(name)] for name in names if _normalize_place_name(name) in zones), None)


def find_similar_zones(place: str, count: int = 3) -> list[str]:
    """Returns zones whose names resemble ``place``, best first."""
    zones = _load_name_zones()
    matches = difflib.get_close_matches(
        _normalize_place_name(place[:60].rpartition("/")[2]), zones, n=count * 2, cutoff=0.7
    )
    return list(dict.fromkeys(zones[match] for match in matches))[:count]


def find_named_zones(text: str) -> list[str]:
    """Returns the zones of the places that a question about the time names: of the last place, and of places joined to
    it («London and Paris»). A city counts before the country that may stand beside it."""
    places = list(find_places(text))
    cities = [place for place in places if not place.wide] or places
    backwards = zip(reversed(cities[:-1]), reversed(cities), strict=False)
    joined = takewhile(lambda pair: _JOINED.fullmatch(text[pair[0].end : pair[1].start]), backwards)
    chosen = [*reversed([place for place, _ in joined]), *cities[-1:]]
    return list(dict.fromkeys(place.zone for place in chosen))


def find_places(text: str) -> Iterator[NamedPlace]:
    """Yields the places that a text names; of two overlapping names, the longer one."""
    words = list(_WORD.finditer(text))
    at = 0
    while at < len(words):
        lengths = range(min(_LONGEST, len(words) - at), 0, -1)
        longest = next((place for length in lengths if (place := _read_place_words(words[at : at + length]))), None)
        if longest:
            yield longest
        at += sum(word.start() < longest.end for word in words[at:]) if longest else 1


def _read_place_words(words: list[re.Match[str]]) -> NamedPlace | None:
    """Returns the place that all these words together name; particles may follow a Korean name."""
    start, parts = words[0].start(), [word[0] for word in words]
    if not _KOREAN.match(parts[0]):
        zone = (
            _load_place_names().get(_normalize_place_name(" ".join(parts)))
            if " ".join(parts) not in _load_everyday_names()
            else None
        )
        return NamedPlace(start, words[-1].end(), *zone) if zone else None
    letters = "".join(parts)
    before = len(letters) - len(parts[-1])
    for length in range(len(letters), before, -1):
        zone = _load_place_names().get(letters[:length]) if letters[:length] not in _load_everyday_names() else None
        if zone and (length > 1 or _PARTICLE.fullmatch(letters[length:])):
            return NamedPlace(start, words[-1].start() + length - before, *zone)
    return None


def _normalize_place_name(name: str) -> str:
    """Returns a name as the tables have it: without case, accents and dots; a Korean name without spaces."""
    letters = unicodedata.normalize("NFKD", re.sub(r"[_\s-]+", " ", re.sub(r"[.'’]", "", name)))
    plain = unicodedata.normalize("NFC", "".join(letter for letter in letters if not unicodedata.combining(letter)))
    return ("" if _KOREAN.search(plain) else " ").join(plain.casefold().split())


@cache
def _load_name_zones() -> dict[str, str]:
    """Returns the zone of every name, and of the zone identifiers themselves."""
    zones = sorted(available_timezones() - {"localtime", "posixrules", "Factory", "build/etc/localtime"})
    parts = {
        _normalize_place_name(zone.rpartition("/")[2]): zone
        for zone in zones
        if "/" in zone and not zone.startswith("Etc/")
    }
    return (
        parts
        | {_normalize_place_name(zone): zone for zone in zones}
        | {name: zone for name, (zone, _) in _load_place_names().items()}
    )


@cache
def _load_place_names() -> dict[str, tuple[str, bool]]:
    """Returns the names of cities and countries, with their zone and whether the place is wide."""
    return {name: (zone, True) for name, zone in (_load_country_zones() | _load_zone_section("wide")).items()} | {
        name: (zone, False) for name, zone in (_load_city_zones() | _load_zone_section("cities")).items()
    }


def _load_city_zones() -> dict[str, str]:
    """Returns the zones by the cities they are named after, in their identifiers and in the two languages."""
    current: Mapping[str, str] = get_global("zone_aliases")
    lands: Mapping[str, str] = get_global("zone_territories")
    national = {zone for zone, land in lands.items() if land not in ("001", "ZZ")}
    cities = {_normalize_place_name(zone.rpartition("/")[2]): zone for zone in national}
    for locale in _LOCALES:
        for zone, names in locale.time_zones.items():
            if (now := current.get(zone, zone)) in national:
                cities |= {
                    _normalize_place_name(name): now
                    for name in (zone.rpartition("/")[2], names.get("city", ""))
                    if name
                }
    return cities


def _load_country_zones() -> dict[str, str]:
    zones: Mapping[str, list[str]] = get_global("territory_zones")
    main = {land: land_zones[0] for land, land_zones in zones.items() if len(land_zones) == 1}
    main |= {land.upper(): zone for land, zone in _load_zone_section("main").items()}
    names = [(name, main[land]) for locale in _LOCALES for land, name in locale.territories.items() if land in main]
    parts = {
        _normalize_place_name(part): zone for name, zone in names for part in re.split(r" & | ?\(| SAR ", name)[:1]
    }
    return parts | {_normalize_place_name(name): zone for name, zone in names}


@cache
def _load_everyday_names() -> frozenset[str]:
    """Returns the names that mean something else far more often than a place."""
    return frozenset(name for name, _ in _iter_section_pairs("everyday"))


def _load_zone_section(section: str) -> dict[str, str]:
    return {_normalize_place_name(name): zone for name, zone in _iter_section_pairs(section)}


def _iter_section_pairs(section: str) -> Iterator[tuple[str, str]]:
    """Yields the names of one section of ``zone.txt``, with their zones."""
    return ((name, zone) for zone, names in read_table_section(_TABLE, section) for name in names)
