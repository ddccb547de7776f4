"""What a small model is told before a message that asks for nothing: how to answer it.

Without it such a model says the message back, as if it were its own («저는 김민수입니다»), greets who thanks it, or
refuses. A wrong yes would leave a wish unanswered, a wrong no only the answer as it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graph.casual import is_casual, kind
from graph.context import Changing
from graph.state import ChatState
from graph.turns import current
from model.modelset import ModelSet
from prompt import render
from text import hangul, sentence

MOST_CHARS, MOST_SENTENCES = 200, 4
"""A longer message is hardly only told."""
ASKED = 100
"""So near the end of an answer a question mark asks the user."""

_PAST = hangul.syllables(hangul.SSANGSIOT) + hangul.syllables(hangul.BIEUPSIOT)
"""Syllables that end in ㅆ or ㅄ: of what was, is there, or is not (했, 있, 없)."""
_TELLS = re.compile(
    rf"\s\S*(?:[가-힣]야|(?:이|예|거)에?요|다|[{_PAST}](?:어요?|네요?|거든요?|지요?|죠|더라고?요?)"
    r"|이[래네]요?|[한된간온인는란단]대요?|거든요?|[할갈볼올될줄둘살먹을]게요?|고 해요?|(?:좋아|싫어|사랑)해요?"
    r"|(?:다녀|살아|아파|바빠|피곤해|졸려|슬퍼|기뻐|행복해|못 \S+[어아해여])요?)$"
    r"|^(?:(?:so|and|also|oh|well|actually|by the way|yes|no|hi|hello|hey)[,!]? )*"
    r"(?:(?:i|we|he|she|they)(?:['’]\w+)? \w"
    r"|(?:my|our|his|her|their|the|today|yesterday|tomorrow|next|last|this|on|at)\b.*"
    r"(?:\s(?:is|are|was|were|am|has|have|had|will|goes|went|got|costs?|starts?|\w{2,}ed)|\w['’](?:s|m|re|ve|ll)) )",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"[?？`{}<>=]|궁금|부탁|도와|도움|추천|싶|바라|바랍|바래|원해|원합|필요|모르|고민|어렵|어려워"
    r"|문제|오류|에러|안 ?[돼되된됩]|이상[해하한]|알려|설명|번역|요약|계산|정리|작성|아래"
    r"|다음 (?:글|문장|말|내용|코드|표)|기억|잊|검색|찾[아는을]|말해|대답|답해|줘|주세요|달라|해라|하자|보자"
    r"|틀[렸리린]|답[이은변]|대화|코드"
    r"|(?:^|\s)(?:너[는도]?|넌|네가|니가|당신|그[건게]|그거|이[건게]|이거|저건|아니)(?:\s|$)"
    r"|뭐|뭘|무엇|무슨|왜|어떻|어떤|어디|언제|누구|누가|얼마|몇|(?:까|나요|가요|니|냐)$"
    r"|(?:써|적어|만들어|골라|짜|고쳐|바꿔|줄여|늘려|지어|그려|들려|불러|읽어|풀어|빼|맞춰|(?:비교|분석|추가|삭제|나열|추측|소개|제안"
    r"|상상|가정|생각|계획|시작|계속|반복|준비|확인|검토|평가|예측|출력|변환|입력|수정|진행)해)(?:\s?[봐라])?$"
    r"|\b(?:want|need|wish|wonder\w*|help|please|explain|translate|write|errors?|fail\w*|stuck|problems?|issues?"
    r"|questions?|(?:does|do|is|did)n['’]t work|not working|can['’]?t|cannot|how|what|why|which|where|when|who"
    r"|looking for|(?:do not|don['’]t) (?:know|understand|get)|not sure|remember|forg[eo]t\w*|let['’]s|should"
    r"|suggest\w*|code|recommend\w*|ideas?|would like|(?:i|we)['’]d (?:like|love)|wrong|broken|unsure|confus\w+"
    r"|summar\w+|show|tell|answers?|responses?)\b",
    re.IGNORECASE,
)


def courtesy(models: ModelSet, text: str, language: str) -> str:
    """The line before a thanks or a goodbye (``graph.casual``), for a model that needs it; else an empty text."""
    said = kind(text)
    return render(said, language) if said and models.constrained else ""


def hint(models: ModelSet, state: ChatState) -> Sequence[Changing]:
    """The line before such a message, for a model that needs it; nothing once a tool has said something, or where the
    message answers a question of the assistant."""
    messages = state["messages"]
    asked, *rest = own = current(messages)
    before = str(messages[-len(own) - 1].text) if len(messages) > len(own) else ""
    told = models.constrained and not rest and "?" not in before[-ASKED:] and tells(str(asked.text))
    return (Changing("hint", render("told", state.get("language", "ko"))),) if told else ()


def tells(text: str) -> bool:
    """Whether a message, in Korean or English, only tells something: no question, wish, task or trouble in it.

    One sentence must surely tell; beside it a Korean one may have an ending that tells as well as asks («이사해.»)."""
    said = [each.rstrip(".!~…ㅎㅋㅠㅜ^ ") for each in sentence.split(text) if not is_casual(each)]
    short = len(text) <= MOST_CHARS and 0 < len(said) <= MOST_SENTENCES
    sure = [bool(_TELLS.search(each)) for each in said]
    unsure = (re.search("[가-힣]", each) for each, surely in zip(said, sure, strict=True) if not surely)
    return short and any(sure) and all(unsure) and not any(map(_WANTS.search, said))
