"""Whether a sentence says how things are now: no plan, no wish, no supposition, no other time or place."""

from __future__ import annotations

import re

from text import hangul

_DOUBT = re.compile(
    r"지 (?:않|못|말)|(?<![가-힣])(?:안|못) [가-힣]|아직|고민|생각 ?중|생각이|고 생각|할까|을까|릴까|꿀까"
    r"|면 (?:좋|어떨|어때|안)|싶|려고|만약|만일|가정|[다라]고? 치[고자]|지도? (?:모르|몰라)|아마"
    r"|일 거[야예다라]|[것거] 같|예정(?!일)|달라고|자고 (?:했|하|제안|말)|수(?:도|는)? 있"
    r"|[가-힣](?:이|라|다|으|되|하|리|르|지|기|추|뀌|꾸|루)면(?=[\s,])"
    r"|\b(?:has|have|had|did|do|does|was|were|is|are|will|would|could|should|can)(?:n['’]t| not)\b|\bwon['’]t\b"
    r"|\b(?:never|thinking|thinks|thought|believes?|guess|consider\w*|maybe|perhaps|might|could|would|if|unless"
    r"|want(?:s|ed)? to|plan(?:s|ning)? to|hop(?:e|ing)|wish|suppos(?:e|ing)|imagine|assum(?:e|ing)|pretend"
    r"|let['’]s say|hypothetical\w*)\b|^say,?\s",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    r"\b(?:is|are|was|were)(?:n['’]t|\snot)\b(?=[^.!?]{1,60}?(?:\sbut\s|,\s(?:but\s)?it(?:['’]s|\sis)\s))",
    re.IGNORECASE,
)
"""«Is not A but B» says what it is."""
_LEADS_WORDS = """
사용자 사용자는 사용자의 내 제 나의 저의 우리 저희 이 그 아 어 음 참 아니 아니야 아뇨 네 응 그래 미안 미안해 죄송
죄송해요 잠깐 근데 그런데 그리고 또 그럼 그래서 사실 실은 이제 지금 현재 아무튼
정정 수정 참고 정정하면 알고 보니 다시 보니
user user's the my our its his her their a new oh no wait well ok okay so and but also sorry hey hi hello yes yeah right
correction typo update note i was wrong mistake meant mean it turns out that btw fyi now actually
"""
_LEADS = frozenset(_LEADS_WORDS.split())
"""Words before a subject that name no other speaker, time or place."""
_USER = re.compile(r"\buser (?:said|says|stated|mentioned)\b", re.IGNORECASE)
_CLAUSES = re.compile(rf"(?:이고|이며|인데|는데|지만|[{hangul.syllables(hangul.SSANGSIOT)}]고),?\s")
"""Ends of Korean clauses that say something of their own."""
_PAST = re.sub("[있겠됐]", "", hangul.syllables(hangul.SSANGSIOT))
"""ㅆ makes a verb past."""
_BEEN = re.compile(rf"\b(?:was|were)\b|(?<!로 )(?<!로 [가-힣])(?<!로 [가-힣]{{2}})[{_PAST}]", re.IGNORECASE)
"""Past; «5시로 했어», «로 정했어» and «로 예약했어» say what was chosen."""
_ENDS = re.compile(
    r"(?!까지(?!(?:이?야|이?고|예요|입니다)[\s.])|부터|이상|이하|도\s|씩\s?도)[가-힣]{0,6}"
    r"(?:(?:\s[가-힣]{1,8}|\s(?:하기로 했|할 거)[가-힣]{0,3})?\s*(?:$|[.!~,;…])"
    r"|(?<=고|며)\s|(?<=니까|인데|지만|라서)\s)"
    r"|(?:\s(?:now|old|long|tall|each|total|in total|anymore|again|instead)\b"
    r"|(?:\s(?:a|an|per|every)\s|/)\w{1,12}){0,2}\s*(?:$|[.!,;:]|(?<=\s)(?:so|and|but|because|since)\b)",
    re.IGNORECASE,
)
"""What may follow a value: the end of its clause, with a verb or a measure before it."""


def doubtful(said: str) -> bool:
    """Whether it denies, supposes, plans or wishes: nothing has changed yet."""
    return _DOUBT.search(_NOT_BUT.sub("", said)) is not None


def alone(before: str, between: str, after: str) -> bool:
    """Whether a statement says no more than that its subject has its value now.

    ``before`` the subject, ``between`` the two, ``after`` the value.
    """
    ended = _ENDS.match(after)
    return leads(before) and ended is not None and not _BEEN.search(between + ended.group())


def leads(text: str) -> bool:
    """Whether a text has only words that may stand before any statement: «Sorry, typo», 아니 우리."""
    last = _USER.sub("", _CLAUSES.split(text)[-1])
    return _LEADS.issuperset(re.findall(r"[^\W_][\w'’]*", last.casefold()))
