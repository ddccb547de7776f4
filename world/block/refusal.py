"""Why a field of a state block was not taken, as one sentence in the world's language."""

from __future__ import annotations

from text.hangul import fit_particles
from text.language import Language

_TEXTS: dict[str, dict[Language, str]] = {
    "not_text": {"ko": "글이 아닙니다", "en": "it is not a text"},
    "control": {"ko": "쓸 수 없는 글자가 들어 있습니다", "en": "it holds characters that no name has"},
    "too_long": {
        "ko": "{size}자로 너무 깁니다(최대 {limit}자)",
        "en": "it has {size} characters; the limit is {limit}",
    },
    "too_many": {"ko": "항목이 {limit}개보다 많습니다", "en": "it has more than {limit} entries"},
    "not_number": {"ko": "정수가 아닙니다", "en": "it is not a whole number"},
    "too_large": {
        "ko": "{number}은(는) 한 턴에 너무 큽니다(최대 {limit})",
        "en": "{number} is too much for one turn ({limit})",
    },
    "not_truth": {"ko": "true나 false가 아닙니다", "en": "it is neither true nor false"},
    "not_relation": {"ko": "누가 누구에게인지 알 수 없습니다", "en": "it does not say who and to whom"},
    "not_place": {"ko": "누가 어디에 있는지 알 수 없습니다", "en": "it does not say who is where"},
    "did_not_move": {
        "ko": "이동하지 않았다면서 {here}이(가) 아니라 {there}에 있다고 합니다",
        "en": "it says that nobody moved, but names {there} instead of {here}",
    },
    "dead": {"ko": "{name}은(는) 죽었습니다", "en": "{name} is dead"},
    "not_held": {"ko": "{name}은(는) 가지고 있지 않습니다", "en": "{name} is not held"},
    "not_kept": {"ko": "이 값은 기록하지 않습니다", "en": "this is not kept"},
    "not_said": {"ko": "{name}은(는) 이 장면에 나오지 않습니다", "en": "{name} does not stand in this scene"},
    "absurd": {
        "ko": "맞지 않는 값이 너무 많아 상태 블록 전체를 쓰지 않았습니다",
        "en": "Too many values were wrong, so nothing of the state block was taken",
    },
}


def render_refusal(field: str, code: str, language: Language, **values: object) -> str:
    """Returns why a field was not taken; without a field about the whole block."""
    text = _TEXTS[code][language].format(**values)
    whole = f"{field}: {text}." if field else f"{text}."
    return fit_particles(whole) if language == "ko" else whole
