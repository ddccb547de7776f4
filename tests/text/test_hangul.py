"""Korean particles fit the word before them."""

from __future__ import annotations

from tests.table import table
from text.hangul import fit_particles


@table(
    ("text", "fitting"),
    [
        ("사실이(가) 깁니다", "사실이 깁니다"),
        ("메시지이(가) 깁니다", "메시지가 깁니다"),
        ("'보고서'을(를) 읽습니다", "'보고서'를 읽습니다"),
        ("`목록`은(는) 비었습니다", "`목록`은 비었습니다"),
        ("서울(으)로 갑니다", "서울로 갑니다"),
        ("부산(으)로 갑니다", "부산으로 갑니다"),
        ("M1에서 M2(으)로", "M1에서 M2로"),
        ("코드 6(으)로", "코드 6으로"),
        ("코드 1(으)로", "코드 1로"),
        ("0.9은(는) 너무 큽니다", "0.9는 너무 큽니다"),
        ("api.openai.com(으)로", "api.openai.com(으)로"),
        ("«리엘»와(과) 함께", "«리엘»과 함께"),
        ("«나루»와(과) 함께", "«나루»와 함께"),
        ("«미르»과(와) «솔»은(는)", "«미르»와 «솔»은"),
        ("괄호 (이)는 그대로", "괄호 (이)는 그대로"),
    ],
)
def test_a_particle_fits_the_word_before_it(text: str, fitting: str) -> None:
    assert fit_particles(text) == fitting
