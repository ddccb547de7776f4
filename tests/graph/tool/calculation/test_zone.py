from __future__ import annotations

from zoneinfo import ZoneInfo

from graph.tool.calculation import zone
from tests.table import table


@table(
    ("text", "zones"),
    [
        ("부에노스아이레스는 지금 몇 시야", ["America/Argentina/Buenos_Aires"]),
        ("인도네시아 시간", ["Asia/Jakarta"]),  # the longer name
        ("호주 퍼스는 몇 시야", ["Australia/Perth"]),  # the city before its country
        ("런던이랑 파리 지금 몇 시야", ["Europe/London", "Europe/Paris"]),
        ("I'm in Seoul, what's the time in London?", ["Europe/London"]),  # the last one
        ("What time is it in Washington, D.C. now", ["America/New_York"]),
        ("time in São Paulo", ["America/Sao_Paulo"]),
        ("time in Papua New Guinea", ["Pacific/Port_Moresby"]),
        ("tell us the time", []),
        ("US time", ["America/New_York"]),
        ("지금 몇 시인 건지 모르겠어", []),
        ("how many days until Christmas", []),
    ],
)
def test_the_places_that_a_question_of_the_time_names(text: str, zones: list[str]) -> None:
    assert zone.find_named_zones(text) == zones


def test_every_name_has_a_zone_that_exists() -> None:
    for name in set(zone._load_name_zones().values()):
        ZoneInfo(name)


def test_every_listed_name_is_known() -> None:
    listed = [name for section in ("cities", "wide") for name, _ in zone._iter_section_pairs(section)]
    assert [name for name in listed if zone.find_place_zone(name) is None] == []
